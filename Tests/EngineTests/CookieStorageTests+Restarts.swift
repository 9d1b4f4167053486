import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// What one process leaves to the next one, and that one to a third.
extension CookieStorageTests {
    @Test @LoopActor
    func `what is changed after a restart is what the next one finds (S-1)`() async throws {
        var harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "a=1", "b=2", "c=3", "d=4")
        try await harness.deleteCookies("a", in: session)
        harness = try await harness.restarted()
        #expect(try await harness.jar(session) == ["b=2", "c=3", "d=4"])
        try await harness.deleteCookies("b", in: session)
        try await harness.store("c=5", in: session)
        try await harness.store("e=6", in: session)
        #expect(try await harness.jar(session) == ["c=5", "d=4", "e=6"])
        #expect(try await harness.storedCookies(session) == ["c=5", "d=4", "e=6"])
        harness = try await harness.restarted()
        #expect(try await harness.jar(session) == ["c=5", "d=4", "e=6"])
        #expect(try await harness.visit(in: session) == "c=5; d=4; e=6")
    }

    @Test @LoopActor
    func `what ended while no process ran is gone, from the disk too`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "short=1; Max-Age=10", "long=2; Max-Age=20")
        harness.clock.advance(by: .seconds(10))
        let next = try await harness.restarted()
        #expect(try await next.jar(session) == ["long=2"])
        await next.gateway.housekeeper.makeRound()
        await next.quiet()
        #expect(try await next.storedCookies(session) == ["long=2"])
    }

    @Test(arguments: [UInt64(1), 2, 3, 4]) @LoopActor
    func `whatever is done, with restarts between, the disk has what the jar has (S-1)`(
        seed: UInt64
    ) async throws {
        var numbers = Numbers(seed)
        var harness = try await TestGateway.open()
        let session = try await harness.session()
        // In the order of creation.
        var model: [(name: String, value: Int, end: Timestamp?)] = []
        for step in 0..<80 {
            let now = harness.clock.now
            model.removeAll { $0.end.map { $0 <= now } ?? false }
            let name = "n\(numbers.next(6))"
            switch numbers.next(11) {
            case 0...4:
                let end =
                    numbers.next(3) == 0
                    ? Timestamp(milliseconds: now.milliseconds + Int64(numbers.next(4)) * 5000)
                    : nil
                try await harness.gateway.memory.setCookie(
                    harness.cookie("\(name)=\(step)", expires: end), in: session,
                    of: harness.tenant)
                if let end, end <= now {
                    model.removeAll { $0.name == name }
                } else if let place = model.firstIndex(where: { $0.name == name }) {
                    model[place] = (name, step, end)
                } else {
                    model.append((name, step, end))
                }
            case 5:
                try await harness.deleteCookies(name, in: session)
                model.removeAll { $0.name == name }
            case 6: harness.clock.advance(by: .seconds(5))
            case 7: await harness.gateway.housekeeper.makeRound()
            case 8:
                try await harness.gateway.sessions.reset(session, of: harness.tenant)
                model = []
            default: harness = try await harness.restarted()
            }
            let instant = harness.clock.now
            let expected = model.filter { $0.end.map { $0 > instant } ?? true }
                .map { "\($0.name)=\($0.value)" }
            #expect(try await harness.jar(session) == expected, "seed \(seed), step \(step)")
            let kept = try await harness.store.disk.load().cookies[session, default: []]
            #expect(
                kept.filter { !$0.isExpired(at: instant) }.sorted { $0.sequence < $1.sequence }
                    .map { "\($0.name)=\($0.value)" } == expected, "seed \(seed), step \(step)")
        }
    }
}
