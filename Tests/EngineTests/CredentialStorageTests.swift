import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

extension ProtectionSpace {
    /// What `Basic realm="x"` of `http://origin.test` asks for.
    static func basic(
        _ realm: String = "x", host: String = "origin.test", port: Int = 80, isProxy: Bool = false
    ) -> ProtectionSpace {
        ProtectionSpace(
            host: host, port: port, scheme: "http", realm: realm, method: .basic, isProxy: isProxy)
    }
}

extension TestGateway {
    func remember(
        _ user: String, _ password: String, _ persistence: CredentialPersistence = .forSession,
        for space: ProtectionSpace = .basic(), asDefault: Bool = true, in session: SessionID
    ) async throws {
        try await gateway.memory.putCredential(
            Credential(.password(user: user, password: password), persistence: persistence),
            for: space, asDefault: asDefault, in: session, of: tenant)
    }

    /// The passwords that a session remembers, `user:password` each, in their order.
    func remembered(_ session: SessionID) async throws -> [String] {
        try await gateway.memory.credentials(in: session, of: tenant).map(\.text)
    }

    /// The passwords that the disk has for a session.
    func storedCredentials(_ session: SessionID) async throws -> [String] {
        try await store.disk.load().credentials[session, default: [:]]
            .sorted { $0.key < $1.key }.map(\.value.text)
    }

    /// How often it was told that a session's credentials have changed; what was set off by now is
    /// told.
    func credentialChanges(of session: SessionID) async -> Int {
        await quiet()
        return recorder.events.count {
            $0.session == session && $0.body == .didChangeCredentialStorage
        }
    }

    /// Answers the next attempts of a task with 401 as long as they present nothing that is right,
    /// and tells who came.
    func callers(
        of task: TaskID, from number: Int, until isRight: (String?) -> Bool,
        _ challenge: HeaderList = ["WWW-Authenticate": "Basic realm=x"]
    ) async throws -> [String?] {
        var callers: [String?] = []
        while !recorder.isOver(task) {
            let place = number + callers.count
            try await eventually("an attempt, or the end") {
                network.attempts.count > place || recorder.isOver(task)
            }
            guard network.attempts.count > place else { break }
            let attempt = network.attempts[place]
            let caller = attempt.request.credential.map { "\($0.user):\($0.password)" }
            callers.append(caller)
            if isRight(caller) { attempt.answer() } else { attempt.answer(401, challenge) }
            await quiet()
        }
        return callers
    }
}

extension StoredCredential {
    fileprivate var text: String {
        guard case .password(let user, let password) = credential.proof else { return "identity" }
        return "\(user):\(password)"
    }
}

/// What a session remembers of users and passwords (S-25, S-66, S-67).
@Suite(.onLoop)
struct CredentialStorageTests {
    private static let basic: HeaderList = ["WWW-Authenticate": "Basic realm=x"]

    // MARK: Use

