/// How much of a quota is used, and how much may be.
struct QuotaGauge {
    private(set) var used: Int64 = 0
    /// Nil for no limit.
    var limit: Int64?

    /// Whether so much more may be used.
    func hasRoom(for count: Int64) -> Bool {
        guard let limit else { return true }
        // Not `used + count`, which a client's number may take out of the type's range.
        return count <= limit - used
    }

    mutating func take(_ count: Int64) { used += count }

    mutating func giveBack(_ count: Int64) { used -= count }
}

/// How much there was of something in the last whole second.
struct SecondCounter {
    private var second: Int64 = .min
    private var count: Int64 = 0
    private var lastCount: Int64 = 0

    mutating func add(_ more: Int64, at uptime: Duration) {
        moveOn(to: uptime)
        count += more
    }

    /// What came in the second before the one that goes on.
    mutating func rate(at uptime: Duration) -> Int64 {
        moveOn(to: uptime)
        return lastCount
    }

    private mutating func moveOn(to uptime: Duration) {
        let now = uptime.components.seconds
        guard now != second else { return }
        lastCount = now - 1 == second ? count : 0
        count = 0
        second = now
    }
}
