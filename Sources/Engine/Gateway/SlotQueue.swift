internal import DequeModule
internal import HeapModule
internal import Loop
internal import Semantics

/// What waits in a queue for a slot.
@LoopActor
protocol SlotHolder: AnyObject {
    /// Where the next attempt goes; what counts is the host.
    var destination: WebURL.Origin { get }
    /// S-43.
    var priority: Double { get }
    func slotGranted()
}

/// A session's queue: at most so many attempts to one host at a time, whatever its ports and schemes, the most urgent
/// first, and among equals the oldest (S-19, S-43). libcurl's own queue knows no order, so nothing is ever left to it.
@LoopActor
final class SlotQueue {
    private struct Entry: Comparable {
        let priority: Double
        let order: UInt64
        let holder: any SlotHolder
        /// Of no other entry: one that is not its holder's newest is stale.
        let stamp: UInt64

        static func < (left: Entry, right: Entry) -> Bool {
            left.priority != right.priority
                ? left.priority < right.priority : left.order > right.order
        }
        static func == (left: Entry, right: Entry) -> Bool { left.stamp == right.stamp }
    }

    /// What `httpMaximumConnectionsPerHost` counts by.
    private struct HostName: Hashable {
        let host: String
        let zone: String?

        init(_ origin: WebURL.Origin) {
            host = origin.host
            zone = origin.zone
        }
    }

    private struct Line {
        var taken = 0
        var waiting = Heap<Entry>()
        /// How many of `waiting` are stale: their tasks have left, or have moved.
        var staleCount = 0
        var waitsForBudget = false
    }

    private let limitPerHost: Int
    private let budget: AttemptBudget
    private var lines: [HostName: Line] = [:]
    /// The place in the line, and the newest entry, of everything that waits.
    private var places: [ObjectIdentifier: (order: UInt64, stamp: UInt64)] = [:]
    private var lastNumber: UInt64 = 0

    init(limitPerHost: Int, budget: AttemptBudget) {
        self.limitPerHost = limitPerHost
        self.budget = budget
    }

    /// Puts a task at the end of its host's line.
    func enter(_ holder: any SlotHolder) {
        insert(holder, order: nextNumber())
        pump(HostName(holder.destination))
    }

    func leave(_ holder: any SlotHolder) {
        guard places.removeValue(forKey: ObjectIdentifier(holder)) != nil else { return }
        noteStale(HostName(holder.destination))
    }

    /// Moves a waiting task to where its new priority belongs, behind its equals that are older.
    func reorder(_ holder: any SlotHolder) {
        guard let place = places[ObjectIdentifier(holder)] else { return }
        insert(holder, order: place.order)
        noteStale(HostName(holder.destination))
    }

    /// Gives a slot back.
    func free(_ origin: WebURL.Origin) {
        let host = HostName(origin)
        lines[host]?.taken -= 1
        budget.giveBack()
        pump(host)
    }

    private func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    private func insert(_ holder: any SlotHolder, order: UInt64) {
        let stamp = nextNumber()
        places[ObjectIdentifier(holder)] = (order, stamp)
        lines[HostName(holder.destination), default: Line()].waiting.insert(
            Entry(priority: holder.priority, order: order, holder: holder, stamp: stamp))
    }

    private func isStale(_ entry: Entry) -> Bool {
        places[ObjectIdentifier(entry.holder)]?.stamp != entry.stamp
    }

    /// Drops stale entries once they are the most of a line, so that one that does not move cannot grow for ever.
    private func noteStale(_ host: HostName) {
        lines[host]?.staleCount += 1
        guard let line = lines[host], line.staleCount > 64,
            line.staleCount > line.waiting.count / 2
        else { return }
        lines[host]?.waiting = Heap(line.waiting.unordered.filter { !isStale($0) })
        lines[host]?.staleCount = 0
    }

    private func pump(_ host: HostName) {
        while let taken = lines[host]?.taken, taken < limitPerHost, let next = popWaiting(host) {
            guard budget.take() else {
                lines[host]?.waiting.insert(next)
                waitForBudget(host)
                return
            }
            places[ObjectIdentifier(next.holder)] = nil
            lines[host]?.taken += 1
            next.holder.slotGranted()
        }
        if let line = lines[host], line.taken == 0, line.waiting.isEmpty, !line.waitsForBudget {
            lines[host] = nil
        }
    }

    private func waitForBudget(_ host: HostName) {
        guard lines[host]?.waitsForBudget == false else { return }
        lines[host]?.waitsForBudget = true
        budget.wait { [weak self] in
            self?.lines[host]?.waitsForBudget = false
            self?.pump(host)
        }
    }

    private func popWaiting(_ host: HostName) -> Entry? {
        while let entry = lines[host]?.waiting.popMax() {
            if !isStale(entry) { return entry }
            lines[host]?.staleCount -= 1
        }
        return nil
    }
}

/// How many attempts the whole gateway runs at a time: each needs a descriptor for its socket and may need
/// one for its file.
@LoopActor
final class AttemptBudget {
    private var left: Int
    private var waiting = Deque<@LoopActor () -> Void>()
    /// While closed nothing is given, whatever is left.
    var isClosed = false {
        didSet { wakeWaiters() }
    }

    init(limit: Int) { left = limit }

    func take() -> Bool {
        guard left > 0, !isClosed else { return false }
        left -= 1
        return true
    }

    func giveBack() {
        left += 1
        wakeWaiters()
    }

    /// Goes on until nothing is left: a line may have emptied, or be full, since it began to wait.
    private func wakeWaiters() {
        while left > 0, !isClosed, let action = waiting.popFirst() { action() }
    }

    func wait(_ action: @escaping @LoopActor () -> Void) {
        waiting.append(action)
    }
}
