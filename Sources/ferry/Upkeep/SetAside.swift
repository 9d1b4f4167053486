import Engine
import Files
import Foundation
import Glibc
import SQLiteStore

/// What a data directory had that is elsewhere now, under other names.
struct SetAside {
    private let folder: DataFolder
    private let stamp: String
    /// With which the name of a folder in that of the contents begins.
    private static let start = "moved-"

    init(in folder: DataFolder) {
        self.folder = folder
        stamp = Date().ISO8601Format(.init(dateSeparator: .omitted, timeSeparator: .omitted))
    }

    /// A gateway with --store refuses a data directory with a database of its own.
    ///
    /// - Returns: what the database is called now.
    func database() throws(Refusal) -> String {
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

    /// The same for one with results. An empty folder takes their place, by which a gateway without
    /// --store knows that the directory's database is missing.
    ///
    /// - Returns: a sentence about what has become of them; nil where there were none.
    func contents() -> String? {
        let path = folder.contents.path
        let kept = "\(path).moved-\(stamp)"
        var sentences: [String] = []
        do {
            if try !folder.contents.isEmpty() {
                guard rename(path, kept) == 0 else { throw FileError("rename", code: errno) }
                sentences.append(
                    "The contents as they were are in \(kept); remove them when nobody needs them.")
            }
        } catch {
            return
                "\(path) was left as it is (\(error)): give gateways data directories of their own."
        }
        do {
            try folder.contents.prepare()
        } catch {
            sentences.append(
                "An empty \(path) could not be made (\(error)): start no gateway here without --store."
            )
        }
        return sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    /// The same for results alone: a gateway goes on here with what is not whole. They stay on the
    /// file system of their folder, which need not be that of the directory.
    ///
    /// - Returns: where they are now, with those of an earlier attempt; nil where there were none.
    /// - Throws: `FileError`; the next attempt goes on.
    func wholeContents() throws -> String? {
        let earlier = try earlierName()
        let name = earlier ?? "\(SetAside.start)\(stamp)"
        let kept = ContentFolder(path: "\(folder.contents.path)/\(name)")
        var isAny = earlier != nil
        if isAny { try kept.prepare() }
        try folder.contents.forEachEntry([.whole]) { entry in
            if !isAny { try kept.prepare() }
            isAny = true
            guard rename(folder.contents.path(of: entry), kept.path(of: entry)) == 0 else {
                throw FileError("rename", code: errno)
            }
        }
        return isAny ? kept.path : nil
    }

    /// What an attempt that was interrupted has called the folder of those that it came to.
    private func earlierName() throws -> String? {
        let path = folder.contents.path
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try FileManager.default.contentsOfDirectory(atPath: path)
            .first { $0.hasPrefix(SetAside.start) }
    }
}
