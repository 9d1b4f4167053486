import Foundation
import Glibc

/// What a data directory knows of the place of its contents: a mark that is there, too, and its
/// name.
struct ContentsMark {
    let mark: String
    let place: String
    private static let unfinishedStart = "copying-"

    /// What marks the place instead for as long as contents are copied there, which no gateway may
    /// take for all of them.
    var unfinished: String { ContentsMark.unfinishedStart + mark }

    /// Whether a mark is one of those.
    static func isUnfinished(_ mark: String) -> Bool { mark.hasPrefix(unfinishedStart) }

    /// What it says of the place; the raw value is the name of its file.
    enum Role: String {
        /// The contents are there.
        case joined = "contents-place"
        /// They are being copied there, and a gateway still has them here.
        case copied = "contents-copy"
    }

    init(mark: String, place: String) {
        self.mark = mark
        self.place = place
    }

    /// That of a data directory; nil where there is none, as in one that keeps its contents itself.
    init?(in folder: DataFolder, _ role: Role = .joined) throws(Refusal) {
        let path = folder.path(role.rawValue)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let text = FileManager.default.contents(atPath: path).map {
            String(decoding: $0, as: UTF8.self)
        }
        let lines = (text ?? "").split(separator: "\n")
        guard lines.count == 2 else {
            throw Refusal(
                description: """
                    \(path), which tells where the contents are, cannot be read: put it back. Nothing \
                    has been changed.
                    """, code: 65)
        }
        mark = String(lines[0])
        place = String(lines[1])
    }

    /// A mark that no other place has.
    static func random() -> String {
        (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }
            .joined(separator: "-")
    }

    /// Removes one from a data directory; none is fine too.
    static func remove(from folder: DataFolder, _ role: Role) throws(Refusal) {
        let path = folder.path(role.rawValue)
        guard unlink(path) != 0, errno != ENOENT else { return }
        throw Refusal(
            description: "\(path) cannot be removed: \(String(cString: strerror(errno))).", code: 74
        )
    }

    func write(in folder: DataFolder, _ role: Role = .joined) throws {
        try folder.write(Array("\(mark)\n\(place)\n".utf8), as: role.rawValue)
    }
}
