internal import Glibc

/// A file of mode 0600 with a key's 32 bytes. All calls block.
public struct KeyFile: Sendable {
    /// Where it is, or is to be. A symbolic link in the last place is refused.
    public let path: String

    /// The file of that path, which need not be there.
    public init(path: String) {
        self.path = path
    }

    /// The key; nil when there is no file.
    ///
    /// - Throws: `tooOpen`, `wrongSize`, `notAFile`, `system`.
    public func load() throws(DataKeyError) -> DataKey? {
        // A pipe in the file's place would hold the process up without O_NONBLOCK.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("open")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        let mode = status.st_mode & 0o7777
        guard mode & ~0o600 == 0 else { throw .tooOpen(path: path, mode: UInt32(mode)) }
        guard status.st_size == DataKey.byteCount else {
            throw .wrongSize(path: path, found: Int(status.st_size))
        }
        var bytes = [UInt8](repeating: 0, count: DataKey.byteCount)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw failure("read") }
        guard count == bytes.count, let key = DataKey(bytes: bytes) else {
            throw .wrongSize(path: path, found: count)
        }
        return key
    }

    /// Makes the file; false, and nothing is done, where there is one.
    ///
    /// It appears under its name only when it is whole and on the disk, with its folder. A crash
    /// may leave its draft, which `settled` removes. One process at a time may make it.
    ///
    /// - Throws: `system`.
    public func make(_ key: DataKey) throws(DataKeyError) -> Bool {
        defer { unlink(draft.path) }
        try draft.write(key)
        guard link(draft.path, path) == 0 else {
            if errno == EEXIST { return false }
            throw failure("link")
        }
        try syncFolder()
        return true
    }

    /// Removes the file, for good; nothing is done where there is none.
    ///
    /// - Throws: `system`.
    public func remove() throws(DataKeyError) {
        // Where nothing can be written, unlink says so also of what is not there.
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw failure("lstat")
        }
        guard unlink(path) == 0 else {
            if errno == ENOENT { return }
            throw failure("unlink")
        }
        try syncFolder()
    }

    /// Gives the file the place of another one, whole and for good.
    ///
    /// - Throws: `system`.
    func replace(_ other: KeyFile) throws(DataKeyError) {
        guard rename(path, other.path) == 0 else { throw failure("rename") }
        try other.syncFolder()
    }

    /// What becomes the file; with a name that nobody gives a file of their own.
    var draft: KeyFile { KeyFile(path: path + ".ferry-draft") }

    /// Writes a new file in place of one of that name, down to the disk.
    private func write(_ key: DataKey) throws(DataKeyError) {
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("open") }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw failure("fchmod") }
        let count = Glibc.write(descriptor, key.bytes, key.bytes.count)
        guard count >= 0 else { throw failure("write") }
        guard count == key.bytes.count else { throw .wrongSize(path: path, found: count) }
        guard fsync(descriptor) == 0 else { throw failure("fsync") }
    }

    private func syncFolder() throws(DataKeyError) {
        let folder =
            switch path.lastIndex(of: "/") {
            case nil: "."
            case path.startIndex: "/"
            case let slash?: String(path[..<slash])
            }
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open the folder of") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("fsync the folder of") }
    }

    private func failure(_ call: String) -> DataKeyError {
        .system(path: path, call: call, errno: errno)
    }
}
