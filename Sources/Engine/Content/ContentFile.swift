internal import Files
internal import Glibc
internal import Loop
internal import Semantics
internal import Synchronization

/// A content on disk, growing or whole. Every call blocks and belongs on a file thread.
///
/// Writes and `finish` come from one lane, in order; reads may come from any thread beside them,
/// through a descriptor of their own, because one that is open for O_DIRECT only reads into aligned
/// memory.
final class ContentFile: Sendable {
    /// Where the bytes go.
    enum Place: Sendable {
        /// A file that is found again by what it belongs to.
        case named(ContentFolder, ContentOwner)
        /// A part of a file without a name, gone when nobody has the content any more (S-2).
        case unnamed(UnnamedFile)
    }

    private struct State {
        var writing: CInt = -1
        var reading: CInt = -1
        var isDirect = false
        var digest: (any RunningDigest)?
        /// Whether the file is there already, with bytes that stay.
        var goesOn = false
    }

    private let place: Place
    /// The content, where it has no file of its own.
    private let unnamed: UnnamedContent?
    private let state: Mutex<State>

    /// A file that is to be written. Nothing is opened yet.
    init(at place: Place, digest: (any RunningDigest)?) {
        self.place = place
        if case .unnamed(let shared) = place {
            unnamed = UnnamedContent(in: shared)
        } else {
            unnamed = nil
        }
        self.state = Mutex(State(digest: digest))
    }

    /// A part that is there already and goes on growing; `digest` is taken of the whole at the end.
    init(continuing owner: ContentOwner, in folder: ContentFolder, digest: (any RunningDigest)?) {
        place = .named(folder, owner)
        unnamed = nil
        state = Mutex(State(digest: digest, goesOn: true))
    }

    /// A whole content that is to be read.
    convenience init(reading content: ContentName, in folder: ContentFolder) throws {
        try self.init(readingAt: folder.path(of: content), of: content.owner, in: folder)
    }

