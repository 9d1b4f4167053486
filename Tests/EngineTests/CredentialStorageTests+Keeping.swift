import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// What clients do with the storage, and what is kept of it.
extension CredentialStorageTests {
    @Test @LoopActor
    func `it is told exactly when something has really changed (S-67)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        let steps: [(String, Int, @LoopActor () async throws -> Void)] = [
            (
                "nothing to empty", 0,
                { try await house.gateway.sessions.reset(session, of: house.tenant) }
            ),
            ("new", 1, { try await house.remember("alice", "1", in: session) }),
            ("the same", 0, { try await house.remember("alice", "1", in: session) }),
            ("another password", 1, { try await house.remember("alice", "2", in: session) }),
            ("longer kept", 1, { try await house.remember("alice", "2", .permanent, in: session) }),
            (
                "no default", 1,
                {
                    try await house.remember(
                        "bob", "3", .permanent, asDefault: false, in: session)
                }
            ),
            ("the default", 1, { try await house.remember("bob", "3", .permanent, in: session) }),
            ("again", 0, { try await house.remember("bob", "3", .permanent, in: session) }),
            ("none of these", 0, { try await house.forget("carol", in: session) }),
            ("two at once", 1, { try await house.forget("alice", "bob", in: session) }),
            ("gone", 0, { try await house.forget("alice", "bob", in: session) }),
            ("back", 1, { try await house.remember("alice", "1", in: session) }),
            ("flushed", 0, { try await house.gateway.sessions.flush(session, of: house.tenant) }),
            ("emptied", 1, { try await house.gateway.sessions.reset(session, of: house.tenant) }),
        ]
        var expected = 0
        for (name, change, step) in steps {
            try await step()
            expected += change
            #expect(await house.credentialChanges(of: session) == expected, "\(name)")
        }
    }

    @Test @LoopActor
    func `what is put in or taken out is so on the disk when that is answered (R-1)`() async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        house.store.hold()
        let putting = Task { @LoopActor in
            try await house.remember("alice", "1", .permanent, in: session)
        }
        try await eventually("the credential") {
            house.gateway.sessions.directory[session]?.credentials?.all.isEmpty == false
        }
        await house.turn()
        #expect(try await house.storedCredentials(session) == [])
        house.store.release()
        try await putting.value
        #expect(try await house.storedCredentials(session) == ["alice:1"])
        #expect(try await house.forget("alice", in: session) == 1)
        #expect(try await house.storedCredentials(session) == [])
    }

    @Test @LoopActor
    func `permanent credentials outlive the process, those of the session do not (S-67)`()
        async throws
    {
        var house = try await House.open()
        let session = try await house.session()
        try await house.remember("alice", "1", .permanent, in: session)
        try await house.remember("bob", "2", .forSession, in: session)
        try await house.remember("carol", "3", .permanent, asDefault: false, in: session)
        try await house.remember("dave", "4", .permanent, for: .basic("y"), in: session)
        house = try await house.restarted()
        #expect(try await house.remembered(session) == ["alice:1", "carol:3", "dave:4"])
        #expect(await house.credentialChanges(of: session) == 0)
        try await house.forget("alice", in: session)
        try await house.remember("carol", "5", .permanent, in: session)
        try await house.remember("erin", "6", .permanent, asDefault: false, in: session)
        try await house.remember("dave", "4", .forSession, for: .basic("y"), in: session)
        #expect(try await house.remembered(session) == ["carol:5", "dave:4", "erin:6"])
        house = try await house.restarted()
        #expect(try await house.remembered(session) == ["carol:5", "erin:6"])
        let all = try await house.gateway.memory.credentials(in: session, of: house.tenant)
        #expect(all.map(\.isDefault) == [true, false])
        #expect(all.map(\.space) == [.basic(), .basic()])
        let task = try await house.create(try house.spec(), in: session)
        #expect(
            try await house.callers(of: task, from: 0) { $0 != nil } == [nil, "carol:5"])
    }

    @Test @LoopActor
    func `an ephemeral session keeps nothing for good, and says so (S-2, S-67)`() async throws {
        let house = try await House.open()
        let session = try await house.session(.ephemeral, delegate: .deciding(.taskChallenge))
        guard
            case .credentialNotUsable? = await house.refusal({
                try await house.remember("alice", "1", .permanent, in: session)
            })
        else {
            Issue.record("an ephemeral session takes a permanent credential")
            return
        }
        #expect(try await house.remembered(session) == [])
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(401, ["WWW-Authenticate": "Basic realm=x"])
        let decision = try await house.asked(task)
        guard
            case .credentialNotUsable? = await house.refusal(
                of: decision.id, .password("alice", "1", .permanent))
        else {
            Issue.record("an ephemeral session takes a permanent answer")
            return
        }
        try await house.answer(decision, .password("alice", "1", .forSession))
        try await house.network.attempt(1).answer()
        _ = try await house.finished(task)
        #expect(try await house.remembered(session) == ["alice:1"])
        await house.quiet()
        #expect(house.store.batches.allSatisfy { $0.credentials.isEmpty })
    }

    @Test @LoopActor
    func `what answers no challenge of a space, or lasts for nothing, is not stored (S-67)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        let password = Credential.Proof.password(user: "a", password: "b")
        let secure = try house.network.parse("https://origin.test/").origin
        let refused: [(Credential, ProtectionSpace)] = [
            (Credential(password, persistence: .none), .basic()),
            (
                Credential(password, persistence: .forSession),
                ProtectionSpace(secure, method: .clientCertificate)
            ),
            (
                Credential(password, persistence: .forSession),
                ProtectionSpace(secure, method: .negotiate)
            ),
            (
                Credential(
                    .serverTrust(leaf: [UInt8](repeating: 1, count: 32)), persistence: .forSession),
                ProtectionSpace(secure, method: .serverTrust)
            ),
            (
                Credential(
                    .identity(.pem(certificate: "c", key: "wrong")), persistence: .forSession),
                ProtectionSpace(secure, method: .clientCertificate)
            ),
        ]
        for (credential, space) in refused {
            let refusal = await house.refusal {
                try await house.gateway.memory.putCredential(
                    credential, for: space, asDefault: true, in: session, of: house.tenant)
            }
            guard case .credentialNotUsable? = refusal else {
                Issue.record("\(space.method.name) takes a credential that is none")
                continue
            }
        }
        #expect(try await house.remembered(session) == [])
        #expect(await house.credentialChanges(of: session) == 0)
    }

    @Test @LoopActor
    func `without a storage a credential is for the task that was given it (S-25)`() async throws {
        let house = try await House.open()
        let session = try await house.session(delegate: .deciding(.taskChallenge)) {
            $0.hasCredentialStorage = false
        }
        await #expect(throws: GatewayError.noStorage) {
            try await house.remember("alice", "1", in: session)
        }
        await #expect(throws: GatewayError.noStorage) {
            try await house.forget("alice", in: session)
        }
        for number in 0..<2 {
            let task = try await house.create(try house.spec(), in: session)
            try await house.network.attempt(2 * number).answer(
                401, ["WWW-Authenticate": "Basic realm=x"])
            let decision = try await house.asked(task)
            #expect(decision.challenge?.proposedCredential == nil)
            try await house.answer(decision, .password("alice", "1", .permanent))
            let second = try await house.network.attempt(2 * number + 1)
            #expect(second.request.credential?.user == "alice")
            second.answer()
            _ = try await house.finished(task)
        }
        #expect(try await house.remembered(session) == [])
        #expect(await house.credentialChanges(of: session) == 0)
        #expect(house.store.batches.allSatisfy { $0.credentials.isEmpty })
    }

    @Test @LoopActor
    func `a session that is going learns nothing from clients, and ends with nothing (S-9, S-11)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        try await house.remember("alice", "1", .permanent, in: session)
        let task = try await house.create(try house.spec(), in: session)
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .finishTasks)
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await house.remember("bob", "2", in: session)
        }
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await house.forget("alice", in: session)
        }
        // Its tasks go on with what it knows.
        #expect(try await house.callers(of: task, from: 0) { $0 != nil } == [nil, "alice:1"])
        try await house.recorder.end(of: session)
        #expect(await house.credentialChanges(of: session) == 1)
        #expect(try await house.remembered(session) == [])
        #expect(try await house.storedCredentials(session) == [])
    }

    @Test @LoopActor
    func `beyond a thousand credentials the oldest is forgotten, on the disk too`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        for number in 0..<1002 {
            try await house.remember("u\(number)", "p", .permanent, asDefault: false, in: session)
        }
        let remembered = try await house.remembered(session)
        #expect(remembered.count == 1000 && remembered.first == "u2:p")
        #expect(try await house.storedCredentials(session) == remembered)
    }

    // MARK: Client certificates

    @Test @LoopActor
    func `a certificate is made ready, kept, and shown to its server without asking (S-63)`()
        async throws
    {
        var house = try await House.open()
        let session = try await house.session()
        let origin = try house.network.parse("https://origin.test/").origin
        try await house.gateway.memory.putCredential(
            Credential(
                .identity(.pkcs12(bytes: Array("leaf".utf8), passphrase: "key")),
                persistence: .permanent),
            for: ProtectionSpace(origin, method: .clientCertificate), asDefault: true,
            in: session, of: house.tenant)
        for _ in 0..<2 {
            let expected: [(String, IdentityPolicy)] = [
                ("https://origin.test/a", .certificate(.pem(certificate: "leaf", key: "key"))),
                ("https://other.test/a", .without), ("https://origin.test:444/a", .without),
                ("http://origin.test:443/a", .without),
            ]
            for (url, identity) in expected {
                let count = house.network.attempts.count
                let task = try await house.create(try house.spec(.data, url), in: session)
                let attempt = try await house.network.attempt(count)
                #expect(attempt.request.identity == identity, "\(url)")
                attempt.answer()
                _ = try await house.finished(task)
            }
            house = try await house.restarted()
        }
    }

    @Test @LoopActor
    func `a delegate is asked about a certificate, and default handling takes it (S-63, S-65)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session(delegate: .deciding(.taskChallenge))
        let origin = try house.network.parse("https://origin.test/").origin
        let identity = ClientIdentity.pem(certificate: "leaf", key: "key")
        try await house.gateway.memory.putCredential(
            Credential(.identity(identity), persistence: .forSession),
            for: ProtectionSpace(origin, method: .clientCertificate), asDefault: true,
            in: session, of: house.tenant)
        let task = try await house.create(
            try house.spec(.data, "https://origin.test/"), in: session)
        let first = try await house.network.attempt(0)
        #expect(first.request.identity == .ask)
        first.ask(.clientCertificate(distinguishedNames: ["CN=ca"]))
        let decision = try await house.asked(task)
        #expect(
            decision.challenge?.proposedCredential
                == ShownCredential(user: nil, persistence: .forSession))
        try await house.answer(decision, .challenge(.performDefaultHandling))
        let second = try await house.network.attempt(1)
        #expect(second.request.identity == .certificate(identity))
        second.answer()
        _ = try await house.finished(task)
    }
}

extension House {
    @discardableResult
    func forget(_ users: String..., in session: SessionID) async throws -> Int {
        try await gateway.memory.deleteCredentials(in: session, of: tenant) {
            users.contains($0.user ?? "")
        }
    }

    /// Why the gateway does not do it; nil if it does.
    func refusal(_ call: @LoopActor () async throws -> Void) async -> GatewayError? {
        await outcome(of: call).refusal
    }
}
