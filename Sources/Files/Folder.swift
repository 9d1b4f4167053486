internal import Glibc

/// Folders, by their paths. All of it blocks.
public enum Folder {
    /// The folder that a path leads into: `.` for a name alone, `/` for one in the root. The path
    /// does not end with a slash.
    public static func parent(of path: String) -> String {
        switch path.lastIndex(of: "/") {
        case nil: "."
        case path.startIndex: "/"
        case let slash?: String(path[..<slash])
        }
    }

    /// Opens a folder, to sync it once its names have changed.
    ///
    /// - Returns: a descriptor, which is the caller's to close.
    /// - Throws: `FileError`.
    public static func open(_ path: String) throws(FileError) -> CInt {
        let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw FileError("open", code: errno) }
        return folder
    }

    /// Brings the names of an open folder to the disk.
    /// - Throws: `FileError`.
    public static func sync(_ folder: CInt) throws(FileError) {
        guard fsync(folder) == 0 else { throw FileError("fsync", code: errno) }
    }

    /// Brings a folder's names to the disk.
    /// - Throws: `FileError`.
    public static func sync(_ path: String) throws(FileError) {
        let folder = try open(path)
        defer { close(folder) }
        try sync(folder)
    }

    /// Goes over the names in a folder, in no order, `.` and `..` among them; the body may remove
    /// the file that it is given.
    ///
    /// - Returns: false where there is no such folder.
    /// - Throws: `FileError`, and what the body throws.
    public static func forEachName(
        in path: String, _ body: (String) throws -> Void
    ) throws -> Bool {
        guard let folder = opendir(path) else {
            guard errno == ENOENT else { throw FileError("opendir", code: errno) }
            return false
        }
        defer { closedir(folder) }
        while true {
            errno = 0
            guard let entry = readdir(folder) else {
                guard errno == 0 else { throw FileError("readdir", code: errno) }
                return true
            }
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            try body(name)
        }
    }
}
