import Files
import Foundation
import Glibc
import TestSupport
import Testing

/// Files that are in their places whole or not at all.
struct WholeFileTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func status(_ name: String) -> stat {
        var status = stat()
        #expect(lstat(folder.file(name), &status) == 0)
        return status
    }

    @Test(arguments: [0o600, 0o644] as [mode_t])
    func `a file takes the place of another one, with its own bytes and mode`(mode: mode_t) throws {
        let path = try folder.write("file", [UInt8](repeating: 1, count: 400_000))
        #expect(chmod(path, 0o640) == 0)
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        try WholeFile(path, mode: mode).write(bytes)
        #expect(try folder.read("file") == bytes)
        #expect(try folder.contents() == ["file"])
        // The umask takes of it what it takes of every new file.
        close(open(folder.file("new"), O_WRONLY | O_CREAT | O_EXCL, mode))
        #expect(status("file").st_mode == status("new").st_mode)
    }

    @Test func `a link in the draft's place is not followed, and one in the file's is replaced`()
        throws
    {
        let other = try folder.write("other", [7])
        for name in ["file", "draft"] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.file(name), withDestinationPath: other)
        }
        try WholeFile(folder.file("file"), draft: folder.file("draft")).write([1, 2])
        #expect(try folder.read("other") == [7])
        #expect(try folder.read("file") == [1, 2])
        #expect(status("file").st_mode & S_IFMT == S_IFREG)
        #expect(try folder.contents() == ["file", "other"])
    }

    @Test func `what may not be replaced stays, and no draft is left`() throws {
        let path = try folder.write("file", [1])
        #expect(throws: FileError("link", code: EEXIST)) {
            try WholeFile(path).write([2], replaces: false)
        }
        #expect(try folder.read("file") == [1])
        try WholeFile(folder.file("new")).write([3], replaces: false)
        #expect(try folder.read("new") == [3])
        #expect(try folder.contents() == ["file", "new"])
    }

    @Test(arguments: [true, false])
    func `where its folder is missing nothing is made`(isDurable: Bool) throws {
        let operation = isDurable ? "open the folder of" : "open"
        #expect(throws: FileError(operation, code: ENOENT)) {
            try WholeFile(folder.file("none/file")).write([1], isDurable: isDurable)
        }
        #expect(try folder.contents().isEmpty)
    }

    @Test func `where a folder has its name no draft is left`() throws {
        #expect(mkdir(folder.file("file"), 0o700) == 0)
        #expect(throws: FileError("rename", code: EISDIR)) {
            try WholeFile(folder.file("file")).write([1])
        }
        #expect(try folder.contents() == ["file"])
    }

    @Test func `a body that fails leaves what was there, and no draft`() throws {
        let path = try folder.write("file", [1])
        let bytes: [UInt8] = [2, 3]
        #expect(throws: FileError("pread", code: EIO)) {
            try WholeFile(path).write { draft in
                let count = write(draft, bytes, 2)
                #expect(count == 2)
                throw FileError("pread", code: EIO)
            }
        }
        #expect(try folder.read("file") == [1])
        #expect(try folder.contents() == ["file"])
        try WholeFile(path).write { draft in
            let count = write(draft, bytes, 2)
            #expect(count == 2)
        }
        #expect(try folder.read("file") == bytes)
    }
}
