internal import Loop

/// Those who wait for an allowance under one tree of limits, and how they get it.
///
/// While anybody waits there is a round every 20 ms. It divides what has come into the buckets
/// since the last one: who has got the least is served next, in portions that are small where many
/// wait but never so small that waking somebody is not worth it, so that of a thousand that share a
/// small limit a few go on in every round. What was given to somebody who did not take it until the
/// next round is taken back first.
///
/// A round costs O(n log n) in the number of shares, and nothing is done between rounds. This is
/// start-time fair queueing (Goyal, Vin and Cheng, 1996) with a virtual time for each limit.
@LoopActor
final class BandwidthScheduler {
    private static let pause = Duration.milliseconds(20)

    let clock: any Clock
    /// Whether a round is to come.
    private(set) var isRunning = false
    /// Whether any but those that may be put off are held back by a limit that they share (S-27).
    private(set) var isPressed = false {
        didSet { if isPressed != oldValue { onPressure?(isPressed) } }
    }
    /// Called when `isPressed` has changed; it must not ask for an allowance.
    var onPressure: (@LoopActor (Bool) -> Void)?
    private var shares: [Share] = []
    /// The limits that have shares under them.
    private var nodes: [Bandwidth] = []
    private var timer: LoopTimer?

    init(clock: any Clock) {
        self.clock = clock
    }

    /// One of the holder's meters has begun to wait.
    func enter(_ holder: Bandwidth) {
        if !holder.hasShare {
            holder.hasShare = true
            shares.append(Share(of: holder))
            for node in holder.chain {
                if node.shareCount == 0 { nodes.append(node) }
                node.shareCount += 1
            }
        }
        if BandwidthScheduler.isPressing(holder) { isPressed = true }
        if !isRunning { schedule(after: BandwidthScheduler.pause) }
    }

    private static func isPressing(_ holder: Bandwidth) -> Bool {
        !holder.isDiscretionary && !holder.meters.isEmpty && holder.sharesLimit
    }

    /// A limit has changed: the next round is in the next turn of the loop.
    func hurry() {
        if !shares.isEmpty { schedule(after: .zero) }
    }

    /// Takes back what was given and not taken.
    func reclaim() {
        for share in shares {
            for meter in share.holder.meters where meter.allowance > 0 {
                share.holder.putBack(meter.allowance)
                meter.allowance = 0
            }
        }
    }

    /// A round.
    func serve() {
        isRunning = false
        let now = clock.uptime
        for node in nodes { node.bucket?.fill(until: now, holding: .late) }
        reclaim()
        dismiss()
        let served = divide()
        for node in nodes { node.bucket?.trim(to: .burst) }
        if !shares.isEmpty { schedule(after: BandwidthScheduler.pause) }
        for meter in served { meter.onAllowance?() }
    }

    private func schedule(after delay: Duration) {
        isRunning = true
        let timer = timer ?? LoopTimer { [weak self] in self?.serve() }
        timer.arm(after: delay)
        self.timer = timer
    }

    /// Lets those go who do not want more.
    private func dismiss() {
        for node in nodes { node.contest.waitingCount = 0 }
        for share in shares {
            let holder = share.holder
            for meter in holder.meters where !meter.isWaiting { meter.leaveQueue() }
            holder.meters.removeAll { !$0.isQueued }
            for node in holder.chain { node.contest.waitingCount += Int64(holder.meters.count) }
        }
        shares.removeAll { share in
            guard share.holder.meters.isEmpty, !share.isAhead else { return false }
            share.holder.hasShare = false
            for node in share.holder.chain { node.shareCount -= 1 }
            return true
        }
        nodes.removeAll { $0.shareCount == 0 }
        isPressed = shares.contains { BandwidthScheduler.isPressing($0.holder) }
    }

    /// Gives out what is there.
    /// - Returns: who has got something, or is under no limit any more.
    private func divide() -> [Meter] {
        var served: [Meter] = []
        for node in nodes {
            if let bucket = node.bucket { node.contest.begin(with: bucket) }
        }
        for index in shares.indices where !shares[index].holder.meters.isEmpty {
            let holder = shares[index].holder
            if let limit = holder.nearestLimit {
                let lead = shares[index].leads[limit.depth]
                limit.contest.insert(Contestant(share: index, limit: nil, lead: lead))
            } else {
                served += holder.meters
            }
        }
        // Inner limits come first, so that outer ones know whom they stand for.
        nodes.sort { $0.depth > $1.depth }
        for index in nodes.indices where nodes[index].bucket != nil {
            if let outer = nodes[index].parent?.nearestLimit {
                enroll(index, in: outer)
            } else {
                while nodes[index].canServe {
                    serveNext(of: nodes[index], atMost: .max, to: &served)
                }
            }
        }
        for meter in served { meter.isWaiting = false }
        for index in shares.indices { shares[index].settle() }
        return served
    }

    /// An inner limit takes part in an outer one's contest with whom it would serve next.
    private func enroll(_ inner: Int, in outer: Bandwidth) {
        guard nodes[inner].canServe, let share = nodes[inner].contest.next?.share else { return }
        let lead = shares[share].leads[outer.depth]
        outer.contest.insert(Contestant(share: share, limit: inner, lead: lead))
    }

    /// Gives a portion to the next of those under a limit that can serve, out of it and the ones
    /// around it.
    private func serveNext(
        of node: Bandwidth, atMost outerPortion: Int64, to served: inout [Meter]
    ) {
        guard let bucket = node.bucket, let next = node.contest.popNext() else { return }
        let portion = min(outerPortion, bucket.bytes, node.contest.portion)
        if let inner = next.limit {
            serveNext(of: nodes[inner], atMost: portion, to: &served)
            enroll(inner, in: node)
        } else {
            give(portion, to: next.share, &served)
            let lead = shares[next.share].leads[node.depth]
            node.contest.insert(Contestant(share: next.share, limit: nil, lead: lead))
        }
    }

    private func give(_ portion: Int64, to index: Int, _ served: inout [Meter]) {
        let holder = shares[index].holder
        for node in holder.chain where node.bucket != nil {
            node.bucket?.take(portion)
            node.contest.notePick(lead: shares[index].leads[node.depth])
        }
        shares[index].charge(portion)
        let meter = holder.meters.removeFirst()
        holder.meters.append(meter)
        if meter.allowance == 0 { served.append(meter) }
        meter.allowance += portion
    }
}
