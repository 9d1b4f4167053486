import Testing

@testable import Semantics

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
        #expect(update.updated.isEmpty && update.removed.isEmpty)
        #expect(update.storability == nil)
    }

    @Test func `RFC 9111 4.3.5: a 200 says nothing about the fields of a stored 404`() throws {
        let entry = try StoredResponse.make(stored, status: 404)
        let forwarding = try #require(
            CacheDecision(.make(method: "HEAD"), candidates: [entry], at: .later(100)).forwarding)
        #expect(CacheUpdate(.make(200), to: forwarding, candidates: [entry]).updated.isEmpty)
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
