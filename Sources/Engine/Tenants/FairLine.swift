internal import DequeModule
internal import Semantics

/// Who waits for something that tenants share: each tenant's in the order in which they came, and
/// the tenants in turn, by deficit round robin (Shreedhar and Varghese, 1995). What one costs more
/// than another is made up for in the next turns.
///
/// Of one tenant alone it is a line like any other.
struct FairLine<Element> {
    private struct Lane {
        var waiting = Deque<Element>()
        /// What the tenant may still be served, of this turn and those before.
        var credit = 0
        /// Whether this turn's share is in `credit`.
        var hasTurn = false
    }

    /// What a tenant is served in a turn.
    private let share: Int
    private var lanes: [TenantID: Lane] = [:]
    /// The tenants that have somebody waiting, the next to be served first.
    private var order = Deque<TenantID>()

    init(share: Int) { self.share = share }

    var isEmpty: Bool { order.isEmpty }

    /// Puts one behind all others of its tenant.
    mutating func append(_ element: Element, of tenant: TenantID) {
        if lanes[tenant] == nil { order.append(tenant) }
        lanes[tenant, default: Lane()].waiting.append(element)
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
        while passedCount < order.count, let tenant = order.first, var lane = lanes[tenant] {
            // Written back below: two in one place would be a copy at every change.
            lanes[tenant] = Lane()
            if !lane.hasTurn {
                lane.credit += share
                lane.hasTurn = true
            }
            let isServed = isOpen(tenant) && FairLine.bringForward(&lane, canBeServed)
            if isServed, let first = lane.waiting.first, cost(first) <= lane.credit {
                lane.credit -= cost(first)
                lane.waiting.removeFirst()
                guard !lane.waiting.isEmpty else {
                    lanes[tenant] = nil
                    order.removeFirst()
                    return first
                }
                // Nothing is free of charge: the turn is over.
                if lane.credit == 0 {
                    lane.hasTurn = false
                    order.append(order.removeFirst())
                }
                lanes[tenant] = lane
                return first
            }
            lane.hasTurn = false
            // Who could not be served has not saved up for it.
            if isServed {
                passedCount = 0
            } else {
                (lane.credit, passedCount) = (0, passedCount + 1)
            }
            lanes[tenant] = lane
            order.append(order.removeFirst())
        }
        return nil
    }

    /// Brings the first that can be served to the head of its lane, and those before it to the end.
    /// - Returns: false where there is none.
    private static func bringForward(
        _ lane: inout Lane, _ canBeServed: (Element) -> Bool
    ) -> Bool {
        for _ in 0..<lane.waiting.count {
            guard let first = lane.waiting.first else { return false }
            if canBeServed(first) { return true }
            lane.waiting.append(lane.waiting.removeFirst())
        }
        return false
    }
}
