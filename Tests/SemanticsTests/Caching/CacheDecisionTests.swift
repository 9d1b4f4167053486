import Testing

@testable import Semantics

/// RFC 9111 §4: the protocol's own rules.
struct CacheDecisionTests {
    private func word(
        _ request: HeaderList, _ response: HeaderList, after seconds: Double, status: Int = 200,
        method: String = "GET"
    ) throws -> String {
        let entry = try StoredResponse.make(
            response.merging(additional: ["ETag": "\"a\""]), status: status)
        return CacheDecision(
            .make(request, method: method), candidates: [entry], at: .later(seconds)
        ).word
    }

    @Test(
        arguments: [
            ("max-age=60", 59, "hit"), ("max-age=60", 60, "stale?"),
            ("max-age=60, no-cache", 1, "request?"), ("max-age=60, NO-CACHE", 1, "request?"),
            ("max-age=60, no-cache=\"x\"", 1, "hit"), ("max-age=60, no-cache=\"x\"", 61, "stale?"),
            ("max-age=60, must-revalidate", 1, "hit"),
            ("max-age=60, must-revalidate", 61, "stale?"),
            ("max-age=60, proxy-revalidate", 1, "hit"), ("max-age=60, private", 1, "hit"),
            ("max-age=60, immutable", 61, "stale?"), ("max-age=60, public", 1, "hit"),
            ("s-maxage=60", 1, "stale?"), ("max-age=60, s-maxage=1", 30, "hit"),
            ("max-age=60, stale-while-revalidate=30", 59, "hit"),
            ("max-age=60, stale-while-revalidate=30", 61, "hit+"),
            ("max-age=60, stale-while-revalidate=30", 90, "hit+"),
            ("max-age=60, stale-while-revalidate=30", 91, "stale?"),
            ("max-age=60, stale-while-revalidate=x", 61, "stale?"),
            ("max-age=60, stale-while-revalidate=30, must-revalidate", 61, "stale?"),
            ("max-age=60, stale-while-revalidate=30, no-cache", 61, "stale?"),
            ("max-age=60, stale-if-error=30", 61, "stale?"),
        ] as [(String, Double, String)])
    func `RFC 9111 4.2, RFC 5861 3: what the response says about its use`(
        control: String, seconds: Double, expected: String
    ) throws {
        #expect(try word([:], ["Cache-Control": control], after: seconds) == expected)
    }

    @Test(
        arguments: [
            ("no-cache", 10, "request?"), ("NO-cache", 10, "request?"), ("no-cache", 70, "stale?"),
            ("max-age=0", 0, "request?"), ("max-age=5", 10, "request?"), ("max-age=10", 10, "hit"),
            ("max-age=3600", 10, "hit"), ("max-age=3600", 61, "stale?"),
            ("max-age=x", 10, "request?"), ("min-fresh=50", 10, "hit"),
            ("min-fresh=51", 10, "request?"), ("min-fresh=x", 10, "request?"),
            ("max-stale", 1_000_000, "hit"), ("max-stale=10", 70, "hit"),
            ("max-stale=10", 71, "stale?"), ("max-stale=x", 61, "stale?"),
            ("max-stale=", 61, "stale?"), ("max-stale, max-age=10", 61, "stale?"),
            ("max-stale, min-fresh=1", 61, "stale?"), ("max-stale, no-cache", 61, "stale?"),
            ("no-store", 10, "hit"), ("no-transform, foo=bar", 10, "hit"),
            ("only-if-cached", 10, "hit"), ("only-if-cached", 61, "504"),
            ("only-if-cached, max-stale", 61, "hit"), ("only-if-cached, no-cache", 10, "504"),
        ] as [(String, Double, String)])
    func `RFC 9111 5.2.1: what the client's directives take`(
        control: String, seconds: Double, expected: String
    ) throws {
        let response: HeaderList = ["Cache-Control": "max-age=60"]
        #expect(try word(["Cache-Control": control], response, after: seconds) == expected)
    }

    @Test(arguments: ["max-age=60, must-revalidate", "max-age=60, no-cache"])
    func `RFC 9111 4.2.4: max-stale does not move a response that forbids it`(
        control: String
    ) throws {
        let response: HeaderList = ["Cache-Control": control]
        #expect(try word(["Cache-Control": "max-stale"], response, after: 61) == "stale?")
    }

    @Test(
        arguments: [
            ("max-age=1", "stale?"), ("min-fresh=1", "stale?"), ("max-age=3600", "hit+"),
            ("no-cache", "stale?"), ("max-stale=1", "hit+"), ("max-stale=9", "hit"),
        ])
    func `RFC 5861 3: stale-while-revalidate gives nothing that the client does not take`(
        control: String, expected: String
    ) throws {
        let response: HeaderList = ["Cache-Control": "max-age=60, stale-while-revalidate=30"]
        #expect(try word(["Cache-Control": control], response, after: 65) == expected)
    }

