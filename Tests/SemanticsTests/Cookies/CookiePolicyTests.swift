import Testing

import Semantics

/// S-21: whose cookies a session takes; S-25: that a jar is the session's own.
struct CookiePolicyTests {
    @Test(
        arguments: [
            ("http://a.example.org/", "http://a.example.org/", nil),
            ("http://a.example.org/", "https://b.example.org:8443/x", nil),
            ("http://cdn.a.example.org/", "http://example.org/", nil),
            ("http://EXAMPLE.org/", "http://www.example.ORG./", nil),
            ("http://ads.example.com/", "http://example.org/", .thirdParty),
            ("http://badexample.org/", "http://example.org/", .thirdParty),
            ("http://a.co.uk/", "http://b.co.uk/", .thirdParty),
            ("http://x.a.co.uk/", "http://y.a.co.uk/", nil),
            ("http://x.b.ck/", "http://y.b.ck/", .thirdParty),
            ("http://localhost:1/", "http://localhost:2/", nil),
            ("http://127.0.0.1:1/", "http://127.0.0.1:2/", nil),
            ("http://127.0.0.1/", "http://10.0.0.1/", .thirdParty),
            ("http://[::1]/", "http://[0::1]/", nil),
            ("http://[::1]/", "http://[::2]/", .thirdParty),
            ("http://127.0.0.1/", "http://localhost/", .thirdParty),
        ] as [(String, String, CookieRejection?)])
    func `S-21 onlyFromMainDocumentDomain takes cookies of the task's site`(
        url: String, mainDocument: String, rejection: CookieRejection?
    ) {
        var trial = CookieTrial(accept: .onlyFromMainDocumentDomain)
        let rejections = trial.answer(["a=b"], from: url, mainDocument: mainDocument)
        #expect(rejections == (rejection.map { [$0] } ?? []))
        #expect(trial.jar.count == (rejection == nil ? 1 : 0))
    }

    @Test func `S-21 always takes all, never takes none; both send what is there`() {
        var trial = CookieTrial(accept: .always)
        let main = "http://example.org/"
        #expect(trial.answer(["a=b"], from: "http://example.com/", mainDocument: main) == [])
        trial.policy.accept = .never
        #expect(trial.answer(["c=d", ""], from: main) == [.acceptPolicy, .acceptPolicy])
        #expect(trial.answer(["a=; Max-Age=0"], from: "http://example.com/") == [.acceptPolicy])
        #expect(trial.field(for: "http://example.com/") == "a=b")
        #expect(CookiePolicy { _ in true }.accept == .onlyFromMainDocumentDomain)
    }

    @Test func `S-21 the policy is for responses, not for the client's own cookies`() throws {
        var trial = CookieTrial(accept: .never)
        let cookie = Cookie(
            name: "a", value: "b", domain: "example.org", creationTime: trial.now)
        let changes = try trial.jar.store(cookie, policy: trial.policy, at: trial.now)
        #expect(changes.stored.map(\.name) == ["a"])
        #expect(trial.field(for: "http://example.org/") == "a=b")
    }

    @Test func `S-25 what one session's jar learns, another does not know`() {
        var one = CookieTrial()
        one.answer(["a=1"], from: "http://example.org/")
        var other = one
        other.answer(["a=2", "b=3"], from: "http://example.org/")
        other.jar.removeAll()
        other.answer(["c=4"], from: "http://example.org/")
        #expect(one.field(for: "http://example.org/") == "a=1")
        #expect(other.field(for: "http://example.org/") == "c=4")
    }

    @Test func `every reason has a sentence of its own`() {
        let sentences = CookieRejection.allCases.map(\.sentence)
        #expect(Set(sentences).count == sentences.count)
        #expect(sentences.allSatisfy { $0.hasSuffix(".") })
    }
}
