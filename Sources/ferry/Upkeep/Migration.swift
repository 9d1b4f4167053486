import Engine
import Foundation
import PostgresStore
import Records
import SQLiteStore
import Sealing

/// Moves the database of a data directory to a server, and copies its contents to a place that
/// several gateways reach, where one is named.
///
/// The contents go first, then the database in one transaction; what was in the data directory is
/// set aside last. What was moved is known by the value that tells its key, which no other database
/// has: so a migration that was interrupted behind its transaction is ended by the same command.
struct Migration {
    let folder: DataFolder
    let source: KeySource
    /// The database on the server.
    let url: String
    /// Nil where contents stay where they are.
    let contents: MovedContents?

    /// Does it. Blocks.
    ///
    /// - Parameter lines: get what the operator has to know, in sentences.
    /// - Throws: `Refusal`, `DataKeyError`, `StoreError`, and what copying contents throws; then a
    ///   gateway can go on with the data directory.
    func run(_ lines: inout ResultLines) throws {
        try folder.refuseWithoutDatabase()
        let key = try StoreKey.find(source, in: folder)
        let store = try DurableStore(folder: folder.root, sealer: AESGCMSealer(key: key.key))
        if let place = try placeBefore(store) {
            lines.print("\(place) had all of it already.")
        } else {
            let told = try contents?.copy(
                folder.namedFiles(), from: folder, beside: .moved, &lines)
            let (place, counts) = try atTarget { target in
                (target.place, try move(store, to: target, told))
            }
            lines.print(
                "\(counts["session"] ?? 0) sessions and \(counts["task"] ?? 0) tasks are in \(place) now."
            )
        }
        try store.close()
        let aside = SetAside(in: folder)
        if contents != nil, let sentence = aside.contents() { lines.print(sentence) }
        try ContentsMark.remove(from: folder, .copied)
        lines.print(invitation(key))
        // Last of all: without it the same command finds nothing to move.
        lines.print(
            "The database as it was is \(try aside.database()); remove it when nobody needs it.")
    }

    /// Opens the database on the server for as long as the body runs.
    private func atTarget<Value>(_ body: (MovedDatabase) throws -> Value) throws -> Value {
        let target = try atServer { () throws(StoreError) in try MovedDatabase(url: url) }
        defer { target.leave() }
        return try body(target)
    }

    /// Looks whether an earlier attempt has moved the database; before anything is copied, a used
    /// one is refused.
    ///
    /// - Returns: where it is, where it was moved.
    private func placeBefore(_ store: DurableStore) throws -> String? {
        let state = try store.movedState()
        return try atTarget { target in
            guard try atServer({ () throws(StoreError) in try target.isMade(of: state) }) else {
                try atServer { () throws(StoreError) in try target.requireUnused() }
                return nil
            }
            guard contents != nil else { return target.place }
            let mark = try atServer { () throws(StoreError) in try target.contentsMark() }
            let known = try ContentsMark(in: folder, .copied) ?? ContentsMark(in: folder)
            // Shortly before the end nothing is known here any more.
            guard let mark, known == nil || known?.mark == mark else {
                throw Refusal(
                    description: """
                        \(target.place) has all of the database already, but was not told of a place \
                        with its contents: name an empty database. Nothing has been changed.
                        """, code: 74)
            }
            return target.place
        }
    }

    /// Returns how many rows of each table were moved.
    private func move(
        _ store: DurableStore, to target: MovedDatabase, _ told: MovedContents.Told?
    ) throws -> [String: Int] {
        try atServer { () throws(StoreError) in try target.begin() }
        var counts: [String: Int] = [:]
        // What the file has is told as of the file.
        var failure: Refusal?
        do {
            try store.forEachRows { rows in
                counts[rows.table, default: 0] += rows.count
                let rows = try rows.telling(told?.series ?? [:])
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
        try atServer { () throws(StoreError) in try target.commit(contentsMark: told?.mark) }
        return counts
    }

    private func atServer<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(Refusal) -> Value { try Refusal.atServer(url, body) }

    private func invitation(_ key: StoreKey) -> String {
        guard let contents else {
            return "Start the gateway with --data-directory \(folder.root), --store\(keyHint(key))."
        }
        return contents.invitation(keyHint(key))
    }

    private func keyHint(_ key: StoreKey) -> String {
        switch source {
        case .environment: " and FERRY_KEY"
        case .file(let path): " and --key-file \(path)"
        case .dataDirectory: " and --key-file \(key.file?.path ?? folder.path("key"))"
        }
    }
}
