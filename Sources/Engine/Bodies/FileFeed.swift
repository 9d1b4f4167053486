internal import DequeModule
internal import Loop

/// A file on its way to the origin: read ahead by the file threads, at most 1 MiB.
@LoopActor
final class FileFeed {
    private static let blockLength = 256 << 10
    private static let blocksAhead = 4

    /// Called when there is more to read, or the file cannot be read.
    var onReady: (@LoopActor () -> Void)?
    /// Bytes that can be read at once.
    private(set) var available = 0
    /// Set when the file cannot be read, or is shorter than it was.
    private(set) var failure: FileError?

    private let file: ContentFile
    private let length: Int64
    private let files: FileThreads
    private let lane: Int
    private var blocks = Deque<ArraySlice<UInt8>>()
    private var requested: Int64 = 0
    private var read: Int64 = 0
    /// Counts the beginnings: what was asked for before the last one is thrown away.
    private var round = 0

    init(_ file: ContentFile, length: Int64, files: FileThreads) {
        self.file = file
        self.length = length
        self.files = files
        self.lane = files.makeLane()
    }

    /// Whether everything has been read.
    var isAtEnd: Bool { read == length }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        while filled < buffer.count, var block = blocks.popFirst() {
            let count = min(block.count, buffer.count - filled)
            block.prefix(count).withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: $0)
            }
            filled += count
            block = block.dropFirst(count)
            if !block.isEmpty { blocks.prepend(block) }
        }
        available -= filled
        read += Int64(filled)
        readAhead()
        return filled
    }

    func readAhead() {
        while requested < length,
            requested - read < Int64(FileFeed.blocksAhead * FileFeed.blockLength)
        {
            let count = Int(min(Int64(FileFeed.blockLength), length - requested))
            let (offset, round) = (requested, round)
            requested += Int64(count)
            files.submit(on: lane) { [file] in
                let bytes = try file.read(at: offset, count: count)
                guard bytes.count == count else { throw FileError("pread", code: 0) }
                return bytes
            } then: { [weak self] result in
                self?.arrived(result, in: round)
            }
        }
    }

    /// Begins at the first byte again.
    func rewind() {
        round += 1
        blocks.removeAll()
        available = 0
        requested = 0
        read = 0
        readAhead()
    }

    private func arrived(_ result: Result<[UInt8], any Error>, in round: Int) {
        guard round == self.round else { return }
        switch result {
        case .success(let bytes):
            blocks.append(bytes[...])
            available += bytes.count
        case .failure(let error): failure = error as? FileError ?? FileError("pread", code: 0)
        }
        onReady?()
    }
}
