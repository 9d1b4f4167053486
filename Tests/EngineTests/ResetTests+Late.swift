import Dispatch
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// What comes while a session is being flushed.
extension ResetTests {
    @Test(arguments: Call.allCases) @LoopActor
    func `what comes while the disk is being waited for takes nothing back (S-12, S-13)`(
        call: Call
    ) async throws {
        let received = 40_000
        let scene = try await Scene(received: received)
        let runner = try #require(scene.harness.gateway.tasks.directory.runners[scene.task])
        guard case .spool(let spool) = runner.sink else {
            Issue.record("no spool")
            return
        }
        let (before, behind) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let synced = Mark()
        // What the call hands to the disk lies between two doors; what comes then lies behind the
        // second.
        TestGateway.files.submit(on: spool.lane) { before.wait() }
        let calling = Task { @LoopActor in try await scene.harness.call(call, scene.session) }
        for _ in 0..<10 { await scene.harness.turn() }
        TestGateway.files.submit(on: spool.lane, {}, then: { _ in synced.isSet = true })
        TestGateway.files.submit(on: spool.lane) { behind.wait() }
        scene.attempt.body(Array(scene.server.bytes[received..<200_000]))
        before.signal()
        try await eventually("the disk") { synced.isSet }
        await scene.harness.quiet()
        behind.signal()
        try await calling.value
        let covered = try await scene.checkpoint()?.first
        #expect(covered?.lowerBound == 0 && covered?.upperBound ?? 0 >= received)
        scene.attempt.body(Array(scene.server.bytes[200_000...]))
        scene.attempt.end()
        try await scene.expectWhole(scene.task)
    }
}
