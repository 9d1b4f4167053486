import Testing

@testable import Semantics

struct CachedAnswerTests {
    private let response: HeaderList = [
        "Date": Timestamp.field(0), "ETag": "\"a\"", "Content-Length": "10",
        "Content-Type": "text/plain", "Cache-Control": "max-age=60", "Vary": "A",
        "Last-Modified": Timestamp.field(-1000), "Age": "3",
    ]

    private func answer(
        _ request: HeaderList, _ response: HeaderList? = nil, method: String = "GET",
        status: Int = 200, length: Int64 = 10, after seconds: Double = 7
    ) throws -> CachedAnswer? {
        let entry = try StoredResponse.make(
            response ?? self.response, status: status, length: length)
        return CachedAnswer(entry, to: .make(request, method: method), at: .later(seconds))
    }

    @Test func `RFC 9111 4, 5.1: a hit is what was stored, with its age`() throws {
        let answer = try #require(try answer([:]))
        #expect(answer.status == 200)
        #expect(answer.entry == 1)
        #expect(answer.content == 0..<10)
        #expect(
            answer.headers
                == HeaderList(
                    response.removing(["Age"]).fields + [HeaderField("Age", "10")]))
    }

    @Test func `RFC 9110 9.3.2: HEAD has the same head and no content`() throws {
        let head = try #require(try answer([:], method: "HEAD"))
        #expect(head.headers == (try answer([:])?.headers))
        #expect(head.content.isEmpty)
        #expect(try answer(["Range": "bytes=0-1"], method: "HEAD")?.status == 200)
    }

    @Test(
        arguments: [
            ("\"a\"", "\"a\"", 304), ("\"a\"", "\"b\"", 200), ("\"a\"", "\"b\", \"a\", \"c\"", 304),
            ("\"a\"", "\"a\", \"b\"", 304), ("\"a\"", "\"b\", \"a\"", 304), ("\"a\"", "*", 304),
            ("\"a\"", "W/\"a\"", 304), ("W/\"a\"", "\"a\"", 304), ("W/\"a\"", "W/\"a\"", 304),
            ("W/\"a\"", "W/\"b\"", 200), ("W/\"a\"", "w/\"a\"", 200), ("W/\"a\"", "W\"a\"", 200),
            ("W/\"a\"", "W\\\"a\"", 200), ("\"a\"", "a", 200), ("a", "\"a\"", 200), ("a", "a", 304),
            ("a", "b, a", 304), ("\"a,b\"", "\"x\", \"a,b\"", 304), ("\"a\"", "x, \"a\"", 304),
            ("\"A\"", "\"a\"", 200), ("\"a\u{fc}\"", "\"a\u{fc}\"", 304), (nil, "\"a\"", 200),
        ] as [(String?, String, Int)])
    func `RFC 9111 4.3.2: a client that has what is stored gets 304`(
        stored: String?, condition: String, status: Int
    ) throws {
        let headers = HeaderList(stored.map { [HeaderField("ETag", $0)] } ?? [])
        #expect(try answer(["If-None-Match": condition], headers)?.status == status)
    }

    @Test(
        arguments: [
            (-1000, -1000, 304), (-1000, -999, 304), (-1000, -1001, 200), (nil, 0, 304),
            (nil, 1, 304), (nil, -1, 200),
        ] as [(Int64?, Int64, Int)])
    func `RFC 9111 4.3.2: If-Modified-Since compares with Last-Modified, else with Date`(
        modified: Int64?, since: Int64, status: Int
    ) throws {
        var headers: HeaderList = ["Date": Timestamp.field(0)]
        if let modified { headers.append("Last-Modified", Timestamp.field(modified)) }
        let condition: HeaderList = ["If-Modified-Since": Timestamp.field(since)]
        #expect(try answer(condition, headers)?.status == status)
    }

    @Test
    func `RFC 9110 13.1.3: If-Modified-Since may have any format, and means nothing beside a tag`()
        throws
    {
        let modified: HeaderList = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]
        #expect(
            try answer(["If-Modified-Since": "Sunday, 06-Nov-94 08:49:37 GMT"], modified)?.status
                == 304)
        #expect(try answer(["If-Modified-Since": "then"], modified)?.status == 200)
        #expect(
            try answer(["If-Modified-Since": Timestamp.field(0), "If-None-Match": "\"b\""])?.status
                == 200)
    }

    @Test func `RFC 9110 15.4.5: a 304 has what guides an update, and no content`() throws {
        let answer = try #require(try answer(["If-None-Match": "\"a\""]))
        #expect(
            answer.headers.fields.map(\.name)
                == ["Date", "ETag", "Cache-Control", "Vary", "Last-Modified", "Age"])
        #expect(answer.content.isEmpty)
    }

    @Test(arguments: [204, 301, 404, 500])
    func `RFC 9110 13.2.1: a condition is about a 200 only`(status: Int) throws {
        #expect(try answer(["If-None-Match": "\"a\""], status: status)?.status == status)
        #expect(try answer(["Range": "bytes=0-1"], status: status)?.status == status)
    }

    @Test(
        arguments: [
            ("bytes=0-4", 0..<5), ("bytes=5-", 5..<10), ("bytes=-3", 7..<10),
            ("bytes=9-99", 9..<10),
            ("BYTES=0-0", 0..<1), ("bytes=-99", 0..<10), ("bytes= 2-3", 2..<4),
            ("bytes=0-1,3-4", nil), ("bytes=10-", nil), ("bytes=-0", nil), ("bytes=4-2", nil),
            ("bytes=x", nil), ("lines=0-1", nil), ("0-1", nil),
        ] as [(String, Range<Int64>?)])
    func `RFC 9111 3.3, RFC 9110 14: a part of what is stored whole`(
        range: String, expected: Range<Int64>?
    ) throws {
        guard let answer = try answer(["Range": range]) else {
            #expect(expected == nil)
            return
        }
        let part = try #require(expected)
        #expect(answer.status == 206)
        #expect(answer.content == part)
        #expect(
            answer.headers.values(of: "Content-Range")
                == ["bytes \(part.lowerBound)-\(part.upperBound - 1)/10"])
        #expect(answer.headers.values(of: "Content-Length") == ["\(part.count)"])
        #expect(answer.headers.first("ETag") == "\"a\"")
        #expect(answer.headers.first("Age") == "10")
    }

    @Test(
        arguments: [
            ("\"a\"", 206), ("\"b\"", 200), ("W/\"a\"", 200), (Timestamp.field(-1000), 206),
            (Timestamp.field(-999), 200), ("x", 200),
        ])
    func `RFC 9110 13.1.5: If-Range with another validator asks for the whole`(
        condition: String, status: Int
    ) throws {
        let answer = try answer(["Range": "bytes=0-1", "If-Range": condition])
        #expect(answer?.status == status)
        #expect(answer?.content == (status == 206 ? 0..<2 : 0..<10))
    }

    @Test func `S-76: a part of coded bytes that are kept decoded is not in the cache`() throws {
        let coded: HeaderList = ["Content-Encoding": "gzip"]
        #expect(try answer(["Range": "bytes=0-1"], coded) == nil)
        #expect(try answer([:], coded)?.status == 200)
    }

    @Test func `S-24: what is stored counts its texts too, and takes a twentieth at most`() throws {
        let entry = try StoredResponse.make(
            ["Date": Timestamp.field(0), "Vary": "A"], to: .make(["A": "12"]), length: 1000)
        #expect(entry.size == 1000 + 512 + 4 + 29 + 5 + 3 + 20)
        var capacity = CacheCapacity()
        capacity.memoryCapacity = 20_000
        capacity.diskCapacity = 0
        #expect(capacity.memoryAdmits(1000))
        #expect(!capacity.memoryAdmits(1001))
        #expect(!capacity.diskAdmits(entry.size))
    }
}
