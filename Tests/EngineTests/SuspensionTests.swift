import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Suspending and resuming, in every place where a task can be (S-31, S-32).
@Suite(.onLoop)
struct SuspensionTests {
    @Test @LoopActor
    func `suspending a transfer pauses it, resuming lets it go on where it was (S-32)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(.download), in: session)
        let attempt = try await house.network.attempt(0)
        let bytes = Pattern.bytes(count: 300_000)
        attempt.head(200, ["Content-Length": "300000"])
        attempt.body(Array(bytes[..<100_000]))
        #expect(try await house.gateway.suspend(task, of: house.tenant).record.state == .suspended)
        attempt.body(Array(bytes[100_000...]))
        attempt.end()
        await house.quiet()
        #expect(attempt.isPaused && attempt.pauseCount == 1 && attempt.deliveredCount == 100_000)
        #expect(try await house.state(task) == .suspended)
        _ = try await house.gateway.suspend(task, of: house.tenant)
        #expect(attempt.pauseCount == 1)
        _ = try await house.gateway.resume(task, of: house.tenant)
        #expect(try await house.finished(task).error == nil)
        #expect(try await house.read(task) == bytes)
        #expect(house.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `a task that waits for a slot leaves the line when it is suspended`() async throws {
        let house = try await House.open()
        let session = try await house.session { $0.httpMaximumConnectionsPerHost = 1 }
        let first = try await house.create(try house.spec(), in: session)
        let waiting = try await house.create(try house.spec(), in: session)
        _ = try await house.gateway.suspend(waiting, of: house.tenant)
        #expect(house.gateway.runners[waiting] == nil)  // at rest it is a row, not a runner
        try await house.network.attempt(0).answer()
        try await house.recorder.end(of: first)
        await house.quiet()
        #expect(house.network.attempts.count == 1)
        _ = try await house.gateway.resume(waiting, of: house.tenant)
        try await house.network.attempt(1).answer()
        #expect(try await house.recorder.end(of: waiting) == nil)
    }

    @Test @LoopActor
    func `a redirect that comes while the task is suspended is followed after resume`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(0)
        attempt.head(302, ["Location": "/b"])
        _ = try await house.gateway.suspend(task, of: house.tenant)
        // The connection ends, whoever is paused.
        attempt.resume()
        attempt.end()
        try await eventually("the runner to be let go") { house.gateway.runners[task] == nil }
        await house.quiet()
        #expect(house.network.attempts.count == 1)
        let stored = try #require(try await house.store.disk.task(task, of: house.tenant))
        #expect(stored.state == .suspended && !stored.hasLiveAttempt)
        #expect(stored.currentRequest.url.string == "http://origin.test/b")
        _ = try await house.gateway.resume(task, of: house.tenant)
        let second = try await house.network.attempt(1)
        #expect(!second.isPaused)
        second.answer(200, [:], Array("b".utf8))
        #expect(try await house.finished(task).error == nil)
        #expect(try await house.read(task) == Array("b".utf8))
    }

    @Test @LoopActor
    func `an attempt that fails while the task is suspended ends the task`() async throws {
        let house = try await House.open()
        let session = try await house.session { $0.httpMaximumConnectionsPerHost = 1 }
        let task = try await house.create(try house.spec(), in: session)
        let next = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(0)
        _ = try await house.gateway.suspend(task, of: house.tenant)
        attempt.resume()
        attempt.end(.url(.networkConnectionLost))
        #expect(try await house.recorder.end(of: task)?.code == -1005)
        try await house.network.attempt(1).answer()  // the slot is free
        try await house.recorder.end(of: next)
    }

    @Test @LoopActor
    func `who waits for a content goes on waiting while the task is suspended`() async throws {
        let house = try await House.open()
        let session = try await house.session { $0.httpMaximumConnectionsPerHost = 1 }
        let first = try await house.create(try house.spec(), in: session)
        let task = try await house.create(try house.spec(), in: session)
        let reader = Task { @LoopActor in try await house.read(task) }
        await house.quiet()
        _ = try await house.gateway.suspend(task, of: house.tenant)
        try await house.network.attempt(0).answer()
        try await house.recorder.end(of: first)
        _ = try await house.gateway.resume(task, of: house.tenant)
        try await house.network.attempt(1).answer(200, [:], Array("late".utf8))
        #expect(try await reader.value == Array("late".utf8))
    }

    @Test @LoopActor
    func `an unsafe request is sent only when the store has it (R-13)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        house.store.hold()
        let create = Task { @LoopActor in
            try await house.create(try house.spec(method: "POST", body: [1]), in: session)
        }
        try await eventually("the commit") { house.store.attemptCount > 1 }
        #expect(house.network.attempts.isEmpty)
        house.store.release()
        let task = try await create.value
        let attempt = try await house.network.attempt(0)
        #expect(try await house.store.disk.task(task, of: house.tenant)?.hasLiveAttempt == true)
        attempt.answer()
        try await house.recorder.end(of: task)
    }

    @Test @LoopActor
    func `an unsafe request is not sent while its task is suspended (R-13, S-32)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(
            try house.spec(method: "POST", body: [1], resume: false), in: session)
        house.store.hold()
        let resume = Task { @LoopActor in
            try await house.gateway.resume(task, of: house.tenant)
        }
        try await eventually("the task to run") { try await house.state(task) == .running }
        let suspend = Task { @LoopActor in
            try await house.gateway.suspend(task, of: house.tenant)
        }
        try await eventually("the task to stop") { try await house.state(task) == .suspended }
        house.store.release()
        _ = try await resume.value
        _ = try await suspend.value
        await house.quiet()
        #expect(house.network.attempts.isEmpty)
        _ = try await house.gateway.resume(task, of: house.tenant)
        let attempt = try await house.network.attempt(0)
        #expect(!attempt.isPaused)
        attempt.answer()
        #expect(try await house.recorder.end(of: task) == nil)
        #expect(house.network.attempts.count == 1)
    }
}
