internal import Loop

/// A limit of bytes per second that transfers share. Limits nest: a task's in its session's in the
/// gateway's, and what a transfer moves counts against all of them, in whichever direction it goes.
///
/// Where a limit does not suffice for all that want more, it is divided max-min fairly between the
/// tasks (more exactly, between the limits that meters hang on): all get the same, except that what
/// a task cannot use, for its own limit, its session's or its origin's slowness, is left to the
/// others. So a session gets of the gateway's limit in proportion to its tasks that wait, and a
/// task with many connections gets no more than one with one; its connections take turns. What may
/// be put off gets a tenth of what others get (S-27).
@LoopActor
final class Bandwidth {
    /// The limit around this one.
    let parent: Bandwidth?
    /// How many limits are around this one.
    let depth: Int
    /// Who waits, of the whole tree.
    let scheduler: BandwidthScheduler
    /// Nil for no limit.
    var bucket: TokenBucket?
    /// Whether what hangs here may be put off, and gives way to others.
    var isDiscretionary = false

    // What the scheduler notes here while somebody waits under this limit.

    /// The meters that hang here and wait, the next to be served first.
    var meters: [Meter] = []
    /// Whether the scheduler has a share for `meters`.
    var hasShare = false
    /// How many shares of the scheduler are under this limit.
    var shareCount = 0
    /// The round that is going on, or was the last.
    var contest = Contest()

    /// The outermost limit, the gateway's: none until it is set. The whole tree follows `clock`.
    init(clock: any Clock) {
        parent = nil
        depth = 0
        scheduler = BandwidthScheduler(clock: clock)
    }

    /// A limit within another one: none until it is set.
    init(within parent: Bandwidth) {
        self.parent = parent
        depth = parent.depth + 1
        scheduler = parent.scheduler
    }

    /// Bytes per second, nil for no limit; values outside of 1...10^12 are brought inside.
    ///
    /// A change holds from the next byte on: a lower limit takes back what was allowed and not yet
    /// moved, and with a higher one or none those that wait go on in the next turn of the loop. A
    /// limit starts with a burst of 100 ms.
    var limit: Int64? {
        get { bucket?.rate }
        set {
            guard newValue != limit else { return }
            scheduler.reclaim()
            if let rate = newValue {
                let now = scheduler.clock.uptime
                if bucket == nil {
                    bucket = TokenBucket(rate: rate, at: now)
                } else {
                    bucket?.change(rate: rate, at: now)
                }
            } else {
                bucket = nil
            }
            scheduler.hurry()
        }
    }

    /// This limit and those around it, the innermost first.
    var chain: Chain { Chain(current: self) }

    /// A limit and those around it.
    struct Chain: Sequence, IteratorProtocol {
        fileprivate var current: Bandwidth?

        mutating func next() -> Bandwidth? {
            defer { current = current?.parent }
            return current
        }
    }

    /// The nearest limit of the chain that is set. Costs a load and a branch for each that is not.
    var nearestLimit: Bandwidth? {
        var next: Bandwidth? = self
        while let node = next {
            if node.bucket != nil { return node }
            next = node.parent
        }
        return nil
    }

    /// Whether what hangs here and is held back is so by others, too: a limit of its own leaves to
    /// them what there is.
    var sharesLimit: Bool { parent?.nearestLimit != nil }

    /// Whether somebody waits for what this chain would take from.
    var isContended: Bool {
        chain.contains { $0.bucket != nil && $0.shareCount > 0 }
    }

    /// Whether it has something to give in this round, and somebody to give it to.
    var canServe: Bool { bucket?.isWorthwhile == true && contest.next != nil }

    /// Takes at most `count` bytes, from every limit of the chain: what is there at the moment.
    func draw(_ count: Int64) -> Int64 {
        let now = scheduler.clock.uptime
        var granted = count
        for node in chain {
            node.bucket?.fill(until: now, holding: .burst)
            granted = min(granted, node.bucket?.bytes ?? granted)
        }
        for node in chain { node.bucket?.take(granted) }
        return granted
    }

    /// Gives back what was taken and not moved.
    func putBack(_ count: Int64) {
        for node in chain { node.bucket?.putBack(count) }
    }
}
