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
        var house = try await House.open()
        let session = try await house.session()
        var model: [Entry] = []
        for step in 0..<100 {
            var (before, told) = (model, await house.credentialChanges(of: session))
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
                try await house.remember(
                    user, new.password, new.persistence, asDefault: new.isDefault, in: session)
            case 6:
                try await house.forget(user, in: session)
                model.removeAll { $0.user == user }
            case 7 where numbers.next(3) == 0:
                try await house.gateway.sessions.reset(session, of: house.tenant)
                model = []
            case 7: try await house.gateway.sessions.flush(session, of: house.tenant)
            default:
                house = try await house.restarted()
                model.removeAll { $0.persistence != .permanent }
                (before, told) = (model, 0)  // nobody is told of what a restart takes
            }
            #expect(
                await house.credentialChanges(of: session) == told + (model == before ? 0 : 1),
                "seed \(seed), step \(step)")
            let found = try await house.gateway.memory.credentials(in: session, of: house.tenant)
            #expect(found.compactMap(Entry.init) == model, "seed \(seed), step \(step)")
            let kept = try await house.store.disk.load().credentials[session, default: [:]]
            #expect(
                kept.sorted { $0.key < $1.key }.map(\.value).compactMap(Entry.init)
                    == model.filter { $0.persistence == .permanent }, "seed \(seed), step \(step)")
        }
    }

    @Test @LoopActor
    func `default handling has nothing to present when a reset came before (S-12, S-66)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session(delegate: .deciding(.taskChallenge))
        try await house.remember("alice", "secret", in: session)
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(401, ["WWW-Authenticate": "Basic realm=x"])
        let decision = try await house.asked(task)
        #expect(decision.challenge?.proposedCredential?.user == "alice")
        try await house.gateway.sessions.reset(session, of: house.tenant)
        try await house.answer(decision, .challenge(.performDefaultHandling))
        #expect(try await house.finished(task).response?.status == 401)
        #expect(house.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `what a task presents already, it goes on presenting after a reset (S-12)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        try await house.remember("alice", "secret", in: session)
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(401, ["WWW-Authenticate": "Basic realm=x"])
        let second = try await house.network.attempt(1)
        try await house.gateway.sessions.reset(session, of: house.tenant)
        second.answer(302, ["Location": "/b"])
        let third = try await house.network.attempt(2)
        #expect(third.request.credential?.user == "alice")
        third.answer()
        #expect(try await house.finished(task).response?.status == 200)
        #expect(try await house.remembered(session) == [])
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
