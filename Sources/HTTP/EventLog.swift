public import Loop

/// The newest events of one stream, formatted once and shared by all its readers.
///
/// Appending costs one copy, whatever the number of readers. They are sent to in rounds, at the end
/// of a turn of the loop; one that is up to date by a single write out of the shared bytes (500,000
/// deliveries a second to 500 readers). Rounds to many readers are spread over turns, and take a
/// sixth of the loop's time at most: what comes in between goes out together. A reader that lags
/// skips progress that newer progress of the same key has superseded (S-59), and takes what the log
/// has dropped from its history: numbered events are never left out and never sent twice (R-7,
///
@LoopActor
public final class EventLog {
    struct Entry {
        /// Where its bytes begin, counted from the beginning of the stream.
        var start: Int64
        /// The position of the newest numbered event up to and with this one.
        var through: Int64
        var progressKey: Int64?
        var isSuperseded = false
    }

    private static let manyReaders = 64
    /// How many are sent to in one turn of the loop: a few milliseconds.
    private static let sliceSize = 256
    /// The pause after a round to many readers: the shortest, the longest, and its length in
    /// rounds.
    private static let pauses = Duration.milliseconds(2)...Duration.milliseconds(400)
    private static let pauseShare = 7

    /// The position of the newest numbered event, or what the log started after.
    public private(set) var lastPosition: Int64
    /// Whether `finish` was called.
    public private(set) var isFinished = false
    /// Called when a reader has gone and no other is left: the owner may drop the log.
    public var onLastReaderGone: (@LoopActor () -> Void)?

    /// Every numbered event after this position is in the log.
    private(set) var droppedThrough: Int64
    private(set) var entries: [Entry] = []
    /// How far the readers that are up to date had been sent to before this round.
    private(set) var flushedEnd: Int64 = 0
    /// How far this round goes, and the position of the newest numbered event by then.
    private(set) var target: (end: Int64, position: Int64)
    /// The readers before this one are still to be sent to in this round; nil between rounds.
    private var cursor: Int?
    private var timeOfRound = Duration.zero
    private var bytes: [UInt8] = []
    /// The stream offset of `bytes[0]`.
    private(set) var base: Int64 = 0
    private let byteLimit: Int
    /// The newest progress entry of each key, counted from the first entry ever.
    private var newestProgress: [Int64: Int] = [:]
    private var droppedEntries = 0
    private var readers: [EventReader] = []
    private var isFlushDue = false
    /// Runs for a moment after a round to many readers.
    private lazy var pause = LoopTimer { [weak self] in self?.beginDueRound() }
    private lazy var nextTurn = LoopTimer { [weak self] in self?.flushSlice() }

    /// Makes an empty log.
    ///
    /// - Parameters:
    ///   - position: The position of the newest event of the stream that is not in the log.
    ///   - byteLimit: The bytes of formatted events that are kept for readers that lag; up to twice
    ///     as many are in memory.
    public init(startingAfter position: Int64, byteLimit: Int = 256 << 10) {
        lastPosition = position
        droppedThrough = position
        target = (0, position)
        self.byteLimit = byteLimit
    }

    /// The readers at this moment.
    public var readerCount: Int { readers.count }

    /// Adds an event, which goes out at the end of this turn of the loop.
    ///
    /// - Parameters:
    ///   - id: The `id:` field of a numbered event; nil for progress.
    ///   - position: The place of a numbered event in its stream; nil for progress.
    ///   - name: The `event:` field.
    ///   - data: The `data:` field, one line.
    ///   - progressKey: Whose progress it is; newer progress of the same key supersedes it.
    /// - Precondition: Positions grow strictly, and the log is not finished.
    public func append(
        id: String?, position: Int64?, name: String, data: [UInt8], progressKey: Int64? = nil
    ) {
        precondition(!isFinished, "an event after the last one")
        if bytes.count + data.count > 2 * byteLimit { makeRoom() }
        let start = end
        EncodedEvent.format(id: id, name: name, data: data, onto: &bytes)
        if let position {
            precondition(position > lastPosition, "events are appended in the order of positions")
            lastPosition = position
        }
        if let progressKey {
            let number = droppedEntries + entries.count
            if let older = newestProgress.updateValue(number, forKey: progressKey) {
                entries[older - droppedEntries].isSuperseded = true
            }
        }
        entries.append(Entry(start: start, through: lastPosition, progressKey: progressKey))
        scheduleFlush()
    }

