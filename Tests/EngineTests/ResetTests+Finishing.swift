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
        let house = try await House.open()
        let session = try await house.cachingSession(delegate: .deciding(.cache))
        let bytes = Pattern.bytes(count: length)
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(
            200, ["Cache-Control": "max-age=60", "ETag": "\"one\""], bytes)
        let decision = try await house.asked(task)
        try await house.call(call, session)
        try await house.answer(decision, .cache(.refuse))
        let record = try await house.finished(task)
        #expect(record.error == nil && record.checkpoint == nil)
        #expect(record.content?.length == Int64(length))
        #expect(try await house.read(task) == bytes)
        await house.quiet()
        // Small contents are in the store, and have no file.
        #expect(try house.files().count == (length == 1000 ? 0 : 1))
        #expect(try house.files().allSatisfy { !$0.hasSuffix(".part") })
        let next = try await house.restarted()
        #expect(try await next.read(task) == bytes)
    }
}
