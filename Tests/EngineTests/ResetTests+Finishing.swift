import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// Contents that are whole, and wait for their delegate, while their session is reset or flushed.
extension ResetTests {
    @Test(arguments: Call.allCases, [1000, 100_000]) @LoopActor
    func `a whole content that waits for its last decision is left alone (S-12, S-13, S-71)`(
        call: Call, length: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(delegate: .deciding(.cache))
        let bytes = Pattern.bytes(count: length)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            200, ["Cache-Control": "max-age=60", "ETag": "\"one\""], bytes)
        let decision = try await harness.asked(task)
        try await harness.call(call, session)
        try await harness.answer(decision, .cache(.refuse))
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.checkpoint == nil)
        #expect(record.content?.length == Int64(length))
        #expect(try await harness.read(task) == bytes)
        await harness.quiet()
        // Small contents are in the store, and have no file.
        #expect(try harness.files().count == (length == 1000 ? 0 : 1))
        #expect(try harness.files().allSatisfy { !$0.hasSuffix(".part") })
        let next = try await harness.restarted()
        #expect(try await next.read(task) == bytes)
    }
}
