import Files
import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Bodies on their way to the disk: every boundary, a slow disk, a full one.
@Suite(.onLoop)
struct ContentSpoolTests {
    private static let files = FileThreads(count: 2)
    private static let kib = 1024

    /// A spool of a folder of its own.
    @LoopActor
    private final class Bench {
        let directory: TemporaryDirectory
        let folder: ContentFolder
        let clock = ManualClock()
        let room = DiskRoom()
        let task = TaskID(rawValue: 77)
        let spool: ContentSpool
        var roomCount = 0
        var failures: [FileError] = []

        init(
            path: String? = nil, unnamed: Bool = false,
            files: FileThreads = ContentSpoolTests.files,
            digest: DigestAlgorithm? = .sha256
        ) throws {
            directory = try TemporaryDirectory()
            folder = ContentFolder(path: path ?? directory.path)
            try folder.prepare()
            let spools = Spools(
                in: folder, files: files, room: room, clock: clock, digests: SumDigests(),
                contents: LocalContentStore(in: folder, files: files))
            let digest = digest.map(spools.makeDigest)
            spool =
                unnamed
                ? spools.makeUnnamedSpool(digest: digest)
                : spools.makeSpool(for: .task(task), digest: digest)
            spool.onRoom = { [unowned self] in roomCount += 1 }
            spool.onFailure = { [unowned self] in failures.append($0) }
        }

        /// Writes in pieces, and waits where the spool is full.
        func write(_ bytes: [UInt8], pieces: Int, each pause: Duration = .zero) async throws {
            for start in stride(from: 0, to: bytes.count, by: pieces) {
                clock.advance(by: pause)
                let piece = bytes[start..<min(bytes.count, start + pieces)]
                while !piece.withUnsafeBytes({ spool.write($0) }) {
                    let count = roomCount
                    try await eventually("room") { roomCount > count }
                }
            }
        }

