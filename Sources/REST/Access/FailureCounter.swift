internal import Engine
internal import Loop
internal import Semantics

/// How many wrong tokens an address may send in a minute.
public struct FailureLimits: Sendable {
    /// Different ones.
    public var different = 10
    /// In all.
    public var all = 300

    /// The limits of a gateway.
    public init() {}
}

/// Counts wrong tokens by address: one that has sent as many as it may within a minute has to wait
/// for another one. Few different ones are enough, for who guesses sends others and others; a
/// client that was set up with a wrong one sends the same again and again, and is told so longer.
///
/// A right token is always let in: where many clients share an address, one of them cannot lock the
/// others out, and 256 random bits cannot be guessed.
@LoopActor
final class FailureCounter {
    private struct Failures {
        var count = 0
        /// The hashes of the first different ones, as many as there may be.
        var different: Set<Int> = []
        var hasToWait = false
        /// When they are forgotten.
        var end: Duration
    }

    private static let addressLimit = 10_000
    private static let window = Duration.seconds(60)

    private let limits: FailureLimits
    private let audit: AuditNotes?
    private let clock: any Clock
    private var failures: [String: Failures] = [:]

    init(limits: FailureLimits, audit: AuditNotes?, clock: any Clock) {
        self.limits = limits
        self.audit = audit
        self.clock = clock
    }

    /// Counts one more.
    ///
    /// - Parameters:
    ///   - token: What was sent; a hash of it is kept.
    ///   - address: From where.
    /// - Returns: how many seconds the address must wait, if it has failed too often.
    func note(_ token: String, from address: String) -> Int? {
        let now = clock.uptime
        let source = FailureCounter.source(of: address)
        tell(source)
        if failures[source] == nil, failures.count >= FailureCounter.addressLimit {
            failures = failures.filter { $0.value.end > now }
            if failures.count >= FailureCounter.addressLimit { failures = [:] }
        }
        var known = failures[source] ?? Failures(end: now + FailureCounter.window)
        if known.end <= now { known = Failures(end: now + FailureCounter.window) }
        known.count += 1
        // Nobody outside knows what the hashes of this process are.
        let hash = token.hashValue
        if known.different.count < limits.different { known.different.insert(hash) }
        let isOver = known.count > limits.all || !known.different.contains(hash)
        // From the one that is too many on, a whole minute.
        if isOver, !known.hasToWait {
            known.hasToWait = true
            known.end = now + FailureCounter.window
        }
        failures[source] = known
        guard isOver else { return nil }
        return Int((known.end - now + .milliseconds(999)).components.seconds)
    }

    private func tell(_ source: String) {
        guard let audit else { return }
        var entry = AuditEntry(.refusedTokens(count: 1), at: clock.now)
        entry.peer = source
        entry.status = 401
        audit.note(.tokens(peer: source), entry)
    }

    /// Whoever has one address of version 6 mostly has the 2⁶⁴ of its network.
    private static func source(of address: String) -> String {
        guard case .v6(let number)? = IPAddress(address) else { return address }
        return "\(IPAddress.v6((number >> 64) << 64))/64"
    }
}
