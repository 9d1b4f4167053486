/// Which of several connections fetches what of one entity (segmented download).
///
/// Every missing byte belongs to one connection at most. A connection that has nothing to do takes
/// what nobody has, or else half of what the slowest one has left.
///
/// What those who write the file may rely on: a segment starts at a multiple of `alignment` or
/// directly behind bytes that were received, and every range of `received` starts at a multiple of
/// `alignment`. What is still missing ends at a multiple of `alignment` or at `total`.
///
/// Operations take time in the number of segments and received ranges, `advance` in that of
/// segments only.
public struct SegmentPlan: Sendable {
    /// The length of the entity in bytes.
    public let total: Int64
    /// Where segments may be divided: at multiples of so many bytes.
    public let alignment: Int64
    /// How many bytes both parts of a divided segment have at least.
    public let smallestSplit: Int64

    /// What ended segments have received, and what was there before; in normal form.
    private var settled: [Range<Int64>]
    /// Ascending by their offsets.
    private var active: [Active] = []
    private var lastID = 0

    /// What a connection is asked to fetch, to `end(of:)`.
    public struct Segment: Hashable, Sendable {
        /// Unique in the plan.
        public let id: Int
        /// The offset of the first byte.
        public let start: Int64
    }

    private struct Active {
        let segment: Segment
        var position: Int64
        var end: Int64
        /// Where its connection's answer ends: it can be given bytes up to there without a new
        /// request.
        var reach: Int64
        var rate: TransferRate

        var remaining: Int64 { end - position }
    }

    /// A plan for what is missing.
    ///
    /// - Parameters:
    ///   - total: the length of the entity in bytes.
    ///   - received: offsets that are there already. Ranges that do not start at a multiple of
    ///     `alignment`, as another alignment may have left them, count from the next one on;
    ///     `received` tells what was taken over.
    ///   - alignment: what writers need: of blocks, or of pages.
    ///   - smallestSplit: less than this is not worth a request.
    public init(
        total: Int64, received: [Range<Int64>] = [], alignment: Int64, smallestSplit: Int64
    ) {
        precondition(total >= 0 && alignment > 0 && smallestSplit > 0, "A plan has sizes.")
        self.total = total
        self.alignment = alignment
        self.smallestSplit = smallestSplit
        self.settled = received.normalised().compactMap { range in
            let distance = (alignment - range.lowerBound % alignment) % alignment
            let end = min(range.upperBound, total)
            guard distance < end - range.lowerBound else { return nil }
            return range.lowerBound + distance..<end
        }
    }

    /// Everything that was received, in ascending order, without empty, overlapping or touching
    /// ranges.
    public var received: [Range<Int64>] {
        (settled + active.map { $0.segment.start..<$0.position }).normalised()
    }

    /// How many bytes were received.
    public var receivedCount: Int64 {
        settled.byteCount + active.reduce(0) { $0 + ($1.position - $1.segment.start) }
    }

    /// Whether every byte was received.
    public var isComplete: Bool { receivedCount == total }

    /// What is missing and belongs to no segment, in ascending order.
    public var gaps: [Range<Int64>] {
        (settled + active.map { $0.segment.start..<$0.end }).normalised().gaps(in: total)
    }

    /// What a segment has to fetch next; its `end(of:)` where it has everything.
    public func position(of id: Int) -> Int64 { active[index(of: id)].position }

    /// The offset behind a segment's last byte.
    ///
    /// It comes nearer when another segment takes a part away, and moves off when the one behind is
    /// released. A connection that has come there has nothing more to do: the segment is to be
    /// released.
    public func end(of id: Int) -> Int64 { active[index(of: id)].end }
}

extension SegmentPlan {
    /// The next segment for a connection that has nothing to do; nil where there is nothing, or
    /// nothing worth a request.
    ///
    /// The lowest gap that nobody has, or else half of what is left of the segment that would take
    /// longest by its measured rate, of those that can be divided.
    public mutating func assign(at now: Duration) -> Segment? {
        if let gap = gaps.first { return begin(gap, at: now) }
        guard let slowest = slowestDivisible(at: now), let middle = split(of: active[slowest])
        else { return nil }
        let end = active[slowest].end
        active[slowest].end = middle
        return begin(middle..<end, at: now)
    }

    /// Says that the answer on a segment's connection goes on to the end of the entity, whatever
    /// was asked for: a 200, or the 206 of a range with an open end. From now on it gets what
    /// nobody has behind its end.
    public mutating func setStreamsToEnd(_ id: Int) {
        let index = index(of: id)
        active[index].reach = total
        grow(index)
    }

    /// Counts bytes that a segment has received and that will be written.
    ///
    /// - Parameters:
    ///   - id: the segment.
    ///   - count: how many, at most up to `end(of:)`: what comes behind belongs to another segment,
    ///     or is there.
    ///   - now: by a clock that does not go back; for the rate.
    public mutating func advance(_ id: Int, by count: Int64, at now: Duration) {
        let index = index(of: id)
        precondition(
            count >= 0 && count <= active[index].remaining, "A segment gets bytes up to its end.")
        active[index].position += count
        active[index].rate.add(count, at: now)
    }

    /// Ends a segment, whole or not. What it did not receive is for others to fetch: for the
    /// connection that comes to it by itself, if there is one, or else a gap.
    public mutating func release(_ id: Int) {
        let released = active.remove(at: index(of: id))
        settled = (settled + [released.segment.start..<released.position]).normalised()
        if let before = active.firstIndex(where: { $0.end == released.segment.start }) {
            grow(before)
        }
    }

    private func index(of id: Int) -> Int {
        guard let index = active.firstIndex(where: { $0.segment.id == id }) else {
            preconditionFailure("A segment is used until it is released.")
        }
        return index
    }

    private mutating func begin(_ range: Range<Int64>, at now: Duration) -> Segment {
        lastID += 1
        let segment = Segment(id: lastID, start: range.lowerBound)
        let place = active.firstIndex { $0.segment.start > segment.start } ?? active.endIndex
        active.insert(
            Active(
                segment: segment, position: range.lowerBound, end: range.upperBound,
                reach: range.upperBound, rate: TransferRate(at: now)),
            at: place)
        return segment
    }

    /// Gives a segment the gap behind its end, as far as its connection goes.
    private mutating func grow(_ index: Int) {
        let end = active[index].end
        guard let gap = gaps.first(where: { $0.lowerBound == end }) else { return }
        active[index].end = min(active[index].reach, gap.upperBound)
    }

    private func slowestDivisible(at now: Duration) -> Int? {
        let rates = active.map { $0.rate.estimate(at: now) }
        let known = rates.compactMap(\.self)
        // Who has only begun is taken for one like the others.
        let usual = known.isEmpty ? 1 : known.reduce(0, +) / Double(known.count)
        var slowest: (index: Int, time: Double)?
        for (index, segment) in active.enumerated() where split(of: segment) != nil {
            // A rate of nothing would make all that stand still equal: the longest of them counts.
            let time = Double(segment.remaining) / max(rates[index] ?? usual, 1)
            if time > slowest?.time ?? -1 { slowest = (index, time) }
        }
        return slowest?.index
    }

    /// Where a segment is divided: at the multiple of `alignment` in the middle of what is left;
    /// nil where a part would be too small.
    private func split(of segment: Active) -> Int64? {
        let middle = segment.position + segment.remaining / 2
        let below = middle - middle % alignment
        return [below, below + alignment].first {
            $0 - segment.position >= smallestSplit && segment.end - $0 >= smallestSplit
        }
    }
}
