import Testing

@testable import Semantics

struct CacheUpdateTests {
    private let stale: HeaderList = [
        "Date": Timestamp.field(0), "ETag": "\"a\"", "Cache-Control": "max-age=10", "X": "old",
    ]

    private func update(
        _ answer: OriginAnswer, to request: CacheRequest = .make(), _ stored: [StoredResponse]
    ) throws -> CacheUpdate {
        let forwarding = try #require(
            CacheDecision(request, candidates: stored, at: answer.requestTime).forwarding)
        return CacheUpdate(answer, to: forwarding, candidates: stored)
    }

    @Test func `RFC 9111 4.3.3: a 304 to the cache's condition is a 200 to the client`() throws {
        let update = try update(
            .make(304, ["Date": Timestamp.field(100), "X": "new", "Cache-Control": "max-age=50"]),
            [.make(stale)])
        guard case .validated(let answer) = update.delivery else {
            Issue.record("delivered \(update.delivery)")
            return
        }
        #expect(answer.status == 200)
        #expect(answer.content == 0..<10)
        #expect(answer.headers.values(of: "X") == ["new"])
        #expect(!answer.headers.contains("Age"))
        let fresh = try #require(update.updated.first)
        #expect(update.updated.count == 1)
        #expect(fresh.id == 1)
        #expect(fresh.headers == answer.headers)
        #expect(fresh.remainingLifetime(at: .later(100)) == 50_000)
        #expect(update.storability == nil)
        #expect(update.removed.isEmpty && update.replaced.isEmpty && update.invalidated.isEmpty)
        #expect(
            CacheDecision(.make(), candidates: [fresh], at: .later(149)).word == "hit")
    }

    @Test func `RFC 9111 4.3.4: a 304 without a date makes a response fresh from now on`() throws {
        let update = try update(.make(304, after: 5000), [.make(stale)])
        #expect(update.updated.first?.remainingLifetime(at: .later(5000)) == 10_000)
    }

    @Test func `RFC 9110 14.2: a confirmed response answers the range that was asked for`() throws {
        let request = CacheRequest.make(["Range": "bytes=2-3"])
        guard
            case .validated(let answer) = try update(.make(304), to: request, [.make(stale)])
                .delivery
        else {
            Issue.record("not validated")
            return
        }
        #expect(answer.status == 206)
        #expect(answer.content == 2..<4)
    }

    @Test(
        arguments: [
            (["ETag": "\"a\""], [:], true), (["ETag": "\"a\""], ["ETag": "\"a\""], true),
            (["ETag": "\"a\""], ["ETag": "W/\"a\""], true),
            (["ETag": "\"a\""], ["ETag": "\"b\""], false),
            (["ETag": "W/\"a\""], ["ETag": "W/\"a\""], true), (["ETag": "a"], ["ETag": "a"], true),
            (["ETag": "a"], ["ETag": "\"a\""], false),
            (["Last-Modified": "x"], ["ETag": "\"b\""], true),
            (["Last-Modified": "x"], ["Last-Modified": "x"], true),
            (["Last-Modified": "x"], ["Last-Modified": "y"], false),
            (["ETag": "\"a\""], ["Last-Modified": "y"], true),
            (
                ["ETag": "\"a\"", "Last-Modified": "x"], ["ETag": "\"a\"", "Last-Modified": "y"],
                true
            ),
            (
                ["ETag": "\"a\"", "Last-Modified": "x"], ["ETag": "\"b\"", "Last-Modified": "x"],
                false
            ),
        ] as [(HeaderList, HeaderList, Bool)])
    func
        `RFC 9111 4.3.4: a 304 about something else changes nothing, and the origin is asked again`(
            stored: HeaderList, answer: HeaderList, isConfirmed: Bool
        ) throws
    {
        let update = try update(.make(304, answer), [.make(stored)])
        #expect(update.updated.count == (isConfirmed ? 1 : 0))
        switch update.delivery {
        case .validated: #expect(isConfirmed)
        case .again(let forwarding):
            #expect(!isConfirmed)
            #expect(!forwarding.isConditional)
            #expect(forwarding.headers.isEmpty)
            // Should that be answered by 304 too, it is the client's: there is no third request.
            #expect(CacheUpdate(.make(304), to: forwarding, candidates: []).delivery == .origin)
        case .origin, .stale: Issue.record("delivered \(update.delivery)")
        }
    }

    @Test
    func `RFC 9111 4.3.4: all variants with the same strong tag are updated, and stay variants`()
        throws
    {
        let vary: HeaderList = ["ETag": "\"a\"", "Vary": "A"]
        let stored = [
            try StoredResponse.make(vary, id: 1, to: .make(["A": "1"])),
            try StoredResponse.make(vary, id: 2, to: .make(["A": "2"])),
            try StoredResponse.make(["ETag": "\"b\"", "Vary": "A"], id: 3, to: .make(["A": "3"])),
            try StoredResponse.make(
                ["ETag": "W/\"a\"", "Vary": "A"], id: 4, to: .make(["A": "4"])),
        ]
        let update = try update(.make(304, ["ETag": "\"a\""]), to: .make(["A": "1"]), stored)
        #expect(update.updated.map(\.id) == [1, 2])
        #expect(update.updated.map(\.selecting) == stored.prefix(2).map(\.selecting))
    }

    @Test func `RFC 9111 4.1: a 304 with another Vary selects by it from now on`() throws {
        let request = CacheRequest.make(["A": "1", "B": "2"])
        let entry = try StoredResponse.make(["ETag": "\"a\"", "Vary": "A"], to: request)
        let update = try update(.make(304, ["Vary": "B"]), to: request, [entry])
        #expect(update.updated.first?.selecting.fields == [.init(name: "b", value: "2")])
    }

    @Test(arguments: [["Cache-Control": "no-store"], ["Vary": "*"]] as [HeaderList])
    func `RFC 9111 3: a 304 that must not be stored takes what it confirms with it`(
        headers: HeaderList
    ) throws {
        let update = try update(.make(304, headers), [.make(stale)])
        #expect(update.removed == [1])
        #expect(update.updated.isEmpty)
        guard case .validated = update.delivery else {
            Issue.record("delivered \(update.delivery)")
            return
        }
    }

    @Test func `RFC 9111 5.2.1.5: nothing of the answer to a no-store request is stored`() throws {
        let request = CacheRequest.make(["Cache-Control": "no-store"])
        let confirmed = try update(.make(304), to: request, [.make(stale)])
        #expect(confirmed.updated.isEmpty && confirmed.removed.isEmpty)
        let new = try update(
            .make(200, ["Cache-Control": "max-age=60"]), to: request, [.make(stale)])
        #expect(new.storability == .refused(.requestNoStore))
    }

    @Test func `RFC 9111 4.3.2: a 304 to the client's own condition is the client's`() throws {
        let request = CacheRequest.make(["If-None-Match": "\"b\""])
        let other = try update(.make(304, ["ETag": "\"b\""]), to: request, [.make(stale)])
        #expect(other.delivery == .origin)
        #expect(other.updated.isEmpty)
        let unnamed = try update(.make(304), to: request, [.make(stale)])
        #expect(unnamed.updated.isEmpty)
        let same = try update(
            .make(304, ["ETag": "\"a\""]), to: .make(["If-None-Match": "\"a\""]), [.make(stale)])
        #expect(same.delivery == .origin)
        #expect(same.updated.map(\.id) == [1])
        #expect(try update(.make(304), to: request, []).delivery == .origin)
    }

    @Test(
        arguments: [
            (200, ["Cache-Control": "max-age=1"], [], [1]), (200, [:], [], [1]),
            (200, ["Cache-Control": "no-store"], [1], []), (404, [:], [], [1]),
            (404, ["Cache-Control": "no-store"], [1], []), (206, [:], [], []),
            (302, [:], [1], []), (403, [:], [], []), (401, [:], [], []), (500, [:], [], []),
            (503, ["Cache-Control": "max-age=1"], [], [1]), (429, [:], [], []),
        ] as [(Int, HeaderList, [Int64], [Int64])])
    func `RFC 9111 4: a new answer takes the place of those to the same request`(
        status: Int, headers: HeaderList, removed: [Int64], replaced: [Int64]
    ) throws {
        let stored = [
            try StoredResponse.make(stale.merging(additional: ["Vary": "A"])),
            try StoredResponse.make(["Vary": "A"], id: 2, to: .make(["A": "2"])),
        ]
        let update = try update(.make(status, headers), stored)
        #expect(update.delivery == .origin)
        #expect(update.removed == removed)
        #expect(update.replaced == replaced)
        #expect((update.storability == .storable) == !replaced.isEmpty)
    }
}

