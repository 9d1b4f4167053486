import Files
import Foundation
import TestSupport
import Testing

/// Copies of files, with what a file system does for them or without.
struct FileCopyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func status(_ path: String) -> stat {
        var status = stat()
        #expect(lstat(path, &status) == 0)
        return status
    }

    @Test func `a copy has the bytes and the holes, and changes with nothing`() throws {
        let source = try folder.write("source", [1, 2, 3])
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: source))
        try file.seek(toOffset: 50_000_000)
        try file.write(contentsOf: Data([4, 5]))
        try file.truncate(atOffset: 100_000_000)
        let target = folder.file("target")
        try FileCopy.copy(source, to: target)
        #expect(FileManager.default.contentsEqual(atPath: source, andPath: target))
        #expect(status(target).st_blocks <= status(source).st_blocks)
        #expect(status(target).st_mode & 0o7777 == 0o600)
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data([9]))
        try file.close()
        #expect(try folder.read("target").prefix(3) == [1, 2, 3])
    }

    @Test func `nothing is copied over what is there, nor from what is no file`() throws {
        let source = try folder.write("source", [1])
        let taken = try folder.write("taken", [2])
        #expect(throws: FileError("open", code: EEXIST)) {
            try FileCopy.copy(source, to: taken)
        }
        #expect(throws: FileError("link", code: EEXIST)) {
            try FileCopy.linkOrCopy(source, to: taken)
        }
        #expect(try folder.read("taken") == [2])
        #expect(throws: FileError("open", code: ENOENT)) {
            try FileCopy.copy(folder.file("none"), to: folder.file("new"))
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: source)
        #expect(throws: FileError("open", code: ELOOP)) {
            try FileCopy.copy(folder.file("link"), to: folder.file("new"))
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("new")))
    }

    @Test func `a second name is the same file, and on another file system a copy`() throws {
        let source = try folder.write("source", [1, 2])
        try FileCopy.linkOrCopy(source, to: folder.file("linked"))
        #expect(status(folder.file("linked")).st_ino == status(source).st_ino)
        // Memory is another file system wherever there is this folder.
        let other = "/dev/shm/ferry-\(UUID().uuidString)"
        defer { unlink(other) }
        try FileCopy.linkOrCopy(source, to: other)
        #expect(FileManager.default.contents(atPath: other) == Data([1, 2]))
        let isSameDevice = status(other).st_dev == status(source).st_dev
        #expect(isSameDevice == (status(other).st_ino == status(source).st_ino))
    }
}
