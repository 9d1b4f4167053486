import Testing

@testable import Semantics

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
