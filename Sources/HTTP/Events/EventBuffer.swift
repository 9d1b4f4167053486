/// The newest events of a stream as formatted bytes, with what readers have to know of each.
///
/// Numbered events stay until newer ones need the room; progress is superseded by newer progress of
/// the same key (S-59), and is left out for a reader that lags.
struct EventBuffer {
    private struct Entry {
        /// Where its bytes begin, counted from the beginning of the stream.
        var start: Int64
        /// The position of the newest numbered event up to and with this one.
        var through: Int64
        var progressKey: Int64?
        var isSuperseded = false
    }

    /// What a reader that lags is sent at once.
    struct Run {
        /// Formatted events; empty where all of them were superseded.
        var bytes: [UInt8] = []
        /// The position of the newest numbered event up to their end; nil where there is no entry.
        var through: Int64?
        /// The stream offset behind them.
        var end: Int64
    }

    /// The position of the newest numbered event, or what the stream started after.
    private(set) var lastPosition: Int64
    /// Every numbered event after this position is here.
    private(set) var droppedThrough: Int64
    /// The stream offset of the first byte that is here.
    private(set) var base: Int64 = 0
    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    private let byteLimit: Int
    /// The newest progress entry of each key, counted from the first entry ever.
    private var newestProgress: [Int64: Int] = [:]
    private var droppedEntries = 0

    /// An empty buffer, whose stream goes on after `position`; `byteLimit` bytes are kept, and up
    /// to twice as many are in memory.
    init(startingAfter position: Int64, byteLimit: Int) {
        lastPosition = position
        droppedThrough = position
        self.byteLimit = byteLimit
    }

    /// The stream offset behind the newest entry.
    var end: Int64 { base + Int64(bytes.count) }

    // MARK: Writing

    /// Whether old entries should go before so many bytes are added.
    func needsRoom(for byteCount: Int) -> Bool { bytes.count + byteCount > 2 * byteLimit }

    /// Adds an event; see `EventLog.append`.
    mutating func append(
        idPrefix: String, position: Int64?, name: String, data: UnsafeRawBufferPointer,
        progressKey: Int64?
    ) {
        let start = end
        EncodedEvent.format(
            idPrefix: position == nil ? nil : idPrefix, position: position, name: name, data: data,
            onto: &bytes)
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
    }

    /// Drops the oldest entries until `byteLimit` bytes are left, the newest entry in any case.
    mutating func dropOldest() {
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

    // MARK: Reading

    /// Lends the bytes between two stream offsets, which have to be here.
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

    /// The entries from a stream offset on, without superseded progress, up to so many bytes or one
    /// larger event.
    func run(from offset: Int64, limit: Int) -> Run {
        var run = Run(end: end)
        var index = firstEntry { $0.start >= offset }
        while index < entries.count, run.bytes.count < limit {
            let entry = entries[index]
            index += 1
            let entryEnd = index < entries.count ? entries[index].start : end
            if !entry.isSuperseded {
                withBytes(entry.start..<entryEnd) { run.bytes.append(contentsOf: $0) }
            }
            run.through = entry.through
            run.end = entryEnd
        }
        return run
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
}
