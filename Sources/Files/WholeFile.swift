public import Glibc

/// A file that is written whole or not at all: as a draft beside its place, which gets the file's
/// name once all bytes are in it. All of it blocks.
///
/// Where it cannot be written, what was there before stays, and no draft is left. A crash may leave
/// one: the next draft of that name takes its place. No two may be written under one name at a
/// time.
public struct WholeFile: Sendable {
    /// Where it is to be.
    public let path: String
    private let draft: String
    private let mode: mode_t

    /// A file that is to be at a path. Nothing is done before it is written.
    ///
    /// - Parameters:
    ///   - path: its place, in a folder that is there. A symbolic link in the last place is
    ///     replaced, and not followed.
    ///   - draft: where it is written first, in the same folder, and no link is followed either. By
    ///     default the path with the number of the process behind it, for files that several
    ///     processes of one machine may write at a time.
    ///   - mode: the file's, less what the umask takes.
    public init(_ path: String, draft: String? = nil, mode: mode_t = 0o600) {
        self.path = path
        self.draft = draft ?? "\(path).\(getpid())"
        self.mode = mode
    }

    /// Writes the file.
    ///
    /// - Parameters:
    ///   - bytes: all that is to be in it.
    ///   - replaces: whether it takes the place of what is there. Where it does not, the file
    ///     system must have hard links.
    ///   - isDurable: whether it is there for good when this returns; the folder must be readable
    ///     for that. Otherwise a crash of the machine may bring back what was there before, or
    ///     leave an empty file.
    /// - Throws: `FileError`; of `link`, with `EEXIST`, where something is there and may not be
    ///   replaced. Where only the folder could not be synced, the file is in its place.
    public func write(
        _ bytes: [UInt8], replaces: Bool = true, isDurable: Bool = true
    ) throws(FileError) {
        var failure: FileError?
        try make(replaces: replaces, isDurable: isDurable) { draft in
            failure = WholeFile.put(bytes, in: draft)
            return failure == nil
        }
        if let failure { throw failure }
    }

    /// Writes the file by a body, in place of one that is there; its name is there for good when
    /// this returns.
    ///
    /// - Parameter body: writes to the draft, by its descriptor.
    /// - Throws: `FileError`, as `write(_:replaces:isDurable:)`; what the body throws.
    public func write(by body: (_ draft: CInt) throws -> Void) throws {
        var failure: (any Error)?
        try make(replaces: true, isDurable: true) { draft in
            do { try body(draft) } catch { failure = error }
            return failure == nil
        }
        if let failure { throw failure }
    }

    /// Makes the file by a body, which answers whether it is to stay.
    private func make(
        replaces: Bool, isDurable: Bool, _ fill: (_ draft: CInt) -> Bool
    ) throws(FileError) {
        // Before there is anything that could be left behind.
        let folder = try isDurable ? openFolder() : -1
        defer { if folder >= 0 { close(folder) } }
        let file = try openDraft()
        var isDraft = true
        defer {
            close(file)
            if isDraft { unlink(draft) }
        }
        guard fill(file) else { return }
        guard !isDurable || fsync(file) == 0 else { throw FileError("fsync", code: errno) }
        if replaces {
            guard rename(draft, path) == 0 else { throw FileError("rename", code: errno) }
        } else {
            // Unlike rename it fails where something is.
            guard link(draft, path) == 0 else { throw FileError("link", code: errno) }
            unlink(draft)
        }
        isDraft = false
        // Not every file system can sync a folder.
        if isDurable, fsync(folder) != 0, errno != EINVAL, errno != ENOTSUP {
            throw FileError("fsync the folder of", code: errno)
        }
    }

    private func openFolder() throws(FileError) -> CInt {
        do throws(FileError) {
            return try Folder.open(Folder.parent(of: path))
        } catch {
            throw FileError("open the folder of", code: error.code)
        }
    }

    /// A new file of the draft's name; what a crash has left there goes.
    private func openDraft() throws(FileError) -> CInt {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        var file = open(draft, flags, mode)
        if file < 0, errno == EEXIST {
            guard unlink(draft) == 0 else { throw FileError("unlink", code: errno) }
            file = open(draft, flags, mode)
        }
        guard file >= 0 else { throw FileError("open", code: errno) }
        return file
    }

    /// Writes all of it.
    /// - Returns: why it cannot be; nil where it is.
    private static func put(_ bytes: [UInt8], in file: CInt) -> FileError? {
        bytes.withUnsafeBytes { bytes -> FileError? in
            var done = 0
            while done < bytes.count {
                let count = Glibc.write(
                    file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    return FileError("write", code: count < 0 ? errno : ENOSPC)
                }
                done += count
            }
            return nil
        }
    }
}
