internal import Files
internal import Glibc
internal import Loop
internal import Semantics

/// A body on its way in: in memory while it is small, then in a file that the file threads write.
///
/// Bytes come in order, or in ranges side by side, each by a writer of its own. The loop never
/// waits for the disk. What the disk has not taken yet is bounded: past that the spool takes
/// nothing, and its task pauses the transfer. A full disk pauses it too.
@LoopActor
final class ContentSpool {
    /// Up to here a content is kept in the store, beside its task (one commit, no file).
    static let storeLimit = 32 << 10

    /// Called when a spool that refused bytes of `write` would take some.
    var onRoom: (@LoopActor () -> Void)?
    /// Called once when the disk has failed for good; the spool takes nothing more.
    var onFailure: (@LoopActor (FileError) -> Void)?
    /// Called when `isWaitingForRoom` has changed.
    var onWait: (@LoopActor () -> Void)?
    /// Called when the disk has taken a block: a checkpoint would find more than the last one.
    var onWritten: (@LoopActor () -> Void)?

    private let disk: SpooledFile
    private let digest: (any RunningDigest)?
    private let spools: Spools
    /// Made for the first block: most contents never leave memory.
    private var madeQueue: BlockQueue?
    /// The whole content; nil once there is, or is about to be, a file.
    private var memory: [UInt8]? = []
    /// Whether the file was not written from its first byte to its last by this spool alone.
    private var isOutOfOrder = false
    /// The writer of `append`, once there is a file.
    private lazy var front = makeWriter(at: 0)
    private var writers: [BlockWriter] = []
    private var growth: SpoolGrowth
    /// Whether nothing is in memory: more can be appended after `goOn()` only.
    private(set) var isSettled = false
    /// The series in which all of it was put; nil until then, and where it has none.
    private(set) var series: Int64?

    /// A spool without bytes; `digest` is taken of the bytes as they come, and told by `finish`.
    ///
    /// One that takes the place of another of the same name has that one's `lane`, behind what is
    /// still written there.
    init(
        at place: ContentFile.Place, digest: (any RunningDigest)?, of spools: Spools,
        lane: Int? = nil
    ) {
        disk = SpooledFile(ContentFile(at: place, digest: digest), lane: lane, of: spools)
        growth = SpoolGrowth()
        self.digest = digest
        self.spools = spools
    }

    /// A spool that goes on with a file that has `length` bytes from the first on, and possibly
    /// ranges behind them.
    ///
    /// `digest` is taken at the end, of the whole file.
    init(
        continuing file: ContentFile, length: Int64, digest: (any RunningDigest)?,
        of spools: Spools
    ) {
        disk = SpooledFile(file, lane: nil, of: spools)
        growth = SpoolGrowth(length: length)
        self.digest = digest
        self.spools = spools
        memory = nil
        isOutOfOrder = true
        isSettled = true
    }

    /// Where its bytes go.
    var file: ContentFile { disk.content }

    /// Where its file work is done, in order.
    var lane: Int { disk.lane }

    /// How much of the content can be read: all bytes from the first to here have come.
    var length: Int64 { growth.length }

    /// Whether there is, or is about to be, a file.
    var isOnDisk: Bool { memory == nil }

    /// Whether nothing more comes.
    var isClosed: Bool { growth.isClosed }

    /// Whether it was closed before its end.
    var isBroken: Bool { growth.isBroken }

    private var queue: BlockQueue {
        if let madeQueue { return madeQueue }
        let queue = disk.makeQueue(takesDigest: !isOutOfOrder)
        queue.onRoom = { [weak self] in self?.roomAgain() }
        queue.onFailure = { [weak self] in self?.onFailure?($0) }
        queue.onWritten = { [weak self] in self?.onWritten?() }
        queue.onWait = { [weak self] in self?.onWait?() }
        if isClosed { queue.close() }
        madeQueue = queue
        return queue
    }

    /// Whether the disk was full when a block was last written.
    var isWaitingForRoom: Bool { madeQueue?.isWaitingForRoom ?? false }

    // MARK: Writing in order

    /// Whether bytes would be taken; if not, `onRoom` is called when that changes.
    func hasRoom() -> Bool {
        guard madeQueue?.failure == nil else { return false }
        return !isOnDisk || front.hasRoom()
    }

