import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What has come of a download counts as stored for as long as it is there, whatever becomes of the
/// task: otherwise its quota would bound nothing.
@Suite(.onLoop)
struct KeptPartTests {
    private static let length = 100_000

    @LoopActor
    private final class Scene {
        var harness: TestGateway
        let session: SessionID
        private var limits = GatewayLimits()

        init(_ type: SessionType = .default) async throws {
            limits.suspensionGrace = .milliseconds(1)
            harness = try await TestGateway.open(limits: limits)
            session = try await harness.session(type)
        }

        /// A download of which so many bytes have come.
        func download(_ count: Int = 90_000) async throws -> (TaskID, FakeAttempt) {
            let number = harness.network.attempts.count
            let task = try await harness.create(try harness.spec(.download), in: session)
            let attempt = try await harness.network.attempt(number)
            attempt.head(
                200,
                [
                    "Content-Length": "\(KeptPartTests.length)", "ETag": "\"e\"",
                    "Accept-Ranges": "bytes",
                ])
            attempt.body(Pattern.bytes(count: count))
            return (task, attempt)
        }

        func cancelled(_ task: TaskID) async throws -> String {
            let record = try await harness.gateway.tasks.cancelProducingResumeData(
                task, of: harness.tenant
            ).record
            return try #require(record.resumeData)
        }

        func resume(_ data: String) async throws -> TaskID {
            try await harness.resume(data, in: session)
        }

        /// Suspends a download, and waits until it has no connection any more.
        func rest(_ task: TaskID) async throws {
            _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
            try await eventually("the part to be safe") {
                try await self.harness.store.disk.task(task, of: self.harness.tenant)?
                    .hasLiveAttempt == false
            }
        }

        func restart() async throws {
            await harness.quiet()
            harness = try await harness.crash(limits: limits)
            await harness.gateway.start()
            harness.gateway.housekeeper.stop()
        }

        var used: Int64 { get async { await harness.used(.storedBytes) } }

    }

    @Test(arguments: [SessionType.default, .ephemeral]) @LoopActor
    func `a part counts from its download's end on, and then as another one's`(
        type: SessionType
    ) async throws {
        let scene = try await Scene(type)
        let data = try await scene.cancelled(try await scene.download().0)
        #expect(await scene.used == 90_000)
        let second = try await scene.resume(data)
        let attempt = try await scene.harness.network.attempt(1)
        #expect(attempt.request.headers.first("Range") == "bytes=90000-")
        #expect(await scene.used == 90_000)
        attempt.head(206, ["Content-Range": "bytes 90000-99999/100000", "ETag": "\"e\""])
        attempt.body(Pattern.bytes(from: 90_000, count: 10_000))
        attempt.end()
        #expect(try await scene.harness.recorder.end(of: second) == nil)
        #expect(await scene.used == 100_000)
        #expect(try await scene.harness.read(second) == Pattern.bytes(count: Self.length))
        // What is taken up is not there for a third one.
        let third = try await scene.resume(data)
        _ = try await scene.harness.network.attempt(2)
        _ = try await scene.harness.gateway.tasks.cancel(third, of: scene.harness.tenant)
        try await scene.harness.gateway.tasks.delete(second, of: scene.harness.tenant)
        #expect(await scene.used == 0)
    }

    @Test @LoopActor
    func `parts of downloads that break off fill the quota like anything else`() async throws {
        let scene = try await Scene()
        scene.harness.set([.storedBytes: 200_000])
        var refusals = 0
        for _ in 0..<5 {
            let made = await outcome {
                let (task, attempt) = try await scene.download()
                attempt.end(.url(.networkConnectionLost))
                return task
            }
            guard case .success(let task) = made else {
                #expect(made.refusal == .overQuota(.storedBytes, limit: 200_000))
                refusals += 1
                continue
            }
            await scene.harness.quiet()
            if try await scene.harness.state(task) != .completed {
                // Of what it has no room for it takes nothing.
                _ = try await scene.harness.gateway.tasks.cancelProducingResumeData(
                    task, of: scene.harness.tenant)
            }
            #expect(await scene.used <= 200_000)
        }
        #expect(await scene.used >= 180_000)
        let kept = try await scene.harness.gateway.tasks.directory.services.contents.list([.kept])
        #expect(kept.reduce(0) { $0 + $1.length } == (await scene.used))
        #expect(kept.count + refusals >= 3)
    }

