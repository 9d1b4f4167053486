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
        #expect(update.removed.isEmpty && update.invalidated.isEmpty)
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

    @Test func `RFC 9111 4.3.4: a date confirms the response that was asked about, and no other`()
        throws
    {
        let vary: HeaderList = ["Last-Modified": "m", "Vary": "A"]
        let stored = [
            try StoredResponse.make(vary, id: 1, to: .make(["A": "1"])),
            try StoredResponse.make(vary, id: 2, to: .make(["A": "2"])),
        ]
        let update = try update(.make(304, ["Last-Modified": "m"]), to: .make(["A": "1"]), stored)
        #expect(update.updated.map(\.id) == [1])
    }

    @Test func `RFC 9111 4.3.5: what HEAD made stale is fresh again once the origin confirms it`()
        throws
    {
        var outdated = try StoredResponse.make(stale)
        outdated.isOutdated = true
        let update = try update(.make(304), [outdated])
        let fresh = try #require(update.updated.first)
        #expect(CacheDecision(.make(), candidates: [fresh], at: .later(101)).word == "hit")
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
            (200, ["Cache-Control": "max-age=1"], [], true), (200, [:], [], true),
            (200, ["Cache-Control": "no-store"], [1], false), (404, [:], [], true),
            (404, ["Cache-Control": "no-store"], [1], false), (206, [:], [], false),
            (302, [:], [1], false), (403, [:], [], false), (401, [:], [], false),
            (500, [:], [], false), (503, ["Cache-Control": "max-age=1"], [], true),
            (429, [:], [], false),
        ] as [(Int, HeaderList, [Int64], Bool)])
    func `RFC 9111 4: a new answer takes the place of those to the same request`(
        status: Int, headers: HeaderList, removed: [Int64], isStored: Bool
    ) throws {
        let stored = [
            try StoredResponse.make(stale.merging(additional: ["Vary": "A"])),
            try StoredResponse.make(["Vary": "A"], id: 2, to: .make(["A": "2"])),
        ]
        let update = try update(.make(status, headers), stored)
        #expect(update.delivery == .origin)
        #expect(update.removed == removed)
        #expect((update.storability == .storable) == isStored)
        let new = try StoredResponse.make(headers, id: 3, status: status)
        #expect(new.predecessors(answering: .make(), among: stored)?.map(\.id) == [1])
    }

    @Test func `RFC 9111 4: an answer that was overtaken takes nobody's place`() throws {
        let slow = try StoredResponse.make(
            ["Date": "Mon, 01 Jan 2001 00:00:00 GMT"], delay: 2_000, at: .later(2))
        for (arrival, isOvertaken) in [(1.0, true), (-1.0, false)] {
            let other = try StoredResponse.make(id: 2, at: .later(arrival))
            let replaced = slow.predecessors(answering: .make(), among: [other])
            #expect(replaced?.map(\.id) == (isOvertaken ? nil : [2]))
            #expect(other.predecessors(answering: .make(), among: [slow])?.map(\.id) == [1])
        }
    }
}
