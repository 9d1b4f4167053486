internal import Diagnostics
public import Engine
internal import GRDB

/// Something that cannot be used: a row, or a file that a row and the disk do not agree about.
public struct StoreDamage: Equatable, Sendable, CustomStringConvertible {
    /// What it is, such as `task tsk_…`.
    public let name: String
    /// Why it cannot be used; no secrets.
    public let words: String

    /// One line.
    public var description: String { "\(name): \(words)" }
}

extension DurableStore {
    /// Looks through the database of a folder that no gateway uses, and at the files of the
    /// contents: its structure, every row, sealed values included, and every file. Changes nothing,
    /// though SQLite may make `-shm` and `-wal`. Blocks.
    ///
    /// Row by row: a million tasks take about 10 s, and memory for what is damaged only.
    ///
    /// - Parameters:
    ///   - folder: of the database.
    ///   - sealer: must have the key that the database was made with.
    ///   - contents: the folder of the contents.
    ///   - report: is given each damage once.
    /// - Throws: `failed`, also where another version of Ferry has made the tables.
    public static func check(
        folder: String, sealer: any Sealer, contents: ContentFolder,
        report: @escaping (StoreDamage) -> Void
    ) throws(StoreError) {
        let path = "\(folder)/\(fileName)"
        do {
            let lost = LogMark.check(database: path)
            if lost > 0 { report(.ofLog(lost)) }
            var configuration = Configuration.store
            configuration.readonly = true
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.read { database in
                try Schema.requireThisVersion(of: database)
                let checking = Checking(
                    database: database, sealer: sealer, contents: contents, report: report)
                try checking.run()
            }
            try queue.close()
        } catch {
            let error = StoreError(error)
            guard case .damaged(let words) = error else { throw error }
            report(StoreDamage(name: "the database", words: words))
        }
    }

    /// The same, and sets aside what is damaged: rows go to the table `damaged`, each as the
    /// statement that would put it back, their files to another folder. What sessions or tasks need
    /// that are set aside goes with them. Counters and indexes are made right.
    ///
    /// One transaction, after the files were moved: where it is interrupted the next repair goes
    /// on.
    ///
    /// - Parameters:
    ///   - folder: of the database. Has a copy been made of it?
    ///   - sealer: must have the key that the database was made with.
    ///   - contents: the folder of the contents.
    ///   - asideFolder: where files go; it is there.
    ///   - report: is given each damage once.
    /// - Throws: `damaged` where the file itself is, and what is in it cannot be told; `full`;
    ///   `failed`.
    public static func repair(
        folder: String, sealer: any Sealer, contents: ContentFolder, asideFolder: String,
        report: @escaping (StoreDamage) -> Void
    ) throws(StoreError) {
        let lost = LogMark.check(database: "\(folder)/\(fileName)")
        if lost > 0 { report(.ofLog(lost)) }
        try alone(in: folder) { queue in
            try Schema.migrate(queue)
            try queue.writeWithoutTransaction { database in
                try database.inTransaction(.immediate) {
                    let checking = Checking(
                        database: database, sealer: sealer, contents: contents,
                        asideFolder: asideFolder, report: report)
                    try checking.run()
                    return .commit
                }
            }
        }
    }
}

extension StoreDamage {
    fileprivate static func ofLog(_ lost: Int) -> StoreDamage {
        StoreDamage(
            name: "the database's log",
            words: "\(lost) of its frames are missing or damaged: the newest changes are lost.")
    }
}
