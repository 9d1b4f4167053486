internal import Glibc

/// The file that a symbolic link leads to.
enum LinkedPath {
    /// The path without links at its end, where it is one; else as it is.
    ///
    /// The kernel follows the link, by its own rules for folders that anybody may write into.
    /// - Throws: `file`, also when the link leads to nothing.
    static func resolved(_ path: String) throws(ClientError) -> String {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        // O_PATH of <fcntl.h>, which Swift does not import.
        let descriptor = open(path, 0o10_000_000 | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw errno == ENOENT
                ? .file(path: path, detail: "is a link to a file that is not there")
                : .file(path: path, failure: errno)
        }
        defer { close(descriptor) }
        var room = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = room.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { room in
                room.baseAddress.map { readlink("/proc/self/fd/\(descriptor)", $0, room.count) }
            }
        }
        guard let count, count > 0, count < room.count else {
            throw .file(path: path, detail: "is a link that cannot be followed")
        }
        // Made of other bytes, it would be the name of something else.
        guard let name = String(validating: room[..<count], as: UTF8.self) else {
            throw .file(path: path, detail: "is a link to a name that is no UTF-8")
        }
        return name
    }
}
