import Foundation
import Sealing
import Testing

/// A rotation in place, interrupted at every place where it can be.
@Suite struct KeyFileTests {
    @Test func `a rotation gives the file a new key, with nothing left beside it`() async throws {
        try await withFile { file, folder in
            let old = try DataKey.loadOrCreate(at: file.path)
            let new = try file.beginRotation()
            #expect(new != old)
            #expect(try file.load() == old)
            #expect(try file.next.load() == new)
            try file.finishRotation()
            #expect(try file.load() == new)
            #expect(try names(in: folder) == ["key"])
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
    }

    @Test func `interrupted before the data were sealed anew, the old key stays in force`()
        async throws
    {
        try await withFile { file, folder in
            let old = try DataKey.loadOrCreate(at: file.path)
            _ = try file.beginRotation()
            let key = try file.settled {
                $0 == old
            } complete: {
                throw Tried()
            }
            #expect(key == old)
            #expect(try file.load() == old)
            #expect(try names(in: folder) == ["key"])
            // The next one can begin.
            #expect(try file.beginRotation() != old)
        }
    }

    @Test(arguments: [true, false])
    func `interrupted after that, the new key takes its place`(oldIsThere: Bool) async throws {
        try await withFile { file, folder in
            _ = try DataKey.loadOrCreate(at: file.path)
            let new = try file.beginRotation()
            if !oldIsThere { try file.remove() }
            // What else belongs to the rotation comes before, so that it is not forgotten.
            #expect(throws: Tried.self) {
                try file.settled {
                    $0 == new
                } complete: {
                    throw Tried()
                }
            }
            #expect(try file.next.load() == new)
            var completed = 0
            let key = try file.settled {
                $0 == new
            } complete: {
                completed += 1
            }
            #expect(key == new && completed == 1)
            #expect(try file.load() == new)
            #expect(try names(in: folder) == ["key"])
        }
    }

    @Test func `where neither key is in force nothing is changed`() async throws {
        try await withFile { file, folder in
            let old = try DataKey.loadOrCreate(at: file.path)
            let new = try file.beginRotation()
            #expect(try file.settled { _ in false } == old)
            #expect(try file.load() == old)
            #expect(try file.next.load() == new)
        }
    }

    @Test(arguments: [true, false])
    func `where nothing is sealed, both keys stay: they may be other data's`(oldIsThere: Bool)
        async throws
    {
        try await withFile { file, folder in
            let old = try DataKey.loadOrCreate(at: file.path)
            let new = try file.beginRotation()
            if !oldIsThere { try file.remove() }
            #expect(try file.settled { _ in nil } == (oldIsThere ? old : nil))
            #expect(try file.next.load() == new)
            #expect(try file.load() == (oldIsThere ? old : nil))
        }
    }

    @Test func `without a rotation no key is tried`() async throws {
        try await withFile { file, _ in
            #expect(try file.settled { _ in throw Tried() } == nil)
            let key = try DataKey.loadOrCreate(at: file.path)
            #expect(try file.settled { _ in throw Tried() } == key)
        }
    }

    @Test(arguments: ["key.ferry-draft", "key.rotation.ferry-draft"])
    func `what a crash has left of a key that was being made goes`(name: String) async throws {
        try await withFile { file, folder in
            let key = try DataKey.loadOrCreate(at: file.path)
            try FileManager.default.linkItem(atPath: file.path, toPath: folder + "/" + name)
            #expect(try file.settled { _ in false } == key)
            #expect(try names(in: folder) == ["key"])
            // Nor is it in the way of another one.
            #expect(
                FileManager.default.createFile(
                    atPath: folder + "/" + name, contents: Data([1]), attributes: nil))
            #expect(try file.beginRotation() != key)
            try file.finishRotation()
            #expect(try file.settled { _ in true } != key)
            #expect(try names(in: folder) == ["key"])
        }
    }

    @Test func `a next key that is spoilt is shown, and everything left alone`() async throws {
        try await withFile { file, folder in
            let old = try DataKey.loadOrCreate(at: file.path)
            #expect(
                FileManager.default.createFile(
                    atPath: file.next.path, contents: Data([1, 2, 3]),
                    attributes: [.posixPermissions: 0o600]))
            #expect(throws: DataKeyError.wrongSize(path: file.next.path, found: 3)) {
                try file.settled { $0 == old }
            }
            #expect(try names(in: folder) == ["key", "key.rotation"])
        }
    }

    @Test func `a second rotation does not begin before the first has ended`() async throws {
        try await withFile { file, _ in
            let new = try file.beginRotation()
            #expect(throws: DataKeyError.vanished(path: file.next.path)) {
                try file.beginRotation()
            }
            #expect(try file.next.load() == new)
        }
    }

    @Test func `a file is made once, and removed once`() async throws {
        try await withFile { file, folder in
            let key = DataKey()
            #expect(try file.make(key))
            #expect(try !file.make(DataKey()))
            #expect(try file.load() == key)
            try file.remove()
            try file.remove()
            #expect(try file.load() == nil)
            #expect(try names(in: folder).isEmpty)
        }
    }

    @Test func `what cannot be written is told with the system's words`() {
        let file = KeyFile(path: "/proc/no/such/key")
        #expect {
            try file.make(DataKey())
        } throws: { error in
            "\(error)".hasPrefix("The key file /proc/no/such/key")
                && "\(error)".contains("No such file or directory")
        }
    }

    @Test func `a pipe in the file's place holds nobody up`() async throws {
        try await withFile { file, _ in
            #expect(mkfifo(file.path, 0o600) == 0)
            #expect(throws: DataKeyError.notAFile(path: file.path)) { try file.load() }
        }
    }

    private struct Tried: Error {}

    private func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    private func withFile(_ body: (KeyFile, String) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            try await body(KeyFile(path: folder + "/key"), folder)
        }
    }
}