    @Test @LoopActor
    func `what has come of a download counts while it rests, after a kill too`() async throws {
        let scene = try await Scene()
        let (task, _) = try await scene.download()
        try await scene.rest(task)
        #expect(await scene.used == 90_000)
        try await scene.restart()
        #expect(await scene.used == 90_000)
        // Nothing drives it now, nor after it was.
        #expect(scene.harness.gateway.tasks.directory.runners[task] == nil)
        _ = try await scene.harness.gateway.tasks.suspend(task, of: scene.harness.tenant)
        #expect(scene.harness.gateway.tasks.directory.runners[task] == nil)
        #expect(await scene.used == 90_000)
        for _ in 0..<2 {
            _ = try await scene.harness.gateway.tasks.resume(task, of: scene.harness.tenant)
        }
        let attempt = try await scene.harness.network.attempt(0)
        #expect(attempt.request.headers.first("Range") == "bytes=90000-")
        #expect(await scene.used == 90_000)
        try await scene.rest(task)
        let (other, _) = try await scene.download(10_000)
        try await scene.rest(other)
        try await scene.restart()
        #expect(await scene.used == 100_000)
        _ = try await scene.cancelled(task)
        #expect(await scene.used == 100_000)
        _ = try await scene.harness.gateway.tasks.cancel(other, of: scene.harness.tenant)
        #expect(await scene.used == 90_000)
    }

    @Test @LoopActor
    func `parts count after a kill, without their tasks too, until they are swept up`()
        async throws
    {
        let scene = try await Scene()
        let (first, _) = try await scene.download(50_000)
        let (second, _) = try await scene.download(7)
        let data = try await scene.cancelled(first)
        _ = try await scene.cancelled(second)
        try await scene.harness.gateway.tasks.delete(first, of: scene.harness.tenant)
        #expect(await scene.used == 50_007)
        try await scene.restart()
        #expect(await scene.used == 50_007)
        _ = try await scene.resume(data)
        let attempt = try await scene.harness.network.attempt(0)
        #expect(attempt.request.headers.first("Range") == "bytes=50000-")
        #expect(await scene.used == 50_007)
        scene.harness.clock.advance(by: .seconds(8 * 86_400))
        await scene.harness.gateway.housekeeper.makeRound()
        #expect(await scene.used <= 50_000)
    }

    @Test @LoopActor
    func `where a tenant's room is full of parts, one that goes on from such a part can be made`()
        async throws
    {
        let scene = try await Scene()
        let data = try await scene.cancelled(try await scene.download().0)
        scene.harness.set([.storedBytes: 90_000])
        #expect(
            await outcome { try await scene.download() }.refusal
                == .overQuota(.storedBytes, limit: 90_000))
        let task = try await scene.resume(data)
        _ = try await scene.harness.network.attempt(1)
        _ = try await scene.harness.gateway.tasks.cancel(task, of: scene.harness.tenant)
        #expect(await scene.used == 0)
        #expect(
            await outcome { try await scene.resume(data) }.refusal == nil, "there is room again")
    }

    @Test @LoopActor
    func `of many parts an ephemeral session keeps the newest, and counts these`() async throws {
        let scene = try await Scene(.ephemeral)
        for _ in 0..<70 { _ = try await scene.cancelled(try await scene.download(1000).0) }
        #expect(await scene.used == 64_000)
        let live = try #require(scene.harness.gateway.sessions.directory[scene.session])
        scene.harness.gateway.sessions.ending.forget(live)
        #expect(await scene.used == 0)
    }
}
