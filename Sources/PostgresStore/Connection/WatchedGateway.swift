internal import Engine

/// A gateway that may have the database, or a place in it.
struct OtherGateway {
    /// What names it; nil where nobody has the place.
    var name: [UInt8]?
    /// Its last sign of life; nil where it gives none.
    var seen: String?
    /// What its session has done last; nil where it has none.
    var activity: String?

    /// Whether anything of it has changed, but for the end of its session: that may be somebody
    /// else's doing.
    func givesSign(since last: OtherGateway) -> Bool {
        name != last.name || seen != last.seen || (activity != nil && activity != last.activity)
    }
}

/// For how long a gateway has given no sign of life, by the time in which somebody has looked: no
/// clock is compared with another one's.
struct WatchedGateway {
    /// How much time counts between two looks: whoever was stopped itself has seen nothing.
    private let longestLook: Duration

    private(set) var gateway = OtherGateway()
    private var silence = Duration.zero
    private var lastLook = ContinuousClock.now

    /// Nothing has been seen yet.
    ///
    /// - Parameter longestLook: how much time counts between two looks at most.
    init(longestLook: Duration = .seconds(1)) { self.longestLook = longestLook }

    mutating func look(at gateway: OtherGateway) {
        let now = ContinuousClock.now
        let isAlive = gateway.givesSign(since: self.gateway)
        silence = isAlive ? .zero : silence + min(now - lastLook, longestLook)
        (self.gateway, lastLook) = (gateway, now)
    }

    /// Whether it counts as lost if it has no lock.
    func hasLeft(_ limits: DatabaseLock.Silence) -> Bool {
        gateway.name == nil || gateway.seen == nil || silence >= limits.withoutSession
    }

    /// Whether it counts as lost though it has the lock.
    func hangs(_ limits: DatabaseLock.Silence) -> Bool {
        gateway.name != nil && gateway.seen != nil && silence >= limits.withSession
    }
}
