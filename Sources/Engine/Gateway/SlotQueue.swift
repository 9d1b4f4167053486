internal import DequeModule
internal import HeapModule
internal import Loop
internal import Semantics

/// What waits in a queue for a slot.
@LoopActor
protocol SlotHolder: AnyObject {
    /// The host that the next attempt goes to.
    var destination: WebURL.Origin { get }
    /// S-43.
    var priority: Double { get }
    func slotGranted()
}

/// A session's queue: at most so many attempts to one host at a time, the most urgent first, and among equals
/// the oldest (S-19, S-43). libcurl's own queue knows no order, so nothing is ever left to it.
@LoopActor
final class SlotQueue {
    private struct Entry: Comparable {
        let priority: Double
        let order: UInt64
        let holder: any SlotHolder

        static func < (left: Entry, right: Entry) -> Bool {
            left.priority != right.priority
                ? left.priority < right.priority : left.order > right.order
        }
        static func == (left: Entry, right: Entry) -> Bool { left.order == right.order }
    }

    private struct Host {
        var taken = 0
        var waiting = Heap<Entry>()
        var waitsForBudget = false
    }

    private let limitPerHost: Int
    private let budget: AttemptBudget
    private var hosts: [WebURL.Origin: Host] = [:]
    /// The place in the line of everything that waits; an entry of the heap that is not here is stale.
    private var places: [ObjectIdentifier: UInt64] = [:]
    private var nextOrder: UInt64 = 0

    init(limitPerHost: Int, budget: AttemptBudget) {
        self.limitPerHost = limitPerHost
        self.budget = budget
    }

    /// Puts a task at the end of its host's line.
    func enter(_ holder: any SlotHolder) {
        nextOrder += 1
        insert(holder, order: nextOrder)
        pump(holder.destination)
    }

    func leave(_ holder: any SlotHolder) {
        places[ObjectIdentifier(holder)] = nil
    }

    /// Moves a waiting task to where its new priority belongs.
    func reorder(_ holder: any SlotHolder) {
        guard let order = places[ObjectIdentifier(holder)] else { return }
        // The old entry has the same order; whichever comes up first ends both.
        insert(holder, order: order)
    }

    /// Gives a slot back.
    func free(_ origin: WebURL.Origin) {
        hosts[origin]?.taken -= 1
        budget.giveBack()
        pump(origin)
        if let host = hosts[origin], host.taken == 0, host.waiting.isEmpty, !host.waitsForBudget {
            hosts[origin] = nil
        }
    }

    private func insert(_ holder: any SlotHolder, order: UInt64) {
        places[ObjectIdentifier(holder)] = order
        hosts[holder.destination, default: Host()].waiting.insert(
            Entry(priority: holder.priority, order: order, holder: holder))
    }

    private func pump(_ origin: WebURL.Origin) {
        while let taken = hosts[origin]?.taken, taken < limitPerHost, let next = popWaiting(origin) {
            guard budget.take() else {
                hosts[origin]?.waiting.insert(next)
                waitForBudget(origin)
                return
            }
            places[ObjectIdentifier(next.holder)] = nil
            hosts[origin]?.taken += 1
            next.holder.slotGranted()
        }
    }

    private func waitForBudget(_ origin: WebURL.Origin) {
        guard hosts[origin]?.waitsForBudget == false else { return }
        hosts[origin]?.waitsForBudget = true
        budget.wait { [weak self] in
            self?.hosts[origin]?.waitsForBudget = false
            self?.pump(origin)
        }
    }

    private func popWaiting(_ origin: WebURL.Origin) -> Entry? {
        while let entry = hosts[origin]?.waiting.popMax() {
            let isCurrent =
                places[ObjectIdentifier(entry.holder)] == entry.order
                && entry.priority == entry.holder.priority
            if isCurrent { return entry }
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

    init(limit: Int) { left = limit }

    func take() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }

    func giveBack() {
        left += 1
        waiting.popFirst()?()
    }

    func wait(_ action: @escaping @LoopActor () -> Void) {
        waiting.append(action)
    }
}
