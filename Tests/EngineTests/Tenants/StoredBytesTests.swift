import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// The bytes that a tenant may store: of results, caches and staged files.
@Suite(.onLoop)
struct StoredBytesTests {
    @LoopActor
    private static func download(
        _ harness: TestGateway, _ session: SessionID, _ count: Int, _ type: TaskType = .download
    ) async throws -> TaskID {
        let number = harness.network.attempts.count
        let task = try await harness.create(try harness.spec(type), in: session)
        try await harness.network.attempt(number).answer(200, [:], Pattern.bytes(count: count))
        try await harness.recorder.end(of: task)
        return task
    }

    @Test(arguments: [SessionType.default, .ephemeral]) @LoopActor
    func `results count from their first byte until they are deleted`(type: SessionType)
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(type)
        let small = try await Self.download(harness, session, 1000, .data)
        let large = try await Self.download(harness, session, 200_000)
        #expect(await harness.used(.storedBytes) == 201_000)
        let live = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(2)
        attempt.head(200, ["Content-Length": "100000"])
        attempt.body(Pattern.bytes(count: 50_000))
        #expect(await harness.used(.storedBytes) == 251_000)
        _ = try await harness.gateway.tasks.cancel(live, of: harness.tenant)
        #expect(await harness.used(.storedBytes) == 201_000)
        try await harness.gateway.tasks.delete(small, of: harness.tenant)
        #expect(await harness.used(.storedBytes) == 200_000)
        try await harness.gateway.tasks.delete(large, of: harness.tenant)
        #expect(await harness.used(.storedBytes) == 0)
    }

    @Test @LoopActor
    func `an ephemeral session takes its results along`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(.ephemeral)
        for count in [10, 100_000] { _ = try await Self.download(harness, session, count) }
        #expect(await harness.used(.storedBytes) == 100_010)
        let live = try #require(harness.gateway.sessions.directory[session])
        harness.gateway.sessions.ending.forget(live)
        #expect(await harness.used(.storedBytes) == 0)
    }

    @Test @LoopActor
    func `what is stored counts after a kill, and no more once it has outlived its time`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let kept = try await Self.download(harness, session, 5000, .data)
        _ = try await Self.download(harness, session, 100_000)
        _ = try await harness.file(Pattern.bytes(count: 300))
        await harness.quiet()
        let survivor = try await harness.crash()
        await survivor.gateway.start()
        survivor.gateway.housekeeper.stop()
        #expect(await survivor.used(.storedBytes) == 105_300)
        #expect(await survivor.used(.stagedBytes) == 300)
        try await survivor.gateway.tasks.delete(kept, of: survivor.tenant)
        #expect(await survivor.used(.storedBytes) == 100_300)
        survivor.clock.advance(by: .seconds(8 * 86_400))
        await survivor.gateway.housekeeper.makeRound()
        #expect(await survivor.used(.storedBytes) == 0)
        #expect(await survivor.used(.stagedBytes) == 0)
    }

    @Test @LoopActor
    func `what a purge has forgotten counts no more, also where it does not come to its end`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let old = try await Self.download(harness, session, 1000)
        _ = try await Self.download(harness, session, 30_000)
        let over = try await harness.session()
        await harness.quiet()
        var forgotten = Forgotten()
        forgotten.sessions = [over]
        forgotten.results = [
            try #require(Forgotten.Result(of: old, in: session, byteCount: 1000))
        ]
        harness.store.forget(forgotten, failing: .away("on its way home"))
        await harness.gateway.housekeeper.makeRound()
        #expect(await harness.used(.storedBytes) == 30_000)
        #expect(harness.gateway.sessions.directory[over] == nil)
    }

    @Test @LoopActor
    func `a result that is deleted while housekeeping forgets it is counted once`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let old = try await Self.download(harness, session, 1000)
        _ = try await Self.download(harness, session, 30_000)
        await harness.quiet()
        harness.store.hold()
        let deletion = LoopActor.start {
            try await harness.gateway.tasks.delete(old, of: harness.tenant)
        }
        try await eventually { harness.store.heldCount > 0 }
        var forgotten = Forgotten()
        forgotten.results = [
            try #require(Forgotten.Result(of: old, in: session, byteCount: 1000))
        ]
        harness.store.forget(forgotten)
        let round = LoopActor.start { await harness.gateway.housekeeper.makeRound() }
        harness.store.release()
        await round.value
        try await deletion.value
        #expect(await harness.used(.storedBytes) == 30_000)
    }

    @Test @LoopActor
    func `a transfer without room waits until there is some, and no byte goes beyond the quota`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let old = try await Self.download(harness, session, 60_000)
        harness.set([.storedBytes: 100_000])
        let tasks = try await harness.create(3, try harness.spec(.download), in: session)
        for number in 1...3 {
            try await harness.network.attempt(number).answer(200, [:], Pattern.bytes(count: 30_000))
        }
        await harness.quiet()
        #expect(await harness.used(.storedBytes) <= 100_000)
        #expect(harness.network.running.count == 2)
        // New work is refused only while there is no room at all.
        try await harness.gateway.tasks.delete(old, of: harness.tenant)
        for task in tasks { #expect(try await harness.recorder.end(of: task) == nil) }
        #expect(await harness.used(.storedBytes) == 90_000)
        #expect(try await harness.read(tasks[2]) == Pattern.bytes(count: 30_000))
    }

    @Test @LoopActor
    func `without any room no task is created, and a higher quota gives some`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        _ = try await Self.download(harness, session, 1000)
        harness.set([.storedBytes: 1000])
        let refused = await outcome { try await harness.create(try harness.spec(), in: session) }
        #expect(refused.refusal == .overQuota(.storedBytes, limit: 1000))
        #expect(
            await outcome { try await harness.file(StagedFileSpec(announcedLength: 1)) }.refusal
                == .overQuota(.storedBytes, limit: 1000))
        harness.set([.storedBytes: 2000])
        let live = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(1).answer(200, [:], Pattern.bytes(count: 3000))
        await harness.quiet()
        #expect(try await harness.state(live) == .running)
        harness.set([.storedBytes: 10_000])
        #expect(try await harness.recorder.end(of: live) == nil)
    }

    @Test @LoopActor
    func `what is handed on takes no room`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec { $0.delivery = .stream }, in: session)
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: 1000))
        #expect(try await harness.read(task).count == 1000)
        try await harness.recorder.end(of: task)
        #expect(await harness.used(.storedBytes) == 0)
    }

    @Test @LoopActor
    func `a cache on the disk counts, and stores nothing that it has no room for`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.urlCache = CacheCapacity() }
        let get = { @LoopActor (path: String) async throws -> TaskID in
            let number = harness.network.attempts.count
            let task = try await harness.create(
                try harness.spec(.data, "http://origin.test/\(path)"), in: session)
            try await harness.network.attempt(number).answer(
                200, ["Cache-Control": "max-age=1000"], Pattern.bytes(count: 10_000))
            try await harness.recorder.end(of: task)
            return task
        }
        let first = try await get("a")
        let cached = await harness.used(.storedBytes) - 10_000
        #expect(cached >= 10_000)
        try await harness.gateway.tasks.delete(first, of: harness.tenant)
        #expect(await harness.used(.storedBytes) == cached)
        harness.set([.storedBytes: cached + 15_000])
        _ = try await get("b")
        #expect(await harness.used(.storedBytes) == cached + 10_000)
        await harness.quiet()
        let survivor = try await harness.crash()
        await survivor.gateway.start()
        #expect(await survivor.used(.storedBytes) == cached + 10_000)
        try await survivor.gateway.sessions.reset(session, of: survivor.tenant)
        #expect(await survivor.used(.storedBytes) == 10_000)
    }

    @Test @LoopActor
    func `staged bytes are held against both quotas, also 64 files at a time`() async throws {
        let harness = try await TestGateway.open()
        harness.set([.stagedBytes: 1000, .storedBytes: 5000])
        let making = (0..<64).map { _ in
            LoopActor.start {
                await outcome { try await harness.file(StagedFileSpec(announcedLength: 100)) }
            }
        }
        var made: [FileID] = []
        for file in making {
            switch await file.value {
            case .success(let id): made.append(id)
            case .failure(let error):
                #expect(error as? GatewayError == .overQuota(.stagedBytes, limit: 1000))
            }
        }
        #expect(made.count == 10)
        #expect(await harness.used(.stagedBytes) == 1000)
        #expect(await harness.used(.storedBytes) == 1000)
        try await harness.gateway.files.delete(made[0], of: harness.tenant)
        #expect(await harness.used(.storedBytes) == 900)
        harness.set([.stagedBytes: 1000, .storedBytes: 950])
        #expect(
            await outcome { try await harness.file(StagedFileSpec(announcedLength: 51)) }.refusal
                == .overQuota(.storedBytes, limit: 950))
        _ = try await harness.file(StagedFileSpec(announcedLength: 50))
    }
}
