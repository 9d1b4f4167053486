import Files
import Foundation
import Loop
import TestSupport
import Testing

@testable import Engine

/// Room that is kept for the store, in a file.
@Suite(.onLoop, .enabled("needs a file system of its own", { geteuid() == 0 }))
struct ReserveFileTests {
    private static let files = FileThreads(count: 1)
    private static let mebibyte: Int64 = 1 << 20

    /// A file system of 16 MiB, of which the reserve has one.
    private static func withDisk(_ body: (String) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        _ = try await ChildProcess.run(
            "mount", ["-t", "tmpfs", "-o", "size=16m", "none", directory.path])
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(directory.path))
        } catch {
            outcome = .failure(error)
        }
        // Lazily: descriptors may still be open.
        _ = try await ChildProcess.run("umount", ["-l", directory.path])
        try outcome.get()
    }

    private static func status(of path: String) throws -> stat {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileError("stat", code: errno) }
        return status
    }

    /// Takes all room but so much.
    private static func fill(_ folder: String, leaving rest: Int64 = 0) throws {
        var system = statvfs()
        statvfs(folder, &system)
        let free = Int(system.f_bavail) * Int(system.f_frsize) - Int(rest)
        try Data(repeating: 1, count: free).write(to: URL(fileURLWithPath: folder + "/filler"))
    }

    /// Gives back the room of a file. Not by removing it: a process that another test begins at
    /// this moment may have its descriptor, and the room lasts as long.
    private static func empty(_ path: String) {
        #expect(truncate(path, 0) == 0)
    }

    @Test func `it has a sixteenth of a small disk, for its owner only (R-5)`() async throws {
        try await Self.withDisk { folder in
            let path = folder + "/reserve"
            let reserve = ReserveFile(at: path, files: Self.files)
            #expect(try await reserve.refill())
            let status = try Self.status(of: path)
            #expect(Int64(status.st_size) == Self.mebibyte)
            #expect(Int64(status.st_blocks) * 512 == Self.mebibyte)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }

    @Test func `what is released is room, and is taken again when there is some (R-5)`()
        async throws
    {
        try await Self.withDisk { folder in
            let path = folder + "/reserve"
            let reserve = ReserveFile(at: path, files: Self.files)
            #expect(try await reserve.refill())
            try Self.fill(folder)
            let more = URL(fileURLWithPath: folder + "/more")
            #expect(throws: (any Error).self) { try Data(count: 4096).write(to: more) }
            #expect(await reserve.release())
            try Data(repeating: 2, count: 64 << 10).write(to: more)
            #expect(try await !reserve.refill())
            for _ in 1..<16 { #expect(await reserve.release()) }
            #expect(await !reserve.release())
            #expect(try Self.status(of: path).st_size == 0)
            Self.empty(more.path)
            #expect(try await reserve.refill())
            #expect(Int64(try Self.status(of: path).st_blocks) * 512 == Self.mebibyte)
        }
    }

    @Test func `what is there already is taken over, holes and all, and cut to its size (R-5)`()
        async throws
    {
        try await Self.withDisk { folder in
            let path = folder + "/reserve"
            try Data().write(to: URL(fileURLWithPath: path))
            truncate(path, off_t(3 * Self.mebibyte))
            chmod(path, 0o644)
            #expect(try await ReserveFile(at: path, files: Self.files).refill())
            let status = try Self.status(of: path)
            #expect(Int64(status.st_size) == Self.mebibyte)
            #expect(Int64(status.st_blocks) * 512 == Self.mebibyte)
            #expect(status.st_mode & 0o777 == 0o600)
            // The next process can release it before it has looked for room.
            try Self.fill(folder)
            let next = ReserveFile(at: path, files: Self.files)
            #expect(await next.release())
            #expect(Int64(try Self.status(of: path).st_size) < Self.mebibyte)
        }
    }

    @Test func `one that somebody has removed is made again (R-5)`() async throws {
        try await Self.withDisk { folder in
            let path = folder + "/reserve"
            let reserve = ReserveFile(at: path, files: Self.files)
            #expect(try await reserve.refill())
            try FileManager.default.removeItem(atPath: path)
            #expect(try await reserve.refill())
            #expect(Int64(try Self.status(of: path).st_blocks) * 512 == Self.mebibyte)
        }
    }

    @Test func `a disk that is full from the start has none, and is asked again (R-5)`()
        async throws
    {
        try await Self.withDisk { folder in
            let reserve = ReserveFile(at: folder + "/reserve", files: Self.files)
            try Self.fill(folder, leaving: 200 << 10)
            #expect(try await !reserve.refill())
            Self.empty(folder + "/filler")
            #expect(try await reserve.refill())
        }
    }

    @Test func `where there can be none, it says why`() async throws {
        let reserve = ReserveFile(at: "/dev/null/reserve", files: Self.files)
        await #expect(throws: FileError("open", code: ENOTDIR)) { try await reserve.refill() }
        #expect(await !reserve.release())
    }
}
