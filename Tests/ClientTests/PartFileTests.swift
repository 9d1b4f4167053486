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
        let part = try PartFile(path, replacesFile: false)
        #expect(append("new", to: part))
        try part.commit()
        #expect(try folder.read("a.iso") == Array("new".utf8))
    }

    @Test func `a link in the part's place is not followed`() throws {
        try folder.write("precious", [1])
        symlink(folder.file("precious"), path + ".part")
        #expect(throws: ClientError.self) { try PartFile(path, replacesFile: true) }
        #expect(try folder.read("precious") == [1])
    }

    @Test func `a device, a pipe or a folder is never replaced`() throws {
        mkfifo(path, 0o600)
        for path in [path, folder.path, "/dev/null"] {
            #expect(throws: ClientError.file(path: path, detail: "is not a file")) {
                try PartFile(path, replacesFile: true)
            }
        }
        #expect(try folder.contents() == ["a.iso"])
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
