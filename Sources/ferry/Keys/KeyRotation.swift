import Engine
import Foundation
import SQLiteStore
import Sealing

/// Seals a data directory with another key (security §5).
///
/// At every moment one key opens all of it: the data change their key in one transaction, and the
/// new key is on the disk before.
struct KeyRotation {
    /// Where the new key is.
    enum Target {
        /// In place of the old key's file.
        case inPlace
        /// A file of the operator's; made where there is none.
        case file(String)
        /// `FERRY_NEW_KEY`.
        case environment(DataKey)
    }

    /// The variable with the new key itself.
    static let variable = "FERRY_NEW_KEY"

    let folder: DataFolder
    let source: KeySource
    let target: Target

    /// Does it.
    ///
    /// - Returns: what the operator has to know, in sentences.
    /// - Throws: `Refusal`, `DataKeyError`, `StoreError`; the old key is in force then, or the same
    ///   command ends what has begun.
    func run() throws -> [String] {
        switch target {
        case .inPlace: try rotateInPlace()
        case .file(let path): try rotate(toFile: path)
        case .environment(let key):
            try rotate(to: key, "FERRY_NEW_KEY") + ["Start the gateway with it as FERRY_KEY."]
        }
    }

    private func rotateInPlace() throws -> [String] {
        let old = try StoreKey.find(source, in: folder)
        guard let file = old.file else {
            throw Refusal(
                description: """
                    The key is that of FERRY_KEY: give the new one as FERRY_NEW_KEY, or name its \
                    file with --new-key-file.
                    """, code: 64)
        }
        let key = try file.beginRotation()
        try reseal(from: old.key, to: key)
        // Before the end, so that a start does it where this process does not get so far.
        let failure = folder.scrub()
        try file.finishRotation()
        if let failure { throw Refusal.notScrubbed(folder, failure) }
        return ["The data in \(folder.root) are sealed with a new key, in \(file.path)."]
            + aftermath
    }

    private func rotate(toFile path: String) throws -> [String] {
        let file = try KeyFile(named: path, orNew: true)
        try refuseSource(file, path)
        // No key is made for data that do not open.
        if try file.load() == nil { _ = try StoreKey.find(source, in: folder) }
        let key = try DataKey.loadOrCreate(at: file.path)
        let isOwn = try file.path == KeyFile(named: folder.keyFile.path, orNew: true).path
        return try rotate(to: key, "The key in \(path)") + [
            isOwn
                ? "Start the gateway without --key-file and FERRY_KEY."
                : "Start the gateway with --key-file \(path)."
        ]
    }

    /// A key in the old key's file, or in one that a rotation makes beside it, would be replaced or
    /// removed as an old one.
    private func refuseSource(_ file: KeyFile, _ path: String) throws {
        let old: KeyFile
        switch source {
        case .environment: return
        case .file(let path): old = try KeyFile(named: path)
        case .dataDirectory: old = try KeyFile(named: folder.keyFile.path, orNew: true)
        }
        guard file.isSame(as: old) || file.isSame(as: old.next) else { return }
        throw Refusal(
            description: """
                \(path) is the file of the old key: leave --new-key-file out for a new key in its \
                place, or name another file. Nothing has been changed.
                """, code: 64)
    }

    /// Seals the data with a key that the operator has.
    private func rotate(to key: DataKey, _ name: String) throws -> [String] {
        // Also where an earlier command was interrupted, which the same command then ends.
        if try folder.isSealed(with: key) == true {
            try finish(with: key)
            return ["\(name) is what the data in \(folder.root) are sealed with."]
        }
        try reseal(from: try StoreKey.find(source, in: folder).key, to: key)
        try finish(with: key)
        return ["\(name) is what the data in \(folder.root) are sealed with now."] + aftermath
    }

    private func reseal(from old: DataKey, to new: DataKey) throws {
        try DurableStore.reseal(
            folder: folder.root, from: AESGCMSealer(key: old), to: AESGCMSealer(key: new))
    }

    /// Removes the data directory's own key, which opens nothing any more, and what it has sealed.
    private func finish(with key: DataKey) throws {
        if case .dataDirectory = source {
            for file in [folder.keyFile, folder.keyFile.next] {
                if let old = try file.load(), old != key { try file.remove() }
            }
        }
        if let failure = folder.scrub() { throw Refusal.notScrubbed(folder, failure) }
    }

    private var aftermath: [String] {
        [
            """
            Copies of it that were made before need the former key. Resume data that clients have \
            kept is refused from now on: their downloads begin anew.
            """
        ]
    }
}

extension DataFolder {
    /// Takes what was sealed with a former key out of the database's free space and its log.
    ///
    /// - Returns: why that was not possible, which is no reason not to go on: the new key is in
    ///   force.
    func scrub() -> StoreError? {
        do throws(StoreError) {
            try DurableStore.scrub(folder: root)
            return nil
        } catch {
            return error
        }
    }
}

extension Refusal {
    fileprivate static func notScrubbed(_ folder: DataFolder, _ error: StoreError) -> Refusal {
        Refusal(
            description: """
                The data in \(folder.root) are sealed with the new key, but the database's file could \
                not be cleared of what it has held before: rotate again. The reason: \
                \(Refusal(error, in: folder.root))
                """, code: 74)
    }
}
