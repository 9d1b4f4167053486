import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A disk that takes bytes and has no room for them when they are synced, as with quotas and over
/// the network.
@Suite(.onLoop)
struct LateRoomTests {
    private static let bytes = Pattern.bytes(count: 3_000_001)

    /// A download whose first attempt is answered by hand, and all others by a server.
    @LoopActor
    private final class Scene {
        let harness: TestGateway
        let task: TaskID
        let first: FakeAttempt
        let server: RangeServer

        init(tag: String? = "\"one\"") async throws {
            harness = try await TestGateway.open()
            let session = try await harness.session()
            task = try await harness.create(
                try harness.spec(.download) { $0.computeDigest = true }, in: session)
            first = try await harness.network.attempt(0)
            server = RangeServer(LateRoomTests.bytes, tag: tag)
            server.serve(harness.network)
            var fields: HeaderList = [
                "Content-Length": "\(LateRoomTests.bytes.count)", "Accept-Ranges": "bytes",
            ]
            if let tag { fields.append("ETag", tag) }
            first.head(200, fields)
        }

        /// Waits until the store knows of so many bytes that are there for good.
        func checkpoint(of count: Int64) async throws {
            try await eventually("a checkpoint") {
                let record = try await harness.store.disk.task(task, of: harness.tenant)
                return record?.checkpoint?.point.receivedCount == count
            }
        }

        /// Nothing goes on without room, and everything with it.
        func giveRoom() async throws {
            let failures = harness.disk.failureCount
            try await eventually("a look for room") { harness.disk.failureCount > failures }
            #expect(server.ranges.isEmpty)
            #expect(try await harness.state(task) == .running)
            harness.disk.fail(with: nil)
        }

        func expectWhole() async throws {
            let record = try await harness.finished(task)
            #expect(record.error == nil)
            #expect(record.countOfBytesReceived == Int64(LateRoomTests.bytes.count))
            #expect(
                record.content?.digest == SumDigests.digest(LateRoomTests.bytes)?.description)
            #expect(try await harness.read(task) == LateRoomTests.bytes)
        }
    }

    @Test(arguments: [ENOSPC, EDQUOT]) @LoopActor
    func `a running download goes back to its checkpoint, waits, and asks for the rest (R-5, R-6)`(
        code: CInt
    ) async throws {
        let scene = try await Scene()
        // A whole block, and a piece that stays in memory.
        scene.first.body(Array(Self.bytes[..<100_000]))
        try await scene.checkpoint(of: 65_536)
        scene.harness.disk.fail(with: code)
        scene.first.body(Array(Self.bytes[100_000..<2_000_000]))
        try await eventually("the attempt to end") { scene.first.isCancelled }
        try await scene.giveRoom()
        try await scene.expectWhole()
        #expect(scene.server.ranges == ["bytes=65536-"])
        let told = scene.harness.recorder.events.filter { event in
            if case .didReceiveResponse = event.body { true } else { false }
        }
        #expect(told.count == 1)
    }

    @Test(arguments: ["\"one\"", nil]) @LoopActor
    func `without a checkpoint it begins anew (R-3, R-5)`(tag: String?) async throws {
        let scene = try await Scene(tag: tag)
        scene.harness.disk.fail(with: ENOSPC)
        scene.first.body(Self.bytes)
        scene.first.end()
        try await scene.giveRoom()
        try await scene.expectWhole()
        #expect(scene.server.ranges == [nil])
    }

    @Test @LoopActor
    func `a download that is all there but for the last sync goes back, too (R-5, R-6)`()
        async throws
    {
        let scene = try await Scene()
        scene.first.body(Array(Self.bytes[..<65_536]))
        try await scene.checkpoint(of: 65_536)
        scene.harness.disk.fail(with: ENOSPC)
        scene.first.body(Array(Self.bytes[65_536...]))
        scene.first.end()
        try await scene.giveRoom()
        try await scene.expectWhole()
        #expect(scene.server.ranges == ["bytes=65536-"])
    }

    @Test @LoopActor
    func `a suspended one stays suspended, and asks for the rest when it is resumed (R-5, S-77)`()
        async throws
    {
        let scene = try await Scene()
        scene.first.body(Array(Self.bytes[..<65_536]))
        try await scene.checkpoint(of: 65_536)
        scene.harness.disk.fail(with: ENOSPC)
        scene.first.body(Array(Self.bytes[65_536..<2_000_000]))
        _ = try await scene.harness.gateway.tasks.suspend(scene.task, of: scene.harness.tenant)
        try await eventually("the attempt to end") { scene.first.isCancelled }
        await scene.harness.quiet()
        #expect(try await scene.harness.state(scene.task) == .suspended)
        scene.harness.disk.fail(with: nil)
        _ = try await scene.harness.gateway.tasks.resume(scene.task, of: scene.harness.tenant)
        try await scene.expectWhole()
        #expect(scene.server.ranges == ["bytes=65536-"])
    }

    @Test @LoopActor
    func `while it waits for room it can be cancelled, and a crash loses no checkpoint (R-1, R-2)`()
        async throws
    {
        let scene = try await Scene()
        scene.first.body(Array(Self.bytes[..<65_536]))
        try await scene.checkpoint(of: 65_536)
        scene.harness.disk.fail(with: ENOSPC)
        scene.first.body(Array(Self.bytes[65_536..<2_000_000]))
        try await eventually("the attempt to end") { scene.first.isCancelled }
        await scene.harness.quiet()
        let next = try await scene.harness.crash()
        let server = RangeServer(Self.bytes)
        server.held = [0]
        server.serve(next.network)
        await next.gateway.start()
        let attempt = try await next.network.attempt(0)
        try await eventually("the rest to be asked for") { server.ranges == ["bytes=65536-"] }
        next.disk.fail(with: ENOSPC)
        server.answer(attempt, 0)
        let failures = next.disk.failureCount
        try await eventually("a look for room") { next.disk.failureCount > failures + 1 }
        _ = try await next.gateway.tasks.cancel(scene.task, of: next.tenant)
        #expect(try await next.recorder.end(of: scene.task)?.code == -999)
    }

    @Test(arguments: [EIO, ENOSPC]) @LoopActor
    func `a failed disk is the end, and so is a body that cannot be sent twice (R-6, R-13)`(
        code: CInt
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let method = code == EIO ? "GET" : "POST"
        let task = try await harness.create(
            try harness.spec(.download, method: method), in: session)
        harness.disk.fail(with: code)
        try await harness.network.attempt(0).answer(200, ["ETag": "\"one\""], Self.bytes)
        #expect(try await harness.recorder.end(of: task)?.code == -3003)
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
    }
}
