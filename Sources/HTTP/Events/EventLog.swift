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
    private static let manyReaders = 64
    /// How many are sent to in one turn of the loop: a few milliseconds.
    private static let sliceSize = 256
    /// The pause after a round to many readers: the shortest, the longest, and its length in
    /// rounds.
    private static let pauses = Duration.milliseconds(2)...Duration.milliseconds(400)
    private static let pauseShare = 7

    /// Whether `finish` was called.
    public private(set) var isFinished = false
    /// Called when a reader has gone and no other is left: the owner may drop the log.
    public var onLastReaderGone: (@LoopActor () -> Void)?

    /// The events that readers can be sent without asking the history.
    private(set) var buffer: EventBuffer
    /// How far the readers that are up to date had been sent to before this round.
    private(set) var flushedEnd: Int64 = 0
    /// How far this round goes, and the position of the newest numbered event by then.
    private(set) var target: (end: Int64, position: Int64)
    /// The readers before this one are still to be sent to in this round; nil between rounds.
    private var cursor: Int?
    private var timeOfRound = Duration.zero
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
        buffer = EventBuffer(startingAfter: position, byteLimit: byteLimit)
        target = (0, position)
    }

    /// The position of the newest numbered event, or what the log started after.
    public var lastPosition: Int64 { buffer.lastPosition }

    /// The readers at this moment.
    public var readerCount: Int { readers.count }

    /// How many readers have not been sent all numbered events yet, and how many events the one
    /// that is furthest behind lacks.
    public var lag: (readers: Int, events: Int64) {
        var lag: (readers: Int, events: Int64) = (0, 0)
        for reader in readers where reader.position < lastPosition {
            lag.readers += 1
            lag.events = max(lag.events, lastPosition - reader.position)
        }
        return lag
    }

    /// Adds an event, which goes out at the end of this turn of the loop.
    ///
    /// - Parameters:
    ///   - idPrefix: What the position follows in the `id:` field of a numbered event.
    ///   - position: The place of a numbered event in its stream; nil for progress.
    ///   - name: The `event:` field.
    ///   - data: The `data:` field, one line.
    ///   - progressKey: Whose progress it is; newer progress of the same key supersedes it.
    /// - Precondition: Positions grow strictly, and the log is not finished.
    public func append(
        idPrefix: String = "", position: Int64?, name: String, data: UnsafeRawBufferPointer,
        progressKey: Int64? = nil
    ) {
        precondition(!isFinished, "an event after the last one")
        if buffer.needsRoom(for: data.count) { makeRoom() }
        buffer.append(
            idPrefix: idPrefix, position: position, name: name, data: data,
            progressKey: progressKey)
        scheduleFlush()
    }

    /// Says that the stream has had its last event: readers get what is left, and then the end.
    public func finish() {
        isFinished = true
        scheduleFlush()
    }

    // MARK: The readers' side

    func add(_ reader: EventReader) {
        reader.index = readers.count
        readers.append(reader)
    }

    /// Nobody reads on behalf of a subscription.
    func readerStaysAway() {
        if readers.isEmpty { onLastReaderGone?() }
    }

    func remove(_ reader: EventReader) {
        guard readers.indices.contains(reader.index), readers[reader.index] === reader else {
            return readerStaysAway()
        }
        let last = readers.removeLast()
        if last !== reader {
            readers[reader.index] = last
            last.index = reader.index
        }
        if readers.isEmpty { onLastReaderGone?() }
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
        target = (buffer.end, lastPosition)
        cursor = readers.count
        timeOfRound = .zero
    }

    private func flushSlice() {
        guard let cursor else { return }
        let began = ContinuousClock.now
        flush(through: max(0, cursor - EventLog.sliceSize))
        if readers.count > EventLog.manyReaders {
            // Connections that many readers share send when all of them have been sent to.
            LoopActor.later { [self] in endSlice(began: began) }
        } else if self.cursor != nil {
            nextTurn.arm(after: .zero)
        } else if isFlushDue {
            LoopActor.later { [self] in beginDueRound() }
        }
    }

    /// Goes on with the round to many readers, or pauses behind it.
    private func endSlice(began: ContinuousClock.Instant) {
        timeOfRound += began.duration(to: .now)
        guard cursor == nil else { return nextTurn.arm(after: .zero) }
        pause.arm(
            after: min(
                max(timeOfRound * EventLog.pauseShare, EventLog.pauses.lowerBound),
                EventLog.pauses.upperBound))
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

    private func makeRoom() {
        // Readers that keep up must not lose what this very turn has appended.
        if cursor != nil { flush(through: 0) }
        beginRound()
        flush(through: 0)
        buffer.dropOldest()
    }
}