    /// What a folder has of an owner's content under some name, that is to be read.
    init(readingAt path: String, of owner: ContentOwner, in folder: ContentFolder) throws {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError("open", code: errno) }
        place = .named(folder, owner)
        unnamed = nil
        state = Mutex(State(reading: descriptor))
    }

    deinit {
        state.withLock { state in
            if state.writing >= 0 { close(state.writing) }
            if state.reading >= 0 { close(state.reading) }
        }
    }

    // MARK: Writing, on the file's lane

    /// Takes the block's bytes into the digest; once for each block, in order, before it is
    /// written.
    func digest(_ block: FileBlock) {
        state.withLock { state in block.withBytes { state.digest?.update($0) } }
    }

    /// Takes the digest of all bytes of the file, in place of block by block: for a file that was
    /// not written in order. Costs the reading of the file.
    func digestWhole(length: Int64, by digest: any RunningDigest) throws {
        var digest = digest
        var offset: Int64 = 0
        while offset < length {
            let bytes = try read(at: offset, count: Int(min(1 << 20, length - offset)))
            guard !bytes.isEmpty else { throw FileError("pread", code: 0) }
            bytes.withUnsafeBytes { digest.update($0) }
            offset += Int64(bytes.count)
        }
        state.withLock { [digest] in $0.digest = digest }
    }

    /// Writes a block at its place, which is a multiple of `FileBlock.alignment`. Up to the next
    /// multiple, what lies behind a block that is not full is lost.
    func write(_ block: FileBlock, at offset: Int64) throws {
        if let unnamed { return try unnamed.write(block, at: offset) }
        let (descriptor, isDirect) = try openForWriting()
        if isDirect {
            try block.withPaddedBytes { try ContentFile.write($0, to: descriptor, at: offset) }
        } else {
            try block.withBytes { try ContentFile.write($0, to: descriptor, at: offset) }
        }
    }

    /// Writes bytes as blocks are written.
    func write(_ bytes: [UInt8], at offset: Int64) throws {
        let block = FileBlock(capacity: 1 << 20)
        for start in stride(from: 0, to: bytes.count, by: block.capacity) {
            let piece = bytes[start..<min(bytes.count, start + block.capacity)]
            block.refill { buffer in
                piece.withUnsafeBytes { buffer.copyMemory(from: $0) }
                return piece.count
            }
            try write(block, at: offset + Int64(start))
        }
    }

    /// Returns when everything that was written is there for good, if anything of it shall be.
    func sync() throws {
        guard case .named(let folder, _) = place else { return }
        let (descriptor, _) = try openForWriting()
        guard folder.sync(descriptor) == 0 else { throw FileError("fdatasync", code: errno) }
    }

    /// Writes to a task's growing file behind what it has for good, and syncs that: an error where
    /// there is no room. Nil stands for a file that begins anew. What was there is lost; a file
    /// that is gone needs no room.
    static func takeRoom(behind end: Int64?, in folder: ContentFolder, for task: TaskID) throws {
        let isThere = access(folder.partPath(of: task), F_OK) == 0
        guard end == nil || isThere else { return }
        let file =
            end == nil
            ? ContentFile(at: .named(folder, .task(task)), digest: nil)
            : ContentFile(continuing: .task(task), in: folder, digest: nil)
        let block = FileBlock(capacity: 1 << 20)
        block.refill { $0.initializeMemory(as: UInt8.self, repeating: 0).count }
        let alignment = Int64(FileBlock.alignment)
        try file.write(block, at: ((end ?? 0) + alignment - 1) / alignment * alignment)
        try file.sync()
    }

    /// Cuts a part at its length and brings it to the disk, with the name that it has.
    func settle(length: Int64) throws {
        guard case .named(let folder, let owner) = place else { return }
        let (descriptor, _) = try openForWriting()
        guard access(folder.partPath(of: owner.id), F_OK) == 0 else {
            throw FileError("access", code: errno)
        }
        guard ftruncate(descriptor, off_t(length)) == 0 else {
            throw FileError("ftruncate", code: errno)
        }
        guard folder.sync(descriptor) == 0 else { throw FileError("fdatasync", code: errno) }
    }

    private func openForWriting() throws -> (descriptor: CInt, isDirect: Bool) {
        try state.withLock { state in
            if state.writing < 0 { try ContentFile.open(place, into: &state) }
            return (state.writing, state.isDirect)
        }
    }

    /// Cuts the file at its length, syncs it, and gives it its name: whole and durable, or an
    /// error. One of missing descriptors leaves all as it was, and may be tried again.
    func finish(length: Int64) throws {
        guard case .named(let folder, let owner) = place else {
            unnamed?.finish(length: length)
            return
        }
        let (descriptor, _) = try openForWriting()
        let path = folder.path(of: owner.id)
        // First, so that what has no descriptor has done nothing.
        let directory = try Folder.open(Folder.parent(of: path))
        defer { close(directory) }
        guard ftruncate(descriptor, off_t(length)) == 0 else {
            throw FileError("ftruncate", code: errno)
        }
        guard folder.sync(descriptor) == 0 else { throw FileError("fdatasync", code: errno) }
        guard rename(folder.partPath(of: owner.id), path) == 0 else {
            throw FileError("rename", code: errno)
        }
        try Folder.sync(directory)
    }

    /// The digest of all that was written, if one was asked for.
    var digestValue: [UInt8]? { state.withLock { $0.digest?.value() } }

    /// Whose it is; nil for one without a name, which is nobody else's.
    var owner: ContentOwner? {
        if case .named(_, let owner) = place { owner } else { nil }
    }

    /// Makes it a part again where `finish` has failed behind its last step but one.
    func reopen() throws {
        if case .named(let folder, let owner) = place { try folder.reopen(owner.id) }
    }

    // MARK: Reading, on any file thread

    /// At most `count` bytes from `offset`; fewer only at the end of the file.
    func read(at offset: Int64, count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }

    /// Fills the buffer from `offset` on.
    /// - Returns: how many bytes there were; fewer than fit only at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        if let unnamed { return try unnamed.read(into: buffer, at: offset) }
        return try ContentFile.read(into: buffer, from: try openForReading(), at: offset)
    }

    /// As `read(into:at:)`, but from memory alone, and so on the loop too.
    /// - Returns: nil where the disk would have to be asked, also for the first time.
    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        if let unnamed { return unnamed.readFromMemory(into: buffer, at: offset) }
        let descriptor = state.withLock(\.reading)
        return descriptor < 0 ? nil : PageCache.read(descriptor, into: buffer, at: offset)
    }

    /// The length of a file that was opened for reading.
    func measure() throws -> Int64 {
        var status = stat()
        guard fstat(try openForReading(), &status) == 0 else {
            throw FileError("fstat", code: errno)
        }
        return Int64(status.st_size)
    }

    private func openForReading() throws -> CInt {
        try state.withLock { state in
            if state.reading < 0 {
                if state.writing < 0 { try ContentFile.open(place, into: &state) }
                // The same open file by another door: no name is needed, and O_DIRECT does not
                // apply.
                state.reading = Glibc.open("/proc/self/fd/\(state.writing)", O_RDONLY | O_CLOEXEC)
                guard state.reading >= 0 else { throw FileError("open", code: errno) }
            }
            return state.reading
        }
    }

    // MARK: Calls

    private static func open(_ place: Place, into state: inout State) throws {
        guard case .named(let folder, let owner) = place else {
            throw FileError("open", code: EBADF)
        }
        let flags = O_RDWR | O_CLOEXEC | (state.goesOn ? 0 : O_CREAT | O_TRUNC)
        state.writing = open(folder.partPath(of: owner.id), flags, &state.isDirect)
        guard state.writing >= 0 else { throw FileError("open", code: errno) }
    }

    /// Past the page cache where the file system can: it is dear for bytes that are read much
    /// later.
    static func open(_ path: String, _ flags: CInt, _ isDirect: inout Bool) -> CInt {
        let direct = Glibc.open(path, flags | directFlag, 0o600)
        isDirect = direct >= 0
        return direct >= 0 || errno != EINVAL ? direct : Glibc.open(path, flags, 0o600)
    }

    /// As `read(into:at:)`, of any file.
    static func read(
        into buffer: UnsafeMutableRawBufferPointer, from descriptor: CInt, at offset: Int64
    ) throws -> Int {
        var filled = 0
        while filled < buffer.count {
            let got = pread(
                descriptor, buffer.baseAddress.map { $0 + filled }, buffer.count - filled,
                off_t(offset) + off_t(filled))
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw FileError("pread", code: errno) }
            if got == 0 { break }
            filled += got
        }
        return filled
    }

    static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: CInt, at offset: Int64
    ) throws {
        var done = 0
        while done < bytes.count {
            let written = pwrite(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done,
                off_t(offset) + off_t(done))
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw FileError("pwrite", code: written < 0 ? errno : ENOSPC) }
            done += written
        }
    }
}

// Two of open(2)'s flags that Glibc hides from Swift behind _GNU_SOURCE, as <asm/fcntl.h> has them.
#if arch(arm64)
    private let directFlag: CInt = 0o200_000
#else
    private let directFlag: CInt = 0o40_000
#endif
/// O_TMPFILE.
let temporaryFlag: CInt = 0o20_000_000 | O_DIRECTORY
