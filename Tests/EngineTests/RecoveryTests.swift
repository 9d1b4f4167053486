import Files
import Foundation
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What a gateway finds when it starts again (S-56, R-1, R-13).
@Suite(.onLoop)
struct RecoveryTests {
    @Test @LoopActor
    func
        `an interrupted task ends with -997, one that waits goes on, a suspended one stays (S-56)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let date = Timestamp(milliseconds: harness.clock.now.milliseconds + 60_000)
        let specs = [
            try harness.spec(.download, "http://a.test/live"),
            try harness.spec(.data, "http://a.test/waits"),
            try harness.spec(.data, "http://a.test/later") { $0.earliestBeginDate = date },
            try harness.spec(.data, "http://a.test/suspended", resume: false),
            try harness.spec(.data, "http://b.test/completed"),
            try harness.spec(.download, "http://c.test/held"),
        ]
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        let live = try await harness.network.attempt(0)
        live.head(200)
        live.body(Pattern.bytes(count: 100_000))
        try await harness.network.attempt(1).answer(200, [:], Array("kept".utf8))
        try await harness.recorder.end(of: tasks[4])
        try await harness.network.attempt(2).head(200)
        _ = try await harness.gateway.tasks.suspend(tasks[5], of: harness.tenant)
        try await eventually("the part") { try !harness.files().isEmpty }
        await harness.quiet()

        let next = try await harness.crash()
        await next.gateway.start()
        let error = try await next.recorder.end(of: tasks[0])
        #expect(error?.code == -997 && error?.failingURL == "http://a.test/live")
        #expect(try await next.state(tasks[0]) == .completed)
        // Suspended, with a connection that is gone.
        #expect(try await next.state(tasks[5]) == .suspended)
        try await eventually("the part to go") { try next.files().isEmpty }
        let waiting = try await next.network.attempt(0)
        #expect(waiting.request.url.path == "/waits")
        waiting.answer(200, [:], Array("after".utf8))
        #expect(try await next.recorder.end(of: tasks[1]) == nil)
        #expect(try await next.read(tasks[1]) == Array("after".utf8))
        #expect(
            try await next.gateway.tasks.read(tasks[2], of: next.tenant).waitingFor == .beginDate)
        #expect(try await next.state(tasks[3]) == .suspended)
        #expect(try await next.read(tasks[4]) == Array("kept".utf8))
        #expect(next.network.attempts.count == 1)
        for task in [tasks[2], tasks[3]] {
            _ = try await next.gateway.tasks.cancel(task, of: next.tenant)
            try await next.recorder.end(of: task)
        }
    }

    @Test @LoopActor
    func `numbers of tasks, events and identifiers go on where they were (S-8)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let first = try await harness.create(try harness.spec(resume: false), in: session)
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        // The recorder of the new harness expects the session's next number.
        let second = try await next.create(try next.spec(resume: false), in: session)
        await next.quiet()
        #expect(try await next.task(second).number == 2)
        #expect(second > first && next.recorder.events.map(\.sequence) == [2])
    }

    @Test @LoopActor
    func `an unsafe request that may have been sent is not sent again (R-13)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes([1])), in: session)
        _ = try await harness.network.attempt(0)
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.recorder.end(of: task)?.code == -997)
        await next.quiet()
        #expect(next.network.attempts.isEmpty)
    }

    @Test @LoopActor
    func `a crash between the answer and its commit ends the task, and leaves no file (R-1, R-3)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        await harness.quiet()
        harness.store.hold()
        attempt.answer(200, [:], Pattern.bytes(count: 100_000))
        try await eventually("the file") { try harness.files().contains { !$0.hasSuffix(".part") } }
        try await eventually("the end") { harness.gateway.tasks.directory.runners.isEmpty }
        #expect(!harness.recorder.isOver(task))
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.recorder.end(of: task)?.code == -997)
        try await eventually("the file to go") { try next.files().isEmpty }
    }

    @Test @LoopActor
    func `a session on its way out ends after a restart (S-9)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.recorder.end(of: task)?.code == -997)
        try await next.recorder.end(of: session)
    }

    @Test @LoopActor
    func `an ordered stop drops attempts, ends nothing, and lets nobody wait (R-12, S-56)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 2 }
        let followed = try await harness.create(try harness.spec(.download), in: session)
        let streamed = try await harness.create(
            try harness.spec { $0.delivery = .stream }, in: session)
        let waiting = try await harness.create(try harness.spec(), in: session)
        for number in 0..<2 {
            let attempt = try await harness.network.attempt(number)
            attempt.head(200)
            attempt.body([1, 2, 3])
        }
        let readers = [followed, streamed, waiting].map { task in
            Task { @LoopActor in
                do {
                    _ = try await harness.read(task)
                    return true
                } catch {
                    return false
                }
            }
        }
        let waiter = Task { @LoopActor in
            try await harness.gateway.tasks.wait(
                for: waiting, of: harness.tenant, within: .seconds(60))
        }
        await harness.quiet()
        await harness.gateway.stop()
        for reader in readers { #expect(await !reader.value) }  // a content cut off is not whole
        #expect(try await waiter.value.record.state == .running)
        #expect(harness.network.attempts.allSatisfy { $0.isCancelled })
        let next = try await harness.crash()
        await next.gateway.start()
        for task in [followed, streamed] {
            #expect(try await next.recorder.end(of: task)?.code == -997)
        }
        try await next.network.attempt(0).answer()
        #expect(try await next.recorder.end(of: waiting) == nil)
    }

    @Test @LoopActor
    func `files that belong to no task are swept up`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let kept = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: 100_000))
        try await harness.recorder.end(of: kept)
        let stray = TaskID(rawValue: 12_345)
        let folder = ContentFolder(path: harness.directory.path)
        let prefix = harness.directory.path.count + 1
        for path in [folder.path(of: stray), folder.partPath(of: TaskID(rawValue: 54_321))] {
            try harness.directory.write(String(path.dropFirst(prefix)), [1])
        }
        let next = try await harness.crash()
        await next.gateway.start()
        await next.gateway.housekeeper.makeRound()
        try await eventually("strays to go") { try next.files().count == 1 }
        #expect(try await next.read(kept) == Pattern.bytes(count: 100_000))
    }

    @Test @LoopActor
    func `the parts of downloads are kept for a time, and then swept up (S-34)`() async throws {
        let harness = try await TestGateway.open()
        let folder = ContentFolder(path: harness.directory.path)
        let prefix = harness.directory.path.count + 1
        let (old, young) = (TaskID(rawValue: 7), TaskID(rawValue: 8))
        for task in [old, young] {
            let path = folder.keptPath(of: task, in: nil)
            try harness.directory.write(String(path.dropFirst(prefix)), [1])
        }
        let now = Date(timeIntervalSince1970: Double(harness.clock.now.milliseconds) / 1000)
        try FileManager.default.setAttributes(
            [.modificationDate: now], ofItemAtPath: folder.keptPath(of: young, in: nil))
        // 1970, which is long ago by any clock.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 0)],
            ofItemAtPath: folder.keptPath(of: old, in: nil))
        let isThere = { FileManager.default.fileExists(atPath: folder.keptPath(of: $0, in: nil)) }
        await harness.gateway.housekeeper.makeRound()
        try await eventually("the old part to go") { !isThere(old) }
        #expect(isThere(young))
        // An hour passes before the folder is looked through again.
        let again = folder.keptPath(of: old, in: nil)
        try harness.directory.write(String(again.dropFirst(prefix)), [1])
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 0)],
            ofItemAtPath: folder.keptPath(of: old, in: nil))
        await harness.gateway.housekeeper.makeRound()
        await harness.quiet()
        #expect(isThere(old))
        harness.clock.advance(by: .seconds(3600))
        await harness.gateway.housekeeper.makeRound()
        try await eventually("the old part to go") { !isThere(old) }
    }

    @Test(arguments: [false, true]) @LoopActor
    func `what could not be removed while its place was away goes later, and no other`(
        isPutAgain: Bool
    ) async throws {
        let harness = try await TestGateway.open(keepsContentsElsewhere: true)
        let place = try #require(harness.place)
        let session = try await harness.cachingSession { $0.urlCache.memoryCapacity = 0 }
        var tasks: [TaskID] = []
        for number in 0..<3 {
            let url = "http://origin.test/\(number)"
            let record = try await harness.fetch(
                try harness.spec(.data, url), in: session,
                answering: number == 0 ? CacheTests.fresh : ["Cache-Control": "no-store"],
                Pattern.bytes(count: 400_000))
            tasks.append(record.id)
        }
        let file = try await harness.file([1, 2, 3])
        await harness.gateway.housekeeper.makeRound()
        // Three contents, a stored response and a staged file.
        #expect(try harness.wholeContents().count == 5)

        place.wholeFailure = FileError("open", code: EHOSTDOWN)
        for task in tasks.dropLast() {
            try await harness.gateway.tasks.delete(task, of: harness.tenant)
        }
        try await harness.gateway.files.delete(file, of: harness.tenant)
        try await harness.gateway.memory.emptyCache(in: session, of: harness.tenant)
        let contents = harness.gateway.tasks.directory.services.contents
        try await eventually("the tries") {
            tasks.dropLast().allSatisfy { contents.owesRemoval(of: .task($0)) }
        }
        place.wholeFailure = nil
        #expect(try harness.wholeContents().count == 5)
        if isPutAgain {
            // As an upload that begins anew: it is of this file that something was to be removed.
            let spool = harness.gateway.tasks.directory.services.spools.makeSpool(
                for: .file(file), digest: nil)
            spool.moveToDisk()
            [4, 5].withUnsafeBytes { spool.append($0) }
            try await spool.settle()
            _ = try await spool.finish()
        }
        harness.clock.advance(by: .seconds(3700))
        await harness.gateway.housekeeper.makeRound()
        try await eventually("what was owed to go") {
            try harness.wholeContents().count == (isPutAgain ? 2 : 1)
        }
        #expect(try await harness.read(tasks[2]) == Pattern.bytes(count: 400_000))
        await harness.quiet()
        #expect(try harness.wholeContents().count == (isPutAgain ? 2 : 1))
    }

    @Test @LoopActor
    func `what was forgotten while its place was away goes later`() async throws {
        let harness = try await TestGateway.open(keepsContentsElsewhere: true)
        let place = try #require(harness.place)
        let session = try await harness.session()
        let task = try await harness.fetch(
            try harness.spec(.download), in: session, Pattern.bytes(count: 400_000)
        ).id
        await harness.gateway.housekeeper.makeRound()
        place.wholeFailure = FileError("open", code: EHOSTDOWN)
        harness.clock.advance(by: .seconds(100 * 86_400))
        await harness.gateway.housekeeper.makeRound()
        await #expect(throws: GatewayError.noSuchTask) { try await harness.task(task) }
        #expect(try harness.wholeContents().count == 1)
        place.wholeFailure = nil
        harness.clock.advance(by: .seconds(3700))
        await harness.gateway.housekeeper.makeRound()
        try await eventually("it to go") { try harness.wholeContents().isEmpty }
    }
}
