import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// A download that has lost its way with a part of its content.
extension WaitingRequestTests {
    private static let received = 100_000

    /// A download that waits for a route, and has the first bytes.
    @LoopActor
    private func waitingDownload() async throws -> (TestGateway, SessionID, TaskID, RangeServer) {
        let (harness, session) = try await open()
        let server = RangeServer(Pattern.bytes(count: 300_000))
        server.cuts = [0: Self.received]
        server.held = [1]
        server.serve(harness.network)
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        try await harness.network.attempt(1).end(.url(.notConnectedToInternet))
        try await eventually("a wait for connectivity") {
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor
                == .connectivity
        }
        await harness.quiet()
        return (harness, session, task, server)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `one who waits with a part is kept over a restart, and becomes whole (S-56, S-26)`(
        isCrash: Bool
    ) async throws {
        let (harness, _, task, server) = try await waitingDownload()
        if !isCrash { await harness.gateway.stop() }
        let next = try await harness.crash()
        server.cuts = [:]
        server.held = []
        server.serve(next.network)
        await next.gateway.start()
        #expect(try await next.finished(task).error == nil)
        #expect(try await next.read(task) == server.bytes)
    }

    @Test(arguments: ResetTests.Call.allCases) @LoopActor
    func `what one who waits has received is brought to the disk, too (S-12, S-13)`(
        call: ResetTests.Call
    ) async throws {
        let (harness, session, task, server) = try await waitingDownload()
        try await harness.call(call, session)
        let stored = try await harness.store.disk.task(task, of: harness.tenant)
        #expect(stored?.checkpoint?.point.received == [0..<Int64(Self.received)])
        #expect(
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor
                == .connectivity)
        server.held = []
        harness.routes.change()
        #expect(try await harness.finished(task).error == nil)
        #expect(server.ranges.last == "bytes=\(Self.received)-")
        #expect(try await harness.read(task) == server.bytes)
    }
}
