internal import Glibc

/// Copies of files: new ones, of mode 0600. All of it blocks.
public enum FileCopy {
    /// ioctl_ficlone(2): _IOW(0x94, 9, int).
    /// <https://man7.org/linux/man-pages/man2/ioctl_ficlone.2.html>
    private static let cloneRequest: UInt = 0x4004_9409
    /// lseek(2); the C library declares both under _GNU_SOURCE only.
    private static let seekData: CInt = 3
    private static let seekHole: CInt = 4

    /// Copies a file as it is, to where none is: shares its blocks where the file system can, so
    /// that it takes neither room nor time, and otherwise its bytes, with its holes. Neither file
    /// changes with the other.
    ///
    /// Bytes that are written meanwhile may be in the copy or not.
    ///
    /// - Throws: `FileError`, and leaves no copy then.
    public static func copy(_ source: String, to target: String) throws(FileError) {
        _ = try make(target, from: source) { input, output throws(FileError) in
            try fill(output, from: input)
            return true
        }
    }

    /// The same where the file system can share blocks.
    /// - Returns: false where it cannot; nothing is done then.
    /// - Throws: `FileError`.
    public static func clone(_ source: String, to target: String) throws(FileError) -> Bool {
        try make(target, from: source) { input, output throws(FileError) in clones(input, output) }
    }

    /// Copies a file as it is into one that is open for writing and has nothing in it yet; the
    /// caller brings it to the disk.
    ///
    /// - Throws: `FileError`; a part of it may be copied then.
    public static func copy(_ source: String, into output: CInt) throws(FileError) {
        let input = try openSource(source)
        defer { close(input) }
        try fill(output, from: input)
    }

    private static func clones(_ input: CInt, _ output: CInt) -> Bool {
        ioctl(output, cloneRequest, input) == 0
    }

    private static func fill(_ output: CInt, from input: CInt) throws(FileError) {
        if !clones(input, output) { try copyBytes(from: input, to: output) }
    }

    private static func openSource(_ path: String) throws(FileError) -> CInt {
        let input = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard input >= 0 else { throw FileError("open", code: errno) }
        return input
    }

    /// Makes a file by a body, which answers whether it is to stay.
    private static func make(
        _ target: String, from source: String,
        _ body: (_ input: CInt, _ output: CInt) throws(FileError) -> Bool
    ) throws(FileError) -> Bool {
        let input = try openSource(source)
        defer { close(input) }
        let output = open(target, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw FileError("open", code: errno) }
        defer { close(output) }
        var stays = false
        defer { if !stays { unlink(target) } }
        guard try body(input, output) else { return false }
        guard fsync(output) == 0 else { throw FileError("fsync", code: errno) }
        stays = true
        return true
    }

    /// Gives a file that never changes again a second name, where none is; across file systems it
    /// is copied.
    ///
    /// - Throws: `FileError`.
    public static func linkOrCopy(_ source: String, to target: String) throws(FileError) {
        if link(source, target) == 0 { return }
        guard [EXDEV, EPERM, EMLINK, ENOTSUP, ENOSYS].contains(errno) else {
            throw FileError("link", code: errno)
        }
        try copy(source, to: target)
    }

    private static func length(of descriptor: CInt) throws(FileError) -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError("fstat", code: errno) }
        return Int64(status.st_size)
    }

    /// What lies between the holes.
    private static func copyBytes(from input: CInt, to output: CInt) throws(FileError) {
        let end = try length(of: input)
        guard ftruncate(output, off_t(end)) == 0 else { throw FileError("ftruncate", code: errno) }
        var block = [UInt8](repeating: 0, count: 1 << 20)
        var position: Int64 = 0
        while position < end {
            let data = lseek(input, off_t(position), seekData)
            if data < 0, errno == ENXIO { return }  // nothing but a hole is left
            // A file system without holes has data everywhere.
            let start = data < 0 ? position : Int64(data)
            let hole = lseek(input, off_t(start), seekHole)
            let stop = hole < 0 ? end : min(end, Int64(hole))
            position = start
            while position < stop {
                let wanted = Int(min(Int64(block.count), stop - position))
                let count = pread(input, &block, wanted, off_t(position))
                guard count >= 0 else { throw FileError("pread", code: errno) }
                guard count > 0 else { return }  // it has become shorter
                var written = 0
                while written < count {
                    let step = block.withUnsafeBytes {
                        pwrite(
                            output, $0.baseAddress?.advanced(by: written), count - written,
                            off_t(position) + off_t(written))
                    }
                    guard step > 0 else { throw FileError("pwrite", code: errno) }
                    written += step
                }
                position += Int64(count)
            }
        }
    }
}