        func kept() throws -> [UInt8] {
            try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder.path(of: task))))
        }
    }

    @Test(arguments: [
        0, 1, 32 * kib - 1, 32 * kib, 32 * kib + 1, 64 * kib - 1, 64 * kib, 64 * kib + 1, 68 * kib,
        320 * kib, 320 * kib + 1, 1344 * kib, 1344 * kib + 4095, 3_000_001,
    ]) @LoopActor
    func `a content of any length comes out as it went in, with its digest`(
        length: Int
    ) async throws {
        let bytes = Pattern.bytes(count: length)
        for (pieces, pause) in [
            (16 * Self.kib, Duration.zero), (9973, .zero), (40 * Self.kib, .milliseconds(300)),
        ] {
            let bench = try Bench()
            try await bench.write(bytes, pieces: pieces, each: pause)
            let (small, digest) = try await bench.spool.finish()
            #expect(bench.spool.length == length)
            #expect(digest == SumDigests.digest(bytes)?.bytes)
            #expect((small != nil) == (length <= 32 * Self.kib))
            #expect(try small ?? bench.kept() == bytes)
            let left = try bench.directory.contents().filter { $0.contains("/") }
            #expect(
                left.count == (small == nil ? 1 : 0) && !left.contains { $0.hasSuffix(".part") })
        }
    }

    @Test(arguments: [false, true]) @LoopActor
    func `what has come can be read at any place, wherever it is by then`(
        unnamed: Bool
    ) async throws {
        let bench = try Bench(unnamed: unnamed, digest: nil)
        let bytes = Pattern.bytes(count: 2_000_000)
        var random = SystemRandomNumberGenerator()
        for start in stride(from: 0, to: bytes.count, by: 50_000) {
            try await bench.write(Array(bytes[start..<start + 50_000]), pieces: 16_384)
            for _ in 0..<4 {
                let offset = Int.random(in: 0..<start + 50_000, using: &random)
                let read = try await bench.spool.read(at: Int64(offset), count: 100_000)
                #expect(!read.isEmpty && Pattern.firstDifference(in: read, at: offset) == nil)
            }
        }
        let (small, _) = try await bench.spool.finish()
        #expect(small == nil)
        var all: [UInt8] = []
        while all.count < bytes.count {
            all += try await bench.spool.read(at: Int64(all.count), count: 300_000)
        }
        #expect(all == bytes)
        #expect(try bench.directory.contents().contains { $0.contains("/") } == !unnamed)
    }

    @Test @LoopActor
    func
        `a disk that is behind stops the writer at a bound, and calls it when there is room (R-9)`()
        async throws
    {
        let files = FileThreads(count: 1)
        let gate = DispatchSemaphore(value: 0)
        files.submit { gate.wait() }
        let bench = try Bench(files: files)
        let piece = Pattern.bytes(count: 16_384)
        var taken = 0
        while piece.withUnsafeBytes({ bench.spool.write($0) }) { taken += piece.count }
        #expect(taken >= 64 << 10 && taken <= 8 << 20)
        #expect(!piece.withUnsafeBytes { bench.spool.write($0) } && bench.roomCount == 0)
        // What waits is read from memory.
        let read = try await bench.spool.read(at: 0, count: 100)
        #expect(read == Array(piece[..<100]))
        gate.signal()
        try await eventually("room") { bench.roomCount == 1 }
        let (small, _) = try await bench.spool.finish()
        #expect(small == nil)
        #expect(try bench.kept().count == taken)
    }

    @Test @LoopActor
    func `a full disk is waited for; a spool that is closed waits no longer (R-5)`() async throws {
        let bench = try Bench()
        try FileManager.default.createSymbolicLink(
            atPath: bench.folder.partPath(of: bench.task), withDestinationPath: "/dev/full")
        let piece = Pattern.bytes(count: 16_384)
        while piece.withUnsafeBytes({ bench.spool.write($0) }) {}
        let finish = Task { @LoopActor in
            do {
                _ = try await bench.spool.finish()
                return nil as FileError?
            } catch {
                return error as? FileError
            }
        }
        try await eventually("a look at the disk") { bench.spool.isWaitingForRoom }
        #expect(bench.failures.isEmpty)
        bench.spool.close()
        #expect(await finish.value?.isOutOfSpace == true)
        #expect(bench.failures.count == 1 && bench.failures[0].isOutOfSpace)
    }

    @Test(.enabled("needs a small file system of its own", { SmallDisk.isPossible })) @LoopActor
    func `a transfer goes on by itself when a full disk has room again (R-5)`() async throws {
        let disk = try await SmallDisk()
        let filler = disk.path + "/filler"
        try Data(repeating: 0, count: 700 << 10).write(to: URL(fileURLWithPath: filler))
        let bench = try Bench(path: disk.path)
        let bytes = Pattern.bytes(count: 600_000)
        let writing = Task { @LoopActor in
            try await bench.write(bytes, pieces: 16_384)
            return try await bench.spool.finish()
        }
        try await eventually("a full disk") { bench.spool.isWaitingForRoom }
        try FileManager.default.removeItem(atPath: filler)
        let (_, digest) = try await writing.value
        #expect(digest == SumDigests.digest(bytes)?.bytes)
        #expect(try bench.kept() == bytes && bench.failures.isEmpty)
        await disk.remove()
    }

    @Test @LoopActor
    func `a disk that fails for good ends the content at once`() async throws {
        let bench = try Bench()
        try FileManager.default.createDirectory(
            atPath: bench.folder.partPath(of: bench.task), withIntermediateDirectories: false)
        try await bench.write(Pattern.bytes(count: 70_000), pieces: 70_000)
        await #expect(throws: FileError("open", code: EISDIR)) { try await bench.spool.finish() }
        #expect(bench.failures == [FileError("open", code: EISDIR)])
        let more: [UInt8] = [1]
        #expect(!more.withUnsafeBytes { bench.spool.write($0) })
    }
}

/// A file system of 1 MiB; only root may have one.
private final class SmallDisk: Sendable {
    static let isPossible = geteuid() == 0
    let path: String
    private let directory: TemporaryDirectory

    init() async throws {
        directory = try TemporaryDirectory()
        path = directory.path
        _ = try await ChildProcess.run("mount", ["-t", "tmpfs", "-o", "size=1m", "none", path])
    }

    /// Lazily: descriptors may still be open.
    func remove() async { _ = try? await ChildProcess.run("umount", ["-l", path]) }
}
