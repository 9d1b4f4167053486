import Diagnostics
import Engine
import Foundation
import Glibc
import SQLiteStore
import Sealing

/// The key that opens a data directory.
struct StoreKey {
    let key: DataKey
    /// The file that it is in; nil for one of the environment.
    let file: KeyFile?
    private static let log = Log("key")

    /// The key of a source, which has been tried.
    ///
    /// A rotation that was interrupted is settled. In the data directory the key is made at the
    /// first start, and never again: another one could not open what is there.
    ///
    /// - Throws: `Refusal` where there is no key, or it is not the one that the data are sealed
    ///   with.
    static func find(_ source: KeySource, in folder: DataFolder) throws -> StoreKey {
        switch source {
        case .environment(let key):
            guard try folder.isSealed(with: key) != false else {
                throw Refusal.wrongKey(KeySource.variable, folder)
            }
            return StoreKey(key: key, file: nil)
        case .file(let path):
            let file = try KeyFile(named: path)
            guard let key = try settled(file, in: folder) else { throw Refusal.noKeyFile(path) }
            // Whatever key these data were given, the end of the others' rotation could take it.
            if try file.next.load() != nil { throw Refusal.rotatesElsewhere(file, folder) }
            return StoreKey(key: key, file: file)
        case .dataDirectory:
            let file = folder.keyFile
            if let key = try settled(file, in: folder) { return StoreKey(key: key, file: file) }
            guard try folder.isSealed(with: DataKey()) == nil else {
                throw Refusal(
                    description: """
                        \(file.path) is missing, and nothing else opens what is sealed in \
                        \(folder.root): put it back, or name the key with --key-file or FERRY_KEY. \
                        Nothing has been changed.
                        """, code: 78)
            }
            return StoreKey(key: try DataKey.loadOrCreate(at: file.path), file: file)
        }
    }

    /// The key of a source, for a database that is not in a data directory: that one tells whether
    /// it is the right one.
    ///
    /// - Throws: `Refusal` where there is no key.
    static func find(_ source: KeySource) throws -> StoreKey {
        switch source {
        case .environment(let key): return StoreKey(key: key, file: nil)
        case .file(let path):
            let file = try KeyFile(named: path)
            guard let key = try file.load() else { throw Refusal.noKeyFile(path) }
            return StoreKey(key: key, file: file)
        case .dataDirectory:
            throw Refusal(
                description: "--store needs FERRY_KEY or --key-file.", code: 78)
        }
    }

    /// Reads the file again: what is wrong with it now would prevent the next start, and then it
    /// may be too late to put the key back.
    ///
    /// - Throws: `Refusal` where the file is missing or holds another key, `DataKeyError` where it
    ///   cannot be read.
    func check() throws {
        guard let file else { return }
        guard let found = try file.load() else { throw Refusal.noKeyFile(file.path) }
        guard found == key else {
            throw Refusal(
                description: "\(file.path) holds another key than at the start.", code: 78)
        }
    }

    private static func settled(_ file: KeyFile, in folder: DataFolder) throws -> DataKey? {
        let key = try file.settled {
            try folder.isSealed(with: $0)
        } complete: {
            guard let failure = folder.scrub() else { return }
            log.write(
                .warning, "the database could not be cleared of what the former key has sealed",
                ["error": .words("\(failure)")])
        }
        if let key, try folder.isSealed(with: key) == false {
            throw Refusal.wrongKey("The key in \(file.path)", folder)
        }
        return key
    }
}

extension DataFolder {
    /// The key's file where the operator gives no key.
    var keyFile: KeyFile { KeyFile(path: path("key")) }

    /// Whether a key opens what is here; nil where nothing is sealed yet.
    func isSealed(with key: DataKey) throws(StoreError) -> Bool? {
        try DurableStore.isSealed(folder: root, with: AESGCMSealer(key: key))
    }
}

extension KeyFile {
    /// The file that an operator names: through symbolic links, as secrets are mounted, so that a
    /// file has one path, also one that is not there yet.
    ///
    /// - Throws: `Refusal` where there is none, unless it may be new.
    init(named path: String, orNew mayBeNew: Bool = false) throws(Refusal) {
        guard let resolved = realpath(path, nil) else {
            guard errno == ENOENT else {
                throw Refusal(.system(path: path, call: "realpath", errno: errno))
            }
            guard mayBeNew else { throw Refusal.noKeyFile(path) }
            self.init(path: KeyFile.resolvingFolder(of: path))
            return
        }
        defer { free(resolved) }
        self.init(path: String(cString: resolved))
    }

    /// The same path where there is no such folder, which making the file then tells.
    private static func resolvingFolder(of path: String) -> String {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? "."
        guard let resolved = realpath(folder, nil) else { return path }
        defer { free(resolved) }
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        return String(cString: resolved) + "/" + name
    }

    /// Whether both are the same file: by their resolved paths, or as hard links.
    func isSame(as other: KeyFile) -> Bool {
        var (own, others) = (stat(), stat())
        guard lstat(path, &own) == 0, lstat(other.path, &others) == 0 else {
            return path == other.path
        }
        return own.st_dev == others.st_dev && own.st_ino == others.st_ino
    }
}

extension Refusal {
    fileprivate static func wrongKey(_ name: String, _ folder: DataFolder) -> Refusal {
        Refusal(
            description: """
                \(name) is not the key that the data in \(folder.root) are sealed with: name the \
                right one with --key-file or FERRY_KEY. Nothing has been changed.
                """, code: 78)
    }

    fileprivate static func rotatesElsewhere(_ file: KeyFile, _ folder: DataFolder) -> Refusal {
        Refusal(
            description: """
                The key in \(file.path) is being rotated for other data than those in \(folder.root): \
                end that with the same `ferry key rotate` as before, or by starting their gateway. \
                A key file is for one data directory. If those data are gone, remove \
                \(file.next.path). Nothing has been changed.
                """, code: 78)
    }

    fileprivate static func noKeyFile(_ path: String) -> Refusal {
        Refusal(
            description: """
                There is no key file \(path). Make one with: (umask 077 && head -c 32 /dev/urandom \
                > FILE)
                """, code: 66)
    }
}