struct HeadUpdateTests {
    private let stored: HeaderList = [
        "Date": Timestamp.field(0), "ETag": "\"a\"", "Last-Modified": "m", "Content-Length": "10",
        "Cache-Control": "max-age=10",
    ]

    private func head(
        _ status: Int = 200, _ headers: HeaderList, stored: HeaderList? = nil
    ) throws -> CacheUpdate {
        let entries = [
            try StoredResponse.make(stored ?? self.stored),
            try StoredResponse.make(["Vary": "A"], id: 2, to: .make(["A": "2"])),
        ]
        let forwarding = try #require(
            CacheDecision(.make(method: "HEAD"), candidates: entries, at: .later(100)).forwarding)
        return CacheUpdate(.make(status, headers), to: forwarding, candidates: entries)
    }

    @Test(
        arguments: [
            ([:], true), (["ETag": "\"a\""], true), (["ETag": "\"b\""], false),
            (["ETag": "W/\"a\""], false), (["Last-Modified": "m"], true),
            (["Last-Modified": "n"], false), (["ETag": "\"a\"", "Last-Modified": "n"], false),
            (["Content-Length": "10"], true), (["Content-Length": "11"], false),
            (["ETag": "\"a\"", "Content-Length": "9"], false),
        ] as [(HeaderList, Bool)])
    func `RFC 9111 4.3.5: HEAD's 200 updates what it agrees with, and makes stale what it does not`(
        headers: HeaderList, isSame: Bool
    ) throws {
        let update = try head(
            200, headers.merging(additional: ["X": "new", "Cache-Control": "max-age=60"]))
        #expect(update.delivery == .origin)
        #expect(update.storability == nil)
        let entry = try #require(update.updated.first)
        #expect(update.updated.map(\.id) == [1])
        #expect(entry.isOutdated == !isSame)
        #expect(entry.headers.first("X") == (isSame ? "new" : nil))
        let next = CacheDecision(.make(), candidates: [entry], at: .later(101))
        #expect(next.word == (isSame ? "hit" : "stale?"))
    }

    @Test(arguments: [("10", nil, true), ("11", nil, false), ("11", "gzip", true)])
    func `RFC 9111 4.3.5: without a length of its own, a response has that of its bytes`(
        length: String, coding: String?, isSame: Bool
    ) throws {
        let coded = HeaderList(coding.map { [HeaderField("Content-Encoding", $0)] } ?? [])
        let update = try head(200, ["Content-Length": length], stored: coded)
        #expect(update.updated.first?.isOutdated == !isSame)
    }

    @Test(arguments: [204, 206, 301, 304, 404, 410, 500, 503])
    func `RFC 9111 4.3.5: other answers to HEAD change nothing`(status: Int) throws {
        let update = try head(status, ["ETag": "\"c\""])
        #expect(update.updated.isEmpty && update.removed.isEmpty && update.replaced.isEmpty)
        #expect(update.storability == nil)
    }

    @Test func `RFC 9111 4.2.4: what HEAD has shown to be outdated is not used stale either`()
        throws
    {
        let control = "max-age=60, stale-while-revalidate=600, stale-if-error=600"
        var entry = try StoredResponse.make(["ETag": "\"a\"", "Cache-Control": control])
        entry.isOutdated = true
        let request = CacheRequest.make(["Cache-Control": "max-stale"])
        let decision = CacheDecision(request, candidates: [entry], at: .later(1))
        #expect(decision.word == "stale?")
        #expect(decision.forwarding?.answerInPlaceOfError(at: .later(1)) == nil)
    }
}

