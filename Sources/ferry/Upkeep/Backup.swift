import Engine
import Files
import Foundation
import Glibc
import SQLiteStore
import Sealing

/// A copy of a data directory, made beside the gateway that uses it: the database as it is at one
/// moment, and every file that it tells of.
///
/// Contents that are whole never change, and go first: whatever the database then tells of is here,
/// or was made since, or has been deleted since. Parts of downloads and uploads grow, so that they
/// are copied after the database: they have at least what it counts on. The database gets its name
/// when all the rest is here, so that a backup that was interrupted is none, for a gateway too; the
/// manifest comes last.
struct Backup {
    private static let draftName = DurableStore.fileName + ".incomplete"
    static let manifestName = "manifest.json"

    /// What was done.
    struct Outcome {
        var fileCount = 0
        var byteCount: Int64 = 0
        /// Files that rows tell of and that were not there, or not whole.
        var missing: [String] = []
    }

    let source: DataFolder
    let target: String
    private let live: StoreCopy
    private let contents: ContentFolder
    private var canClone = true

    /// Makes the target.
    /// - Throws: `Refusal`, also where the target has something in it.
    init(of source: DataFolder, to target: String) throws {
        self.source = source
        self.target = target
        try Backup.refuseRotation(of: source)
        live = try StoreCopy(reading: source.path(DurableStore.fileName))
        let there = try? FileManager.default.contentsOfDirectory(atPath: target)
        if there?.isEmpty == false {
            throw Refusal(
                description: "\(target) has something in it: a backup takes a folder of its own.",
                code: 73)
        }
        guard mkdir(target, 0o700) == 0 || (errno == EEXIST && there != nil),
            chmod(target, 0o700) == 0
        else {
            let reason = String(cString: strerror(errno))
            throw Refusal(description: "\(target) cannot be made: \(reason)", code: 73)
        }
        contents = ContentFolder(path: target + "/" + DataFolder.contentName)
        try contents.prepare()
    }

    /// Does it.
    mutating func run() throws -> Outcome {
        try copyWholeFiles()
        let key = try source.keyFile.load()
        let draft = target + "/" + Backup.draftName
        try live.copy(to: draft)
        var outcome = try copyNamedFiles(draft)
        try copyKeptParts()
        try Backup.refuseRotation(of: source)
        guard try source.keyFile.load() == key else { throw Refusal.rotates(source) }
        for name in ["key", "token"] {
            try Backup.ifThere { try FileCopy.copy(source.path(name), to: target + "/" + name) }
        }
        try finish(draft, &outcome)
        return outcome
    }

    // MARK: Files

    /// Each whole file that there is now.
    private mutating func copyWholeFiles() throws {
        var paths: [(from: String, to: String)] = []
        try source.contents.forEachEntry { entry in
            guard entry.kind == .whole else { return }
            let id = entry.owner.id
            paths.append((source.contents.path(of: id, .whole), contents.path(of: id, .whole)))
            if paths.count == 1000 { try share(&paths) }
        }
        try share(&paths)
    }

    private mutating func share(_ paths: inout [(from: String, to: String)]) throws {
        for path in paths { try share(path.from, as: path.to) }
        paths = []
    }

    /// - Returns: false where the file is gone.
    @discardableResult
    private mutating func share(_ path: String, as copy: String) throws -> Bool {
        try Backup.ifThere {
            if canClone {
                canClone = try FileCopy.clone(path, to: copy)
                if canClone { return }
            }
            try FileCopy.linkOrCopy(path, to: copy)
        }
    }

