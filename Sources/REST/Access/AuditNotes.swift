internal import Engine
internal import Loop
internal import Semantics

/// What goes to the audit. Of what may come any number of times there is a line for the first, and
/// one a minute with the number of the rest: nobody can fill the file by being refused, or by
/// watching.
@LoopActor
final class AuditNotes {
    /// What is counted together.
    enum Repeated: Hashable {
        /// Wrong tokens from an address.
        case tokens(peer: String)
        /// Calls of a token with one outcome; of refused ones whatever their target.
        case calls(
            operation: String, tenant: String?, token: String, target: String?, status: Int)
        /// Transfers of a tenant to one destination; nil for all beyond those that have a line of
        /// their own.
        case denials(tenant: String?, host: String?, port: Int?)
    }

    private struct Count {
        /// How many have come since the first.
        var untold = 0
        /// When they are told.
        let end: Duration
    }

    private static let limit = 10_000
    private static let window = Duration.seconds(60)
    /// How many destinations of a tenant have lines of their own in a minute.
    private static let destinationLimit = 100

    private let audit: any AuditLog
    private let clock: any Clock
    private var counts: [Repeated: Count] = [:]
    /// How many destinations of each tenant are among them.
    private var destinations: [String?: Int] = [:]
    private lazy var timer = LoopTimer { [weak self] in self?.look() }

    init(_ audit: any AuditLog, clock: any Clock) {
        self.audit = audit
        self.clock = clock
    }

    func note(_ entry: AuditEntry) { audit.note(entry) }

    /// Counts something; the first one of a minute gets its line.
    func note(_ repeated: Repeated, _ first: AuditEntry) {
        let now = clock.uptime
        if let known = counts[repeated], known.end <= now { tell(repeated) }
        guard counts[repeated] == nil else {
            counts[repeated]?.untold += 1
            return
        }
        if counts.count >= AuditNotes.limit { tell { $0.end <= now } }
        if counts.count >= AuditNotes.limit { tellAll() }
        audit.note(first)
        counts[repeated] = Count(end: now + AuditNotes.window)
        if !timer.isArmed { timer.arm(after: AuditNotes.window) }
    }

    /// Counts a transfer that was not let through. Tenants choose their destinations: so the number
    /// of these is limited, too.
    func note(denied host: String, _ port: Int, of tenant: String?, _ first: AuditEntry) {
        let one = Repeated.denials(tenant: tenant, host: host, port: port)
        if let known = counts[one], known.end <= clock.uptime { tell(one) }
        if counts[one] == nil {
            guard destinations[tenant, default: 0] < AuditNotes.destinationLimit else {
                return note(.denials(tenant: tenant, host: nil, port: nil), first)
            }
            destinations[tenant, default: 0] += 1
        }
        note(one, first)
    }

    /// Tells what has not been told yet: the gateway is about to stop.
    func tellAll() { tell { _ in true } }

    private func look() {
        let now = clock.uptime
        tell { $0.end <= now }
        if !counts.isEmpty { timer.arm(after: AuditNotes.window) }
    }

    private func tell(where isDue: (Count) -> Bool) {
        for (repeated, count) in counts where isDue(count) { tell(repeated) }
    }

    private func tell(_ repeated: Repeated) {
        guard let count = counts.removeValue(forKey: repeated)?.untold else { return }
        if case .denials(let tenant, .some, _) = repeated { forgetDestination(of: tenant) }
        guard count > 0 else { return }
        var entry: AuditEntry
        switch repeated {
        case .tokens(let peer):
            entry = AuditEntry(.refusedTokens(count: count), at: clock.now)
            entry.peer = peer
            entry.status = 401
        case .calls(let operation, let tenant, let token, let target, let status):
            entry = AuditEntry(.repeatedCalls(operation, count: count), at: clock.now)
            entry.tenant = tenant
            entry.token = token
            entry.target = target
            entry.status = status
        case .denials(let tenant, let host, let port):
            entry = AuditEntry(
                .deniedDestinations(host: host, port: port, count: count), at: clock.now)
            entry.tenant = tenant
        }
        audit.note(entry)
    }

    private func forgetDestination(of tenant: String?) {
        let rest = destinations[tenant, default: 1] - 1
        destinations[tenant] = rest > 0 ? rest : nil
    }
}
