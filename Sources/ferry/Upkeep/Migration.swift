import Engine
import Foundation
import Glibc
import PostgresStore
import Records
import SQLiteStore
import Sealing

/// Moves the database of a data directory to a server.
///
/// What was moved is known by the value that tells its key, which no other database has: so a
/// migration that was interrupted behind its transaction is ended by the same command.
struct Migration {
    let folder: DataFolder
    let source: KeySource
    /// The database on the server.
    let url: String

    /// Does it. Blocks.
    ///
    /// - Returns: what the operator has to know, in sentences.
    /// - Throws: `Refusal`, `DataKeyError`, `StoreError`; nothing has been changed then.
    func run() throws -> [String] {
        try folder.refuseWithoutDatabase()
        let key = try StoreKey.find(source, in: folder)
        let store = try DurableStore(folder: folder.root, sealer: AESGCMSealer(key: key.key))
        let target = try atServer { () throws(StoreError) in try MovedDatabase(url: url) }
        let counts = try move(store, to: target)
        target.leave()
        try store.close()
        let kept = try setFileAside()
        let moved = counts.map {
            "\($0["session"] ?? 0) sessions and \($0["task"] ?? 0) tasks are in \(target.place) now."
        }
        return [
            moved ?? "\(target.place) had all of it already.",
            "The database as it was is \(kept); remove it when nobody needs it.",
            "Start the gateway with --data-directory \(folder.root), --store\(keyHint(key)).",
        ]
    }

    /// Returns how many rows of each table were moved; nil where all were there.
    private func move(
        _ store: DurableStore, to target: MovedDatabase
    ) throws -> [String: Int]? {
        let state = try store.movedState()
        guard try !atServer({ () throws(StoreError) in try target.isMade(of: state) }) else {
            return nil
        }
        try atServer { () throws(StoreError) in try target.begin() }
        var counts: [String: Int] = [:]
        // What the file has is told as of the file.
        var failure: Refusal?
        do {
            try store.forEachRows { rows in
                counts[rows.table, default: 0] += rows.count
                do throws(Refusal) {
                    try atServer { () throws(StoreError) in try target.write(rows) }
                } catch {
                    failure = error
                    throw error
                }
            }
        } catch {
            throw failure ?? error
        }
        try atServer { () throws(StoreError) in try target.commit() }
        return counts
    }

    private func atServer<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(Refusal) -> Value { try Refusal.atServer(url, body) }

    /// A gateway with --store refuses a data directory with a database of its own.
    private func setFileAside() throws(Refusal) -> String {
        let stamp = Date().ISO8601Format(.init(dateSeparator: .omitted, timeSeparator: .omitted))
        let path = folder.path(DurableStore.fileName)
        let kept = "\(path).moved-\(stamp)"
        guard rename(path, kept) == 0 else {
            throw Refusal(
                description: """
                    All is moved, but \(path) could not be renamed: \(String(cString: strerror(errno))). \
                    Move it away by hand.
                    """, code: 74)
        }
        return kept
    }

    private func keyHint(_ key: StoreKey) -> String {
        switch source {
        case .environment: " and FERRY_KEY"
        case .file(let path): " and --key-file \(path)"
        case .dataDirectory: " and --key-file \(key.file?.path ?? folder.path("key"))"
        }
    }
}
