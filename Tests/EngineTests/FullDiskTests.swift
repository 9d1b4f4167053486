import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A full disk stops new work and nothing else: the store lives on its reserve, bodies wait, and
/// what comes free goes to the store first.
@Suite(.onLoop)
struct FullDiskTests {
    @Test @LoopActor
    func `everything but new work is done out of the reserve (R-5)`() async throws {
        let reserve = ScriptedReserve(parts: 4)
        let harness = try await TestGateway.open(reserve: reserve)
        let session = try await harness.session()
        let other = try await harness.session()
        let finished = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: 100_000))
        try await harness.recorder.end(of: finished)
        let running = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(1).head(200)
        let doomed = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(2).head(200)
        let waiting = try await harness.create(try harness.spec(resume: false), in: session)
        let file = try await harness.file([1, 2])
        await harness.quiet()
        reserve.isDiskFull = true
        harness.store.refuseAsFull(1)
        // What is on its way when the disk turns out to be full is done.
        let last = try await harness.create(try harness.spec(resume: false), in: session)
        #expect(!harness.gateway.takesWork && reserve.count == 3)
        #expect(try await harness.store.disk.task(last, of: harness.tenant) != nil)

        let refused: [@LoopActor @Sendable () async throws -> Void] = [
            { _ = try await harness.session() },
            { _ = try await harness.session(.ephemeral) },
            { _ = try await harness.gateway.sessions.shared(of: harness.tenant) },
            { _ = try await harness.create(try harness.spec(), in: session) },
            { _ = try await harness.file() },
            { _ = try await harness.gateway.tasks.resume(waiting, of: harness.tenant) },
        ]
        let sessions = harness.gateway.sessions.directory.count
        for call in refused {
            await #expect(throws: GatewayError.diskFull) { try await call() }
        }
        #expect(await outcome { try await harness.append([3], to: file) }.refusal == .diskFull)

        let done: [@LoopActor @Sendable () async throws -> Void] = [
            { try await harness.gateway.tasks.delete(finished, of: harness.tenant) },
            { try await harness.gateway.files.delete(file, of: harness.tenant) },
            { _ = try await harness.gateway.tasks.cancel(doomed, of: harness.tenant) },
            { _ = try await harness.gateway.tasks.suspend(running, of: harness.tenant) },
            { try await harness.setLimit(1000) },
            { try await harness.setLimit(nil) },
            { try await harness.store("a=1", in: session) },
            { try await harness.remember("alice", "1", .permanent, in: session) },
            { try await harness.gateway.memory.emptyCache(in: session, of: harness.tenant) },
            { try await harness.gateway.sessions.reset(session, of: harness.tenant) },
            { try await harness.gateway.sessions.flush(session, of: harness.tenant) },
            {
                try await harness.gateway.sessions.invalidate(
                    other, of: harness.tenant, .cancelTasks)
            },
            {
                _ = try await harness.gateway.sessions.change(
                    session, of: harness.tenant, SessionUpdate(description: "new"))
            },
            {
                var change = TaskChange()
                change.description = .some("new")
                _ = try await harness.gateway.tasks.change(running, of: harness.tenant, change)
            },
        ]
        for (number, call) in done.enumerated() {
            if number.isMultiple(of: 8) { harness.store.refuseAsFull(1) }
            try await call()
        }
        #expect(reserve.count == 1 && !harness.gateway.takesWork)
        let stored = try await harness.store.disk.task(running, of: harness.tenant)
        #expect(stored?.options.description == "new" && stored?.state == .suspended)
        await #expect(throws: GatewayError.noSuchTask) { try await harness.task(finished) }
        #expect(try await harness.finished(doomed).error?.code == -999)

        reserve.isDiskFull = false
        try await eventually("room") { harness.gateway.takesWork }
        #expect(reserve.count == 4)
        // Nothing of what was refused is there.
        #expect(harness.gateway.sessions.directory.count == sessions)
        #expect(try await harness.state(waiting) == .suspended)
        #expect(harness.stagedFiles.isEmpty)
        _ = try await harness.gateway.tasks.resume(waiting, of: harness.tenant)
        try await harness.network.attempt(3).answer()
        #expect(try await harness.finished(waiting).error == nil)
    }

    @Test @LoopActor
    func `bodies wait until the reserve is whole, and go on by themselves (R-5)`() async throws {
        let reserve = ScriptedReserve(parts: 4)
        let harness = try await TestGateway.open(reserve: reserve)
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        let queued = try await harness.create(
            try harness.spec { $0.earliestBeginDate = harness.clock.now.later(by: 5) }, in: session)
        await harness.fillDisk(reserve, in: session)
        attempt.body(Pattern.bytes(count: 300_000))
        attempt.end()
        try await eventually("a full disk") { harness.spool(of: task)?.isWaitingForRoom == true }
        #expect(try harness.files().isEmpty)
        let view = try await harness.gateway.tasks.read(task, of: harness.tenant)
        #expect(view.record.state == .running && view.waitingFor == .room)
        // No attempt starts meanwhile.
        harness.clock.advance(by: .seconds(5))
        for _ in 0..<20 { await harness.turn() }
        #expect(harness.network.attempts.count == 1)
        reserve.isDiskFull = false
        #expect(try await harness.finished(task).error == nil)
        let told = harness.recorder.events(of: task).contains { event in
            if case .didChange(let changes) = event.body {
                changes.contains(.waitingFor(.room))
            } else {
                false
            }
        }
        #expect(told)
        #expect(try await harness.read(task) == Pattern.bytes(count: 300_000))
        _ = try await harness.gateway.tasks.cancel(queued, of: harness.tenant)
        try await harness.recorder.end(of: queued)
    }

    @Test(arguments: [false, true]) @LoopActor
    func `a connection that is lost meanwhile costs nothing that waits for room (R-5)`(
        isEnded: Bool
    ) async throws {
        let reserve = ScriptedReserve(parts: 4)
        let harness = try await TestGateway.open(reserve: reserve)
        let session = try await harness.session()
        let bytes = Pattern.bytes(count: 300_001)
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "300001"])
        await harness.fillDisk(reserve, in: session)
        attempt.body(Array(bytes[..<200_001]))
        try await eventually("a full disk") { harness.spool(of: task)?.isWaitingForRoom == true }
        attempt.end(.url(.networkConnectionLost))
        for _ in 0..<20 { await harness.turn() }
        guard !isEnded else {
            // What waits for room does not hold up the end.
            let ended = try await harness.gateway.tasks.cancelProducingResumeData(
                task, of: harness.tenant)
            #expect(ended.record.error?.code == -999)
            return
        }
        let server = RangeServer(bytes)
        server.serve(harness.network)
        reserve.isDiskFull = false
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == bytes)
        #expect(server.ranges == ["bytes=200001-"])
    }

    @Test @LoopActor
    func `what comes free goes to the store, then to its reserve, then to bodies (R-5)`()
        async throws
    {
        let reserve = ScriptedReserve(parts: 2)
        let harness = try await TestGateway.open(reserve: reserve)
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        await harness.quiet()
        harness.store.refuse(with: .full)
        // The reserve is used up, and nothing more can be promised.
        await #expect(throws: GatewayError.unconfirmed(isAway: false)) {
            _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        }
        #expect(!harness.gateway.takesWork)
        await #expect(throws: GatewayError.diskFull) {
            _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        }
        // A look on the way there may have filled it once more.
        try await eventually("the reserve to be used up") { reserve.count == 0 }
        let (offered, looks) = (harness.store.attemptCount, reserve.refillCount)
        try await eventually("another try") { harness.store.attemptCount > offered + 1 }
        #expect(reserve.refillCount == looks)
        reserve.isDiskFull = true
        harness.store.refuse(with: nil)
        try await eventually("the store to have room") {
            !harness.gateway.queues.onDisk.isStalled
        }
        try await eventually("a look") { reserve.refillCount > looks + 1 }
        // It has; others have not.
        #expect(!harness.gateway.takesWork)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        reserve.isDiskFull = false
        try await eventually("room") { harness.gateway.takesWork }
        #expect(reserve.count == 2)
        for _ in 0..<2 { _ = try await harness.gateway.tasks.resume(task, of: harness.tenant) }
        attempt.end()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `a gateway starts on a full disk, and takes work when there is room (R-5)`() async throws {
        let before = try await TestGateway.open()
        let session = try await before.session()
        let task = try await before.create(try before.spec(resume: false), in: session)
        let reserve = ScriptedReserve(parts: 2, isDiskFull: true)
        let harness = try await TestGateway.open(
            store: ScriptedStore(disk: before.store.disk), reserve: reserve)
        #expect(!harness.gateway.takesWork)
        await #expect(throws: GatewayError.diskFull) { try await harness.session() }
        #expect(try await harness.state(task) == .suspended)
        _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        reserve.isDiskFull = false
        try await eventually("room") { harness.gateway.takesWork }
        _ = try await harness.session()
    }

    @Test @LoopActor
    func `a store without any room does not hold the start up (R-5, R-4)`() async throws {
        let before = try await TestGateway.open()
        let session = try await before.session()
        let task = try await before.create(try before.spec(), in: session)
        try await before.network.attempt(0).head(200)
        await before.quiet()
        let store = ScriptedStore(disk: before.store.disk)
        before.store.refuse(with: .failed("the process is dead"))
        store.refuse(with: .full)
        let harness = try await TestGateway.open(store: store)
        #expect(!harness.gateway.takesWork)
        #expect(try await harness.state(task) == .running)
        store.refuse(with: nil)
        #expect(try await harness.finished(task).error != nil)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `on a full disk a download ends with what that has taken (R-5, S-34, R-12)`(
        isCancelled: Bool
    ) async throws {
        let reserve = ScriptedReserve(parts: 4)
        let harness = try await TestGateway.open(reserve: reserve)
        let session = try await harness.session()
        let server = RangeServer(Pattern.bytes(count: 300_000))
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "300000"])
        attempt.body(Array(server.bytes[..<70_000]))
        try await eventually("a block on the disk") {
            harness.spool(of: task)?.written(of: [0..<70_000]) == [0..<65_536]
        }
        await harness.fillDisk(reserve, in: session)
        attempt.body(Array(server.bytes[70_000..<250_000]))
        var next: TestGateway
        let checkpoint: DownloadCheckpoint
        if isCancelled {
            let view = try await harness.gateway.tasks.cancelProducingResumeData(
                task, of: harness.tenant)
            guard case .string(let data)? = view.record.error?.userInfo[TransferError.resumeDataKey]
            else {
                Issue.record("no resume data: \(view.record)")
                return
            }
            checkpoint = try harness.gateway.tasks.checkpoint(in: data, of: harness.tenant)
                .checkpoint
            next = harness
        } else {
            await harness.gateway.stop()
            let stored = try await harness.store.disk.task(task, of: harness.tenant)
            checkpoint = try #require(stored?.checkpoint)
            next = try await harness.crash()
            await next.gateway.start()
        }
        #expect(checkpoint.point.received == [0..<65_536])
        reserve.isDiskFull = false
        try await eventually("room") { next.gateway.takesWork }
        _ = server.ranges
        server.serve(next.network)
        let second = try await next.create(
            try next.spec(.download, checkpoint: checkpoint), in: session)
        #expect(try await next.finished(second).error == nil)
        #expect(server.ranges == ["bytes=65536-"])
        #expect(try await next.read(second) == server.bytes)
    }

    // MARK: The queue of all files

    @Test @LoopActor
    func `of many blocks one asks whether a full disk has room (R-5)`() async throws {
        let room = DiskRoom()
        var hasRoom = false
        var tried: [Int] = []
        func join(_ number: Int) {
            _ = room.writeRetries.join {
                tried.append(number)
                if !hasRoom { join(number) }
                return hasRoom ? .isOver : .noRoom
            }
        }
        for number in 0..<100 { join(number) }
        let left = room.writeRetries.join { .isOver }
        room.writeRetries.leave(left)
        try await eventually("two looks") { tried.count >= 2 }
        #expect(tried.prefix(2) == [0, 1])
        // While the store has the room nobody asks.
        #expect(await room.give() == false)
        room.storeWaits = true
        let count = tried.count
        hasRoom = true
        room.look()
        for _ in 0..<20 { await Task.yield() }
        #expect(tried.count == count)
        room.storeWaits = false
        try await eventually("all") { tried.count == count + 100 }
        #expect(Set(tried.suffix(100)) == Set(0..<100))
    }

    @Test @LoopActor
    func `who waits for a descriptor holds nobody up who waits for room (X-12, R-5)`() async throws
    {
        let retries = WriteRetries()
        var isDone = false
        _ = retries.join { .noDescriptor }
        _ = retries.join {
            isDone = true
            return .isOver
        }
        try await eventually("the second") { isDone }
    }
}

extension TestGateway {
    /// The store finds the disk full, and goes on by the reserve.
    fileprivate func fillDisk(_ reserve: ScriptedReserve, in session: SessionID) async {
        await quiet()
        reserve.isDiskFull = true
        store.refuseAsFull(1)
        _ = try? await gateway.sessions.change(
            session, of: tenant, SessionUpdate(description: "full"))
        #expect(!gateway.takesWork)
    }

    fileprivate func spool(of task: TaskID) -> ContentSpool? {
        guard case .spool(let spool)? = gateway.tasks.directory.runners[task]?.sink else {
            return nil
        }
        return spool
    }
}

extension Timestamp {
    fileprivate func later(by seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: milliseconds + seconds * 1000)
    }
}
