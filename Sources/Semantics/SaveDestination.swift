/// Where a download is saved on the gateway's machine: below a folder that the operator has named.
public struct SaveDestination: Hashable, Sendable {
    /// What happens where the name is taken when the file is to be put there.
    public enum IfExists: String, CaseIterable, Sendable {
        /// The task fails.
        case fail
        /// The file gets another name: `a (1).flac`.
        case rename
        /// The file takes the other one's place.
        case replace
    }

    /// The operator's name of the folder.
    public var folder: String
    /// Names joined by slashes, the file's last; see `isPath`.
    public var path: String
    /// What happens where the name is taken.
    public var ifExists: IfExists

    /// A destination from its parts.
    public init(folder: String, path: String, ifExists: IfExists = .fail) {
        self.folder = folder
        self.path = path
        self.ifExists = ifExists
    }

    /// Bytes of a name at most, as file systems have it (NAME_MAX).
    public static let nameByteLimit = 255
    /// Bytes of a path at most.
    public static let pathByteLimit = 4000

    /// Whether a text leads below a folder and nowhere else: 1 to 4,000 bytes, names of 1 to 255
    /// bytes joined by single slashes, none of them `.` or `..`, no control characters, and nothing
    /// that the gateway's own temporary files are called.
    public static func isPath(_ text: String) -> Bool {
        guard (1...pathByteLimit).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { return false }
        return names(of: text).allSatisfy { name in
            (1...nameByteLimit).contains(name.utf8.count) && name != "." && name != ".."
                && !name.utf8.starts(with: temporaryPrefix.utf8)
        }
    }

    /// The names of a path, the file's last.
    ///
    /// Split as file systems do, at bytes: a slash with a combining mark behind it is part of
    /// another character for Swift, and a slash all the same for them.
    public static func names(of path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
    }

    /// What the names of files begin with that are not whole yet.
    public static let temporaryPrefix = ".ferry-"

    /// The path where the name is taken, for the n-th time: a number in front of the extension, the
    /// name cut where it would be too long.
    public func path(attempt number: Int) -> String {
        guard number > 0 else { return path }
        var names = SaveDestination.names(of: path)
        names[names.count - 1] = SuggestedFilename.numbered(names[names.count - 1], number)
        return names.joined(separator: "/")
    }
}

/// A file that was put below an operator's folder, and what tells it from every other one.
public struct SavedFile: Hashable, Sendable {
    /// Where it is, or is about to be, below its folder.
    public var path: String
    /// The file system's number.
    public var device: UInt64
    /// The file's number there.
    public var inode: UInt64
    /// When its bytes were last changed, in nanoseconds since 1970.
    public var modified: Int64

    /// A file from its parts.
    public init(path: String, device: UInt64, inode: UInt64, modified: Int64) {
        self.path = path
        self.device = device
        self.inode = inode
        self.modified = modified
    }
}

/// Where a download has been saved, as clients are told.
public struct SavedPlace: Hashable, Sendable {
    /// The operator's name of the folder.
    public var folder: String
    /// Below the folder.
    public var path: String

    /// A place from its parts.
    public init(folder: String, path: String) {
        self.folder = folder
        self.path = path
    }
}