    @Test(arguments: [nil, DelegateOptions.deciding(.redirect)]) @LoopActor
    func `where nobody is asked, a 401 is answered by what is remembered (S-66)`(
        delegate: DelegateOptions?
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: delegate)
        try await harness.remember("alice", "secret", in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        #expect(
            try await harness.callers(of: task, from: 0) { $0 != nil } == [nil, "alice:secret"])
        #expect(try await harness.task(task).response?.status == 200)
        #expect(!harness.recorder.has("task.didReceiveChallenge", task))
    }

    @Test(arguments: [
        ProtectionSpace.basic("y"), .basic(host: "other.test"), .basic(port: 8080),
        .basic(isProxy: true),
        ProtectionSpace(
            host: "origin.test", port: 80, scheme: "http", realm: "x", method: .digest),
        ProtectionSpace(
            host: "origin.test", port: 80, scheme: "https", realm: "x", method: .basic),
    ]) @LoopActor
    func `a credential is for its own space, in every part of it (S-67)`(
        space: ProtectionSpace
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "secret", for: space, in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        #expect(try await harness.callers(of: task, from: 0) { _ in false } == [nil])
        #expect(try await harness.task(task).response?.status == 401)
        #expect(try await harness.remembered(session) == ["alice:secret"])
    }

    @Test @LoopActor
    func `a proxy's 407 is answered by what is remembered for it (S-64, S-66)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            var proxies = ProxyConfiguration()
            proxies.http = ProxyAddress(host: "proxy.test", port: 3128)
            $0.connectionProxyDictionary = proxies
        }
        try await harness.remember(
            "alice", "way out", for: .basic(host: "proxy.test", port: 3128, isProxy: true),
            in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(407, ["Proxy-Authenticate": "Basic realm=x"])
        let second = try await harness.network.attempt(1)
        #expect(second.request.proxyCredential?.password == "way out")
        #expect(second.request.credential == nil)
        second.answer()
        #expect(try await harness.finished(task).response?.status == 200)
    }

    @Test(arguments: [CredentialPersistence.forSession, .permanent]) @LoopActor
    func `who is asked is proposed what is remembered, without the secret (S-65)`(
        persistence: CredentialPersistence
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.remember("alice", "canary", persistence, in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, Self.basic)
        let decision = try await harness.asked(task)
        #expect(
            decision.challenge?.proposedCredential
                == ShownCredential(user: "alice", persistence: persistence))
        try await harness.answer(decision, .challenge(.performDefaultHandling))
        let second = try await harness.network.attempt(1)
        #expect(second.request.credential?.password == "canary")
        second.answer()
        _ = try await harness.finished(task)
        #expect(!harness.recorder.events.contains { "\($0.body)".contains("canary") })
    }

    @Test(arguments: [
        (CredentialPersistence.none, nil, 0),
        (.forSession, ShownCredential(user: "alice", persistence: .forSession), 1),
        (.permanent, ShownCredential(user: "alice", persistence: .permanent), 1),
    ]) @LoopActor
    func `what answers one task's challenge is remembered as long as it says (S-67)`(
        persistence: CredentialPersistence, proposed: ShownCredential?, changes: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        for number in 0..<2 {
            // Of one realm, but not where it would go unasked.
            let url = "http://origin.test/\(number)/a"
            let task = try await harness.create(try harness.spec(.data, url), in: session)
            try await harness.network.attempt(2 * number).answer(401, Self.basic)
            let decision = try await harness.asked(task)
            #expect(decision.challenge?.proposedCredential == (number == 0 ? nil : proposed))
            try await harness.answer(decision, .password("alice", "secret", persistence))
            try await harness.network.attempt(2 * number + 1).answer()
            _ = try await harness.finished(task)
        }
        #expect(await harness.credentialChanges(of: session) == changes)
        #expect(
            try await harness.storedCredentials(session)
                == (persistence == .permanent ? ["alice:secret"] : []))
    }

    // MARK: What was refused

    @Test @LoopActor
    func `a refused password is forgotten, and the next one of its space tried (S-66, S-67)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "wrong", .permanent, in: session)
        try await harness.remember("bob", "right", .permanent, asDefault: false, in: session)
        try await harness.remember("carol", "elsewhere", for: .basic("y"), in: session)
        let before = await harness.credentialChanges(of: session)
        let task = try await harness.create(try harness.spec(), in: session)
        #expect(
            try await harness.callers(of: task, from: 0) { $0 == "bob:right" }
                == [nil, "alice:wrong", "bob:right"])
        #expect(try await harness.remembered(session) == ["bob:right", "carol:elsewhere"])
        #expect(try await harness.storedCredentials(session) == ["bob:right"])
        #expect(await harness.credentialChanges(of: session) == before + 1)
    }

    @Test @LoopActor
    func `with none left the 401 is the result, and nothing is remembered of it (S-66)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "wrong", in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        #expect(
            try await harness.callers(of: task, from: 0) { _ in false } == [nil, "alice:wrong"])
        #expect(try await harness.task(task).response?.status == 401)
        #expect(try await harness.remembered(session) == [])
        #expect(await harness.credentialChanges(of: session) == 2)
    }

    @Test(arguments: [403, 500, 200, 0]) @LoopActor
    func `nothing but a refusal makes a session forget: not another status, nor a lost line (S-67)`(
        status: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "secret", in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, Self.basic)
        let second = try await harness.network.attempt(1)
        #expect(second.request.credential?.user == "alice")
        if status == 0 { second.end(.url(.networkConnectionLost)) } else { second.answer(status) }
        _ = try await harness.finished(task)
        #expect(try await harness.remembered(session) == ["alice:secret"])
        #expect(await harness.credentialChanges(of: session) == 1)
    }

    @Test @LoopActor
    func `a 401 for another realm refuses nothing of the first one (S-67)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "secret", in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, Self.basic)
        try await harness.network.attempt(1).answer(401, ["WWW-Authenticate": "Basic realm=z"])
        #expect(try await harness.finished(task).response?.status == 401)
        #expect(try await harness.remembered(session) == ["alice:secret"])
    }

    @Test @LoopActor
    func `a new password is not forgotten for the old one's refusal (S-67)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "old", in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, Self.basic)
        let second = try await harness.network.attempt(1)
        try await harness.remember("alice", "new", in: session)
        second.answer(401, Self.basic)
        let third = try await harness.network.attempt(2)
        #expect(third.request.credential?.password == "new")
        third.answer()
        #expect(try await harness.finished(task).response?.status == 200)
        #expect(try await harness.remembered(session) == ["alice:new"])
    }

    // MARK: Several of one space

    @Test @LoopActor
    func `a space has one default, which is taken; without one, what came last (S-67)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let proposal = { @LoopActor () async throws -> String? in
            let count = harness.network.attempts.count
            let task = try await harness.create(try harness.spec(), in: session)
            try await harness.network.attempt(count).answer(401, Self.basic)
            let decision = try await harness.asked(task)
            try await harness.answer(decision, .challenge(.cancelAuthenticationChallenge))
            _ = try await harness.finished(task)
            return decision.challenge?.proposedCredential?.user
        }
        try await harness.remember("alice", "1", asDefault: false, in: session)
        try await harness.remember("bob", "2", asDefault: false, in: session)
        #expect(try await proposal() == "bob")
        try await harness.remember("alice", "1", in: session)
        #expect(try await proposal() == "alice")
        try await harness.remember("carol", "3", asDefault: false, in: session)
        #expect(try await proposal() == "alice")
        try await harness.remember("bob", "2", in: session)
        #expect(try await proposal() == "bob")
        let all = try await harness.gateway.memory.credentials(in: session, of: harness.tenant)
        #expect(all.map(\.isDefault) == [false, true, false])
        #expect(try await harness.remembered(session) == ["alice:1", "bob:2", "carol:3"])
        _ = try await harness.gateway.memory.deleteCredentials(in: session, of: harness.tenant) {
            $0.user == "bob"
        }
        #expect(try await proposal() == "carol")
    }

    @Test @LoopActor
    func `no session knows another one's credentials (S-1, S-4)`() async throws {
        let harness = try await TestGateway.open()
        let owner = try await harness.session()
        let others = [
            try await harness.session(), try await harness.session(.ephemeral),
            try await harness.gateway.sessions.shared(of: harness.tenant),
        ]
        try await harness.remember("alice", "secret", .permanent, in: owner)
        for other in others {
            #expect(try await harness.remembered(other) == [])
            let count = harness.network.attempts.count
            let task = try await harness.create(try harness.spec(), in: other)
            #expect(try await harness.callers(of: task, from: count) { _ in false } == [nil])
            #expect(await harness.credentialChanges(of: other) == 0)
        }
        let stranger = TenantID(rawValue: 2)
        await #expect(throws: GatewayError.noSuchSession) {
            _ = try await harness.gateway.memory.credentials(in: owner, of: stranger)
        }
        await #expect(throws: GatewayError.noSuchSession) {
            try await harness.gateway.memory.deleteCredentials(in: owner, of: stranger) { _ in true
            }
        }
    }
}
