import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What staged files may cost: quota, time to live, a full disk.
@Suite(.onLoop)
struct StagedFileLimitTests {
    private static let stranger = TenantID(rawValue: 2)

    private static func limits(_ change: (inout GatewayLimits) -> Void) -> GatewayLimits {
        var limits = GatewayLimits()
        change(&limits)
        return limits
    }

    // MARK: Quota

    @Test @LoopActor
    func `announced bytes count against the quota, and come back with the file`() async throws {
        let harness = try await TestGateway.open(limits: Self.limits { $0.stagedBytes = 1000 })
        let tooLarge = await outcome {
            try await harness.file(StagedFileSpec(announcedLength: 1001))
        }
        #expect(tooLarge.refusal == .fileTooLarge(limit: 1000))
        let first = try await harness.file(StagedFileSpec(announcedLength: 600))
        let second = StagedFileSpec(announcedLength: 401)
        #expect(await outcome { try await harness.file(second) }.refusal == .quotaExceeded)
        _ = try await harness.gateway.files.create(second, of: Self.stranger)
        try await harness.gateway.files.delete(first, of: harness.tenant)
        _ = try await harness.file(second)
    }

    @Test @LoopActor
    func `bytes that nobody announced count as they come`() async throws {
        let harness = try await TestGateway.open(limits: Self.limits { $0.stagedBytes = 100_000 })
        let other = try await harness.file(Pattern.bytes(count: 60_000))
        let id = try await harness.file()
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: id)
        feed.send(Pattern.bytes(count: 50_000), pieces: 10_000)
        let answer = await append.result
        #expect(answer.refusal == .quotaExceeded)
        #expect(answer.interruption?.file?.length == 40_000)
        #expect(feed.isInterrupted == false && feed.takenCount == 50_000)
        #expect(await outcome { try await harness.append([1], to: id) }.refusal == .quotaExceeded)
        try await harness.gateway.files.delete(other, of: harness.tenant)
        try await harness.append(Pattern.bytes(from: 40_000, count: 60_000), to: id)
        #expect(
            await outcome { try await harness.append([1], to: id) }.refusal
                == .fileTooLarge(limit: 100_000))
        try await harness.append([], to: id, completes: true)
        #expect(try await harness.bytes(of: id) == Pattern.bytes(count: 100_000))
    }

    @Test @LoopActor
    func `the quota is the same after a restart`() async throws {
        let limits = Self.limits { $0.stagedBytes = 1000 }
        let harness = try await TestGateway.open(limits: limits)
        _ = try await harness.file(StagedFileSpec(announcedLength: 500))
        _ = try await harness.file([1, 2, 3])
        let survivor = try await harness.survivor(limits: limits)
        let more = StagedFileSpec(announcedLength: 498)
        #expect(await outcome { try await survivor.file(more) }.refusal == .quotaExceeded)
        _ = try await survivor.file(StagedFileSpec(announcedLength: 497))
    }

    @Test @LoopActor
    func `a tenant has so many files and no more`() async throws {
        let harness = try await TestGateway.open(limits: Self.limits { $0.stagedFiles = 2 })
        let first = try await harness.file()
        _ = try await harness.file()
        #expect(await outcome { try await harness.file() }.refusal == .quotaExceeded)
        _ = try await harness.gateway.files.create(StagedFileSpec(), of: Self.stranger)
        try await harness.gateway.files.delete(first, of: harness.tenant)
        _ = try await harness.file()
    }

    // MARK: Time to live

    @Test @LoopActor
    func `a part is forgotten a day after it was written last, a file a week after its last use`()
        async throws
    {
        let harness = try await TestGateway.open()
        let part = try await harness.file()
        let whole = try await harness.file([1, 2])
        let read = try await harness.file([3])
        harness.clock.advance(by: .seconds(80_000))
        try await harness.append([1], to: part)
        harness.clock.advance(by: .seconds(86_399))
        await harness.gateway.housekeeper.makeRound()
        #expect(harness.stagedFiles.count == 3)
        let record = try harness.gateway.files.record(part, of: harness.tenant)
        #expect(harness.gateway.files.timeToLive(of: record) == .seconds(1))
        harness.clock.advance(by: .seconds(1))
        await harness.gateway.housekeeper.makeRound()
        #expect(await outcome { try await harness.append([1], to: part) }.refusal == .noSuchFile)
        #expect(try await harness.stored(part) == nil)
        #expect(try harness.names(of: part).isEmpty)

        #expect(try await harness.bytes(of: read) == [3])
        harness.clock.advance(by: .seconds(6 * 86_400))
        await harness.gateway.housekeeper.makeRound()
        #expect(harness.stagedFiles == [read])
        #expect(try harness.names(of: whole).isEmpty)
        // The use is remembered over a restart.
        let survivor = try await harness.survivor()
        await survivor.gateway.housekeeper.makeRound()
        #expect(try await survivor.bytes(of: read) == [3])
    }

    @Test @LoopActor
    func `a file that comes into use while others are forgotten stays`() async throws {
        let harness = try await TestGateway.open()
        for _ in 0..<Slices.size { _ = try await harness.file([1]) }
        let last = try await harness.file([2])
        harness.clock.advance(by: .seconds(8 * 86_400))
        // Which of them goes first is not known: all are read, but for those that are on their way.
        harness.store.hold()
        let purge = LoopActor.start { await harness.gateway.files.purge() }
        try await eventually("the first to be on their way") { harness.store.heldCount == 1 }
        let staged = harness.gateway.files.staged
        let left = (harness.stagedFiles + [last]).filter { !staged.isDeleting($0) }
        for id in left { _ = try await harness.bytes(of: id) }
        harness.store.release()
        await purge.value
        #expect(!left.isEmpty && Set(harness.stagedFiles) == Set(left))
    }

    @Test @LoopActor
    func `what is being written, or belongs to a live task, is not forgotten`() async throws {
        let harness = try await TestGateway.open()
        let sent = try await harness.file([1, 2, 3])
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: .file(sent, length: 3)), in: session)
        let attempt = try await harness.network.attempt(0)
        let written = try await harness.file()
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: written, completes: true)
        harness.clock.advance(by: .seconds(8 * 86_400))
        await harness.gateway.housekeeper.makeRound()
        #expect(Set(harness.stagedFiles) == [sent, written])
        feed.send([7])
        feed.finish()
        #expect(try await append.value.length == 1)
        attempt.answer(201)
        #expect(try await harness.finished(task).error == nil)
        await harness.gateway.housekeeper.makeRound()
        #expect(harness.stagedFiles == [written])
    }

    // MARK: A full disk

    @Test @LoopActor
    func `on a full disk an upload ends, and goes on when there is room (R-5)`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        let folder = ContentFolder(path: harness.directory.path)
        try FileManager.default.createSymbolicLink(
            atPath: folder.partPath(of: id), withDestinationPath: "/dev/full")
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: id, completes: true)
        feed.send(Pattern.bytes(count: 20_000_000))
        let answer = await append.result
        #expect(answer.refusal == .diskFull)
        #expect(answer.interruption?.file?.length == 0)
        // Who sends more than fits into memory is held up until then.
        #expect(feed.isInterrupted && feed.takenCount < 20_000_000)
        // So is one who sends little, and no end.
        let slow = ScriptedFeed()
        let trickle = try harness.begin(slow, to: id)
        slow.send([1])
        #expect(await trickle.result.refusal == .diskFull)
        #expect(slow.isInterrupted)
        // The end of a small one is found out, too.
        let small = await outcome { try await harness.append([1, 2], to: id, completes: true) }
        #expect(small.refusal == .diskFull)
        try FileManager.default.removeItem(atPath: folder.partPath(of: id))
        try await harness.append([1, 2], to: id, completes: true)
        #expect(try await harness.bytes(of: id) == [1, 2])
    }

    @Test(.enabled("needs a small file system of its own", { TinyDisk.isPossible })) @LoopActor
    func `what a disk has taken before it was full is kept (R-5)`() async throws {
        let disk = try await TinyDisk(mebibytes: 2)
        let harness = try await TestGateway(directory: disk.directory)
        await harness.gateway.start()
        try Data(repeating: 0, count: 700 << 10)
            .write(to: URL(fileURLWithPath: disk.directory.file("filler")))
        let bytes = Pattern.bytes(count: 1_900_000)
        let id = try await harness.file(
            StagedFileSpec(expectedDigest: SumDigests.digest(bytes)))
        let answer = await outcome { try await harness.append(bytes, to: id, completes: true) }
        #expect(answer.refusal == .diskFull)
        let kept = try #require(answer.interruption?.file?.length)
        #expect(kept > 0 && kept < 1_400_000)
        #expect(try await harness.stored(id)?.length == kept)
        try FileManager.default.removeItem(atPath: disk.directory.file("filler"))
        try await harness.append(Array(bytes[Int(kept)...]), to: id, completes: true)
        #expect(try await harness.bytes(of: id) == bytes)
        await disk.remove()
    }

    @Test @LoopActor
    func `without room in the store nothing is promised, and nothing is taken away (R-5, R-1)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let doomed = try await harness.file([1])
        let id = try await harness.file()
        try await harness.append([1, 2], to: id)
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: id, completes: true)
        feed.send([3])
        try await eventually("a byte") { feed.takenCount == 1 }
        harness.store.refuse(with: .full)
        feed.finish()
        let answer = await append.result
        #expect(answer.refusal == .diskFull)
        // The last offset that the store has.
        #expect(answer.interruption?.file?.length == 2)
        #expect(try await harness.gateway.files.read(id, of: harness.tenant).length == 2)
        #expect(await outcome { try await harness.append([9], to: id) }.refusal == .diskFull)
        #expect(await outcome { try await harness.file() }.refusal == .diskFull)
        #expect(try await harness.bytes(of: doomed) == [1])
        let deletion = await outcome {
            try await harness.gateway.files.delete(doomed, of: harness.tenant)
        }
        #expect(deletion.refusal == .diskFull)
        #expect(try await harness.bytes(of: doomed) == [1])
        harness.store.refuse(with: nil)
        try await eventually("room") {
            try await harness.gateway.files.read(id, of: harness.tenant).isComplete
        }
        #expect(try await harness.bytes(of: id) == [1, 2, 3])
        try await harness.gateway.files.delete(doomed, of: harness.tenant)
        #expect(try await harness.stored(doomed) == nil)
        #expect(try harness.names(of: doomed).isEmpty)
    }

    @Test @LoopActor
    func `a file is there until its removal is durable, and nothing is begun with it (R-1)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let doomed = try await harness.file([1, 2])
        let part = try await harness.file()
        try await harness.append([3], to: part)
        harness.store.refuse(with: .full)
        for (id, refusal) in [(doomed, GatewayError.unconfirmed(isAway: false)), (part, .diskFull)]
        {
            let deletion = await outcome {
                try await harness.gateway.files.delete(id, of: harness.tenant)
            }
            #expect(deletion.refusal == refusal)
        }
        // The first one has found out that the disk is full, and goes when there is room.
        #expect(try await harness.bytes(of: doomed) == [1, 2])
        #expect(try await harness.gateway.files.read(doomed, of: harness.tenant).length == 2)
        #expect(try await harness.survivorOfCopy().bytes(of: doomed) == [1, 2])
        harness.store.refuse(with: nil)
        try await eventually("the removal") { !harness.stagedFiles.contains(doomed) }
        try await eventually("its bytes to go") { try harness.names(of: doomed).isEmpty }
        #expect(try await harness.stored(doomed) == nil)
        // The second one has not begun.
        #expect(try await harness.gateway.files.read(part, of: harness.tenant).length == 1)
        // Whoever comes while the removal is on its way waits for it.
        await harness.quiet()
        harness.store.hold()
        let deletion = Task { @LoopActor in
            try await harness.gateway.files.delete(part, of: harness.tenant)
        }
        try await eventually("the commit") { harness.store.heldCount == 1 }
        #expect(try await harness.gateway.files.read(part, of: harness.tenant).length == 1)
        let append = Task { @LoopActor in
            await outcome { try await harness.append([4], to: part) }
        }
        for _ in 0..<4 { await harness.turn() }
        harness.store.release()
        try await deletion.value
        #expect(await append.value.refusal == .noSuchFile)
        let look = await outcome { try await harness.gateway.files.read(part, of: harness.tenant) }
        #expect(look.refusal == .noSuchFile)
    }

    @Test @LoopActor
    func `a disk that fails ends the request, and takes nothing back (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 300_000)
        let id = try await harness.file()
        try await harness.append(Array(bytes[..<5000]), to: id)
        let path = ContentFolder(path: harness.directory.path).partPath(of: id)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        let answer = await outcome { try await harness.append(Array(bytes[5000...]), to: id) }
        guard case .store = answer.refusal else {
            Issue.record("\(answer)")
            return
        }
        #expect(answer.interruption?.file?.length == 5000)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        try await harness.append(Array(bytes[5000...]), to: id, completes: true)
        #expect(try await harness.bytes(of: id) == bytes)
    }
}

/// A file system of a few MiB; only root may have one.
private final class TinyDisk: Sendable {
    static let isPossible = geteuid() == 0
    /// Where it is mounted.
    let directory: TemporaryDirectory

    init(mebibytes: Int) async throws {
        directory = try TemporaryDirectory()
        try await ChildProcess.run(
            "mount", ["-t", "tmpfs", "-o", "size=\(mebibytes)m", "none", directory.path])
    }

    /// Lazily: descriptors may still be open.
    func remove() async { _ = try? await ChildProcess.run("umount", ["-l", directory.path]) }
}