    @Test(
        arguments: [
            (["Pragma": "no-cache"], "request?"), (["Pragma": "No-Cache, x"], "request?"),
            (["Pragma": "x"], "hit"),
            (["Pragma": "no-cache", "Cache-Control": "max-age=90"], "hit"),
            (["Authorization": "Basic x"], "hit"), (["Cookie": "a=b"], "hit"),
            (["If-Match": "\"a\""], "bypass"), (["If-Unmodified-Since": "x"], "bypass"),
            (["Range": "bytes=0-1"], "hit"), (["Range": "bytes=0-1, 3-4"], "partial"),
            (["Range": "bytes=10-"], "partial"), (["Range": "lines=1-2"], "partial"),
            (["If-None-Match": "\"b\""], "hit"),
        ] as [(HeaderList, String)])
    func `RFC 9111 4.3.2, 5.4: what other fields of the request mean to the cache`(
        request: HeaderList, expected: String
    ) throws {
        #expect(try word(request, ["Cache-Control": "max-age=60"], after: 1) == expected)
    }

    @Test func `RFC 9111 4: HEAD is answered by what answers GET, other methods never are`() throws
    {
        let response: HeaderList = ["Cache-Control": "max-age=60"]
        #expect(try word([:], response, after: 1, method: "HEAD") == "hit")
        #expect(try word([:], response, after: 61, method: "HEAD") == "stale")
        for method in ["POST", "PUT", "OPTIONS", "QUERY", "get", "XYZ"] {
            #expect(try word([:], response, after: 1, method: method) == "method")
        }
    }

    @Test(arguments: [200, 203, 204, 299, 302, 307, 400, 404, 410, 499, 500, 502, 503, 504, 599])
    func `RFC 9111 4.2: any status is used while it says that it is fresh`(status: Int) throws {
        let response: HeaderList = ["Cache-Control": "max-age=60"]
        #expect(try word([:], response, after: 59, status: status) == "hit")
        #expect(try word([:], response, after: 60, status: status) == "stale?")
    }

    @Test(
        arguments: [
            (.useProtocolCachePolicy, "504"), (.returnCacheDataElseLoad, "504"),
            (.returnCacheDataDontLoad, "-1008"), (.reloadIgnoringLocalCacheData, "bypass"),
            (.reloadRevalidatingCacheData, "uri-miss"),
        ] as [(RequestCachePolicy, String)])
    func `S-15: a policy that loads in any case loads, whatever only-if-cached says`(
        policy: RequestCachePolicy, expected: String
    ) {
        let request = CacheRequest.make(["Cache-Control": "only-if-cached"], policy: policy)
        #expect(CacheDecision(request, candidates: [], at: .arrival).word == expected)
    }

    @Test(
        arguments: [
            ["If-Match": "\"a\""], ["Range": "bytes=0-1,4-5"], ["If-Unmodified-Since": "x"],
        ] as [HeaderList])
    func `RFC 9111 5.2.1.7: only-if-cached never goes to the origin`(headers: HeaderList) throws {
        let request = headers.merging(additional: ["Cache-Control": "only-if-cached"])
        #expect(try word(request, ["Cache-Control": "max-age=60"], after: 1) == "504")
    }

    @Test func `RFC 9111 5.2.1.7: only-if-cached gets 504 where nothing is stored`() {
        let decision = CacheDecision(
            .make(["Cache-Control": "only-if-cached"]), candidates: [], at: .arrival)
        #expect(decision.answer == .gatewayTimeout)
        #expect(decision.answer?.status == 504)
        #expect(decision.answer?.content.isEmpty == true)
    }

    @Test func `RFC 9111 4.1: of several that match the newest by Date is used`() throws {
        let first = CacheRequest.make(["A": "1"])
        func stored(_ id: Int64, _ vary: String, _ date: Int64, to request: CacheRequest) throws
            -> StoredResponse
        {
            try .make(
                [
                    "Date": Timestamp.field(date), "Vary": vary, "Cache-Control": "max-age=600",
                ], id: id, to: request)
        }
        let candidates = [
            try stored(1, "A", -30, to: first), try stored(2, "B", -10, to: first),
            try stored(3, "A", -5, to: .make(["A": "2"])), try stored(4, "B", -20, to: first),
        ]
        func used(_ request: CacheRequest, _ candidates: [StoredResponse]) -> Int64? {
            CacheDecision(request, candidates: candidates, at: .arrival).answer?.entry
        }
        for order in [candidates, candidates.reversed()] {
            #expect(used(first, order) == 2)
            #expect(used(.make(["A": "2"]), order) == 3)
            #expect(used(.make(["A": "1", "B": "x"]), order) == 1)
        }
    }
}
