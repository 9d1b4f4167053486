import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// What has reached the client.
extension WaitingRequestTests {
    @Test(arguments: [true, false]) @LoopActor
    func `what was handed on cannot be taken back: then the task fails with -1009 (S-41, S-58)`(
        isInline: Bool
    ) async throws {
        var delegate = DelegateOptions.deciding()
        delegate.data = isInline ? .inline : .reference
        let (harness, session) = try await open(delegate)
        let task = try await harness.create(
            try harness.spec { $0.delivery = isInline ? .collect : .stream }, in: session)
        let reader = Task { @LoopActor in
            await outcome { try await harness.read(task) }
        }
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "6"])
        attempt.body([1, 2, 3])
        await harness.quiet()
        attempt.end(.url(.notConnectedToInternet))
        #expect(try await harness.finished(task).error?.code == -1009)
        _ = await reader.value
        #expect(harness.network.attempts.count == 1)
    }
}