    /// Takes bytes, which follow what came last, whatever is on its way.
    func append(_ bytes: UnsafeRawBufferPointer) {
        if let count = memory?.count, count + bytes.count <= ContentSpool.storeLimit {
            memory?.append(contentsOf: bytes)
        } else {
            moveToDisk()
            front.fill(bytes)
        }
        grow(to: length + Int64(bytes.count))
    }

    /// Takes all of the bytes, which follow what came last, or none and calls `onRoom` later.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard hasRoom() else { return false }
        append(bytes)
        return true
    }

    /// Brings what is in memory on its way to the file, where all that comes will follow.
    func moveToDisk() {
        guard let head = memory.take() else { return }
        setFront(makeWriter(at: 0))
        head.withUnsafeBytes { front.fill($0) }
    }

    /// After `settle()`, or in a spool that goes on with a file: what is appended follows its
    /// `length` bytes.
    /// - Throws: `FileError`.
    func goOn() async throws {
        guard isOnDisk else { return }
        // The head is written again: a digest of what comes would count it twice.
        isOutOfOrder = true
        queue.takesDigest = false
        setFront(makeWriter(at: length, after: try await head(of: length)))
    }

    private func setFront(_ writer: BlockWriter) {
        writer.onRoom = { [weak self] in self?.onRoom?() }
        front = writer
    }

    // MARK: Writing in ranges

    /// A writer of bytes from `offset` on, which must be a multiple of `FileBlock.alignment`, or
    /// the offset that `head` was read for.
    ///
    /// The digest is then taken at the end, of the whole file.
    func makeWriter(at offset: Int64, after head: [UInt8] = []) -> BlockWriter {
        let writer = BlockWriter(at: offset, after: head, to: queue, clock: spools.clock)
        writers.append(writer)
        isSettled = false
        return writer
    }

    /// What the file has between the last multiple of the alignment and `offset`: for `makeWriter`.
    ///
    /// Returns when the disk has it, however long that is full: a block that came later than
    /// what is written behind it would take some of that away.
    func head(of offset: Int64) async throws -> [UInt8] {
        let start = offset - offset % Int64(FileBlock.alignment)
        await queue.taken(at: start)
        if let failure = queue.failure { throw failure }
        guard !queue.hasLost(start) else { throw FileError("write", code: ENOSPC) }
        return try await disk.head(of: offset)
    }

    /// Nothing waits for room any more: what finds none is given up, and `written` leaves it out.
    func giveUpWaiting() { madeQueue?.giveUpWaiting() }

    /// The sequential writer gives way to others: it will have written up to where it is.
    func splitUp() -> BlockWriter {
        moveToDisk()
        isOutOfOrder = true
        queue.takesDigest = false
        return front
    }

    /// A writer has nothing more to write.
    func retire(_ writer: BlockWriter) {
        writer.flush()
        writers.removeAll { $0 === writer }
        if writers.isEmpty { isSettled = true }
    }

    /// All bytes from the first to `length` have come.
    func grow(to length: Int64) {
        growth.grow(to: length)
    }

    private func roomAgain() {
        // One may fill what has come free: the others are refused again, and told again.
        for writer in writers { writer.roomAgain() }
    }

    // MARK: What is there for good

    /// Of ranges that have come, the parts that the disk has: all but what is in memory, on its way
    /// or given up.
    func written(of received: [Range<Int64>]) -> [Range<Int64>] {
        guard isOnDisk else { return [] }
        let owed = (queue.ranges + writers.map(\.gathered)).sorted { $0.lowerBound < $1.lowerBound }
        var written: [Range<Int64>] = []
        for range in received {
            var start = range.lowerBound
            for hole in owed where hole.overlaps(start..<range.upperBound) {
                if hole.lowerBound > start { written.append(start..<hole.lowerBound) }
                start = min(hole.upperBound, range.upperBound)
            }
            if start < range.upperBound { written.append(start..<range.upperBound) }
        }
        return written
    }

    /// Returns when the disk has for good what it has taken until now.
    /// - Throws: `FileError`.
    func sync() async throws {
        try await disk.sync()
    }

    /// Returns when all that had come is on disk for good, or waits for room; more may come (S-13).
    /// - Throws: `FileError`.
    func flush() async throws {
        moveToDisk()
        for writer in writers { writer.sendCopy() }
        await queue.told()
        if let failure = queue.failure { throw failure }
        try await sync()
    }

    /// Returns when all that has come is on disk for good; nothing may come afterwards.
    ///
    /// - Parameter waitsForRoom: whether a full disk is waited for; else what it does not take is
    ///   given up, and `written` leaves it out.
    /// - Throws: `FileError`.
    func settle(waitsForRoom: Bool = true) async throws {
        moveToDisk()
        for writer in writers { writer.flush() }
        writers = []
        isSettled = true
        if waitsForRoom {
            await queue.drained()
        } else {
            await queue.rested()
            queue.giveUpWaiting()
        }
        if let failure = queue.failure { throw failure }
        try await sync()
    }

    // MARK: The end

    /// The content and its digest, if it is small enough for the store: no file has been made, and
    /// nothing is waited for.
    func finishInMemory() -> (bytes: [UInt8], digest: [UInt8]?)? {
        guard let memory else { return nil }
        guard var running = digest else { return (memory, nil) }
        memory.withUnsafeBytes { running.update($0) }
        return (memory, running.value())
    }

    /// Puts what has come into its place, durable.
    ///
    /// - Parameter waitsForRoom: whether a full disk is waited for; else it is an error like any
    ///   other.
    /// - Returns: the bytes if the content is small enough for the store, else nil; and the digest.
    /// - Throws: `FileError`.
    func finish(
        waitsForRoom: Bool = true
    ) async throws -> (bytes: [UInt8]?, digest: [UInt8]?) {
        if let (bytes, digest) = finishInMemory() { return (bytes, digest) }
        for writer in writers { writer.flush() }
        if !waitsForRoom { queue.close() }
        await queue.drained()
        if let failure = queue.failure { throw failure }
        let value: [UInt8]?
        (value, series) = try await disk.finish(
            length: length, missing: isOutOfOrder ? digest : nil
        ) {
            isClosed
        }
        return (nil, value)
    }

    /// Ends the spool; followers see the end, or that it is not whole.
    func close(isBroken: Bool = false) {
        growth.close(isBroken: isBroken)
        madeQueue?.close()
    }

    /// Removes its file, if it has one: behind what is still written to it, some time.
    func discardFile() {
        if isOnDisk { disk.discard(putIn: series) }
    }

    /// After a failure of the disk: its file is a part, of which the disk has for good what it has
    /// taken, where `syncs`.
    /// - Throws: `FileError`.
    func salvage(syncs: Bool) async throws { try await disk.salvage(syncs: syncs) }

    // MARK: Following

    /// Bytes from `offset`, at most `count`; at least one if `offset` is below `length`.
    /// - Throws: `FileError`.
    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        if let memory { return ContentSpool.slice(memory, from: Int(offset), count) }
        for case let (block, start)? in writers.map({ $0.block(at: offset) }) {
            return ContentSpool.slice(block, from: Int(offset - start), count)
        }
        if let (block, start) = queue.block(at: offset) {
            return ContentSpool.slice(block, from: Int(offset - start), count)
        }
        // The disk has what lies in front of the next block that is in memory or on its way.
        let inMemory = queue.ranges + writers.map(\.gathered)
        let end = inMemory.lazy.map(\.lowerBound).filter { $0 > offset }.min() ?? length
        return try await disk.read(
            at: offset, count: min(count, Int(min(end, length) - offset)))
    }

    /// Returns when there is more than there was, or the end.
    func grown(beyond offset: Int64) async {
        guard !growth.isBeyond(offset) else { return }
        await withCheckedContinuation { growth.add($0) }
    }

    private static func slice(_ bytes: [UInt8], from start: Int, _ count: Int) -> [UInt8] {
        Array(bytes[start..<min(bytes.count, start + count)])
    }

    private static func slice(_ block: FileBlock, from start: Int, _ count: Int) -> [UInt8] {
        block.withBytes { Array($0[start..<min($0.count, start + count)]) }
    }
}
