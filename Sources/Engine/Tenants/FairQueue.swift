internal import DequeModule
internal import Semantics

/// Who waits for something that tenants share: each tenant's in the order in which they came, and
/// the tenants in turn, by deficit round robin (Shreedhar and Varghese, 1995). What one costs more
/// than another is made up for in the next turns.
///
/// Of one tenant alone it is a queue like any other.
struct FairQueue<Element> {
    private struct Queue {
        var waiting = Deque<Element>()
        /// What the tenant may still be served, of this turn and those before.
        var credit = 0
        /// Whether this turn's share is in `credit`.
        var hasTurn = false
    }

    /// What a tenant is served in a turn.
    private let share: Int
    private var queues: [TenantID: Queue] = [:]
    /// The tenants that have somebody waiting, the next to be served first.
    private var order = Deque<TenantID>()

    init(share: Int) { self.share = share }

    var isEmpty: Bool { order.isEmpty }

    /// Puts one behind all others of its tenant.
    mutating func append(_ element: Element, of tenant: TenantID) {
        if queues[tenant] == nil { order.append(tenant) }
        queues[tenant, default: Queue()].waiting.append(element)
    }

    /// Takes out whose turn it is, of those that can be served; others go behind their equals.
    ///
    /// - Parameters:
    ///   - cost: what one takes of its tenant's share, at least 1.
    ///   - isOpen: whether anything of a tenant can be served; a look at each may be saved by it.
    ///   - canBeServed: whether this one can.
    /// - Returns: nil where nobody can.
    mutating func popFirst(
        cost: (Element) -> Int, of isOpen: (TenantID) -> Bool = { _ in true },
        where canBeServed: (Element) -> Bool = { _ in true }
    ) -> Element? {
        var passedCount = 0
        while passedCount < order.count, let tenant = order.first, var queue = queues[tenant] {
            // Written back below: two in one place would be a copy at every change.
            queues[tenant] = Queue()
            if !queue.hasTurn {
                queue.credit += share
                queue.hasTurn = true
            }
            let isServed = isOpen(tenant) && FairQueue.bringForward(&queue, canBeServed)
            if isServed, let first = queue.waiting.first, cost(first) <= queue.credit {
                queue.credit -= cost(first)
                queue.waiting.removeFirst()
                guard !queue.waiting.isEmpty else {
                    queues[tenant] = nil
                    order.removeFirst()
                    return first
                }
                // Nothing is free of charge: the turn is over.
                if queue.credit == 0 {
                    queue.hasTurn = false
                    order.append(order.removeFirst())
                }
                queues[tenant] = queue
                return first
            }
            queue.hasTurn = false
            // Who could not be served has not saved up for it.
            if isServed {
                passedCount = 0
            } else {
                (queue.credit, passedCount) = (0, passedCount + 1)
            }
            queues[tenant] = queue
            order.append(order.removeFirst())
        }
        return nil
    }

    /// Brings the first that can be served to the head of its queue, those before it to the end.
    /// - Returns: false where there is none.
    private static func bringForward(
        _ queue: inout Queue, _ canBeServed: (Element) -> Bool
    ) -> Bool {
        for _ in 0..<queue.waiting.count {
            guard let first = queue.waiting.first else { return false }
            if canBeServed(first) { return true }
            queue.waiting.append(queue.waiting.removeFirst())
        }
        return false
    }
}
