import Testing

@testable import Semantics

/// S-15: what a policy makes of what is stored.
struct CachePolicyTests {
    @Test(
        arguments: [
            // nothing stored, fresh, stale with a validator, stale without, no-cache, of another
            // variant
            (
                .useProtocolCachePolicy,
                ["uri-miss", "hit", "stale?", "stale", "request?", "vary-miss"]
            ),
            (
                .reloadIgnoringLocalCacheData,
                ["bypass", "bypass", "bypass", "bypass", "bypass", "bypass"]
            ),
            (
                .reloadIgnoringLocalAndRemoteCacheData,
                ["bypass", "bypass", "bypass", "bypass", "bypass", "bypass"]
            ),
            (.returnCacheDataElseLoad, ["uri-miss", "hit", "hit", "hit", "hit", "vary-miss"]),
            (.returnCacheDataDontLoad, ["-1008", "hit", "hit", "hit", "hit", "-1008"]),
            (
                .reloadRevalidatingCacheData,
                ["uri-miss", "request?", "stale?", "stale", "request?", "vary-miss"]
            ),
        ] as [(RequestCachePolicy, [String])])
    func `S-15: the six policies of NSURLRequest`(
        policy: RequestCachePolicy, expected: [String]
    ) throws {
        let stored: [[StoredResponse]] = [
            [],
            [try .make(["Cache-Control": "max-age=60", "ETag": "\"a\""])],
            [try .make(["Cache-Control": "max-age=1, must-revalidate", "ETag": "\"a\""])],
            [try .make([:])],
            [try .make(["Cache-Control": "max-age=60, no-cache", "ETag": "\"a\""])],
            [try .make(["Cache-Control": "max-age=60", "Vary": "A"], to: .make(["A": "1"]))],
        ]
        let words = stored.map {
            CacheDecision(.make(policy: policy), candidates: $0, at: .later(10)).word
        }
        #expect(words == expected)
    }

    @Test(
        arguments: [
            (.useProtocolCachePolicy, "method"), (.reloadIgnoringLocalCacheData, "bypass"),
            (.reloadIgnoringLocalAndRemoteCacheData, "bypass"),
            (.returnCacheDataElseLoad, "method"), (.returnCacheDataDontLoad, "-1008"),
            (.reloadRevalidatingCacheData, "method"),
        ] as [(RequestCachePolicy, String)])
    func `S-15: a POST is never answered from the cache`(
        policy: RequestCachePolicy, expected: String
    ) throws {
        let fresh = try StoredResponse.make(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        let decision = CacheDecision(
            .make(method: "POST", policy: policy), candidates: [fresh], at: .arrival)
        #expect(decision.word == expected)
    }

    private func sent(
        _ policy: RequestCachePolicy, _ headers: HeaderList, candidates: [StoredResponse] = []
    ) -> HeaderList? {
        CacheDecision(.make(headers, policy: policy), candidates: candidates, at: .arrival)
            .forwarding?.headers
    }

    @Test func `S-15: the remote policy makes the caches on the way ask the origin`() {
        #expect(sent(.reloadIgnoringLocalCacheData, ["A": "b"]) == ["A": "b"])
        #expect(sent(.useProtocolCachePolicy, ["A": "b"]) == ["A": "b"])
        #expect(
            sent(.reloadIgnoringLocalAndRemoteCacheData, ["A": "b"])
                == ["A": "b", "Cache-Control": "no-cache", "Pragma": "no-cache"])
        #expect(
            sent(.reloadIgnoringLocalAndRemoteCacheData, ["Cache-Control": "no-store"])
                == ["Cache-Control": "no-store", "Cache-Control": "no-cache", "Pragma": "no-cache"])
        let own: HeaderList = ["Pragma": "x", "Cache-Control": "no-cache"]
        #expect(sent(.reloadIgnoringLocalAndRemoteCacheData, own) == own)
    }

    @Test(
        arguments: [
            (["A": "b"], ["A": "b", "Cache-Control": "max-age=0"]),
            (
                ["Cache-Control": "no-store"],
                ["Cache-Control": "no-store", "Cache-Control": "max-age=0"]
            ),
            (["Cache-Control": "max-age=9"], ["Cache-Control": "max-age=9"]),
            (["Cache-Control": "No-Cache"], ["Cache-Control": "No-Cache"]),
        ] as [(HeaderList, HeaderList)])
    func `S-15, RFC 9111 5.2.1.1: who revalidates wants the origin's word, not a proxy's`(
        own: HeaderList, expected: HeaderList
    ) throws {
        #expect(sent(.reloadRevalidatingCacheData, own) == expected)
        let stored = try StoredResponse.make(
            [
                "Cache-Control": "max-age=60", "ETag": "\"a\"", "Vary": "Cache-Control",
            ], to: .make(own))
        // Selected by what the client sends, not by what is added.
        #expect(
            sent(.reloadRevalidatingCacheData, own, candidates: [stored])
                == expected.merging(additional: ["If-None-Match": "\"a\""]))
    }
}