    /// What the database in the draft tells of, and what it should not.
    private mutating func copyNamedFiles(_ draft: String) throws -> Outcome {
        var outcome = Outcome()
        var gone: [NamedFile] = []
        try StoreCopy(reading: draft).forEachFile { file in
            let id = file.owner.id
            switch file.kind {
            case .whole:
                var length = try contents.length(of: id, .whole)
                if length == nil {
                    try share(
                        source.contents.path(of: id, .whole), as: contents.path(of: id, .whole))
                    length = try contents.length(of: id, .whole)
                }
                if length == nil, try isGone(file) {
                    gone.append(file)
                } else if length == nil || length != file.length ?? length {
                    outcome.missing.append("\(id)")
                }
            case .part, .kept, .ahead:
                try copyPart(file)
            }
        }
        try StoreCopy.withdraw(gone, from: draft)
        return outcome
    }

    /// Whether a file was deleted since, and not lost. Of a stored response it may go before its
    /// row.
    private func isGone(_ file: NamedFile) throws -> Bool {
        if case .entry = file.owner { return true }
        return try live.file(of: file.owner) == nil
    }

    /// The part of a download or an upload, which may have become whole. Where it is one of another
    /// entity by now, or gone, it is left out: it begins at zero.
    private func copyPart(_ file: NamedFile) throws {
        let copy = contents.path(of: file.owner.id, .part)
        for kind in [ContentKind.part, .whole] {
            let path = source.contents.path(of: file.owner.id, kind)
            guard try Backup.ifThere({ try FileCopy.copy(path, to: copy) }) else { continue }
            let length = try contents.length(of: file.owner.id, .part) ?? 0
            if length >= file.length ?? 0, try live.continues(file) { return }
            try contents.remove(file.owner.id, .part)
        }
    }

    /// What resume data of clients speaks of (S-34). It does not change while it has that name.
    private func copyKeptParts() throws {
        try source.contents.forEachEntry([.kept]) { entry in
            let (path, copy) = (source.contents.path(of: entry), contents.path(of: entry))
            try Backup.ifThere { try FileCopy.copy(path, to: copy) }
            if try source.contents.length(of: entry) == nil { try contents.remove(entry) }
        }
    }

    /// - Returns: false where a file was not there.
    @discardableResult
    private static func ifThere(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as FileError where error.code == ENOENT {
            return false
        }
    }

    // MARK: The end

    /// Removes what the database does not tell of, gives it its name, and writes the manifest.
    private func finish(_ draft: String, _ outcome: inout Outcome) throws {
        let copy = try StoreCopy(reading: draft)
        let manifest = try BackupManifest(target + "/" + Backup.manifestName)
        try contents.forEachEntry { entry in
            let file = try copy.file(of: entry.owner)
            guard entry.kind == .kept || file?.kind == entry.kind else {
                return try contents.remove(entry)
            }
            guard let length = try contents.length(of: entry) else { return }
            outcome.fileCount += 1
            outcome.byteCount += length
            let path = contents.path(of: entry).dropFirst(target.count + 1)
            try manifest.add(String(path), length, digest: file?.digest)
        }
        for part in 0..<32 { try Folder.sync(contents.path(ofPart: part)) }
        try Folder.sync(contents.path)
        let database = target + "/" + DurableStore.fileName
        guard rename(draft, database) == 0 else { throw FileError("rename", code: errno) }
        try Folder.sync(target)
        for name in [DurableStore.fileName, "key", "token"] {
            var status = stat()
            guard stat(target + "/" + name, &status) == 0 else { continue }
            try manifest.add(name, Int64(status.st_size), digest: nil)
        }
        let hasKey = FileManager.default.fileExists(atPath: target + "/key")
        try manifest.finish(of: source.root, hasKey: hasKey, missing: outcome.missing)
        try Folder.sync(target)
    }

    private static func refuseRotation(of folder: DataFolder) throws {
        guard try folder.keyFile.next.load() == nil else { throw Refusal.rotates(folder) }
    }
}

extension Refusal {
    fileprivate static func rotates(_ folder: DataFolder) -> Refusal {
        Refusal(
            description: """
                The key of \(folder.root) is being changed: end that with the same `ferry key rotate` as \
                before, or by starting the gateway, then begin anew.
                """, code: 75)
    }
}
