internal import Files
internal import Glibc

/// A file that grows as `NAME.part` and takes its name only when it is whole; or a stream, such as
/// standard output, a device or a named pipe, which gets the bytes as they come.
///
/// The part is locked (flock) while it grows: a second command for the same name is refused, and
/// what a command that was killed has left is taken over. Released without `commit` or `keep`, the
/// part is removed.
final class PartFile {
    /// The name that it will have, as it was given.
    let path: String
    /// Bytes in it.
    private(set) var count: Int64 = 0
    /// The error that a write failed with; then nothing more is written.
    private(set) var failure: ClientError?

    /// Whether it is a stream: nothing of it can be taken back, nor left for later.
    let isStream: Bool
    private let replacesFile: Bool
    private var descriptor: Int32
    /// The name without links: the file that one leads to is replaced, and the link stays.
    private let place: String
    private var partPath: String { place + ".part" }

    /// Creates the part, or takes over one that is there; opens what is a device or a pipe.
    ///
    /// `claim` is asked, once the part is locked, how many bytes at its beginning are of use; the
    /// others go. Nil says that no command has left it: then a part with anything in it is somebody
    /// else's, and stays. `whileWaiting` is called ten times a second until somebody reads a pipe.
    /// - Throws: what `claim` and `whileWaiting` throw; `fileExists` when there is a file called
    ///   `path` and it may not be replaced; `file`.
    init(
        _ path: String, replacesFile: Bool,
        claim: () throws(ClientError) -> Int64? = { nil },
        whileWaiting: () throws(ClientError) -> Void = {}
    ) throws(ClientError) {
        self.path = path
        self.replacesFile = replacesFile
        guard !path.isEmpty, !path.hasSuffix("/") else {
            throw path.isEmpty ? .badArgument("a file needs a name") : .noFolder(path)
        }
        isStream = PartFile.isStream(path)
        guard !isStream else {
            place = path
            descriptor = try PartFile.openStream(path, whileWaiting)
            return
        }
        guard replacesFile || !PartFile.exists(path) else { throw .fileExists(path: path) }
        try PartFile.requireFile(path)
        place = try LinkedPath.resolved(path)
        descriptor = try PartFile.openLocked(place + ".part")
        do throws(ClientError) {
            try takeOver(try claim())
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
        place = PartFile.streamName
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

    /// Refuses what rename would put a file in the place of, such as a disk.
    ///
    /// - Throws: `file`.
    static func requireFile(_ path: String) throws(ClientError) {
        guard kind(path) ?? S_IFREG == S_IFREG else {
            throw .file(path: path, detail: "is not a file")
        }
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

    /// Whether `path` names what is written to as it is: a terminal, `/dev/null`, a pipe, or one of
    /// this process's descriptors.
    static func isStream(_ path: String) -> Bool {
        let kind = kind(path)
        return kind == S_IFCHR || kind == S_IFIFO || ownDescriptor(path) != nil
    }

    /// Whether `fileExists` would be thrown.
    static func isTaken(_ path: String) -> Bool { exists(path) && !isStream(path) }

    /// The descriptor of this process that `path` names. To open that name would open a file anew,
    /// at its beginning.
    private static func ownDescriptor(_ path: String) -> Int32? {
        switch path {
        case "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default: break
        }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
            return Int32(path.dropFirst(folder.count))
        }
        return nil
    }

    /// Opens what `isStream`; a pipe that nobody reads yet is waited for.
    ///
    /// - Throws: `file`, and what `whileWaiting` throws.
    static func openStream(
        _ path: String, _ whileWaiting: () throws(ClientError) -> Void = {}
    ) throws(ClientError) -> Int32 {
        while true {
            // Without O_NONBLOCK a pipe that nobody reads yet would hold up even Ctrl-C.
            let descriptor =
                ownDescriptor(path).map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
                ?? open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
            guard descriptor < 0 else { return descriptor }
            guard errno == ENXIO, kind(path) == S_IFIFO else {
                throw .file(path: path, failure: errno)
            }
            try whileWaiting()
            usleep(100_000)
        }
    }

    /// Keeps so many bytes of the part; of one that is nobody's, none.
    private func takeOver(_ kept: Int64?) throws(ClientError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: partPath, failure: errno) }
        guard kept != nil || status.st_size == 0 else {
            throw .file(
                path: partPath,
                detail: """
                    is there already, and no download that can be resumed has left it: remove it, or \
                    give another name with -o
                    """)
        }
        // What replaces a file that others cannot read must not be read by them while it grows.
        try likenReplaced()
        try begin(keeping: kept ?? 0)
    }

    /// Gives the part the owner and the mode of the file that it replaces.
    private func likenReplaced() throws(ClientError) {
        var (old, new) = (stat(), stat())
        guard replacesFile, stat(place, &old) == 0, fstat(descriptor, &new) == 0 else { return }
        var mode = old.st_mode & 0o777
        if old.st_uid != new.st_uid || old.st_gid != new.st_gid,
            fchown(descriptor, old.st_uid, old.st_gid) != 0, old.st_gid != new.st_gid
        {
            // The group's rights were those of another group.
            mode &= ~0o070
        }
        guard mode != new.st_mode & 0o7777 else { return }
        guard fchmod(descriptor, mode) == 0 else { throw .file(path: partPath, failure: errno) }
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
        if replacesFile {
            // It may have been changed, or have appeared, meanwhile.
            try likenReplaced()
        } else {
            // Unlike rename, link never replaces what has appeared meanwhile.
            if link(partPath, place) == 0 {
                _ = unlink(partPath)
                return
            }
            let failure = errno
            guard failure != EEXIST else { throw .fileExists(path: path) }
            // A file system without links, such as FAT.
            guard !PartFile.exists(path) else { throw .fileExists(path: path) }
        }
        guard rename(partPath, place) == 0 else { throw .file(path: path, failure: errno) }
    }

    /// The new name lasts once its folder is on the disk; not every file system can do that, and
    /// the bytes are safe without it.
    private func syncFolder() {
        try? Folder.sync(Folder.parent(of: place))
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
        .file(path: path, detail: "there is no such folder: make it first, with mkdir -p")
    }
}
