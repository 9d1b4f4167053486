internal import Glibc

/// The bytes that an upload sends: a file, read block by block and from any place, or a pipe, of
/// which only the piece is held that the gateway does not have yet.
final class UploadSource {
    /// What is sent in one request.
    struct Piece: Equatable {
        /// Where it begins.
        var start: Int64
        /// Behind its last byte.
        var end: Int64
        /// Whether nothing follows it.
        var isLast: Bool
    }

    /// The name for people, as it was given.
    let name: String
    /// The name without its folders.
    var shortName: String { name.split(separator: "/").last.map(String.init) ?? name }
    /// How many bytes there are; nil where only the end will tell.
    let length: Int64?
    /// Why no more could be read.
    private(set) var failure: ClientError?

    private let descriptor: Int32
    /// Where the bytes begin in a file: standard input may have been read from.
    private let base: off_t
    private let modified: timespec
    /// The piece of a pipe, and where it begins.
    private var held: [UInt8] = []
    private var heldStart: Int64 = 0
    private var isAtEnd = false

    /// How much of a pipe is held.
    static let pieceLength = 4 << 20

    /// Opens a file, or takes standard input for `-`.
    ///
    /// A pipe is waited for until somebody writes to it; `whileWaiting` is called when a signal
    /// comes.
    /// - Throws: `unreadable`, and what `whileWaiting` throws.
    init(_ path: String, whileWaiting: () throws(ClientError) -> Void) throws(ClientError) {
        name = path == "-" ? "standard input" : path
        var descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        while descriptor < 0, errno == EINTR {
            try whileWaiting()
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
        }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            let failure = errno
            if descriptor >= 0 { close(descriptor) }
            throw .unreadable(path: name, failure: failure)
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            throw .unreadable(path: name, failure: EISDIR)
        }
        self.descriptor = descriptor
        modified = status.st_mtim
        if status.st_mode & S_IFMT == S_IFREG {
            base = path == "-" ? max(0, lseek(descriptor, 0, SEEK_CUR)) : 0
            let size = Int64(max(0, status.st_size - base))
            length = size == 0 && UploadSource.hasBytes(descriptor, at: base) ? nil : size
        } else {
            base = 0
            length = nil
        }
    }

    deinit {
        close(descriptor)
    }

    /// Whether there is something to read where the size says that there is nothing: the kernel
    /// makes the files of /proc only when they are read. An error counts: reading will tell of it.
    private static func hasBytes(_ descriptor: Int32, at offset: off_t) -> Bool {
        var byte: UInt8 = 0
        return pread(descriptor, &byte, 1, offset) != 0
    }

    /// The piece that begins at `offset`: of a file all the rest; of a pipe what is held, or else
    /// what comes next, which is waited for.
    ///
    /// `whileWaiting` is called ten times a second.
    /// - Throws: `unreadable`, also when the bytes of a pipe are gone; what `whileWaiting` throws.
    func piece(
        at offset: Int64, whileWaiting: () throws(ClientError) -> Void
    ) throws(ClientError) -> Piece {
        if let length { return Piece(start: offset, end: length, isLast: true) }
        var heldEnd: Int64 { heldStart + Int64(held.count) }
        guard heldStart <= offset, offset <= heldEnd else {
            throw .unreadable(path: name, detail: "cannot be read from byte \(offset) again")
        }
        if offset == heldEnd, !isAtEnd {
            heldStart = offset
            held.removeAll(keepingCapacity: true)
            try fill(whileWaiting)
        }
        return Piece(start: offset, end: heldEnd, isLast: isAtEnd)
    }

    private func fill(_ whileWaiting: () throws(ClientError) -> Void) throws(ClientError) {
        var room = [UInt8](repeating: 0, count: 256 * 1024)
        while held.count < UploadSource.pieceLength, !isAtEnd {
            try whileWaiting()
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 100) > 0 else { continue }
            let count = Glibc.read(
                descriptor, &room, min(room.count, UploadSource.pieceLength - held.count))
            if count > 0 {
                held += room[..<count]
            } else if count == 0 {
                isAtEnd = true
            } else if errno != EINTR, errno != EAGAIN {
                throw .unreadable(path: name, failure: errno)
            }
        }
    }

    /// Reads what is at `offset`, at most up to `end`, and tells how much; 0 only at `end`, nil
    /// when it cannot be read: then `failure` is set.
    func read(
        at offset: Int64, upTo end: Int64, into room: UnsafeMutableRawBufferPointer
    ) -> Int? {
        let count = Int(min(Int64(room.count), end - offset))
        guard count > 0 else { return 0 }
        guard length != nil else {
            let start = Int(offset - heldStart)
            held.withUnsafeBytes {
                room.copyMemory(from: .init(rebasing: $0[start..<start + count]))
            }
            return count
        }
        while true {
            let got = pread(descriptor, room.baseAddress, count, base + off_t(offset))
            if got > 0 { return got }
            if got < 0, errno == EINTR { continue }
            failure =
                got < 0
                ? .unreadable(path: name, failure: errno)
                : .unreadable(path: name, detail: "has become shorter while it was read")
            return nil
        }
    }

    /// Makes sure that a file is still the one that was opened: what was read of it at different
    /// times belongs together.
    ///
    /// - Throws: `unreadable`.
    func requireUnchanged() throws(ClientError) {
        guard let length else { return }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(path: name, failure: errno) }
        guard Int64(status.st_size - base) == length,
            status.st_mtim.tv_sec == modified.tv_sec, status.st_mtim.tv_nsec == modified.tv_nsec
        else { throw .unreadable(path: name, detail: "has changed while it was read") }
    }
}

extension ClientError {
    /// A failed system call on a file to send; `failure` is its errno.
    static func unreadable(path: String, failure: Int32) -> ClientError {
        .unreadable(path: path, detail: String(cString: strerror(failure)))
    }
}
