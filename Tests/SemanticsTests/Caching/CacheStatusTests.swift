import Testing

@testable import Semantics

struct CacheStatusTests {
    @Test(
        arguments: [
            (CacheStatus(.hit), "Ferry; hit"), (CacheStatus(.hit, ttl: 376), "Ferry; hit; ttl=376"),
            (CacheStatus(.hit, ttl: -412), "Ferry; hit; ttl=-412"),
            (CacheStatus(.hit, isStored: true), "Ferry; hit"),
            (CacheStatus(.forward(.uriMiss, status: nil)), "Ferry; fwd=uri-miss"),
            (CacheStatus(.forward(.varyMiss, status: 200)), "Ferry; fwd=vary-miss; fwd-status=200"),
            (
                CacheStatus(.forward(.stale, status: 304), isStored: true, ttl: 60),
                "Ferry; fwd=stale; fwd-status=304; stored; ttl=60"
            ),
            (
                CacheStatus(.forward(.method, status: 200), detail: "response-no-store"),
                "Ferry; fwd=method; fwd-status=200; detail=response-no-store"
            ),
            (
                CacheStatus(.forward(.bypass, status: nil), detail: "a \"b\" \\ \u{e9}\n"),
                "Ferry; fwd=bypass; detail=\"a \\\"b\\\" \\\\ \""
            ),
            (CacheStatus(.hit, detail: "1st"), "Ferry; hit; detail=\"1st\""),
            (CacheStatus(.hit, detail: ""), "Ferry; hit; detail=\"\""),
        ])
    func `RFC 9211 2: how a request was dealt with`(status: CacheStatus, text: String) {
        #expect(status.description == text)
    }

    @Test(
        arguments: [
            (304, [:], "Ferry; fwd=stale; fwd-status=304; stored; ttl=10"),
            (304, ["ETag": "\"b\""], "Ferry; fwd=stale; fwd-status=304"),
            // It is stored when its content is whole, which its head does not tell.
            (200, [:], "Ferry; fwd=stale; fwd-status=200"),
            (
                200, ["Cache-Control": "no-store"],
                "Ferry; fwd=stale; fwd-status=200; detail=response-no-store"
            ),
            (503, [:], "Ferry; fwd=stale; fwd-status=503; detail=not-cacheable"),
        ] as [(Int, HeaderList, String)])
    func `RFC 9211 2: what came back, and what it did`(
        status: Int, headers: HeaderList, text: String
    ) throws {
        let entry = try StoredResponse.make(["ETag": "\"a\"", "Cache-Control": "max-age=10"])
        let forwarding = try #require(
            CacheDecision(.make(), candidates: [entry], at: .later(100)).forwarding)
        let answer = OriginAnswer.make(status, headers)
        let update = CacheUpdate(answer, to: forwarding, candidates: [entry])
        #expect(
            CacheStatus(forwarded: forwarding, answer: answer, update: update).description == text)
        #expect(
            CacheStatus(forwarded: forwarding, answer: nil, update: nil).description
                == "Ferry; fwd=stale")
    }

    @Test func `RFC 9211 2.2: the reasons have the registered names`() {
        #expect(
            ForwardReason.allCases.map(\.rawValue)
                == ["bypass", "method", "uri-miss", "vary-miss", "request", "stale", "partial"])
    }

    @Test func `RFC 9211 2: the caches on the way come first`() throws {
        let entry = try StoredResponse.make([
            "Cache-Control": "max-age=60", "Cache-Status": "Edge; hit",
        ])
        let headers = CacheStatus(hit: entry, at: .later(7)).appended(to: entry.headers)
        #expect(headers.values(of: "Cache-Status") == ["Edge; hit", "Ferry; hit; ttl=53"])
    }
}
