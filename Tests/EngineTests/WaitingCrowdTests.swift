import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Many tasks that wait for a slot, in sessions with a cache: in their order, and for little
/// memory.
@Suite(.onLoop)
struct WaitingCrowdTests {
    /// Tasks to one host; the first three hold its slots.
    @LoopActor
    private func crowd(
        _ count: Int, in harness: TestGateway,
        _ change: (Int, inout TaskOptions) -> Void = { _, _ in }
    ) async throws {
        let session = try await harness.cachingSession { $0.httpMaximumConnectionsPerHost = 3 }
        for start in stride(from: 0, to: count, by: 500) {
            let specs = try (start..<min(count, start + 500)).map { number in
                try harness.spec(.data, "http://a.test/\(number)") { change(number, &$0) }
            }
            _ = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
        }
        await harness.quiet()
    }

    @LoopActor
    private func paths(_ harness: TestGateway, _ count: Int) async throws -> [String] {
        for number in 0..<count { try await harness.network.attempt(number).answer() }
        return harness.network.attempts.prefix(count).map(\.request.url.path)
    }

    @Test @LoopActor
    func `behind a restart those that wait start in the order of their creation (S-43)`()
        async throws
    {
        let harness = try await TestGateway.open()
        try await crowd(24, in: harness)
        #expect(harness.network.attempts.map(\.request.url.path) == ["/0", "/1", "/2"])
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await paths(next, 21) == (3..<24).map { "/\($0)" })
    }

    @Test @LoopActor
    func `behind a restart the most urgent start first (S-43)`() async throws {
        let harness = try await TestGateway.open()
        try await crowd(12, in: harness) { $1.priority = $0 < 9 ? 0.5 : 0.9 }
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(
            try await paths(next, 9)
                == ["/9", "/10", "/11", "/3", "/4", "/5", "/6", "/7", "/8"])
    }

    @Test @LoopActor
    func `a task is steered as always before a start has come to it`() async throws {
        let harness = try await TestGateway.open()
        try await crowd(1000, in: harness)
        let last = try #require(
            harness.gateway.tasks.directory.runners.values.map(\.record.id).max())
        let next = try await harness.crash()
        let start = LoopActor.start { await next.gateway.start() }
        // Turn by turn, to be there between two slices, and on the loop's executor, as the start.
        let (isBefore, view) = try await LoopActor.start {
            for _ in 0..<1_000_000 where next.gateway.tasks.directory.starting.isEmpty {
                await LoopActor.nextTurn()
            }
            let isBefore = next.gateway.tasks.directory.starting.contains(last)
            return (isBefore, try await next.gateway.tasks.suspend(last, of: next.tenant))
        }.value
        #expect(isBefore)
        #expect(view.record.state == .suspended && view.record.suspendCount == 1)
        await start.value
        #expect(next.gateway.tasks.directory.starting.isEmpty)
        #expect(try await next.state(last) == .suspended)
        #expect(try await next.gateway.tasks.resume(last, of: next.tenant).record.state == .running)
    }

    @Test @LoopActor
    func `of those that wait no more than have slots hold anything of the cache`() async throws {
        let harness = try await TestGateway.open()
        try await crowd(1000, in: harness)
        #expect(harness.gateway.tasks.directory.runners.values.count { $0.caching.isHolding } == 3)
        let next = try await harness.crash()
        await next.gateway.start()
        try await eventually("three attempts") { next.network.running.count == 3 }
        await next.quiet()
        #expect(next.gateway.tasks.directory.runners.count == 997)
        #expect(next.gateway.tasks.directory.runners.values.count { $0.caching.isHolding } == 3)
    }

    @Test @LoopActor
    func `what has come while a task waited answers it`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession { $0.httpMaximumConnectionsPerHost = 1 }
        let specs = try (0..<3).map { _ in try harness.spec() }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
        // The second has the slot before the first is stored.
        for number in 0..<2 {
            try await harness.network.attempt(number).answer(
                200, ["Cache-Control": "max-age=60"], Array("once".utf8))
        }
        for task in tasks {
            #expect(try await harness.recorder.end(of: task.record.id) == nil)
            #expect(try await harness.read(task.record.id) == Array("once".utf8))
        }
        #expect(harness.network.attempts.count == 2)
    }

    @Test @LoopActor
    func `who leaves while the cache is asked at its turn gives the slot back`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession { $0.httpMaximumConnectionsPerHost = 1 }
        let large = Pattern.bytes(count: 300_000)
        // Too large for memory: what is stored is a file, and reading it takes a slot.
        _ = try await harness.fetch(
            try harness.spec(), in: session, answering: ["Cache-Control": "max-age=60"], large)
        let first = try await harness.create(try harness.spec(), in: session)
        _ = try await harness.gateway.tasks.cancel(first, of: harness.tenant)
        try await harness.recorder.end(of: first)
        let (record, requests) = try await harness.recall(try harness.spec(), in: session)
        #expect(record.error == nil && requests == 0)
        #expect(try await harness.read(record.id) == large)
        let other = try await harness.create(
            try harness.spec(.data, "http://origin.test/b"), in: session)
        try await harness.network.attempt(1).answer()
        #expect(try await harness.recorder.end(of: other) == nil)
    }
}
