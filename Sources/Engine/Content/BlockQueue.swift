internal import Diagnostics
internal import Files
internal import Loop

/// Blocks on their way to one file, in the order of sending. A block for which the disk has no
/// room, or the process no descriptor, waits in the queue of all files until there is some (R-5,
///
@LoopActor
final class BlockQueue {
    /// More blocks than this are not on their way, but for one of each writer.
    private static let limit = 8

    /// Called when a queue that was full is not any more.
    var onRoom: (@LoopActor () -> Void)?
    /// Called once when the disk has failed for good.
    var onFailure: (@LoopActor (FileError) -> Void)?
    /// Called after each block that the disk has taken.
    var onWritten: (@LoopActor () -> Void)?
    /// Set when the disk has failed for good: nothing is written any more.
    private(set) var failure: FileError?
    /// Called when `isWaitingForRoom` has changed.
    var onWait: (@LoopActor () -> Void)?
    /// Whether the disk was full when a block was last written.
    private(set) var isWaitingForRoom = false {
        didSet { if isWaitingForRoom != oldValue { onWait?() } }
    }

    private let file: SpooledFile
    /// Whether blocks come in the order of the file, and its digest is taken of them as they come.
    var takesDigest: Bool
    /// Oldest first.
    private var flying: [(block: FileBlock, offset: Int64)] = []
    /// Blocks that wait for room on a full disk.
    private var retries: [ObjectIdentifier: Retry] = [:]
    /// What was given up of them.
    private var lost: [Range<Int64>] = []
    /// Whether nothing waits for room any more.
    private var isWaitOver = false
    private var drains = Waiters()

    private struct Retry {
        /// In the queue of all files.
        let number: Int
        let block: FileBlock
        let offset: Int64
        let reason: FileError
    }

    private var isClosed = false
    private static let log = Log("engine.content")

    /// A queue to one file, which alone uses its lane.
    init(to file: SpooledFile, takesDigest: Bool) {
        self.file = file
        self.takesDigest = takesDigest
    }

    var isFull: Bool { flying.count >= BlockQueue.limit || failure != nil }

    /// A copy is of a block that will come whole: it is not digested.
    func send(_ block: FileBlock, at offset: Int64, isCopy: Bool = false) {
        flying.append((block, offset))
        // A copy that waits for room would be written over what it is a copy of.
        for retry in retries.values where retry.offset == offset { drop(retry) }
        submit(block, at: offset, digests: takesDigest && !isCopy)
    }

    /// Returns when nothing is on its way any more, or the disk has failed.
    func drained() async {
        while !flying.isEmpty, failure == nil {
            await withCheckedContinuation { drains.add($0) }
        }
    }

    /// Returns when it is known what the disk has made of all that was sent by now: unlike what
    /// `FileThreads.run` tells, that comes by the loop's inbox, and so may come later.
    func told() async {
        guard !flying.isEmpty else { return }
        await withCheckedContinuation { continuation in
            file.files.submit(on: file.lane, {}) { (_: Result<Void, any Error>) in
                continuation.resume()
            }
        }
    }

    /// Returns when no block is on its way any more that has the byte at `offset`, or the disk has
    /// failed.
    func taken(at offset: Int64) async {
        while block(at: offset) != nil, failure == nil {
            await withCheckedContinuation { drains.add($0) }
        }
    }

    /// Returns when nothing is on its way any more but what waits for room, or the disk has failed.
    func rested() async {
        while flying.count > retries.count, failure == nil {
            await withCheckedContinuation { drains.add($0) }
        }
    }

    /// What waits for room, or finds none from now on, is not written any more, and the file goes
    /// without it.
    func giveUpWaiting() {
        isWaitOver = true
        for retry in retries.values {
            lose(retry.block, at: retry.offset)
            drop(retry)
        }
    }

    private func lose(_ block: FileBlock, at offset: Int64) {
        lost.append(offset..<offset + Int64(block.count))
    }

    /// Whether the byte at `offset` was given up.
    func hasLost(_ offset: Int64) -> Bool { lost.contains { $0.contains(offset) } }

    /// What waits for room waits in vain from now on.
    func close() {
        isClosed = true
        let waiting = retries.values
        retries = [:]
        for retry in waiting {
            file.room.writeRetries.leave(retry.number)
            written(retry.block, at: retry.offset, .failure(retry.reason))
        }
    }

    /// What waits for room is not needed any more.
    private func drop(_ retry: Retry) {
        file.room.writeRetries.leave(retry.number)
        retries[ObjectIdentifier(retry.block)] = nil
        remove(retry.block)
    }

    /// The block on its way that has the byte at `offset`.
    func block(at offset: Int64) -> (block: FileBlock, offset: Int64)? {
        flying.first { offset >= $0.offset && offset < $0.offset + Int64($0.block.count) }
    }

    /// The parts of the file that are on their way, or will never be there.
    var ranges: [Range<Int64>] {
        lost + flying.map { $0.offset..<$0.offset + Int64($0.block.count) }
    }

    private func submit(_ block: FileBlock, at offset: Int64, digests: Bool) {
        file.files.submit(on: file.lane) { [file = file.content, gate = file.room.gate] in
            if digests { file.digest(block) }
            try gate.pass()
            try file.write(block, at: offset)
        } then: { [weak self] result in
            self?.written(block, at: offset, result)
        }
    }

    private func tryAgain(_ block: FileBlock, at offset: Int64) async -> WriteRetries.Outcome {
        retries[ObjectIdentifier(block)] = nil
        // Submitted at once: a newer block of the same place comes behind it.
        let result = await withCheckedContinuation { continuation in
            file.files.submit(on: file.lane) { [file = file.content, gate = file.room.gate] in
                try gate.pass()
                try file.write(block, at: offset)
            } then: { [self] in
                written(block, at: offset, $0)
                continuation.resume(returning: $0)
            }
        }
        guard case .failure(let error as FileError) = result else { return .isOver }
        return error.isOutOfSpace ? .noRoom : error.isOutOfDescriptors ? .noDescriptor : .isOver
    }

    private func written(_ block: FileBlock, at offset: Int64, _ result: Result<Void, any Error>) {
        if case .failure(let error) = result {
            let error = error as? FileError ?? FileError("write", code: 0)
            if error.isOutOfSpace || error.isOutOfDescriptors, !isClosed {
                if flying.last(where: { $0.offset == offset })?.block !== block {
                    remove(block)  // a newer one has all that it has
                } else if isWaitOver {
                    lose(block, at: offset)
                    remove(block)
                } else {
                    retry(block, at: offset, error)
                }
                return
            }
            if failure == nil {
                failure = error
                onFailure?(error)
            }
        }
        remove(block)
        if failure == nil { onWritten?() }
    }

    private func remove(_ block: FileBlock) {
        isWaitingForRoom = !retries.isEmpty
        let wasFull = isFull
        flying.removeAll { $0.block === block }
        drains.wakeAll()
        if wasFull, !isFull { onRoom?() }
    }

    private func retry(_ block: FileBlock, at offset: Int64, _ reason: FileError) {
        if !isWaitingForRoom {
            Self.log.write(
                .warning,
                reason.isOutOfSpace
                    ? "the disk is full: a transfer waits for room"
                    : "there is no descriptor: a transfer waits for one")
        }
        isWaitingForRoom = true
        let number = file.room.writeRetries.join { [weak self] in
            await self?.tryAgain(block, at: offset) ?? .isOver
        }
        retries[ObjectIdentifier(block)] = Retry(
            number: number, block: block, offset: offset, reason: reason)
        if flying.count == retries.count { drains.wakeAll() }
    }
}
