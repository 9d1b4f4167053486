import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

extension TestGateway {
    /// Opens a space of Basic for a session: its first task is asked, or takes what is remembered.
    func open(
        _ url: String, realm: String = "x", by credential: (String, String) = ("alice", "secret"),
        _ persistence: CredentialPersistence = .forSession, in session: SessionID
    ) async throws {
        let header: HeaderList = ["WWW-Authenticate": "Basic realm=\(realm)"]
        let number = network.attempts.count
        let task = try await create(try spec(.data, url), in: session)
        try await network.attempt(number).answer(401, header)
        try await answer(task, .password(credential.0, credential.1, persistence))
        try await network.attempt(number + 1).answer()
        _ = try await finished(task)
    }

    /// What the first attempt of a new task to a URL presents, as `user:password`; it is answered
    /// with 200.
    func caller(
        of url: String, headers: HeaderList = [:], in session: SessionID
    ) async throws -> String? {
        let number = network.attempts.count
        let task = try await create(try spec(.data, url, headers: headers), in: session)
        let attempt = try await network.attempt(number)
        attempt.answer()
        _ = try await finished(task)
        return attempt.request.credential.map { "\($0.user):\($0.password)" }
    }
}

/// What a space has accepted goes with later requests unasked: Basic, and what is common to all
/// (S-83).
@Suite(.onLoop)
struct UnaskedCredentialTests {
    private static let basic: HeaderList = ["WWW-Authenticate": "Basic realm=x"]

    @Test(arguments: [CredentialPersistence.none, .forSession, .permanent]) @LoopActor
    func `Basic goes along up to the last slash of what it has opened, and nowhere else (S-83)`(
        persistence: CredentialPersistence
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.open("http://origin.test/docs/a", persistence, in: session)
        let isKept = persistence != .none
        for (url, isInside) in [
            ("http://origin.test/docs/a", isKept), ("http://origin.test/docs/b/c?d", isKept),
            ("http://origin.test/docs/", isKept), ("http://origin.test/docs", false),
            ("http://origin.test/", false), ("http://origin.test/docs2/a", false),
            ("http://origin.test:81/docs/a", false), ("https://origin.test/docs/a", false),
            ("http://other.test/docs/a", false),
        ] {
            let caller = try await harness.caller(of: url, in: session)
            #expect(caller == (isInside ? "alice:secret" : nil), "\(url)")
        }
        // Nor does another session know of it.
        let other = try await harness.session()
        #expect(try await harness.caller(of: "http://origin.test/docs/a", in: other) == nil)
    }

