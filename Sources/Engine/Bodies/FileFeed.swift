internal import DequeModule
internal import Files
internal import Loop

/// A file on its way to the origin: straight from the kernel's memory where it is there, and read
/// ahead by the file threads where it is not, at most 1 MiB, into blocks that are used again: fresh
/// pages would cost more than the copy.
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

    private let content: any OpenContent
    private let length: Int64
    /// What has been read of the file, in order, and how much of the first block was taken.
    private var blocks = Deque<FileBlock>()
    private var takenOfFirst = 0
    private var spare: [FileBlock] = []
    private var requested: Int64 = 0
    private var read: Int64 = 0
    /// Counts the beginnings: what was asked for before the last one is thrown away.
    private var round = 0

    init(_ content: any OpenContent, length: Int64) {
        self.content = content
        self.length = length
    }

    /// Whether everything has been read.
    var isAtEnd: Bool { read == length }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        while filled < buffer.count, let block = blocks.first {
            let count = min(block.count - takenOfFirst, buffer.count - filled)
            block.withBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(
                    from: UnsafeRawBufferPointer(
                        rebasing: bytes[takenOfFirst..<takenOfFirst + count]))
            }
            filled += count
            takenOfFirst += count
            if takenOfFirst == block.count {
                spare.append(blocks.removeFirst())
                takenOfFirst = 0
            }
        }
        available -= filled
        read += Int64(filled)
        return filled
    }

    /// Moves what the kernel has in memory straight into the buffer: no thread, and a copy less.
    /// - Returns: nil where the disk has to be asked, or has been asked already.
    func readNow(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard requested == read, !isAtEnd else { return nil }
        let part = UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(min(length - read, Int64(buffer.count)))))
        guard let count = content.readFromMemory(into: part, at: read), count > 0 else {
            return nil
        }
        requested += Int64(count)
        read += Int64(count)
        return count
    }

    func readAhead() {
        while requested < length,
            requested - read < Int64(FileFeed.blocksAhead * FileFeed.blockLength)
        {
            let block = spare.popLast() ?? FileBlock(capacity: FileFeed.blockLength)
            let count = Int(min(Int64(FileFeed.blockLength), length - requested))
            let (offset, round) = (requested, round)
            requested += Int64(count)
            content.read(into: block, at: offset, count: count) { [weak self] result in
                self?.arrived(block, result, in: round)
            }
        }
    }

    /// Begins at the first byte again.
    func rewind() {
        round += 1
        spare += blocks
        blocks.removeAll()
        takenOfFirst = 0
        available = 0
        requested = 0
        read = 0
        readAhead()
    }

    private func arrived(_ block: FileBlock, _ result: Result<Void, any Error>, in round: Int) {
        guard round == self.round else {
            spare.append(block)
            return
        }
        switch result {
        case .success:
            blocks.append(block)
            available += block.count
        case .failure(let error): failure = error as? FileError ?? FileError("pread", code: 0)
        }
        onReady?()
    }
}
