internal import Diagnostics
internal import Loop
internal import Semantics

/// A body on its way in: in memory while it is small, then in a file that the file threads write.
///
/// The loop never waits for the disk. What the disk has not taken yet is bounded: past `blockLimit` blocks
/// the spool takes nothing, and its task pauses the transfer. A full disk pauses it too.
@LoopActor
final class ContentSpool {
    /// Up to here a content is kept in the store, beside its task (one commit, no file).
    static let storeLimit = 32 << 10
    private static let blockLimit = 8
    private static let smallestBlock = 64 << 10
    private static let largestBlock = 1 << 20
    /// A block that fills faster than this is followed by a larger one.
    private static let quickFill = Duration.milliseconds(200)

    private(set) var length: Int64 = 0
    /// Called when a spool that refused bytes would take some.
    var onRoom: (@LoopActor () -> Void)?
    /// Called once when the disk has failed for good; the spool takes nothing more.
    var onFailure: (@LoopActor (FileError) -> Void)?

    let file: ContentFile
    private let digest: (any RunningDigest)?
    private let files: FileThreads
    private let clock: any Clock
    private let lane: Int
    private var memory: [UInt8] = []
    private var isOnDisk = false
    /// The block that is being filled, and where in the content it begins.
    private var block: (block: FileBlock, offset: Int64, begun: Duration)?
    /// Blocks on their way to the disk, oldest first.
    private var flying: [(block: FileBlock, offset: Int64)] = []
    /// Where the next block begins.
    private var nextOffset: Int64 = 0
    /// Blocks that wait for room on a full disk.
    private var retries: [Int64: (timer: LoopTimer, block: FileBlock, reason: FileError)] = [:]
    /// Whether the disk was full when a block was last written.
    private(set) var isWaitingForRoom = false
    private var nextCapacity = ContentSpool.smallestBlock
    private var hasRefused = false
    private var failure: FileError?
    private var flushed: [CheckedContinuation<Void, Never>] = []
    private var growth: [CheckedContinuation<Void, Never>] = []
    private(set) var isClosed = false
    private let log = Log("engine.content")

    /// A spool without bytes; `digest` is taken of the bytes as they come, and told by `finish`.
    init(
        at place: ContentFile.Place, digest: (any RunningDigest)?, files: FileThreads,
        clock: any Clock
    ) {
        self.file = ContentFile(at: place, digest: digest)
        self.digest = digest
        self.files = files
        self.clock = clock
        self.lane = files.makeLane()
    }

    // MARK: Writing

