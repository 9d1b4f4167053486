internal import Glibc

/// A file that grows as `NAME.part` and takes its name only when it is whole.
///
/// The part is locked (flock) while it grows: a second command for the same name is refused, and
/// what a command that was killed has left is taken over. Released without `commit` or `keep`, the
/// part is removed.
final class PartFile {
    /// The name that it will have.
    let path: String
    /// Bytes in it.
    private(set) var count: Int64 = 0
    /// The error that a write failed with; then nothing more is written.
    private(set) var failure: ClientError?

    /// Whether it is standard output: nothing of it can be taken back, nor left for later.
    let isStream: Bool
    private let replacesFile: Bool
    private var descriptor: Int32
    private var partPath: String { path + ".part" }

    /// Creates the part, or takes over one that is there.
    ///
    /// `kept` is asked, once the part is locked, how many bytes at its beginning are of use; the
    /// others go.
    /// - Throws: what `kept` throws; `fileExists` when there is a file called `path` and it may not
    ///   be replaced; `file`.
    init(
        _ path: String, replacesFile: Bool, keeping kept: () throws(ClientError) -> Int64 = { 0 }
    ) throws(ClientError) {
        self.path = path
        self.replacesFile = replacesFile
        isStream = false
        guard !path.isEmpty, !path.hasSuffix("/") else {
            throw path.isEmpty ? .badArgument("a file needs a name") : .noFolder(path)
        }
        guard replacesFile || !PartFile.exists(path) else { throw .fileExists(path: path) }
        // rename would put a file in the place of /dev/null.
        guard PartFile.kind(path) ?? S_IFREG == S_IFREG else {
            throw .file(path: path, detail: "is not a file")
        }
        descriptor = try PartFile.openLocked(path + ".part")
        do throws(ClientError) {
            try begin(keeping: try kept())
        } catch {
            close(descriptor)
            descriptor = -1
            throw error
        }
    }

    /// What is appended goes to standard output.
    ///
    /// - Throws: `file`.
    init(standardOutput: Void) throws(ClientError) {
        path = PartFile.streamName
        isStream = true
        replacesFile = false
        descriptor = dup(STDOUT_FILENO)
        guard descriptor >= 0 else { throw .file(path: path, failure: errno) }
    }

    /// What standard output is called.
    static let streamName = "standard output"

    deinit {
        discard()
    }

    /// Whether anything has that name, a dangling link too.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Whether `path` is a folder, or a link to one.
    static func isFolder(_ path: String) -> Bool {
        kind(path) == S_IFDIR
    }

    /// The S_IFMT bits of what a path leads to; nil when that is nothing.
    private static func kind(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func openLocked(_ path: String) throws(ClientError) -> Int32 {
        while true {
            let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
            let descriptor = open(path, flags, 0o666)
            guard descriptor >= 0 else {
                let failure = errno
                guard failure == ENOENT, let slash = path.lastIndex(of: "/") else {
                    throw .file(path: path, failure: failure)
                }
                throw .noFolder(String(path[...slash]))
            }
            var opened = stat()
            guard fstat(descriptor, &opened) == 0, opened.st_mode & S_IFMT == S_IFREG else {
                close(descriptor)
                throw .file(path: path, detail: "is not a file")
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let failure = errno
                close(descriptor)
                guard failure == EWOULDBLOCK else { throw .file(path: path, failure: failure) }
                throw .file(path: path, detail: "is being written by another ferry")
            }
            // Between open and flock the other one may have renamed or removed it.
            var named = stat()
            if lstat(path, &named) == 0, named.st_ino == opened.st_ino,
                named.st_dev == opened.st_dev
            {
                return descriptor
            }
            close(descriptor)
        }
    }

    /// Appends; false once a write has failed.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard failure == nil else { return false }
        let error = LocalFile.writeAll(bytes, to: descriptor)
        guard error == 0 else {
            failure = .file(path: isStream ? path : partPath, failure: error)
            return false
        }
        count += Int64(bytes.count)
        return true
    }

    /// Forgets all that was written.
    func restart() throws(ClientError) {
        try begin(keeping: 0)
    }

    private func begin(keeping length: Int64) throws(ClientError) {
        guard !isStream else {
            guard count == 0 else {
                throw .file(path: path, detail: "has got the beginning of something else by now")
            }
            return
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: partPath, failure: errno) }
        let length = min(max(0, length), Int64(status.st_size))
        guard ftruncate(descriptor, off_t(length)) == 0,
            lseek(descriptor, off_t(length), SEEK_SET) == length
        else { throw .file(path: partPath, failure: errno) }
        count = length
    }

    /// Brings what was written to the disk, so that it can be gone on with.
    func synchronize() throws(ClientError) {
        guard !isStream else { return }
        guard fdatasync(descriptor) == 0 else { throw .file(path: partPath, failure: errno) }
    }

    /// Brings the file to the disk and gives it its name.
    ///
    /// The order matters: after this the gateway's copy is deleted.
    func commit() throws(ClientError) {
        try synchronize()
        if !isStream { try takeName() }
        close(descriptor)
        descriptor = -1
        if !isStream { syncFolder() }
    }

    private func takeName() throws(ClientError) {
        if !replacesFile {
            // Unlike rename, link never replaces what has appeared meanwhile.
            if link(partPath, path) == 0 {
                _ = unlink(partPath)
                return
            }
            let failure = errno
            guard failure != EEXIST else { throw .fileExists(path: path) }
            // A file system without links, such as FAT.
            guard !PartFile.exists(path) else { throw .fileExists(path: path) }
        }
        guard rename(partPath, path) == 0 else { throw .file(path: path, failure: errno) }
    }

    /// The new name lasts once its folder is on the disk; not every file system can do that, and
    /// the bytes are safe without it.
    private func syncFolder() {
        let folder =
            path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : path[..<$0] } ?? "."
        let descriptor = open(String(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }

    /// Leaves the part as it is, for another command to go on with.
    func keep() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
    }

    /// Removes the part, unless it has its name already.
    func discard() {
        guard descriptor >= 0 else { return }
        if !isStream { _ = unlink(partPath) }
        close(descriptor)
        descriptor = -1
    }
}

extension ClientError {
    /// The folder that a file was to be written into is not there.
    static func noFolder(_ path: String) -> ClientError {
        .file(path: path, detail: "there is no such folder: -d makes the one that it names")
    }
}
