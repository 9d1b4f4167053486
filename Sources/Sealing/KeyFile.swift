internal import Files
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
        do throws(FileError) {
            try WholeFile(path, draft: draft.path).write(key.bytes, replaces: false)
            return true
        } catch {
            if error == FileError("link", code: EEXIST) { return false }
            throw .system(path: path, call: error.operation, errno: error.code)
        }
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

    private func syncFolder() throws(DataKeyError) {
        do throws(FileError) {
            try Folder.sync(Folder.parent(of: path))
        } catch {
            throw .system(path: path, call: "\(error.operation) the folder of", errno: error.code)
        }
    }

    private func failure(_ call: String) -> DataKeyError {
        .system(path: path, call: call, errno: errno)
    }
}
