import Engine
import Files
import Foundation
import Glibc
import Loop
import SQLiteStore
import Sealing

/// Looks through the data directory of a stopped gateway, and sets aside what is damaged.
struct DataCheck {
    let folder: DataFolder
    let source: KeySource

    /// Looks only.
    /// - Returns: whether there is any damage; each is told by a line.
    func look() throws -> Bool {
        var count = 0
        var lines = ResultLines()
        try DurableStore.check(folder: folder.root, sealer: sealer(), contents: folder.contents) {
            count += 1
            lines.print($0.description)
        }
        lines.print(
            count == 0
                ? "\(folder.root) is whole."
                : "\(folder.root) has \(DataCheck.count(count, "damage")): `ferry check --repair` sets aside what "
                    + "cannot be used.")
        if count > 0, try folder.contents.isEmpty() {
            lines.print("There is not a single file in \(folder.contents.path): is it mounted?")
        }
        try lines.requireWritten()
        return count > 0
    }

    /// Sets aside what is damaged, after the database's file was copied.
    /// - Returns: whether there was any damage.
    func repair() throws -> Bool {
        // Not to be ended in the middle because nobody reads the lines any more.
        Signals.ignoreBrokenPipes()
        let sealer = try sealer()
        let stamp = Date().ISO8601Format(.init(dateSeparator: .omitted, timeSeparator: .omitted))
        let copies = try copyDatabase(stamp)
        let aside = "\(folder.contents.path)/damaged-\(stamp)"
        try FileManager.default.createDirectory(
            atPath: aside, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        defer { rmdir(aside) }  // unless there is something in it
        var count = 0
        var lines = ResultLines()
        try DurableStore.repair(
            folder: folder.root, sealer: sealer, contents: folder.contents, asideFolder: aside
        ) {
            count += 1
            lines.print($0.description)
        }
        guard count > 0 else {
            for copy in copies { unlink(copy) }
            lines.print("\(folder.root) is whole.")
            try lines.requireWritten()
            return false
        }
        lines.print(
            """
            \(folder.root) had \(DataCheck.count(count, "damage")), which a start does not meet any more. Rows \
            that cannot be used are in the database's table `damaged`, files in \(aside); the database as it was \
            is \(copies[0]). Remove all that when nobody needs it.
            """)
        try lines.requireWritten()
        return true
    }

    private func sealer() throws -> AESGCMSealer {
        try folder.refuseWithoutDatabase()
        return AESGCMSealer(key: try StoreKey.find(source, in: folder).key)
    }

    /// The database as it is, with its log.
    private func copyDatabase(_ stamp: String) throws -> [String] {
        var copies: [String] = []
        for end in ["", "-wal"] {
            let path = folder.path(DurableStore.fileName)
            guard FileManager.default.fileExists(atPath: path + end) else { continue }
            let copy = "\(path).before-repair-\(stamp)\(end)"
            do {
                try FileCopy.copy(path + end, to: copy)
            } catch {
                throw Refusal(
                    description: "\(path) cannot be copied: \(error). Nothing has been changed.",
                    code: 74)
            }
            copies.append(copy)
        }
        try Folder.sync(folder.root)
        return copies
    }

    private static func count(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
