import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// What one process leaves to the next one, and what a reset takes from tasks that were asked
// before.
extension CredentialStorageTests {
    fileprivate struct Entry: Equatable {
        let user: String
        var password: String
        var persistence: CredentialPersistence
        var isDefault: Bool
    }

    @Test(arguments: [UInt64(1), 2, 3, 4]) @LoopActor
    func `whatever is done, the disk has the permanent ones, and every change is told (S-67)`(
        seed: UInt64
    ) async throws {
        var numbers = Numbers(seed)
        var harness = try await TestGateway.open()
        let session = try await harness.session()
        var model: [Entry] = []
        for step in 0..<100 {
            var (before, told) = (model, await harness.credentialChanges(of: session))
            let user = "u\(numbers.next(4))"
            switch numbers.next(10) {
            case 0...5:
                let new = Entry(
                    user: user, password: "p\(numbers.next(2))",
                    persistence: numbers.next(3) == 0 ? .forSession : .permanent,
                    isDefault: numbers.next(2) == 0)
                if let place = model.firstIndex(where: { $0.user == user }) {
                    model[place] = new
                } else {
                    model.append(new)
                }
                if new.isDefault {
                    for place in model.indices where model[place].user != user {
                        model[place].isDefault = false
                    }
                }
                try await harness.remember(
                    user, new.password, new.persistence, asDefault: new.isDefault, in: session)
            case 6:
                try await harness.forget(user, in: session)
                model.removeAll { $0.user == user }
            case 7 where numbers.next(3) == 0:
                try await harness.gateway.sessions.reset(session, of: harness.tenant)
                model = []
            case 7: try await harness.gateway.sessions.flush(session, of: harness.tenant)
            default:
                harness = try await harness.restarted()
                model.removeAll { $0.persistence != .permanent }
                (before, told) = (model, 0)  // nobody is told of what a restart takes
            }
            #expect(
                await harness.credentialChanges(of: session) == told + (model == before ? 0 : 1),
                "seed \(seed), step \(step)")
            let found = try await harness.gateway.memory.credentials(
                in: session, of: harness.tenant)
            #expect(found.compactMap(Entry.init) == model, "seed \(seed), step \(step)")
            let kept = try await harness.store.disk.load().credentials[session, default: [:]]
            #expect(
                kept.sorted { $0.key < $1.key }.map(\.value).compactMap(Entry.init)
                    == model.filter { $0.persistence == .permanent }, "seed \(seed), step \(step)")
        }
    }

    @Test @LoopActor
    func `default handling has nothing to present when a reset came before (S-12, S-66)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        try await harness.remember("alice", "secret", in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ["WWW-Authenticate": "Basic realm=x"])
        let decision = try await harness.asked(task)
        #expect(decision.challenge?.proposedCredential?.user == "alice")
        try await harness.gateway.sessions.reset(session, of: harness.tenant)
        try await harness.answer(decision, .challenge(.performDefaultHandling))
        #expect(try await harness.finished(task).response?.status == 401)
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `what a task presents already, it goes on presenting after a reset (S-12)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "secret", in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ["WWW-Authenticate": "Basic realm=x"])
        let second = try await harness.network.attempt(1)
        try await harness.gateway.sessions.reset(session, of: harness.tenant)
        second.answer(302, ["Location": "/b"])
        let third = try await harness.network.attempt(2)
        #expect(third.request.credential?.user == "alice")
        third.answer()
        #expect(try await harness.finished(task).response?.status == 200)
        #expect(try await harness.remembered(session) == [])
    }
}

extension CredentialStorageTests.Entry {
    fileprivate init?(_ stored: StoredCredential) {
        guard case .password(let user, let password) = stored.credential.proof else { return nil }
        self.init(
            user: user, password: password, persistence: stored.credential.persistence,
            isDefault: stored.isDefault)
    }
}
