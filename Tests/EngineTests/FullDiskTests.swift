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
        let house = try await House.open(reserve: reserve)
        let session = try await house.session()
        let other = try await house.session()
        let finished = try await house.create(try house.spec(.download), in: session)
        try await house.network.attempt(0).answer(200, [:], Pattern.bytes(count: 100_000))
        try await house.recorder.end(of: finished)
        let running = try await house.create(try house.spec(.download), in: session)
        try await house.network.attempt(1).head(200)
        let doomed = try await house.create(try house.spec(.download), in: session)
        try await house.network.attempt(2).head(200)
        let waiting = try await house.create(try house.spec(resume: false), in: session)
        let file = try await house.file([1, 2])
        await house.quiet()
        reserve.isDiskFull = true
        house.store.refuseAsFull(1)
        // What is on its way when the disk turns out to be full is done.
        let last = try await house.create(try house.spec(resume: false), in: session)
        #expect(!house.gateway.takesWork && reserve.count == 3)
        #expect(try await house.store.disk.task(last, of: house.tenant) != nil)

        let refused: [@LoopActor @Sendable () async throws -> Void] = [
            { _ = try await house.session() },
            { _ = try await house.session(.ephemeral) },
            { _ = try await house.gateway.sessions.shared(of: house.tenant) },
            { _ = try await house.create(try house.spec(), in: session) },
            { _ = try await house.file() },
            { _ = try await house.gateway.tasks.resume(waiting, of: house.tenant) },
        ]
        let sessions = house.gateway.sessions.directory.count
        for call in refused {
            await #expect(throws: GatewayError.diskFull) { try await call() }
        }
        #expect(await outcome { try await house.append([3], to: file) }.refusal == .diskFull)

        let done: [@LoopActor @Sendable () async throws -> Void] = [
            { try await house.gateway.tasks.delete(finished, of: house.tenant) },
            { try await house.gateway.files.delete(file, of: house.tenant) },
            { _ = try await house.gateway.tasks.cancel(doomed, of: house.tenant) },
            { _ = try await house.gateway.tasks.suspend(running, of: house.tenant) },
            { try await house.gateway.setLimit(1000) },
            { try await house.gateway.setLimit(nil) },
            { try await house.store("a=1", in: session) },
            { try await house.remember("alice", "1", .permanent, in: session) },
            { try await house.gateway.memory.emptyCache(in: session, of: house.tenant) },
            { try await house.gateway.sessions.reset(session, of: house.tenant) },
            { try await house.gateway.sessions.flush(session, of: house.tenant) },
            { try await house.gateway.sessions.invalidate(other, of: house.tenant, .cancelTasks) },
            {
                _ = try await house.gateway.sessions.change(
                    session, of: house.tenant, description: "new", limit: nil)
            },
            {
                var change = TaskChange()
                change.description = .some("new")
                _ = try await house.gateway.tasks.change(running, of: house.tenant, change)
            },
        ]
        for (number, call) in done.enumerated() {
            if number.isMultiple(of: 8) { house.store.refuseAsFull(1) }
            try await call()
        }
        #expect(reserve.count == 1 && !house.gateway.takesWork)
        let stored = try await house.store.disk.task(running, of: house.tenant)
        #expect(stored?.options.description == "new" && stored?.state == .suspended)
        await #expect(throws: GatewayError.noSuchTask) { try await house.task(finished) }
        #expect(try await house.finished(doomed).error?.code == -999)

        reserve.isDiskFull = false
        try await eventually("room") { house.gateway.takesWork }
        #expect(reserve.count == 4)
        // Nothing of what was refused is there.
        #expect(house.gateway.sessions.directory.count == sessions)
        #expect(try await house.state(waiting) == .suspended)
        #expect(house.gateway.files.staged.records.isEmpty)
        _ = try await house.gateway.tasks.resume(waiting, of: house.tenant)
        try await house.network.attempt(3).answer()
        #expect(try await house.finished(waiting).error == nil)
    }

    @Test @LoopActor
    func `bodies wait until the reserve is whole, and go on by themselves (R-5)`() async throws {
        let reserve = ScriptedReserve(parts: 4)
        let house = try await House.open(reserve: reserve)
        let session = try await house.session()
        let task = try await house.create(try house.spec(.download), in: session)
        let attempt = try await house.network.attempt(0)
        attempt.head(200)
        let queued = try await house.create(
            try house.spec { $0.earliestBeginDate = house.clock.now.later(by: 5) }, in: session)
        await house.fillDisk(reserve, in: session)
        attempt.body(Pattern.bytes(count: 300_000))
        attempt.end()
        try await eventually("a full disk") { house.spool(of: task)?.isWaitingForRoom == true }
        #expect(try house.files().isEmpty)
        #expect(try await house.state(task) == .running)
        // No attempt starts meanwhile.
        house.clock.advance(by: .seconds(5))
        for _ in 0..<20 { await house.turn() }
        #expect(house.network.attempts.count == 1)
        reserve.isDiskFull = false
        #expect(try await house.finished(task).error == nil)
        #expect(try await house.read(task) == Pattern.bytes(count: 300_000))
        _ = try await house.gateway.tasks.cancel(queued, of: house.tenant)
        try await house.recorder.end(of: queued)
    }

    @Test @LoopActor
    func `what comes free goes to the store, then to its reserve, then to bodies (R-5)`()
        async throws
    {
        let reserve = ScriptedReserve(parts: 2)
        let house = try await House.open(reserve: reserve)
        let session = try await house.session()
        let task = try await house.create(try house.spec(.download), in: session)
        let attempt = try await house.network.attempt(0)
        attempt.head(200)
        await house.quiet()
        house.store.refuse(with: .full)
        // The reserve is used up, and nothing more can be promised.
        await #expect(throws: GatewayError.diskFull) {
            _ = try await house.gateway.tasks.suspend(task, of: house.tenant)
        }
        #expect(!house.gateway.takesWork)
        await #expect(throws: GatewayError.diskFull) {
            _ = try await house.gateway.tasks.cancel(task, of: house.tenant)
        }
        // A look on the way there may have filled it once more.
        try await eventually("the reserve to be used up") { reserve.count == 0 }
        let (offered, looks) = (house.store.attemptCount, reserve.refillCount)
        try await eventually("another try") { house.store.attemptCount > offered + 1 }
        #expect(reserve.refillCount == looks)
        reserve.isDiskFull = true
        house.store.refuse(with: nil)
        try await eventually("the store to have room") { !house.gateway.queues.onDisk.isStalled }
        try await eventually("a look") { reserve.refillCount > looks + 1 }
        // It has; others have not.
        #expect(!house.gateway.takesWork)
        _ = try await house.gateway.tasks.suspend(task, of: house.tenant)
        reserve.isDiskFull = false
        try await eventually("room") { house.gateway.takesWork }
        #expect(reserve.count == 2)
        for _ in 0..<2 { _ = try await house.gateway.tasks.resume(task, of: house.tenant) }
        attempt.end()
        #expect(try await house.finished(task).error == nil)
    }

    @Test @LoopActor
    func `a gateway starts on a full disk, and takes work when there is room (R-5)`() async throws {
        let before = try await House.open()
        let session = try await before.session()
        let task = try await before.create(try before.spec(resume: false), in: session)
        let reserve = ScriptedReserve(parts: 2, isDiskFull: true)
        let house = try await House.open(
            store: ScriptedStore(disk: before.store.disk), reserve: reserve)
        #expect(!house.gateway.takesWork)
        await #expect(throws: GatewayError.diskFull) { try await house.session() }
        #expect(try await house.state(task) == .suspended)
        _ = try await house.gateway.tasks.cancel(task, of: house.tenant)
        reserve.isDiskFull = false
        try await eventually("room") { house.gateway.takesWork }
        _ = try await house.session()
    }

    @Test @LoopActor
    func `a store without any room does not hold the start up (R-5, R-4)`() async throws {
        let before = try await House.open()
        let session = try await before.session()
        let task = try await before.create(try before.spec(), in: session)
        try await before.network.attempt(0).head(200)
        await before.quiet()
        let store = ScriptedStore(disk: before.store.disk)
        before.store.refuse(with: .failed("the process is dead"))
        store.refuse(with: .full)
        let house = try await House.open(store: store)
        #expect(!house.gateway.takesWork)
        #expect(try await house.state(task) == .running)
        store.refuse(with: nil)
        #expect(try await house.finished(task).error != nil)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `on a full disk a download ends with what that has taken (R-5, S-34, R-12)`(
        isCancelled: Bool
    ) async throws {
        let reserve = ScriptedReserve(parts: 4)
        let house = try await House.open(reserve: reserve)
        let session = try await house.session()
        let server = RangeServer(Pattern.bytes(count: 300_000))
        let task = try await house.create(try house.spec(.download), in: session)
        let attempt = try await house.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "300000"])
        attempt.body(Array(server.bytes[..<70_000]))
        try await eventually("a block on the disk") {
            house.spool(of: task)?.written(of: [0..<70_000]) == [0..<65_536]
        }
        await house.fillDisk(reserve, in: session)
        attempt.body(Array(server.bytes[70_000..<250_000]))
        var next: House
        let checkpoint: DownloadCheckpoint
        if isCancelled {
            let view = try await house.gateway.tasks.cancelProducingResumeData(
                task, of: house.tenant)
            guard case .string(let data)? = view.record.error?.userInfo[TransferError.resumeDataKey]
            else {
                Issue.record("no resume data: \(view.record)")
                return
            }
            checkpoint = try house.gateway.tasks.checkpoint(in: data, of: house.tenant).checkpoint
            next = house
        } else {
            await house.gateway.stop()
            let stored = try await house.store.disk.task(task, of: house.tenant)
            checkpoint = try #require(stored?.checkpoint)
            next = try await house.crash()
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

    // MARK: The line

    @Test @LoopActor
    func `of many blocks one asks whether a full disk has room (R-5)`() async throws {
        let room = DiskRoom()
        var hasRoom = false
        var tried: [Int] = []
        func join(_ number: Int) {
            _ = room.line.join {
                tried.append(number)
                if !hasRoom { join(number) }
                return hasRoom ? .isOver : .noRoom
            }
        }
        for number in 0..<100 { join(number) }
        let left = room.line.join { .isOver }
        room.line.leave(left)
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
        let line = BlockLine()
        var isDone = false
        _ = line.join { .noDescriptor }
        _ = line.join {
            isDone = true
            return .isOver
        }
        try await eventually("the second") { isDone }
    }
}

extension House {
    /// The store finds the disk full, and goes on by the reserve.
    fileprivate func fillDisk(_ reserve: ScriptedReserve, in session: SessionID) async {
        await quiet()
        reserve.isDiskFull = true
        store.refuseAsFull(1)
        _ = try? await gateway.sessions.change(session, of: tenant, description: "full", limit: nil)
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
