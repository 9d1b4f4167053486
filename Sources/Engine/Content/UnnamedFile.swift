internal import Files
internal import Glibc
internal import Loop
internal import Synchronization

/// What ephemeral sessions have on the disk: all their contents in one file, which has no name and
/// is gone with the process (S-2). So any number of contents costs two descriptors.
///
/// Each content takes chunks of it. The file is sparse: of a chunk, the disk has what was written,
/// and what is given back it has no more.
final class UnnamedFile: Sendable {
    /// Bytes of a chunk; a multiple of `FileBlock.alignment`.
    static let chunkLength: Int64 = 1 << 20

    /// The open file, by two doors: one that is open for O_DIRECT only reads into aligned memory.
    struct Doors {
        var writing: CInt = -1
        var reading: CInt = -1
        var isDirect = false
    }

    private struct State {
        var doors = Doors()
        /// How many chunks the file has ever had.
        var count: Int64 = 0
        var free: [Int64] = []
    }

    private let folder: ContentFolder
    private let files: FileThreads
    private let state = Mutex(State())

    /// A file that is made when it is first written to.
    init(in folder: ContentFolder, files: FileThreads) {
        self.folder = folder
        self.files = files
    }

    deinit {
        state.withLock { state in
            if state.doors.writing >= 0 { close(state.doors.writing) }
            if state.doors.reading >= 0 { close(state.doors.reading) }
        }
    }

    /// Bytes of the file that the disk has; for tests.
    var diskUsage: Int64 {
        state.withLock { state in
            var status = stat()
            guard state.doors.writing >= 0, fstat(state.doors.writing, &status) == 0 else {
                return 0
            }
            return Int64(status.st_blocks) * 512
        }
    }

    /// Opens the file where it is not yet open.
    /// - Throws: `FileError`.
    func open() throws -> Doors {
        try state.withLock { state in
            if state.doors.reading >= 0 { return state.doors }
            var doors = Doors()
            doors.writing = ContentFile.open(
                folder.path, O_RDWR | temporaryFlag | O_CLOEXEC, &doors.isDirect)
            guard doors.writing >= 0 else { throw FileError("open", code: errno) }
            doors.reading = Glibc.open("/proc/self/fd/\(doors.writing)", O_RDONLY | O_CLOEXEC)
            guard doors.reading >= 0 else {
                let failure = FileError("open", code: errno)
                close(doors.writing)
                throw failure
            }
            state.doors = doors
            return doors
        }
    }

    /// Where in the file a chunk begins that nobody else has.
    func takeChunk() -> Int64 {
        state.withLock { state in
            if let chunk = state.free.popLast() { return chunk * UnnamedFile.chunkLength }
            state.count += 1
            return (state.count - 1) * UnnamedFile.chunkLength
        }
    }

    /// Takes chunks back, by where they begin; their bytes leave the disk, some time.
    func giveBack(_ chunks: [Int64]) {
        guard !chunks.isEmpty else { return }
        files.submit { [self] in
            let doors = state.withLock(\.doors)
            for start in chunks {
                // Where the file system cannot do it, the next one to have the chunk writes over
                // it.
                _ = SparseFile.punch(
                    doors.writing, from: start, count: UnnamedFile.chunkLength)
            }
            state.withLock { $0.free += chunks.map { $0 / UnnamedFile.chunkLength } }
        }
    }
}

/// One content in the file that all ephemeral sessions share. Every call blocks but
/// `readFromMemory`.
final class UnnamedContent: Sendable {
    private struct State {
        /// Where in the file each of the content's chunks begins; nil where nothing was written.
        var chunks: [Int64?] = []
        /// Bytes from the first to the last.
        var length: Int64 = 0
    }

    private let shared: UnnamedFile
    private let state = Mutex(State())

    init(in shared: UnnamedFile) { self.shared = shared }

    deinit {
        shared.giveBack(state.withLock { $0.chunks.compactMap { $0 } })
    }

    /// Writes a block at its place, which is a multiple of `FileBlock.alignment`.
    func write(_ block: FileBlock, at offset: Int64) throws {
        let doors = try shared.open()
        func write(_ bytes: UnsafeRawBufferPointer) throws {
            var done = 0
            while done < bytes.count {
                let (place, room) = claim(offset + Int64(done))
                let piece = bytes[done..<min(bytes.count, done + room)]
                try ContentFile.write(
                    UnsafeRawBufferPointer(rebasing: piece), to: doors.writing, at: place)
                done += piece.count
            }
        }
        if doors.isDirect {
            try block.withPaddedBytes(write)
        } else {
            try block.withBytes(write)
        }
        let end = offset + Int64(block.count)
        state.withLock { $0.length = max($0.length, end) }
    }

    /// The content ends here.
    func finish(length: Int64) {
        state.withLock { $0.length = length }
    }

    /// Fills the buffer from `offset` on.
    /// - Returns: how many bytes there were; fewer than fit only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        var filled = 0
        while filled < buffer.count,
            let (place, count) = locate(offset + Int64(filled), upTo: buffer.count - filled)
        {
            let doors = try shared.open()
            let got = pread(
                doors.reading, buffer.baseAddress.map { $0 + filled }, count, off_t(place))
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw FileError("pread", code: errno) }
            if got == 0 { break }
            filled += got
        }
        return filled
    }

    /// As `read`, from memory alone; nil where the disk would have to be asked, and over the end of
    /// a chunk.
    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        guard let (place, count) = locate(offset, upTo: buffer.count) else { return 0 }
        let rest = state.withLock { $0.length } - offset
        guard count == min(buffer.count, Int(clamping: rest)), let doors = try? shared.open()
        else { return nil }
        return PageCache.read(
            doors.reading, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]),
            at: place)
    }

    /// Where in the file a byte is to be written, and how many may follow it there.
    private func claim(_ offset: Int64) -> (place: Int64, room: Int) {
        let (index, start) = offset.quotientAndRemainder(dividingBy: UnnamedFile.chunkLength)
        let chunk = state.withLock { state in
            while state.chunks.count <= index { state.chunks.append(nil) }
            let chunk = state.chunks[Int(index)] ?? shared.takeChunk()
            state.chunks[Int(index)] = chunk
            return chunk
        }
        return (chunk + start, Int(UnnamedFile.chunkLength - start))
    }

    /// Where in the file a byte is, and how many follow it there, at most `count`; nil behind the
    /// end.
    private func locate(_ offset: Int64, upTo count: Int) -> (place: Int64, count: Int)? {
        let (index, start) = offset.quotientAndRemainder(dividingBy: UnnamedFile.chunkLength)
        return state.withLock { state in
            guard offset < state.length, index < state.chunks.count,
                let chunk = state.chunks[Int(index)]
            else { return nil }
            let rest = min(state.length - offset, UnnamedFile.chunkLength - start)
            return (chunk + start, min(count, Int(rest)))
        }
    }
}
