internal import Loop

/// Bytes that follow each other in a file, gathered into blocks: small ones while they come slowly,
/// large ones when they come fast.
@LoopActor
final class BlockWriter {
    private static let smallestBlock = 64 << 10
    private static let largestBlock = 1 << 20
    /// A block that fills faster than this is followed by a larger one.
    private static let quickFill = Duration.milliseconds(200)

    /// Where the next byte goes.
    private(set) var offset: Int64
    private var hasRefused = false
    /// Called when a writer that had no room has some.
    var onRoom: (@LoopActor () -> Void)?

    private let queue: BlockQueue
    private let clock: any Clock
    private var block: (block: FileBlock, offset: Int64, begun: Duration)?
    private var nextCapacity = BlockWriter.smallestBlock
    /// Up to here the file has, or will have, what is in the block too.
    private var copiedTo: Int64 = 0

    /// A writer whose first byte goes to `offset`. What the file has in front of it, back to the
    /// last multiple of `FileBlock.alignment`, is in `head`: it is written again with the first
    /// block.
    init(at offset: Int64, after head: [UInt8] = [], to queue: BlockQueue, clock: any Clock) {
        precondition(
            (offset - Int64(head.count)).isMultiple(of: Int64(FileBlock.alignment)),
            "a block begins at a multiple of the alignment")
        self.offset = offset
        self.queue = queue
        self.clock = clock
        guard !head.isEmpty else { return }
        let block = FileBlock(capacity: nextCapacity)
        _ = head.withUnsafeBytes { block.fill(from: $0) }
        self.block = (block, offset - Int64(head.count), clock.uptime)
    }

    /// Whether there is room for bytes; if not, `onRoom` is called when there is.
    func hasRoom() -> Bool {
        hasRefused = queue.isFull
        return !hasRefused
    }

    /// Takes all of the bytes, whatever is on its way.
    func fill(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let current = block ?? (FileBlock(capacity: nextCapacity), offset, clock.uptime)
            block = current
            let taken = current.block.fill(from: UnsafeRawBufferPointer(rebasing: rest))
            rest = rest.dropFirst(taken)
            offset += Int64(taken)
            if current.block.room == 0 { flush() }
        }
    }

    /// Sends what has been gathered on its way. Where that is no whole number of alignments,
    /// nothing may follow.
    func flush() {
        guard let (block, offset, begun) = block else { return }
        self.block = nil
        let isQuick = clock.uptime - begun < BlockWriter.quickFill
        nextCapacity =
            isQuick
            ? min(nextCapacity * 4, BlockWriter.largestBlock)
            : max(nextCapacity / 4, BlockWriter.smallestBlock)
        queue.send(block, at: offset)
    }

    /// Sends a copy of what has been gathered on its way, and goes on gathering: the whole block
    /// follows when it is full.
    func sendCopy() {
        guard let (block, offset, _) = block, copiedTo < self.offset else { return }
        let copy = FileBlock(capacity: block.capacity)
        _ = block.withBytes { copy.fill(from: $0) }
        copiedTo = self.offset
        queue.send(copy, at: offset, isCopy: true)
    }

    func roomAgain() {
        guard hasRefused else { return }
        hasRefused = false
        onRoom?()
    }

    /// The part of the file that has not been sent on its way.
    var gathered: Range<Int64> { min(offset, max(block?.offset ?? offset, copiedTo))..<offset }

    /// The block that is being filled, if it has the byte at `offset`.
    func block(at offset: Int64) -> (block: FileBlock, offset: Int64)? {
        guard let block, offset >= block.offset, offset < self.offset else { return nil }
        return (block.block, block.offset)
    }
}