    /// Says that the stream has had its last event: readers get what is left, and then the end.
    public func finish() {
        isFinished = true
        scheduleFlush()
    }

    // MARK: The readers' side

    /// The stream offset behind the newest entry.
    var end: Int64 { base + Int64(bytes.count) }

    func add(_ reader: EventReader) {
        reader.index = readers.count
        readers.append(reader)
    }

    func remove(_ reader: EventReader) {
        guard readers.indices.contains(reader.index), readers[reader.index] === reader else {
            return
        }
        let last = readers.removeLast()
        if last !== reader {
            readers[reader.index] = last
            last.index = reader.index
        }
        if readers.isEmpty { onLastReaderGone?() }
    }

    /// Lends the bytes between two stream offsets, which have to be in the log.
    @inline(__always)
    func withBytes(_ range: Range<Int64>, _ body: (UnsafeRawBufferPointer) -> Void) {
        let local = Int(range.lowerBound - base)..<Int(range.upperBound - base)
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[local])) }
    }

    /// The offset at which a reader joins who has seen everything up to `position`; nil when events
    /// after it have been dropped.
    func offset(after position: Int64) -> Int64? {
        guard position >= droppedThrough else { return nil }
        // The first entry whose numbered predecessor, or itself, is newer.
        return startOfProgress(before: firstEntry { $0.through > position })
    }

    /// The index of the entry that begins at or after a stream offset.
    func entry(at offset: Int64) -> Int {
        firstEntry { $0.start >= offset }
    }

    /// The stream offset behind an entry.
    func end(of index: Int) -> Int64 {
        index + 1 < entries.count ? entries[index + 1].start : end
    }

    /// Trailing progress behind what the reader has seen is news to it.
    private func startOfProgress(before index: Int) -> Int64 {
        var index = index
        while index > 0, entries[index - 1].progressKey != nil { index -= 1 }
        return index < entries.count ? entries[index].start : end
    }

    private func firstEntry(where isBehind: (Entry) -> Bool) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if isBehind(entries[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    // MARK: Flushing

    private func scheduleFlush() {
        guard !isFlushDue else { return }
        isFlushDue = true
        // Whatever is on its way or pauses will look.
        if cursor != nil || (readers.count > EventLog.manyReaders && pause.isArmed) { return }
        LoopActor.later { [self] in beginDueRound() }
    }

    private func beginDueRound() {
        guard isFlushDue, cursor == nil else { return }
        beginRound()
        flushSlice()
    }

    private func beginRound() {
        isFlushDue = false
        target = (end, lastPosition)
        cursor = readers.count
        timeOfRound = .zero
    }

    private func flushSlice() {
        guard let cursor else { return }
        let began = ContinuousClock.now
        flush(through: max(0, cursor - EventLog.sliceSize))
        timeOfRound += began.duration(to: .now)
        guard self.cursor == nil else { return nextTurn.arm(after: .zero) }
        if readers.count > EventLog.manyReaders {
            pause.arm(
                after: min(
                    max(timeOfRound * EventLog.pauseShare, EventLog.pauses.lowerBound),
                    EventLog.pauses.upperBound))
        } else if isFlushDue {
            LoopActor.later { [self] in beginDueRound() }
        }
    }

    /// Backwards, as a reader that goes is replaced by the last one.
    private func flush(through lowest: Int) {
        while let next = cursor, next > lowest {
            cursor = next - 1
            if next <= readers.count { readers[next - 1].logHasGrown() }
        }
        guard cursor == 0 else { return }
        cursor = nil
        flushedEnd = target.end
    }

    /// Drops the oldest entries until `byteLimit` bytes are left, the newest entry in any case.
    private func makeRoom() {
        // Readers that keep up must not lose what this very turn has appended.
        if cursor != nil { flush(through: 0) }
        beginRound()
        flush(through: 0)
        let keptFrom = end - Int64(byteLimit)
        let count = min(firstEntry { $0.start >= keptFrom }, max(0, entries.count - 1))
        guard count > 0 else { return }
        for (index, entry) in entries[..<count].enumerated() {
            if let key = entry.progressKey, newestProgress[key] == droppedEntries + index {
                newestProgress[key] = nil
            }
        }
        droppedThrough = entries[count - 1].through
        let newBase = entries[count].start
        bytes.removeFirst(Int(newBase - base))
        base = newBase
        entries.removeFirst(count)
        droppedEntries += count
    }
}
