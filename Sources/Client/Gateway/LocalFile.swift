internal import Files
internal import Glibc

/// Small files that hold secrets: read only where nobody else could have had a hand in them,
/// replaced as a whole.
public enum LocalFile {
    /// Makes a folder of mode 0700, and the ones above it.
    static func makeFolder(_ path: String) throws(ClientError) {
        guard mkdir(path, 0o700) != 0 else { return }
        let failure = errno
        if failure == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try makeFolder(String(path[..<slash]))
            guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
            throw .file(path: path, failure: errno)
        }
        guard failure == EEXIST else { throw .file(path: path, failure: failure) }
    }

    /// Puts a new file of that content at `path`; a reader sees the old one or the new one.
    static func replace(_ path: String, with bytes: [UInt8], mode: mode_t) throws(ClientError) {
        do throws(FileError) {
            // A download of many small files would wait for the disk at each of them.
            try WholeFile(path, mode: mode).write(bytes, isDurable: false)
        } catch {
            throw .file(path: path, failure: error.code)
        }
    }

    /// The content of a file; nil when there is none.
    ///
    /// With `onlyOwn` the file must be this user's or root's, and nobody else may read or write it.
    /// With `ofService` root may also read the file of the service's own user. A pipe is read to
    /// its end only by one who `waits`.
    static func read(
        _ path: String, limit: Int, onlyOwn: Bool, ofService: Bool = false, waits: Bool = true
    ) throws(ClientError) -> [UInt8]? {
        // Without O_NONBLOCK a pipe left in the file's place would hold the command up.
        let flags = O_RDONLY | O_CLOEXEC | (onlyOwn || !waits ? O_NONBLOCK : 0)
        let descriptor = open(path, flags)
        guard descriptor >= 0 else {
            let failure = errno
            if failure == ENOENT || failure == ENOTDIR { return nil }
            throw .file(path: path, failure: failure)
        }
        defer { close(descriptor) }
        if onlyOwn { try requireOwn(descriptor, path, ofService: ofService) }
        return try readAll(descriptor, path, limit: limit)
    }

    /// The content of a file that the user has named; `-` for standard input.
    ///
    /// - Throws: `unreadable`.
    static func readGiven(_ path: String, limit: Int) throws(ClientError) -> [UInt8] {
        do throws(ClientError) {
            if path == "-" {
                return try readAll(STDIN_FILENO, "standard input", limit: limit)
            }
            guard let bytes = try read(path, limit: limit, onlyOwn: false) else {
                throw .file(path: path, failure: ENOENT)
            }
            return bytes
        } catch .file(let path, let detail) {
            throw .unreadable(path: path, detail: detail)
        }
    }

    private static func requireOwn(
        _ descriptor: Int32, _ path: String, ofService: Bool
    ) throws(ClientError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, failure: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .file(path: path, detail: "is not a file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 || (ofService && geteuid() == 0)
        else {
            throw .file(path: path, detail: "belongs to another user")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .file(path: path, detail: "can be read by others: its mode must be 0600")
        }
    }

    private static func readAll(
        _ descriptor: Int32, _ path: String, limit: Int
    ) throws(ClientError) -> [UInt8] {
        var bytes: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= limit {
            let count = Glibc.read(descriptor, &room, room.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += room[..<count]
            } else if errno != EINTR {
                throw .file(path: path, failure: errno)
            }
        }
        throw .file(path: path, detail: "is longer than \(limit) bytes")
    }

    /// Writes all of `bytes`; blocks. Returns 0, or the error's number.
    public static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno == EAGAIN {
                // Whoever shares the descriptor may have made it so that it does not block.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}

extension ClientError {
    /// A failed system call on a file; `failure` is its errno.
    static func file(path: String, failure: Int32) -> ClientError {
        .file(path: path, detail: String(cString: strerror(failure)))
    }
}
