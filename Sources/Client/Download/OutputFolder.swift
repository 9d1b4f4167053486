internal import Glibc

/// A folder that a user wants files in.
public enum OutputFolder {
    /// Makes the folder, and those above it, where there is none; with the mode that the user's
    /// umask leaves.
    ///
    /// - Throws: `file`.
    public static func make(_ path: String) throws(ClientError) {
        guard !PartFile.isFolder(path) else { return }
        guard mkdir(path, 0o777) != 0 else { return }
        let failure = errno
        var above = path[...]
        while above.hasSuffix("/") { above.removeLast() }
        guard failure == ENOENT, let slash = above.lastIndex(of: "/"), slash > above.startIndex
        else {
            throw failure == EEXIST
                ? .file(path: path, detail: "is there already, and no folder")
                : .file(path: path, failure: failure)
        }
        try make(String(above[..<slash]))
        guard mkdir(path, 0o777) == 0 || errno == EEXIST else {
            throw .file(path: path, failure: errno)
        }
    }
}
