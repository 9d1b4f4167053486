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
    /// The task that it is for: among equals the one that was created first goes first (S-43).
    var age: TaskID { get }
    func slotGranted()
}

/// A session's queue: at most so many attempts to one host at a time, whatever its ports and
/// schemes, the most urgent first, and among equals the oldest (S-19, S-43). libcurl's own queue
/// knows no order, so nothing is ever left to it.
@LoopActor
final class SlotQueue {
    private struct Entry: Comparable {
        let priority: Double
        let age: TaskID
        let holder: any SlotHolder
        /// Of no other entry: one that is not its holder's newest is stale.
        let stamp: UInt64

        static func < (left: Entry, right: Entry) -> Bool {
            if left.priority != right.priority { return left.priority < right.priority }
            return left.age != right.age ? left.age > right.age : left.stamp > right.stamp
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
    /// The newest entry of everything that waits.
    private var stamps: [ObjectIdentifier: UInt64] = [:]
    private var lastStamp: UInt64 = 0
    /// Attempts of all hosts.
    fileprivate private(set) var takenCount = 0
    /// Hosts that could start an attempt if the gateway had one left, in turn.
    private var starved = Deque<HostName>()

    init(limitPerHost: Int, budget: AttemptBudget) {
        self.limitPerHost = limitPerHost
        self.budget = budget
    }

    /// Puts a task into its host's line.
    func enter(_ holder: any SlotHolder) {
        insert(holder)
        pump(HostName(holder.destination))
    }

    func leave(_ holder: any SlotHolder) {
        guard stamps.removeValue(forKey: ObjectIdentifier(holder)) != nil else { return }
        noteStale(HostName(holder.destination))
    }

    /// Moves a waiting task to where its new priority belongs, behind its equals that are older.
    func reorder(_ holder: any SlotHolder) {
        guard stamps[ObjectIdentifier(holder)] != nil else { return }
        insert(holder)
        noteStale(HostName(holder.destination))
    }

    /// Gives a slot back.
    func free(_ origin: WebURL.Origin) {
        let host = HostName(origin)
        lines[host]?.taken -= 1
        takenCount -= 1
        budget.giveBack(of: self)
        pump(host)
    }

    private func insert(_ holder: any SlotHolder) {
        lastStamp += 1
        stamps[ObjectIdentifier(holder)] = lastStamp
        lines[HostName(holder.destination), default: Line()].waiting.insert(
            Entry(
                priority: holder.priority, age: holder.age, holder: holder, stamp: lastStamp))
    }

    private func isStale(_ entry: Entry) -> Bool {
        stamps[ObjectIdentifier(entry.holder)] != entry.stamp
    }

    /// Drops stale entries once they are the most of a line, so that one that does not move cannot
    /// grow for ever; and where nobody waits any more, so that it holds nobody.
    private func noteStale(_ host: HostName) {
        lines[host]?.staleCount += 1
        guard let line = lines[host],
            line.staleCount == line.waiting.count
                || (line.staleCount > 64 && line.staleCount > line.waiting.count / 2)
        else { return }
        lines[host]?.waiting = Heap(line.waiting.unordered.filter { !isStale($0) })
        lines[host]?.staleCount = 0
        tidy(host)
    }

    private func pump(_ host: HostName) {
        while grant(host) {}
    }

    /// Starts the next attempt to a host, if there is one that may start.
    private func grant(_ host: HostName) -> Bool {
        defer { tidy(host) }
        guard let taken = lines[host]?.taken, taken < limitPerHost,
            let next = popWaiting(host)
        else { return false }
        guard budget.take(for: self) else {
            lines[host]?.waiting.insert(next)
            waitForBudget(host)
            return false
        }
        stamps[ObjectIdentifier(next.holder)] = nil
        lines[host]?.taken += 1
        takenCount += 1
        next.holder.slotGranted()
        return true
    }

    private func tidy(_ host: HostName) {
        if let line = lines[host], line.taken == 0, line.waiting.isEmpty, !line.waitsForBudget {
            lines[host] = nil
        }
    }

    private func waitForBudget(_ host: HostName) {
        guard lines[host]?.waitsForBudget == false else { return }
        lines[host]?.waitsForBudget = true
        starved.append(host)
        if starved.count == 1 { budget.wait(self) }
    }

    /// The budget has something for this session: one attempt starts, if any host still wants it.
    fileprivate func takeTurn() {
        while let host = starved.popFirst() {
            lines[host]?.waitsForBudget = false
            guard grant(host) else { continue }
            if let line = lines[host], !line.waiting.isEmpty, line.taken < limitPerHost {
                waitForBudget(host)
            }
            break
        }
        if !starved.isEmpty { budget.wait(self) }
    }

    private func popWaiting(_ host: HostName) -> Entry? {
        while let entry = lines[host]?.waiting.popMax() {
            if !isStale(entry) { return entry }
            lines[host]?.staleCount -= 1
        }
        return nil
    }
}

/// How many attempts the whole gateway runs at a time: each needs a descriptor for its socket, and
/// may need one for its file. A session's first takes more, for what its connections need of their
/// own.
///
/// Sessions that wait have their turns. One that has many leaves some to others, who would wait as
/// long as its slowest last: it takes no more than eight times what is left beside another
/// session's first.
@LoopActor
final class AttemptBudget {
    private static let shareOfRest = 8

    private var left: Int
    private let firstCost: Int
    private var waiting = Deque<SlotQueue>()
    private var isWaking = false
    /// While closed nothing is given, whatever is left.
    var isClosed = false {
        didSet { wakeWaiters() }
    }

    /// - Parameters:
    ///   - limit: of attempts, if no session's first took more than the others.
    ///   - firstCost: how many attempts a session's first stands for.
    init(limit: Int, firstCost: Int = 1) {
        left = limit
        self.firstCost = firstCost
    }

    func take(for queue: SlotQueue) -> Bool {
        guard mayTake(queue) else { return false }
        left -= cost(for: queue)
        return true
    }

    /// What the next attempt of a session takes, or the last one that has ended gives back.
    private func cost(for queue: SlotQueue) -> Int { queue.takenCount == 0 ? firstCost : 1 }

    private func mayTake(_ queue: SlotQueue) -> Bool {
        guard left >= cost(for: queue), !isClosed else { return false }
        return queue.takenCount == 0
            || queue.takenCount < AttemptBudget.shareOfRest * (left - firstCost)
    }

    func giveBack(of queue: SlotQueue) {
        left += cost(for: queue)
        wakeWaiters()
    }

    /// Goes on until nothing is left, or nobody may have it: a line may have emptied, or be full,
    /// since it began to wait.
    private func wakeWaiters() {
        guard !isWaking else { return }
        isWaking = true
        defer { isWaking = false }
        var refusals = 0
        while left > 0, !isClosed, refusals < waiting.count, let queue = waiting.popFirst() {
            if mayTake(queue) {
                refusals = 0
                queue.takeTurn()
            } else {
                refusals += 1
                waiting.append(queue)
            }
        }
    }

    /// A session waits for its turn; once at a time.
    func wait(_ queue: SlotQueue) {
        waiting.append(queue)
    }
}
