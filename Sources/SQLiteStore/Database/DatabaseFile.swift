internal import Engine
internal import Glibc

/// The database's file, before SQLite opens it.
enum DatabaseFile {
    /// Makes the folder (0700) and the file (0600) where they are missing, and narrows wider modes.
    ///
    /// SQLite gives its log and its index the mode of the file.
    static func prepare(in folder: String) throws(StoreError) -> String {
        if mkdir(folder, 0o700) != 0, errno != EEXIST { throw failure("make", folder) }
        guard chmod(folder, 0o700) == 0 else { throw failure("set the mode of", folder) }
        let path = "\(folder)/\(DurableStore.fileName)"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw failure("set the mode of", path) }
        try syncFolder(folder)
        return path
    }

    private static func syncFolder(_ folder: String) throws(StoreError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("sync", folder) }
    }

    private static func failure(_ verb: String, _ path: String) -> StoreError {
        errno == ENOSPC
            ? .full : .failed("Cannot \(verb) \(path): \(String(cString: strerror(errno))).")
    }
}
