internal import CLinux
internal import Files
internal import Glibc
internal import Semantics

/// A folder that is open, below one of the operator's: names in it lead nowhere else.
///
/// Every call blocks and belongs on a file thread.
final class OpenFolder: Sendable {
    let descriptor: CInt

    private init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Opens the folder that a file is to be in, and makes what of it is missing.
    ///
    /// - Parameters:
    ///   - root: the operator's folder; links in this path are the operator's business.
    ///   - path: of the file, below the root.
    ///   - makes: whether missing folders are made; else nil stands for one that is missing.
    /// - Returns: the folder; nil where it is missing.
    /// - Throws: `SaveFault`.
    static func parent(
        below root: String, of path: String, makes: Bool
    ) throws(SaveFault) -> OpenFolder? {
        let (folder, isParent) = try deepest(below: root, of: path, makes: makes)
        return isParent ? folder : nil
    }

    /// Opens the last folder that there is on the way to a file.
    ///
    /// - Returns: the folder, and whether it is the one that the file is to be in.
    /// - Throws: `SaveFault`.
    static func deepest(
        below root: String, of path: String, makes: Bool = false
    ) throws(SaveFault) -> (folder: OpenFolder, isParent: Bool) {
        let opened = Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else {
            throw errno == ENOENT || errno == ENOTDIR ? .noFolder : fault("open")
        }
        var folder = OpenFolder(opened)
        for name in SaveDestination.names(of: path).dropLast() {
            guard let next = try folder.folder(name, makes: makes) else { return (folder, false) }
            folder = next
        }
        return (folder, true)
    }

    /// Looks whether names can be made here.
    func requireWriting() throws(SaveFault) {
        guard faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 else {
            throw OpenFolder.fault("faccessat")
        }
    }

    private func folder(_ name: String, makes: Bool) throws(SaveFault) -> OpenFolder? {
        let flags = O_RDONLY | O_DIRECTORY
        var opened = OpenFolder.open(name, in: descriptor, flags)
        if opened < 0, errno == ENOENT {
            guard makes else { return nil }
            guard mkdirat(descriptor, name, 0o777) == 0 || errno == EEXIST else {
                throw OpenFolder.fault("mkdirat")
            }
            guard fsync(descriptor) == 0 else { throw OpenFolder.fault("fsync") }
            opened = OpenFolder.open(name, in: descriptor, flags)
        }
        guard opened >= 0 else { throw OpenFolder.fault("open") }
        return OpenFolder(opened)
    }

    /// Opens one name that is no link; where the kernel or a filter of system calls does not know
    /// openat2(2), by a call that means the same for a single name.
    private static func open(_ name: String, in folder: CInt, _ flags: CInt) -> CInt {
        let opened = ferry_open_beneath(folder, name, flags)
        guard opened < 0, errno == ENOSYS || errno == EPERM else { return opened }
        return openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC)
    }

    /// What is called so; nil where nothing is. A link is told of, not followed.
    func status(_ name: String) throws(SaveFault) -> stat? {
        var status = stat()
        if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        guard errno == ENOENT else { throw OpenFolder.fault("fstatat") }
        return nil
    }

    /// Opens a regular file for reading.
    /// - Returns: a descriptor that is the caller's to close; -1 where there is none.
    func openFile(_ name: String) -> CInt {
        OpenFolder.open(name, in: descriptor, O_RDONLY | O_NONBLOCK)
    }

    /// Makes a file that was not there.
    /// - Returns: a descriptor that is the caller's to close.
    func make(_ name: String) throws(SaveFault) -> CInt {
        let made = openat(
            descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard made >= 0 else { throw OpenFolder.fault("openat") }
        return made
    }

    /// Gives a file a second name here.
    /// - Returns: false where its file system does not, or is another one.
    func link(_ path: String, as name: String) throws(SaveFault) -> Bool {
        if linkat(AT_FDCWD, path, descriptor, name, 0) == 0 { return true }
        guard ![EXDEV, EPERM, EMLINK, EOPNOTSUPP, ENOENT, EACCES].contains(errno) else {
            return false
        }
        throw OpenFolder.fault("linkat")
    }

    func remove(_ name: String) throws(SaveFault) {
        guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
            throw OpenFolder.fault("unlinkat")
        }
    }

    /// Renames a file where the new name is free.
    /// - Throws: `exists` where it is not.
    func rename(_ name: String, toNew new: String) throws(SaveFault) {
        if ferry_rename_new(descriptor, name, new) == 0 { return }
        guard errno == ENOSYS || errno == EINVAL || errno == EPERM else {
            throw OpenFolder.fault("renameat2")
        }
        // A file system without that: a second name is given only where it is free, too.
        guard linkat(descriptor, name, descriptor, new, 0) == 0 else {
            throw OpenFolder.fault("linkat")
        }
        try remove(name)
    }

    /// Renames a file, in the place of one that is called so.
    func rename(_ name: String, inPlaceOf old: String) throws(SaveFault) {
        guard renameat(descriptor, name, descriptor, old) == 0 else {
            throw OpenFolder.fault("renameat")
        }
    }

    /// Returns when the names in it are there for good.
    func sync() throws(SaveFault) {
        guard fsync(descriptor) == 0 else { throw OpenFolder.fault("fsync") }
    }

    /// What `errno` says.
    static func fault(_ operation: String) -> SaveFault {
        let code = errno
        switch code {
        case EEXIST: return .exists
        case EISDIR: return .isFolder
        case ELOOP, ENOTDIR, EXDEV: return .notAFolder
        case ENOSPC, EDQUOT: return .noRoom
        default: return .file(FileError(operation, code: code))
        }
    }
}

extension SavedFile {
    /// A file that is open or was looked at.
    init(_ status: stat, at path: String) {
        self.init(
            path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino),
            modified: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
    }

    /// Whether it is the same file, unchanged, whatever it is called.
    func isSame(_ status: stat) -> Bool { SavedFile(status, at: path) == self }
}
