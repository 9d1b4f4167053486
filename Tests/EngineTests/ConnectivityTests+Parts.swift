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
    private func waitingDownload() async throws -> (House, SessionID, TaskID, RangeServer) {
        let (house, session) = try await open()
        let server = RangeServer(Pattern.bytes(count: 300_000))
        server.cuts = [0: Self.received]
        server.held = [1]
        server.serve(house.network)
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await house.create(
            try house.spec(.download) { $0.retry = policy }, in: session)
        try await house.network.attempt(1).end(.url(.notConnectedToInternet))
        try await eventually("a wait for connectivity") {
            try await house.gateway.tasks.read(task, of: house.tenant).waitingFor == .connectivity
        }
        await house.quiet()
        return (house, session, task, server)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `one who waits with a part is kept over a restart, and becomes whole (S-56, S-26)`(
        isCrash: Bool
    ) async throws {
        let (house, _, task, server) = try await waitingDownload()
        if !isCrash { await house.gateway.stop() }
        let next = try await house.crash()
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
        let (house, session, task, server) = try await waitingDownload()
        try await house.call(call, session)
        let stored = try await house.store.disk.task(task, of: house.tenant)
        #expect(stored?.checkpoint?.point.received == [0..<Int64(Self.received)])
        #expect(
            try await house.gateway.tasks.read(task, of: house.tenant).waitingFor == .connectivity)
        server.held = []
        house.routes.change()
        #expect(try await house.finished(task).error == nil)
        #expect(server.ranges.last == "bytes=\(Self.received)-")
        #expect(try await house.read(task) == server.bytes)
    }
}
