import Syntax
import Testing

@testable import Semantics

struct FreshnessTests {
    private func entry(_ headers: HeaderList, status: Int = 200) throws -> StoredResponse {
        try .make(headers.merging(additional: ["Date": Timestamp.field(0)]), status: status)
    }

    @Test(
        arguments: [
            (["Cache-Control": "max-age=60"], 60),
            (["Cache-Control": "max-age=60", "Expires": Timestamp.field(3600)], 60),
            (["Cache-Control": "max-age=0", "Expires": Timestamp.field(3600)], 0),
            (["Cache-Control": "max-age=x", "Expires": Timestamp.field(3600)], 0),
            (["Cache-Control": "max-age=60", "Expires": "0"], 60),
            (["Cache-Control": "s-maxage=60"], 0),
            (["Cache-Control": "s-maxage=60, max-age=5"], 5),
            (["Cache-Control": "s-maxage=60", "Expires": Timestamp.field(7)], 7),
            (["CDN-Cache-Control": "max-age=60"], 0),
            (["CDN-Cache-Control": "no-store", "Cache-Control": "max-age=60"], 60),
            (["Surrogate-Control": "max-age=60"], 0),
            (["Pragma": "no-cache", "Cache-Control": "max-age=60"], 60),
            (["Expires": Timestamp.field(3600)], 3600), (["Expires": Timestamp.field(-1)], 0),
            (["Expires": Timestamp.field(0)], 0), (["Expires": "0"], 0), (["Expires": ""], 0),
            (["Expires": "Thu, 18 Aug 2050 02:01:18 GMT"], 744_400_878),
            (["Expires": "Thursday, 18-Aug-50 02:01:18 GMT"], 744_400_878),
            (["Expires": "Thu Aug 18 02:01:18 2050"], 744_400_878),
            (["Expires": "Thu, 18 Aug 2050 02:01:18 UTC"], 0),
            (["Expires": Timestamp.field(9), "expires": Timestamp.field(9)], 9),
            (["Expires": Timestamp.field(9), "expires": Timestamp.field(99)], 0),
            (["Cache-Control": "immutable"], 0), ([:], 0),
        ] as [(HeaderList, Int64)])
    func `RFC 9111 4.2.1: max-age, else Expires, for a private cache`(
        headers: HeaderList, seconds: Int64
    ) throws {
        #expect(try entry(headers).freshnessLifetime == seconds)
    }

    @Test func `RFC 9111 4.2.1: Expires counts from Date, not from this clock`() throws {
        let fast = try StoredResponse.make([
            "Date": Timestamp.field(100), "Expires": Timestamp.field(160),
        ])
        #expect(fast.freshnessLifetime == 60)
        #expect(fast.remainingLifetime(at: .later(10)) == 50_000)
        let slow = try StoredResponse.make([
            "Date": Timestamp.field(-100), "Expires": Timestamp.field(-40),
        ])
        #expect(slow.remainingLifetime(at: .arrival) == -40_000)
    }

    @Test(
        arguments: [
            (["Last-Modified": Timestamp.field(-1000)], 200, 100),
            (["Last-Modified": Timestamp.field(-9)], 200, 0),
            (["Last-Modified": Timestamp.field(5)], 200, 0),
            (["Last-Modified": "x"], 200, 0),
            (["Last-Modified": Timestamp.field(-8_640_000)], 200, 86_400),
            (["Last-Modified": Timestamp.field(-1000), "Expires": "0"], 200, 0),
            (["Last-Modified": Timestamp.field(-1000), "Cache-Control": "max-age=1"], 200, 1),
            (["Last-Modified": Timestamp.field(-1000), "Cache-Control": "x"], 200, 100),
            (["Last-Modified": Timestamp.field(-1000), "Pragma": "no-cache"], 200, 100),
            (["Last-Modified": Timestamp.field(-1000), "Cache-Control": "public"], 599, 100),
            (["Last-Modified": Timestamp.field(-1000), "Cache-Control": "private"], 201, 100),
        ] as [(HeaderList, Int, Int64)])
    func `RFC 9111 4.2.2: by heuristics a tenth of the age of the content, at most a day`(
        headers: HeaderList, status: Int, seconds: Int64
    ) throws {
        #expect(try entry(headers, status: status).freshnessLifetime == seconds)
    }

    @Test func `RFC 9110 15.1: only some statuses are fresh by heuristics`() throws {
        let fresh = try (200...599).filter {
            try entry(["Last-Modified": Timestamp.field(-1000)], status: $0).freshnessLifetime > 0
        }
        #expect(fresh == [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 451, 501])
    }

