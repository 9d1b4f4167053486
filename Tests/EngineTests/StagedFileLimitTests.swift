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
        let house = try await House.open(limits: Self.limits { $0.stagedBytes = 1000 })
        let tooLarge = await outcome {
            try await house.file(StagedFileSpec(announcedLength: 1001))
        }
        #expect(tooLarge.refusal == .fileTooLarge(limit: 1000))
        let first = try await house.file(StagedFileSpec(announcedLength: 600))
        let second = StagedFileSpec(announcedLength: 401)
        #expect(await outcome { try await house.file(second) }.refusal == .quotaExceeded)
        _ = try await house.gateway.files.create(second, of: Self.stranger)
        try await house.gateway.files.delete(first, of: house.tenant)
        _ = try await house.file(second)
    }

    @Test @LoopActor
    func `bytes that nobody announced count as they come`() async throws {
        let house = try await House.open(limits: Self.limits { $0.stagedBytes = 100_000 })
        let other = try await house.file(Pattern.bytes(count: 60_000))
        let id = try await house.file()
        let feed = ScriptedFeed()
        let append = try house.begin(feed, to: id)
        feed.send(Pattern.bytes(count: 50_000), pieces: 10_000)
        let answer = await append.result
        #expect(answer.refusal == .quotaExceeded)
        #expect(answer.interruption?.file?.length == 40_000)
        #expect(feed.isInterrupted == false && feed.takenCount == 50_000)
        #expect(await outcome { try await house.append([1], to: id) }.refusal == .quotaExceeded)
        try await house.gateway.files.delete(other, of: house.tenant)
        try await house.append(Pattern.bytes(from: 40_000, count: 60_000), to: id)
        #expect(
            await outcome { try await house.append([1], to: id) }.refusal
                == .fileTooLarge(limit: 100_000))
        try await house.append([], to: id, completes: true)
        #expect(try await house.bytes(of: id) == Pattern.bytes(count: 100_000))
    }

    @Test @LoopActor
    func `the quota is the same after a restart`() async throws {
        let limits = Self.limits { $0.stagedBytes = 1000 }
        let house = try await House.open(limits: limits)
        _ = try await house.file(StagedFileSpec(announcedLength: 500))
        _ = try await house.file([1, 2, 3])
        let survivor = try await house.survivor(limits: limits)
        let more = StagedFileSpec(announcedLength: 498)
        #expect(await outcome { try await survivor.file(more) }.refusal == .quotaExceeded)
        _ = try await survivor.file(StagedFileSpec(announcedLength: 497))
    }

    @Test @LoopActor
    func `a tenant has so many files and no more`() async throws {
        let house = try await House.open(limits: Self.limits { $0.stagedFiles = 2 })
        let first = try await house.file()
        _ = try await house.file()
        #expect(await outcome { try await house.file() }.refusal == .quotaExceeded)
        _ = try await house.gateway.files.create(StagedFileSpec(), of: Self.stranger)
        try await house.gateway.files.delete(first, of: house.tenant)
        _ = try await house.file()
    }

    // MARK: Time to live

    @Test @LoopActor
    func `a part is forgotten a day after it was written last, a file a week after its last use`()
        async throws
    {
        let house = try await House.open()
        let part = try await house.file()
        let whole = try await house.file([1, 2])
        let read = try await house.file([3])
        house.clock.advance(by: .seconds(80_000))
        try await house.append([1], to: part)
        house.clock.advance(by: .seconds(86_399))
        await house.gateway.housekeeper.makeRound()
        #expect(house.gateway.files.staged.records.count == 3)
        let record = try house.gateway.files.record(part, of: house.tenant)
        #expect(house.gateway.files.timeToLive(of: record) == .seconds(1))
        house.clock.advance(by: .seconds(1))
        await house.gateway.housekeeper.makeRound()
        #expect(await outcome { try await house.append([1], to: part) }.refusal == .noSuchFile)
        #expect(try await house.stored(part) == nil)
        #expect(try house.names(of: part).isEmpty)

        #expect(try await house.bytes(of: read) == [3])
        house.clock.advance(by: .seconds(6 * 86_400))
        await house.gateway.housekeeper.makeRound()
        #expect(house.gateway.files.staged.records.keys.map { $0 } == [read])
        #expect(try house.names(of: whole).isEmpty)
        // The use is remembered over a restart.
        let survivor = try await house.survivor()
        await survivor.gateway.housekeeper.makeRound()
        #expect(try await survivor.bytes(of: read) == [3])
    }

    @Test @LoopActor
    func `what is being written, or belongs to a live task, is not forgotten`() async throws {
        let house = try await House.open()
        let sent = try await house.file([1, 2, 3])
        let session = try await house.session()
        let task = try await house.create(
            try house.spec(.upload, method: "PUT", body: .file(sent, length: 3)), in: session)
        let attempt = try await house.network.attempt(0)
        let written = try await house.file()
        let feed = ScriptedFeed()
        let append = try house.begin(feed, to: written, completes: true)
        house.clock.advance(by: .seconds(8 * 86_400))
        await house.gateway.housekeeper.makeRound()
        #expect(Set(house.gateway.files.staged.records.keys) == [sent, written])
        feed.send([7])
        feed.finish()
        #expect(try await append.value.length == 1)
        attempt.answer(201)
        #expect(try await house.finished(task).error == nil)
        await house.gateway.housekeeper.makeRound()
        #expect(Set(house.gateway.files.staged.records.keys) == [written])
    }

    // MARK: A full disk

    @Test @LoopActor
    func `on a full disk an upload ends, and goes on when there is room (R-5)`() async throws {
        let house = try await House.open()
        let id = try await house.file()
        let folder = ContentFolder(path: house.directory.path)
        try FileManager.default.createSymbolicLink(
            atPath: folder.partPath(of: id), withDestinationPath: "/dev/full")
        let feed = ScriptedFeed()
        let append = try house.begin(feed, to: id, completes: true)
        feed.send(Pattern.bytes(count: 20_000_000))
        let answer = await append.result
        #expect(answer.refusal == .diskFull)
        #expect(answer.interruption?.file?.length == 0)
        // Who sends more than fits into memory is held up until then.
        #expect(feed.isInterrupted && feed.takenCount < 20_000_000)
        // So is one who sends little, and no end.
        let slow = ScriptedFeed()
        let trickle = try house.begin(slow, to: id)
        slow.send([1])
        #expect(await trickle.result.refusal == .diskFull)
        #expect(slow.isInterrupted)
        // The end of a small one is found out, too.
        let small = await outcome { try await house.append([1, 2], to: id, completes: true) }
        #expect(small.refusal == .diskFull)
        try FileManager.default.removeItem(atPath: folder.partPath(of: id))
        try await house.append([1, 2], to: id, completes: true)
        #expect(try await house.bytes(of: id) == [1, 2])
    }

    @Test(.enabled("needs a small file system of its own", { TinyDisk.isPossible })) @LoopActor
    func `what a disk has taken before it was full is kept (R-5)`() async throws {
        let disk = try await TinyDisk(mebibytes: 2)
        let house = try await House(directory: disk.directory)
        await house.gateway.start()
        try Data(repeating: 0, count: 700 << 10)
            .write(to: URL(fileURLWithPath: disk.directory.file("filler")))
        let bytes = Pattern.bytes(count: 1_900_000)
        let id = try await house.file(
            StagedFileSpec(expectedDigest: SumDigests.digest(bytes)))
        let answer = await outcome { try await house.append(bytes, to: id, completes: true) }
        #expect(answer.refusal == .diskFull)
        let kept = try #require(answer.interruption?.file?.length)
        #expect(kept > 0 && kept < 1_400_000)
        #expect(try await house.stored(id)?.length == kept)
        try FileManager.default.removeItem(atPath: disk.directory.file("filler"))
        try await house.append(Array(bytes[Int(kept)...]), to: id, completes: true)
        #expect(try await house.bytes(of: id) == bytes)
        await disk.remove()
    }

    @Test @LoopActor
    func `without room in the store nothing is promised, and nothing is taken away (R-5, R-1)`()
        async throws
    {
        let house = try await House.open()
        let doomed = try await house.file([1])
        let id = try await house.file()
        try await house.append([1, 2], to: id)
        let feed = ScriptedFeed()
        let append = try house.begin(feed, to: id, completes: true)
        feed.send([3])
        try await eventually("a byte") { feed.takenCount == 1 }
        house.store.refuse(with: .full)
        feed.finish()
        let answer = await append.result
        #expect(answer.refusal == .diskFull)
        // The last offset that the store has.
        #expect(answer.interruption?.file?.length == 2)
        #expect(try await house.gateway.files.read(id, of: house.tenant).length == 2)
        #expect(await outcome { try await house.append([9], to: id) }.refusal == .diskFull)
        #expect(await outcome { try await house.file() }.refusal == .diskFull)
        #expect(try await house.bytes(of: doomed) == [1])
        let deletion = await outcome {
            try await house.gateway.files.delete(doomed, of: house.tenant)
        }
        #expect(deletion.refusal == .diskFull)
        #expect(try await house.bytes(of: doomed) == [1])
        house.store.refuse(with: nil)
        try await eventually("room") {
            try await house.gateway.files.read(id, of: house.tenant).isComplete
        }
        #expect(try await house.bytes(of: id) == [1, 2, 3])
        try await house.gateway.files.delete(doomed, of: house.tenant)
        #expect(try await house.stored(doomed) == nil)
        #expect(try house.names(of: doomed).isEmpty)
    }

    @Test @LoopActor
    func `a file is there until its removal is durable, and nothing is begun with it (R-1)`()
        async throws
    {
        let house = try await House.open()
        let doomed = try await house.file([1, 2])
        let part = try await house.file()
        try await house.append([3], to: part)
        house.store.refuse(with: .full)
        for id in [doomed, part] {
            let deletion = await outcome {
                try await house.gateway.files.delete(id, of: house.tenant)
            }
            #expect(deletion.refusal == .diskFull)
        }
        // The first one has found out that the disk is full, and goes when there is room.
        #expect(try await house.bytes(of: doomed) == [1, 2])
        #expect(try await house.gateway.files.read(doomed, of: house.tenant).length == 2)
        #expect(try await house.survivorOfCopy().bytes(of: doomed) == [1, 2])
        house.store.refuse(with: nil)
        try await eventually("the removal") { house.gateway.files.staged.records[doomed] == nil }
        try await eventually("its bytes to go") { try house.names(of: doomed).isEmpty }
        #expect(try await house.stored(doomed) == nil)
        // The second one has not begun.
        #expect(try await house.gateway.files.read(part, of: house.tenant).length == 1)
        // Whoever comes while the removal is on its way waits for it.
        await house.quiet()
        house.store.hold()
        let deletion = Task { @LoopActor in
            try await house.gateway.files.delete(part, of: house.tenant)
        }
        try await eventually("the commit") { house.store.heldCount == 1 }
        #expect(try await house.gateway.files.read(part, of: house.tenant).length == 1)
        let append = Task { @LoopActor in
            await outcome { try await house.append([4], to: part) }
        }
        for _ in 0..<4 { await house.turn() }
        house.store.release()
        try await deletion.value
        #expect(await append.value.refusal == .noSuchFile)
        let look = await outcome { try await house.gateway.files.read(part, of: house.tenant) }
        #expect(look.refusal == .noSuchFile)
    }

    @Test @LoopActor
    func `a disk that fails ends the request, and takes nothing back (R-1)`() async throws {
        let house = try await House.open()
        let bytes = Pattern.bytes(count: 300_000)
        let id = try await house.file()
        try await house.append(Array(bytes[..<5000]), to: id)
        let path = ContentFolder(path: house.directory.path).partPath(of: id)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        let answer = await outcome { try await house.append(Array(bytes[5000...]), to: id) }
        guard case .store = answer.refusal else {
            Issue.record("\(answer)")
            return
        }
        #expect(answer.interruption?.file?.length == 5000)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        try await house.append(Array(bytes[5000...]), to: id, completes: true)
        #expect(try await house.bytes(of: id) == bytes)
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