    @Test @LoopActor
    func `what is remembered goes unasked once it was accepted, not before (S-83)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "secret", in: session)
        for expected in [[nil, "alice:secret"], ["alice:secret"]] {
            let number = harness.network.attempts.count
            let task = try await harness.create(try harness.spec(), in: session)
            #expect(try await harness.callers(of: task, from: number) { $0 != nil } == expected)
        }
    }

    @Test @LoopActor
    func `without a storage nothing goes unasked (S-25, S-83)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge)) {
            $0.hasCredentialStorage = false
        }
        try await harness.open("http://origin.test/a", in: session)
        #expect(try await harness.caller(of: "http://origin.test/a", in: session) == nil)
    }

    @Test @LoopActor
    func `a refusal is a challenge with a failure, and what was refused is proposed (S-83)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.open("http://origin.test/a", in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(2).answer(401, Self.basic)
        let decision = try await harness.asked(task)
        #expect(decision.challenge?.previousFailureCount == 1)
        #expect(
            decision.challenge?.proposedCredential
                == ShownCredential(user: "alice", persistence: .forSession))
        #expect(try await harness.remembered(session) == [])
        try await harness.answer(decision, .password("alice", "new", .forSession))
        try await harness.network.attempt(3).answer(401, Self.basic)
        let again = try await harness.asked(task, after: decision.id)
        #expect(again.challenge?.previousFailureCount == 2)
        #expect(again.challenge?.proposedCredential == nil)
        try await harness.answer(again, .password("alice", "newer", .forSession))
        try await harness.network.attempt(4).answer()
        _ = try await harness.finished(task)
        #expect(
            try await harness.caller(of: "http://origin.test/a", in: session) == "alice:newer")
    }

    @Test @LoopActor
    func `where nobody is asked, the 401 to what was accepted before is the result (S-83)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "secret", .permanent, in: session)
        let first = try await harness.create(try harness.spec(), in: session)
        _ = try await harness.callers(of: first, from: 0) { $0 != nil }
        let second = try await harness.create(try harness.spec(), in: session)
        #expect(try await harness.callers(of: second, from: 2) { _ in false } == ["alice:secret"])
        #expect(try await harness.task(second).response?.status == 401)
        #expect(try await harness.remembered(session) == [])
        #expect(try await harness.caller(of: "http://origin.test/a", in: session) == nil)
    }

    @Test @LoopActor
    func `another realm that asks has refused nothing, and keeps its paths (S-83)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.open("http://origin.test/a", in: session)
        let task = try await harness.create(
            try harness.spec(.data, "http://origin.test/b"), in: session)
        let attempt = try await harness.network.attempt(2)
        #expect(attempt.request.credential?.user == "alice")
        attempt.answer(401, ["WWW-Authenticate": "Basic realm=y"])
        let decision = try await harness.asked(task)
        #expect(decision.challenge?.space.realm == "y")
        #expect(decision.challenge?.previousFailureCount == 0)
        #expect(decision.challenge?.proposedCredential == nil)
        try await harness.answer(decision, .password("bob", "hidden", .forSession))
        try await harness.network.attempt(3).answer()
        _ = try await harness.finished(task)
        #expect(try await harness.remembered(session) == ["alice:secret", "bob:hidden"])
        for (path, caller) in [
            ("a", "alice:secret"), ("b", "bob:hidden"), ("a", "alice:secret"),
            // Both could be meant: nobody is told the other's.
            ("c", nil),
        ] {
            #expect(
                try await harness.caller(of: "http://origin.test/\(path)", in: session) == caller)
        }
    }

    @Test @LoopActor
    func `the longest prefix decides whose it is (S-83)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.open(
            "http://origin.test/a/b/c", realm: "y", by: ("bob", "1"), in: session)
        try await harness.open("http://origin.test/a/d", in: session)
        for (path, caller) in [
            ("a/b/x", "bob:1"), ("a/x", "alice:secret"), ("a/b", "alice:secret"),
        ] {
            #expect(
                try await harness.caller(of: "http://origin.test/\(path)", in: session) == caller)
        }
    }

    @Test(arguments: 0..<5) @LoopActor
    func `what is no longer remembered goes nowhere (S-83)`(way: Int) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.open("http://origin.test/a", in: session)
        switch way {
        case 0:
            _ = try await harness.gateway.memory.deleteCredentials(in: session, of: harness.tenant)
            {
                _ in
                true
            }
        case 1: try await harness.remember("alice", "new", in: session)
        case 2: try await harness.remember("bob", "other", in: session)
        case 3: try await harness.gateway.sessions.reset(session, of: harness.tenant)
        default:
            // It is back, but nobody has accepted it since.
            try await harness.gateway.sessions.reset(session, of: harness.tenant)
            try await harness.remember("alice", "secret", in: session)
        }
        #expect(try await harness.caller(of: "http://origin.test/a", in: session) == nil)
    }

    @Test @LoopActor
    func `another persistence changes nothing, nor another space's credential (S-83)`() async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.open("http://origin.test/a", in: session)
        try await harness.remember("alice", "secret", .permanent, in: session)
        try await harness.remember("carol", "1", for: .basic("z"), in: session)
        try await harness.remember("dave", "2", asDefault: false, in: session)
        #expect(
            try await harness.caller(of: "http://origin.test/a", in: session) == "alice:secret")
    }

    @Test @LoopActor
    func `the client's own header is what goes out (S-20, S-83)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.open("http://origin.test/a", in: session)
        #expect(
            try await harness.caller(
                of: "http://origin.test/a", headers: ["authorization": "Bearer b"], in: session)
                == nil)
        #expect(
            harness.network.attempts.last?.request.headers.first("Authorization") == "Bearer b")
    }

    @Test @LoopActor
    func `a redirect takes along what is for its target, and nothing else (S-69, S-83)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.open("http://origin.test/a/1", in: session)
        try await harness.open("http://origin.test/b/1", realm: "y", by: ("bob", "1"), in: session)
        let task = try await harness.create(
            try harness.spec(.data, "http://origin.test/a/2"), in: session)
        for (number, place, user) in [
            (4, "/a/3", "alice"), (5, "/b/2", "alice"), (6, "/c", "bob"),
            (7, "http://other.test/a/1", nil), (8, "https://origin.test/a/1", nil), (9, nil, nil),
        ] as [(Int, String?, String?)] {
            let attempt = try await harness.network.attempt(number)
            #expect(attempt.request.credential?.user == user, "\(attempt.request.url.string)")
            if let place { attempt.answer(302, ["Location": place]) } else { attempt.answer() }
        }
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `a password that answers for one part of a server stays there (S-69, S-83)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(
            try harness.spec(.data, "http://origin.test/a/1"), in: session)
        try await harness.network.attempt(0).answer(401, Self.basic)
        try await harness.answer(task, .password("alice", "secret"))
        try await harness.network.attempt(1).answer(302, ["Location": "/b/1"])
        let second = try await harness.network.attempt(2)
        #expect(second.request.credential == nil)
        second.answer()
        _ = try await harness.finished(task)
    }

    @Test @LoopActor
    func `NTLM is never sent unasked: it proves connections (S-83)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ["WWW-Authenticate": "NTLM"])
        try await harness.answer(task, .password("alice", "secret", .forSession))
        try await harness.network.attempt(1).answer()
        _ = try await harness.finished(task)
        #expect(try await harness.caller(of: "http://origin.test/a", in: session) == nil)
    }

    @Test(arguments: [false, true]) @LoopActor
    func `a proxy that has accepted somebody is told at once (S-83)`(isTunnel: Bool) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            var proxies = ProxyConfiguration()
            proxies.http = ProxyAddress(host: "proxy.test", port: 3128)
            proxies.https = proxies.http
            $0.connectionProxyDictionary = proxies
        }
        let space = ProtectionSpace.basic(host: "proxy.test", port: 3128, isProxy: true)
        try await harness.remember("alice", "way out", for: space, in: session)
        let header: HeaderList = ["Proxy-Authenticate": "Basic realm=x"]
        let url = (isTunnel ? "https" : "http") + "://origin.test/a"
        let task = try await harness.create(try harness.spec(.data, url), in: session)
        let first = try await harness.network.attempt(0)
        if isTunnel { first.refuseTunnel(407, header) } else { first.answer(407, header) }
        // The origin's own refusal is no word of the proxy's.
        try await harness.network.attempt(1).answer(401, Self.basic)
        _ = try await harness.finished(task)
        for other in ["http://a.test/b", "https://c.test/d"] {
            let number = harness.network.attempts.count
            let next = try await harness.create(try harness.spec(.data, other), in: session)
            let attempt = try await harness.network.attempt(number)
            #expect(attempt.request.proxyCredential?.password == "way out")
            #expect(attempt.request.credential == nil)
            attempt.answer()
            _ = try await harness.finished(next)
        }
    }

    @Test @LoopActor
    func `what a server varies by who asks is not stored of an unasked request (S-24, S-83)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge)) {
            $0.urlCache.memoryCapacity = 1 << 20
        }
        try await harness.open("http://origin.test/a", in: session)
        let number = harness.network.attempts.count
        for (place, vary) in ["Authorization", "Accept"].enumerated() {
            let url = "http://origin.test/\(vary)"
            let task = try await harness.create(try harness.spec(.data, url), in: session)
            let attempt = try await harness.network.attempt(number + place)
            #expect(attempt.request.credential?.user == "alice")
            attempt.answer(200, ["Cache-Control": "max-age=60", "Vary": vary])
            _ = try await harness.finished(task)
            let parsed = try harness.network.parse(url)
            let stored = try await harness.gateway.memory.cachedResponses(
                to: parsed, in: session, of: harness.tenant)
            #expect(stored.isEmpty == (vary == "Authorization"))
        }
    }
}