struct StaleIfErrorTests {
    private func forwarding(
        _ response: String, _ request: HeaderList = [:],
        policy: RequestCachePolicy = .useProtocolCachePolicy, after seconds: Double = 20
    ) throws -> (Forwarding, StoredResponse) {
        let entry = try StoredResponse.make(["Cache-Control": response, "Date": Timestamp.field(0)])
        let decision = CacheDecision(
            .make(request, policy: policy), candidates: [entry], at: .later(seconds))
        return (try #require(decision.forwarding), entry)
    }

    @Test(
        arguments: [
            ("max-age=10, stale-if-error=60", [:], true),
            ("max-age=10, STALE-IF-ERROR=60", [:], true),
            ("max-age=10, stale-if-error=10", [:], true),
            ("max-age=10, stale-if-error=9", [:], false), ("max-age=10", [:], false),
            ("max-age=10, stale-if-error=x", [:], false),
            ("max-age=10, stale-if-error", [:], false),
            ("max-age=10, stale-if-error=60, must-revalidate", [:], false),
            ("max-age=10, stale-if-error=60, no-cache", [:], false),
            ("max-age=10", ["Cache-Control": "stale-if-error=60"], true),
            ("max-age=10", ["Cache-Control": "stale-if-error=9"], false),
            ("max-age=10, must-revalidate", ["Cache-Control": "stale-if-error=60"], false),
            ("max-age=10, stale-if-error=60", ["Cache-Control": "no-cache"], false),
            ("max-age=10, stale-if-error=60", ["Pragma": "no-cache"], false),
        ] as [(String, HeaderList, Bool)])
    func `RFC 5861 4: stale-if-error hides an error as long as it says`(
        response: String, request: HeaderList, isHidden: Bool
    ) throws {
        let (forwarding, entry) = try forwarding(response, request)
        for status in [500, 502, 503, 504] {
            let answer = OriginAnswer.make(status, after: 20)
            let update = CacheUpdate(answer, to: forwarding, candidates: [entry])
            if case .stale(let stale) = update.delivery {
                #expect(isHidden)
                #expect(stale.status == 200)
                #expect(stale.headers.first("Age") == "20")
                #expect(update.storability == nil)
            } else {
                #expect(!isHidden)
                #expect(update.delivery == .origin)
            }
            #expect(update.removed.isEmpty)
        }
        #expect((forwarding.answerInPlaceOfError(at: .later(20)) != nil) == isHidden)
    }

    @Test(arguments: [200, 400, 403, 404, 429, 501, 505, 599])
    func `RFC 5861 4: other statuses are no errors to hide`(status: Int) throws {
        let (forwarding, entry) = try forwarding("max-age=10, stale-if-error=60")
        let update = CacheUpdate(.make(status, after: 20), to: forwarding, candidates: [entry])
        #expect(update.delivery == .origin)
    }

    @Test(
        arguments: [RequestCachePolicy.reloadIgnoringLocalCacheData, .reloadRevalidatingCacheData])
    func `S-15: who wants the origin asked gets its error`(policy: RequestCachePolicy) throws {
        let (forwarding, _) = try forwarding("max-age=10, stale-if-error=60", policy: policy)
        #expect(forwarding.answerInPlaceOfError(at: .later(20)) == nil)
    }
}

struct InvalidationTests {
    private func keys(
        _ method: String, _ status: Int = 200, location: WebURL? = nil,
        contentLocation: WebURL? = nil
    ) throws -> [String] {
        let request = CacheRequest.make(method: method)
        let forwarding = try #require(
            CacheDecision(request, candidates: [], at: .arrival).forwarding)
        let answer = OriginAnswer.make(
            status, location: location, contentLocation: contentLocation)
        return CacheUpdate(answer, to: forwarding, candidates: []).invalidated.map(\.url)
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "XYZ", "get"])
    func `RFC 9111 4.4: an unsafe or unknown method invalidates its URL unless it fails`(
        method: String
    ) throws {
        for status in [200, 201, 204, 299, 301, 303, 307, 399] {
            #expect(try keys(method, status) == ["http://example.com/a"])
        }
        for status in [400, 404, 409, 412, 500, 503, 599] {
            #expect(try keys(method, status).isEmpty)
        }
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "PROPFIND", "QUERY"])
    func `RFC 9111 4.4: a safe method invalidates nothing`(method: String) throws {
        #expect(try keys(method, location: .make("/b"), contentLocation: .make("/c")).isEmpty)
    }

    @Test func `RFC 9111 4.4: Location and Content-Location count on the same origin only`() throws
    {
        #expect(
            try keys("POST", location: .make("/b"), contentLocation: .make("/c"))
                == ["http://example.com/a", "http://example.com/b", "http://example.com/c"])
        #expect(
            try keys("POST", location: .make("/a"), contentLocation: .make("/b"))
                == ["http://example.com/a", "http://example.com/b"])
        #expect(
            try keys(
                "POST", location: .make("/b", host: "other.example"),
                contentLocation: .make("/b", port: 81)) == ["http://example.com/a"])
        #expect(
            try keys("POST", location: .make("/b", host: "EXAMPLE.com")).count == 2)
        #expect(try keys("POST", 500, location: .make("/b")).isEmpty)
    }
}