    /// Takes all of the bytes, or none and calls `onRoom` later.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard failure == nil else { return false }
        if !isOnDisk, memory.count + bytes.count <= ContentSpool.storeLimit {
            memory.append(contentsOf: bytes)
        } else {
            guard flying.count < ContentSpool.blockLimit else {
                hasRefused = true
                return false
            }
            if !isOnDisk { moveToDisk() }
            fill(bytes)
        }
        length += Int64(bytes.count)
        wakeFollowers()
        return true
    }

    /// The content and its digest, if it is small enough for the store: no file has been made, and nothing is waited
    /// for.
    func finishInMemory() -> (bytes: [UInt8], digest: [UInt8]?)? {
        guard !isOnDisk else { return nil }
        guard var running = digest else { return (memory, nil) }
        memory.withUnsafeBytes { running.update($0) }
        return (memory, running.value())
    }

    /// Puts what has come into its place, durable.
    /// - Returns: the bytes if the content is small enough for the store, else nil; and the digest.
    /// - Throws: `FileError`.
    func finish() async throws -> (bytes: [UInt8]?, digest: [UInt8]?) {
        if let (bytes, digest) = finishInMemory() { return (bytes, digest) }
        sendBlock()
        while !flying.isEmpty, failure == nil {
            await withCheckedContinuation { flushed.append($0) }
        }
        if let failure { throw failure }
        let (file, length) = (file, length)
        return (nil, try await files.run(on: lane) { try file.finish(length: length) })
    }

    /// Ends the spool; followers see the end.
    func close() {
        isClosed = true
        // What waits for room waits in vain.
        let waiting = retries
        retries = [:]
        for (offset, retry) in waiting {
            retry.timer.cancel()
            written(retry.block, at: offset, .failure(retry.reason))
        }
        wakeFollowers()
    }

    /// Runs work on a file thread, behind what has been handed to it.
    func afterWrites(_ work: @escaping @Sendable () -> Void) {
        files.submit(on: lane, work)
    }

    private func moveToDisk() {
        isOnDisk = true
        memory.withUnsafeBytes { fill($0) }
        memory = []
    }

    private func fill(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let current = block ?? (FileBlock(capacity: nextCapacity), nextOffset, clock.uptime)
            block = current
            let taken = current.block.fill(from: UnsafeRawBufferPointer(rebasing: rest))
            rest = rest.dropFirst(taken)
            if current.block.room == 0 { sendBlock() }
        }
    }

    private func sendBlock() {
        guard let (block, offset, begun) = block else { return }
        self.block = nil
        nextOffset = offset + Int64(block.count)
        let isQuick = clock.uptime - begun < ContentSpool.quickFill
        nextCapacity =
            isQuick
            ? min(nextCapacity * 4, ContentSpool.largestBlock)
            : max(nextCapacity / 4, ContentSpool.smallestBlock)
        flying.append((block, offset))
        submit(block, at: offset, isFirstTry: true)
    }

    private func submit(_ block: FileBlock, at offset: Int64, isFirstTry: Bool) {
        files.submit(on: lane) { [file] in
            if isFirstTry { file.digest(block) }
            try file.write(block, at: offset)
        } then: { [weak self] result in
            self?.written(block, at: offset, result)
        }
    }

    private func written(_ block: FileBlock, at offset: Int64, _ result: Result<Void, any Error>) {
        if case .failure(let error) = result {
            let error = error as? FileError ?? FileError("write", code: 0)
            if error.isOutOfSpace, !isClosed {
                retry(block, at: offset, error)
                return
            }
            if failure == nil {
                failure = error
                onFailure?(error)
            }
        }
        isWaitingForRoom = !retries.isEmpty
        flying.removeAll { $0.block === block }
        if flying.isEmpty || failure != nil {
            for waiter in flushed { waiter.resume() }
            flushed = []
        }
        if hasRefused, flying.count < ContentSpool.blockLimit {
            hasRefused = false
            onRoom?()
        }
    }

    private func retry(_ block: FileBlock, at offset: Int64, _ reason: FileError) {
        if !isWaitingForRoom { log.write(.warning, "the disk is full: a transfer waits for room") }
        isWaitingForRoom = true
        let timer = LoopTimer { [weak self] in
            self?.retries.removeValue(forKey: offset)
            self?.submit(block, at: offset, isFirstTry: false)
        }
        retries[offset] = (timer, block, reason)
        timer.arm(after: .seconds(1))
    }

    // MARK: Following

    /// Bytes from `offset`, at most `count`; at least one if `offset` is below `length`.
    /// - Throws: `FileError`.
    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        if !isOnDisk { return ContentSpool.slice(memory, from: Int(offset), count) }
        if let block, offset >= block.offset {
            return ContentSpool.slice(block.block, from: Int(offset - block.offset), count)
        }
        for (block, start) in flying where offset >= start && offset < start + Int64(block.count) {
            return ContentSpool.slice(block, from: Int(offset - start), count)
        }
        let onDisk = (flying.first?.offset ?? block?.offset ?? length) - offset
        let file = file
        let bytes = try await files.run {
            try file.read(at: offset, count: min(count, Int(onDisk)))
        }
        // A file that is shorter than it was would be read for ever.
        guard !bytes.isEmpty else { throw FileError("pread", code: 0) }
        return bytes
    }

    /// Returns when there is more than there was, or the end.
    func grown(beyond offset: Int64) async {
        guard length <= offset, !isClosed else { return }
        await withCheckedContinuation { growth.append($0) }
    }

    private func wakeFollowers() {
        guard !growth.isEmpty else { return }
        let waiting = growth
        growth = []
        for follower in waiting { follower.resume() }
    }

    private static func slice(_ bytes: [UInt8], from start: Int, _ count: Int) -> [UInt8] {
        Array(bytes[start..<min(bytes.count, start + count)])
    }

    private static func slice(_ block: FileBlock, from start: Int, _ count: Int) -> [UInt8] {
        block.withBytes { Array($0[start..<min($0.count, start + count)]) }
    }
}
