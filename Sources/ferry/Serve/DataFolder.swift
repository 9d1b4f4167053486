import Engine
import Files
import Foundation
import Glibc
import REST
import SQLiteStore

/// The data directory: the gateway's own, locked while it runs.
struct DataFolder {
    /// Its absolute path.
    let root: String

    /// Makes the folder, for its owner only, and locks it.
    /// - Throws: `Refusal` where it cannot be made, or another gateway has it.
    init(_ path: String) throws {
        root = DataFolder.absolute(path)
        do {
            try FileManager.default.createDirectory(
                atPath: root, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw Refusal(description: "The data directory \(path) cannot be made.", code: 73)
        }
        try lock()
    }

    /// The file that `mark` is in.
    private static let markName = "folder-mark"

    /// The code of a refusal because another gateway has the folder: EX_TEMPFAIL.
    static let takenCode: Int32 = 75

    /// Locks a folder that a gateway has made.
    /// - Throws: `Refusal` where it is none, or a gateway has it.
    init(existing path: String) throws {
        try self.init(inUse: path)
        try lock()
    }

    /// A folder that a gateway has made, and may be using: nothing in it may be changed.
    /// - Throws: `Refusal` where it is none.
    init(inUse path: String) throws(Refusal) {
        root = DataFolder.absolute(path)
        var status = stat()
        guard stat(self.path(DurableStore.fileName), &status) != 0 else { return }
        let failure = errno
        guard failure == ENOENT || failure == ENOTDIR else {
            let reason = String(cString: strerror(failure))
            throw Refusal(
                description: "The data directory \(path) cannot be looked into: \(reason).",
                code: 66)
        }
        throw Refusal(
            description: """
                \(path) is no data directory of a gateway: there is no \(DurableStore.fileName) in it.
                """, code: 66)
    }

    /// Locks a folder of a gateway whose database is on a server.
    /// - Throws: `Refusal` where it has no contents, nor had any a moment ago, or a gateway has it.
    init(withContents path: String) throws {
        root = DataFolder.absolute(path)
        guard [DataFolder.contentName, ContentsMark.Role.copied.rawValue].contains(where: hasItem)
        else {
            throw Refusal(
                description: """
                    \(path) is no data directory of a gateway: there is no \(DataFolder.contentName) \
                    in it.
                    """, code: 66)
        }
        try lock()
    }

    static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        // What is shown to people, and typed again, has no dot in the middle.
        let name = path.hasPrefix("./") ? path.dropFirst(2).drop { $0 == "/" } : path[...]
        return FileManager.default.currentDirectoryPath + "/" + name
    }

    private func lock() throws {
        // Held by the process to its end, also to a sudden one.
        let lock = open(path("lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw Refusal(description: "The data directory \(root) cannot be written.", code: 73)
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw Refusal(
                description: """
                    Another gateway uses the data directory \(root), or `ferry key rotate` or `ferry \
                    check` does.
                    """, code: Self.takenCode)
        }
    }

    func path(_ name: String) -> String { root + "/" + name }

    /// The folder of the contents; made after the database, so that where it is there was one.
    static let contentName = "content"

    /// Room on the disk that is kept for the database.
    static let reserveName = "reserve"

    /// Refuses a folder that has lost its database: a new one would know nothing of what is here,
    /// and housekeeping would remove it all.
    func refuseWithoutDatabase() throws(Refusal) {
        var status = stat()
        let database = path(DurableStore.fileName)
        if stat(database, &status) == 0, status.st_size > 0 { return }
        guard [DataFolder.contentName, DurableStore.fileName + "-wal"].contains(where: hasItem)
        else { return }
        throw Refusal(
            description: """
                \(database) is missing or empty, though a gateway has worked here: put the database \
                back. To begin anew, without the sessions and results of before, move \
                \(path(DataFolder.contentName)) and what there is of \(DurableStore.fileName)* away. \
                Nothing has been changed.
                """, code: 65)
    }

    /// Refuses a folder with a database of its own, for a gateway whose database is elsewhere: it
    /// would know nothing of what is here, and housekeeping would remove it.
    func refuseDatabase() throws(Refusal) {
        guard hasItem(DurableStore.fileName) else { return }
        throw Refusal(
            description: """
                \(path(DurableStore.fileName)) is the database of what is in \(root): with --store the \
                gateway needs a data directory of its own. Nothing has been changed.
                """, code: 78)
    }

    /// Refuses contents where the database is new: they belong to another one, and housekeeping
    /// would remove them.
    func refuseOthersContents(in store: GatewayStore) throws {
        guard try !contents.isEmpty() else { return }
        throw Refusal(
            description: """
                \(contents.path) has results that the database \(store.place(in: self)) knows nothing \
                of: name the database that they belong to, or another data directory. Nothing has \
                been changed.
                """, code: 65)
    }

    /// The contents.
    var contents: ContentFolder { ContentFolder(path: path(DataFolder.contentName)) }

    /// The files that the database here tells of. Blocks.
    ///
    /// - Throws: as `StoreCopy.forEachFile`.
    func namedFiles() throws -> [NamedFile] {
        var files: [NamedFile] = []
        try StoreCopy(reading: path(DurableStore.fileName)).forEachFile { files.append($0) }
        return files
    }

    /// Refuses a database that tells of files none of which is there: the folder was not mounted,
    /// or not restored.
    func refuseWithoutContents(of store: GatewayStore) async throws {
        guard try contents.isEmpty(), try await store.namesFiles() else { return }
        let repair =
            switch store {
            case .file:
                " To go on without them, `ferry check --repair` sets aside what tells of them."
            case .server, .node: ""
            }
        throw Refusal(
            description: """
                \(contents.path) is missing or empty, though \(store.place(in: self)) tells of \
                results in it: put them back, or mount it.\(repair) Nothing has been changed.
                """, code: 65)
    }

    /// What tells this folder from all others, for as long as it is there: 16 bytes, made at the
    /// first call.
    ///
    /// - Throws: `FileError`.
    func mark() throws -> [UInt8] {
        let file = path(DataFolder.markName)
        if let known = FileManager.default.contents(atPath: file), known.count == 16 {
            return Array(known)
        }
        let mark = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        try write(mark, as: DataFolder.markName)
        return mark
    }

    /// Writes a small file as a whole: after a crash it is there, or what was there before.
    ///
    /// - Throws: `FileError`.
    func write(_ bytes: [UInt8], as name: String) throws(FileError) {
        // One process at a time has the folder, and the next one removes what a crash has left.
        try WholeFile(path(name), draft: path(name + ".new")).write(bytes)
    }

    /// Whether there is anything of a name, but for an empty file.
    private func hasItem(_ name: String) -> Bool {
        var status = stat()
        guard stat(path(name), &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR || status.st_size > 0
    }

    /// The operator's token: of the environment, else the one of an earlier start, else a new one.
    func token(environment: [String: String]) throws(Refusal) -> AccessToken {
        if let text = environment["FERRY_TOKEN"] {
            guard let token = AccessToken(text) else {
                throw Refusal(
                    description: "FERRY_TOKEN is no token: fry_… with a right checksum.", code: 78)
            }
            return token
        }
        return try TokenFile(path: path("token")).token()
    }
}
