import Foundation
import Glibc
import TestSupport
import Testing

@testable import Client

struct PartFileTests {
    let folder: TemporaryDirectory
    var path: String { folder.file("a.iso") }

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func append(_ text: String, to part: PartFile) -> Bool {
        Array(text.utf8).withUnsafeBytes { part.append($0) }
    }

    @Test func `the name appears with the whole file`() throws {
        let part = try PartFile(path, replacesFile: false)
        #expect(append("hello", to: part))
        #expect(try folder.contents() == ["a.iso.part"])
        try part.commit()
        #expect(try folder.contents() == ["a.iso"])
        #expect(try folder.read("a.iso") == Array("hello".utf8))
    }

    @Test func `what is released is removed`() throws {
        do {
            let part = try PartFile(path, replacesFile: false)
            #expect(append("hello", to: part))
        }
        #expect(try folder.contents() == [])
    }

    @Test func `a file that is there is not touched`() throws {
        try folder.write("a.iso", [1])
        #expect(throws: ClientError.fileExists(path: path)) {
            try PartFile(path, replacesFile: false)
        }
        #expect(try folder.contents() == ["a.iso"])
    }

    @Test func `a file that appears meanwhile is not touched either`() throws {
        let part = try PartFile(path, replacesFile: false)
        try folder.write("a.iso", [1])
        #expect(throws: ClientError.fileExists(path: path)) { try part.commit() }
        part.discard()
        #expect(try folder.contents() == ["a.iso"])
        #expect(try folder.read("a.iso") == [1])
    }

    @Test func `a file may be replaced when that is wanted`() throws {
        try folder.write("a.iso", [1])
        let part = try PartFile(path, replacesFile: true)
        #expect(append("new", to: part))
        try part.commit()
        #expect(try folder.read("a.iso") == Array("new".utf8))
    }

    @Test func `two commands do not write one file`() throws {
        let first = try PartFile(path, replacesFile: false)
        #expect(append("first", to: first))
        let refusal = ClientError.file(
            path: path + ".part", detail: "is being written by another ferry")
        #expect(throws: refusal) { try PartFile(path, replacesFile: true) }
        try first.commit()
        #expect(try folder.read("a.iso") == Array("first".utf8))
    }

    @Test func `what a killed command has left is taken over`() throws {
        try folder.write("a.iso.part", Array("a long rest".utf8))
        let part = try PartFile(path, replacesFile: false) { 0 }
        #expect(append("new", to: part))
        try part.commit()
        #expect(try folder.read("a.iso") == Array("new".utf8))
    }

    @Test(arguments: [false, true])
    func `a part that is somebody else's is not touched`(replacesFile: Bool) throws {
        try folder.write("a.iso.part", Array("Firefox's".utf8))
        #expect {
            try PartFile(path, replacesFile: replacesFile)
        } throws: { error in
            guard let error = error as? ClientError else { return false }
            return error.exitStatus == .cannotWrite && "\(error)".contains("remove it, or")
        }
        #expect(try folder.read("a.iso.part") == Array("Firefox's".utf8))
    }

    @Test func `a part without anything in it is taken: nobody loses by that`() throws {
        try folder.write("a.iso.part", [])
        let part = try PartFile(path, replacesFile: false)
        try part.commit()
        #expect(try folder.contents() == ["a.iso"])
    }

    @Test(arguments: [0o600, 0o644, 0o640, 0o755] as [mode_t])
    func `a file that is replaced keeps its mode, and the part has it too`(mode: mode_t) throws {
        try folder.write("a.iso", [1])
        chmod(path, mode)
        let part = try PartFile(path, replacesFile: true)
        #expect(modeOf(path + ".part") == mode)
        chmod(path, 0o400)
        try part.commit()
        #expect(modeOf(path) == 0o400)
    }

    private func modeOf(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    @Test func `a link stays, and what it leads to is replaced`() throws {
        try FileManager.default.createDirectory(
            atPath: folder.file("far"), withIntermediateDirectories: true)
        try folder.write("far/real", [1])
        symlink("far/real", folder.file("other"))
        symlink("other", path)
        #expect(throws: ClientError.fileExists(path: path)) {
            try PartFile(path, replacesFile: false)
        }
        let part = try PartFile(path, replacesFile: true)
        #expect(append("new", to: part))
        try part.commit()
        #expect(try folder.read("far/real") == Array("new".utf8))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "other")
        #expect(try folder.contents() == ["a.iso", "far", "far/real", "other"])
    }

    @Test func `a link to a name that is no UTF-8 is refused, and nothing is written elsewhere`()
        throws
    {
        let name = Array(folder.file("old-").utf8) + [0xFF, 0]
        name.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { name in
                guard let name = name.baseAddress else { return }
                close(open(name, O_CREAT | O_WRONLY, 0o600))
                symlink(name, path)
            }
        }
        let before = try folder.contents()
        #expect(before.count == 2)
        #expect {
            try PartFile(path, replacesFile: true)
        } throws: { error in
            (error as? ClientError)?.exitStatus == .cannotWrite
        }
        #expect {
            try CookieFile.write([1], to: path, replacesFile: true)
        } throws: { error in
            (error as? ClientError)?.exitStatus == .cannotWrite
        }
        #expect(try folder.contents() == before)
    }

    @Test func `a link to nothing is refused, and stays`() throws {
        symlink("nowhere", path)
        #expect(throws: ClientError.self) { try PartFile(path, replacesFile: true) }
        #expect(try folder.contents() == ["a.iso"])
    }

    @Test func `a pipe gets the bytes as they come, once somebody reads it`() async throws {
        mkfifo(path, 0o600)
        let path = path
        var waits = 0
        var reader: Int32 = -1
        defer { close(reader) }
        let part = try PartFile(
            path, replacesFile: false,
            whileWaiting: {
                waits += 1
                reader = open(path, O_RDONLY | O_NONBLOCK)
            })
        #expect(part.isStream && waits == 1)
        #expect(append("hello", to: part))
        var room = [UInt8](repeating: 0, count: 16)
        #expect(read(reader, &room, room.count) == 5)
        try part.commit()
        #expect(try folder.contents() == ["a.iso"])
    }

    @Test func `nobody who waits for a reader is held up for ever`() throws {
        mkfifo(path, 0o600)
        #expect(throws: ClientError.interrupted) {
            try PartFile(
                path, replacesFile: false,
                whileWaiting: { () throws(ClientError) in throw .interrupted })
        }
    }

    @Test func `a descriptor of the process is written to where it stands`() throws {
        let file = try folder.write("b", Array("begun ".utf8))
        let descriptor = open(file, O_WRONLY | O_APPEND)
        defer { close(descriptor) }
        for name in ["/dev/fd/\(descriptor)", "/proc/self/fd/\(descriptor)"] {
            let part = try PartFile(name, replacesFile: false)
            #expect(append("more", to: part))
            try part.commit()
        }
        #expect(try folder.read("b") == Array("begun moremore".utf8))
        let null = try PartFile("/dev/null", replacesFile: true)
        #expect(append("gone", to: null))
        try null.commit()
    }

    @Test func `a link in the part's place is not followed`() throws {
        try folder.write("precious", [1])
        symlink(folder.file("precious"), path + ".part")
        #expect(throws: ClientError.self) { try PartFile(path, replacesFile: true) }
        #expect(try folder.read("precious") == [1])
    }

    @Test func `a folder is never replaced`() throws {
        #expect(throws: ClientError.file(path: folder.path, detail: "is not a file")) {
            try PartFile(folder.path, replacesFile: true)
        }
    }

    @Test func `a start from zero forgets what was written`() throws {
        let part = try PartFile(path, replacesFile: false)
        #expect(append("something long", to: part))
        try part.restart()
        #expect(append("short", to: part))
        #expect(part.count == 5)
        try part.commit()
        #expect(try folder.read("a.iso") == Array("short".utf8))
    }

    @Test(arguments: ["nowhere/a.iso", "nowhere/"])
    func `a folder that is not there is told by its name, with what makes it (F15)`(name: String) {
        let folder = folder.file("nowhere/")
        #expect(throws: ClientError.noFolder(folder)) {
            try PartFile(self.folder.file(name), replacesFile: false)
        }
    }

    @Test func `what is kept is gone on with, up to where it is of use`() throws {
        do {
            let part = try PartFile(path, replacesFile: false)
            #expect(append("hello, nobody", to: part))
            try part.synchronize()
            part.keep()
        }
        #expect(try folder.contents() == ["a.iso.part"])
        let part = try PartFile(path, replacesFile: false) { 7 }
        #expect(part.count == 7)
        #expect(append("world", to: part))
        try part.commit()
        #expect(try folder.read("a.iso") == Array("hello, world".utf8))
    }

    @Test(arguments: [-1, 0, 5, 6, Int64.max])
    func `no more is kept than there is`(_ kept: Int64) throws {
        try folder.write("a.iso.part", Array("hello".utf8))
        let part = try PartFile(path, replacesFile: false) { kept }
        #expect(part.count == (kept >= 5 ? 5 : 0))
    }

    @Test func `an error of the one who is asked what to keep touches nothing`() throws {
        try folder.write("a.iso.part", Array("hello".utf8))
        #expect(throws: ClientError.interrupted) {
            try PartFile(path, replacesFile: false) { () throws(ClientError) in throw .interrupted }
        }
        #expect(try folder.read("a.iso.part") == Array("hello".utf8))
    }
}
