internal import DequeModule

/// How a webhook's receiver does, and so how many requests it is sent.
///
/// One that fails all the time is sent one request at a time: what was tried before when its time
/// has come, and now and then something new, which shows that it is back even where what was tried
/// before fails for reasons of its own.
struct ReceiverHealth {
    /// How many requests go to a receiver at a time.
    static let greatestWidth = 8
    /// So many failures in a row, and the receiver is taken to be down.
    private static let failureLimit = 8
    /// How often something new is tried meanwhile.
    private static let probeInterval = Duration.seconds(30)

    private var failuresInARow = 0
    /// When something new may be tried next.
    private(set) var nextProbe = Duration.zero
    /// Events that had failed while it was down; each success has one of them sent.
    private var returning = Deque<Int64>()

    /// Whether it is taken to be down.
    var isFailing: Bool { failuresInARow >= ReceiverHealth.failureLimit }

    /// How many requests may be under way.
    var width: Int { isFailing ? 1 : ReceiverHealth.greatestWidth }

    /// Whether an event that was not tried yet may be sent, at an instant of the monotonic clock.
    func mayProbe(at now: Duration) -> Bool { !isFailing || now >= nextProbe }

    /// Takes note that one is sent.
    mutating func noteProbe(at now: Duration) { nextProbe = now + ReceiverHealth.probeInterval }

    /// Takes note of a request in vain. An answer that refuses the event says that the receiver is
    /// there; only none, 429 and 5xx tell of the receiver itself.
    mutating func noteFailure(_ status: Int?, at now: Duration) {
        if let status, status != 429, status < 500 { return failuresInARow = 0 }
        failuresInARow += 1
        if failuresInARow == ReceiverHealth.failureLimit { noteProbe(at: now) }
    }

    /// Takes note of a request that has come home; `waiting` are the events that wait for their
    /// next try.
    mutating func noteSuccess(_ waiting: () -> [Int64]) {
        if isFailing { returning = Deque(waiting()) }
        failuresInARow = 0
    }

    /// The next event that need not wait for its time any more.
    mutating func nextReturning() -> Int64? { returning.popFirst() }

    /// It may be another receiver, or have been mended.
    mutating func forget() { self = ReceiverHealth() }
}
