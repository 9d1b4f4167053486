import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What a crash, a cut and a stop leave of an upload: what was acknowledged, and never a byte of
/// something else.
@Suite(.onLoop)
struct StagedFileCrashTests {
    @Test @LoopActor
    func `nothing is acknowledged before the commit (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        let calls: [(String, @LoopActor () async throws -> Void)] = [
            ("create", { _ = try await harness.file() }),
            ("append", { try await harness.append([1], to: id) }),
            ("complete", { try await harness.append([2], to: id, completes: true) }),
            ("delete", { try await harness.gateway.files.delete(id, of: harness.tenant) }),
        ]
        for (name, call) in calls {
            await harness.quiet()
            harness.store.hold()
            let offered = harness.store.attemptCount
            var isAcknowledged = false
            let answer = LoopActor.start {
                try await call()
                isAcknowledged = true
            }
            try await eventually("a commit of \(name)") { harness.store.attemptCount > offered }
            #expect(!isAcknowledged, "\(name)")
            harness.store.release()
            try await answer.value
        }
    }

    @Test @LoopActor
    func `after cuts at any byte the upload goes on, and the digest is right`() async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 2_000_003)
        let id = try await harness.file(
            StagedFileSpec(expectedDigest: SumDigests.digest(bytes)))
        var offset = 0
        while offset < bytes.count {
            let end = min(bytes.count, offset + Int.random(in: 0...400_000))
            let feed = ScriptedFeed()
            let append = try harness.begin(feed, to: id, completes: true)
            feed.send(Array(bytes[offset..<end]), pieces: Int.random(in: 1000...100_000))
            feed.finish(ScriptedFeed.Cut())
            let interruption = try #require(await append.result.interruption)
            #expect(interruption.cause is ScriptedFeed.Cut)
            #expect(interruption.file?.length == Int64(end))
            #expect(try await harness.stored(id)?.length == Int64(end))
            offset = end
        }
        try await harness.append([], to: id, completes: true)
        #expect(try await harness.bytes(of: id) == bytes)
    }

    @Test(arguments: [3, 5000, 300_000, 3_000_000]) @LoopActor
    func `within a second what comes is there for good, however slowly it comes (R-2)`(
        count: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 2 * count)
        let id = try await harness.file(
            StagedFileSpec(expectedDigest: SumDigests.digest(bytes)))
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: id)
        // All but what is less than a block is there after one second, and the rest after another.
        feed.send(Array(bytes[..<count]))
        try await eventually("a checkpoint") {
            try await harness.stored(id)?.length == Int64(count)
        }
        // What has come since then is lost.
        feed.send([9, 9, 9])
        try await eventually("three bytes") { feed.takenCount == count + 3 }
        let survivor = try await harness.survivor()
        let file = try await survivor.gateway.files.read(id, of: survivor.tenant)
        #expect(file.length == Int64(count))
        try await survivor.append(Array(bytes[count...]), to: id, completes: true)
        #expect(try await survivor.bytes(of: id) == bytes)
        feed.finish()
        _ = append
    }

    @Test @LoopActor
    func `a stream that trickles through many checkpoints comes out as it went in`() async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 9999)
        let id = try await harness.file(
            StagedFileSpec(expectedDigest: SumDigests.digest(bytes)))
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: id, completes: true)
        for end in [1, 4096, 5000] {
            feed.send(Array(bytes[feed.takenCount..<end]))
            try await eventually("a checkpoint") {
                try await harness.stored(id)?.length == Int64(end)
            }
        }
        feed.send(Array(bytes[5000...]))
        feed.finish()
        #expect(try await append.value.isComplete)
        #expect(try await harness.bytes(of: id) == bytes)
    }

    @Test(arguments: [0, 5000]) @LoopActor
    func `a crash between the last rename and its commit makes the file a part again`(
        start: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 100_000)
        let id = try await harness.file()
        try await harness.append(Array(bytes[..<start]), to: id)
        harness.store.hold()
        let last = LoopActor.start {
            try await harness.append(Array(bytes[start...]), to: id, completes: true)
        }
        try await eventually("the whole file") { try harness.names(of: id) == [id.description] }
        let survivor = try await harness.survivor()
        let file = try await survivor.gateway.files.read(id, of: survivor.tenant)
        #expect(file.length == Int64(start) && !file.isComplete)
        try await survivor.append(Array(bytes[start...]), to: id, completes: true)
        #expect(try await survivor.bytes(of: id) == bytes)
        #expect(try survivor.names(of: id) == [id.description])
        _ = last
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a file that is shorter than its offset is damaged: it begins at zero`(
        isComplete: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 100_000)
        let damaged = try await harness.file()
        let gone = try await harness.file()
        let sound = try await harness.file()
        for id in [damaged, gone, sound] {
            try await harness.append(bytes, to: id, completes: isComplete)
        }
        for name in try harness.files() {
            let path = harness.directory.file(name)
            if name.contains(damaged.description) { #expect(truncate(path, 99_999) == 0) }
            if name.contains(gone.description) { #expect(unlink(path) == 0) }
        }
        let survivor = try await harness.survivor()
        for id in [damaged, gone] {
            let file = try await survivor.gateway.files.read(id, of: survivor.tenant)
            #expect(file.length == 0 && !file.isComplete)
            #expect(try await survivor.stored(id) == file)
            #expect(try survivor.names(of: id).isEmpty)
            try await survivor.append(bytes, to: id, completes: true)
            #expect(try await survivor.bytes(of: id) == bytes)
        }
        #expect(try survivor.gateway.files.record(sound, of: survivor.tenant).length == 100_000)
    }

    @Test @LoopActor
    func `a stop keeps what has come (R-12)`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: id)
        feed.send(Pattern.bytes(count: 12_345))
        try await eventually("the bytes") { feed.takenCount == 12_345 }
        await harness.gateway.stop()
        #expect(await append.result.refusal == .uploadSuperseded)
        let survivor = try await harness.survivor()
        #expect(try survivor.gateway.files.record(id, of: survivor.tenant).length == 12_345)
        try await survivor.append([], to: id, completes: true)
        #expect(try await survivor.bytes(of: id) == Pattern.bytes(count: 12_345))
    }

    @Test @LoopActor
    func `a file without a record is swept away, one with a record stays`() async throws {
        let harness = try await TestGateway.open()
        let part = try await harness.file()
        try await harness.append([1], to: part)
        let whole = try await harness.file([1, 2])
        for name in ["fil_000000000099", "fil_000000000099.part"] {
            try harness.directory.write("09/\(name)", [1])
        }
        let survivor = try await harness.survivor()
        await survivor.gateway.housekeeper.makeRound()
        try await eventually("the sweep") {
            try survivor.files().compactMap { $0.split(separator: "/").last.map(String.init) }
                .sorted() == ["\(part).part", "\(whole)"]
        }
        #expect(try await survivor.bytes(of: whole) == [1, 2])
    }

    @Test @LoopActor
    func `nothing is appended to a file that cannot be looked at, nor do others wait for it (R-3)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 100_000)
        let (odd, sound) = (try await harness.file(), try await harness.file())
        for id in [odd, sound] { try await harness.append(bytes, to: id) }
        await harness.quiet()
        // A folder is too short for a part, and is not unlinked.
        let path = harness.directory.file(ContentFolder.name(of: odd) + ".part")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let next = try await harness.crash()
        await next.gateway.start()
        try await next.append([1], to: sound, completes: true)
        let refusal = await outcome { try await next.append([1], to: odd) }.refusal
        #expect(refusal == .tenantIsMoving)
        #expect(try next.gateway.files.record(odd, of: next.tenant).length == 100_000)

        try FileManager.default.removeItem(atPath: path)
        try await eventually("another look") {
            try next.gateway.files.record(odd, of: next.tenant).length == 0
        }
        try await next.append(bytes, to: odd, completes: true)
        #expect(try await next.bytes(of: odd) == bytes)
        #expect(try await next.bytes(of: sound) == bytes + [1])
    }
}