    @Test(
        arguments: [
            ([:], 0), (["Age": "7"], 7), (["Age": "007"], 7), (["Age": "0"], 0),
            (["Age": "7, 3600"], 7), (["Age": "7", "age": "3600"], 7),
            (["Age": "3600, 0"], 3600), (["Age": "0, 3600"], 0), (["Age": "a, 3600"], 0),
            (["Age": "3600, a"], 3600), (["Age": "-7"], 0), (["Age": "7.5"], 0),
            (["Age": "a"], 0), (["Age": "7a"], 0), (["Age": "7;x=1"], 0), (["Age": ""], 0),
            (["Age": "2147483647"], 2_147_483_647), (["Age": "2147483648"], 2_147_483_648),
            (["Age": "99999999999999999999"], 2_147_483_648),
        ] as [(HeaderList, Int64)])
    func `RFC 9111 5.1: the first Age counts if it is a number of seconds`(
        headers: HeaderList, seconds: Int64
    ) throws {
        #expect(try entry(headers).age(at: .arrival) == seconds)
    }

    @Test(
        arguments: [
            // Date's distance, Age, delay in ms, seconds here, age in ms
            (0, "0", 0, 0, 0), (0, "0", 0, 5, 5000), (-30, "0", 0, 5, 35_000),
            (30, "0", 0, 5, 5000), (0, "20", 0, 5, 25_000), (-30, "20", 0, 5, 35_000),
            (-30, "40", 0, 5, 45_000), (0, "20", 1500, 5, 26_500), (-3, "0", 1500, 1.5, 4500),
            // A clock that was set back by so much.
            (0, "0", 0, -100, 100_000), (0, "20", 0, -100, 120_000),
        ] as [(Int64, String, Int64, Double, Int64)])
    func `RFC 9111 4.2.3: the age is the greater of what Date and Age tell, and the time here`(
        date: Int64, age: String, delay: Int64, seconds: Double, expected: Int64
    ) throws {
        let entry = try StoredResponse.make(
            ["Date": Timestamp.field(date), "Age": age], delay: delay)
        #expect(entry.currentAge(at: .later(seconds)) == expected)
    }

    @Test func `RFC 9111 4.2: fresh for less than its lifetime, to the millisecond`() throws {
        let entry = try entry(["Cache-Control": "max-age=10"])
        #expect(entry.remainingLifetime(at: .later(9.999)) == 1)
        #expect(entry.remainingLifetime(at: .later(10)) == 0)
        #expect(entry.ttl(at: .later(9.999)) == 0)
        #expect(entry.ttl(at: .later(10.001)) == -1)
        #expect(entry.ttl(at: .later(12)) == -2)
        #expect(entry.ttl(at: .later(3)) == 7)
    }

    @Test func `RFC 9111 4.2.1: a lifetime of 2 to the 31 outlives any age`() throws {
        let forever = try entry(["Cache-Control": "max-age=99999999999"])
        #expect(forever.remainingLifetime(at: .later(1_000_000_000)) > 0)
        #expect(forever.remainingLifetime(at: Timestamp(milliseconds: .max)) < 0)
        let old = try entry(["Cache-Control": "max-age=2147483647", "Age": "2147483648"])
        #expect(old.remainingLifetime(at: .arrival) < 0)
    }

    @Test func `what is read of the fields once follows them when they change`() throws {
        var entry = try StoredResponse.make(["Cache-Control": "max-age=60", "Age": "7"])
        #expect(entry.freshnessLifetime == 60 && entry.age(at: .arrival) == 7)
        entry.headers = ["Date": Timestamp.field(-20), "Expires": Timestamp.field(10)]
        #expect(entry.freshnessLifetime == 30 && entry.age(at: .arrival) == 20)
        #expect(entry.remainingLifetime(at: .arrival) == 10_000)
        entry.headers = ["Date": "x", "Last-Modified": Timestamp.field(-1000)]
        #expect(entry.freshnessLifetime == 100 && entry.date == Timestamp.arrival.httpDate)
        // A date that cannot be read is that of the arrival, also of a later one.
        entry.requestTime = .later(500)
        entry.responseTime = .later(500)
        #expect(entry.freshnessLifetime == 150 && entry.date == Timestamp.later(500).httpDate)
        #expect(entry.age(at: .later(530)) == 30)
    }
}
