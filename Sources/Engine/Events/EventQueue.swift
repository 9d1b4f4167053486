internal import DequeModule
internal import Loop
internal import Semantics

/// The events of one tenant that wait until they may be shown, and the tenant's own stream.
///
/// They wait in one queue, so that the stream of the tenant never shows a later number before an
/// earlier one.
@LoopActor
final class EventQueue {
    struct Pending {
        let event: Event
        /// When the session's store was given the event; nil for one that none is.
        var recorded: CommitMark?
        /// When the store on disk was given what must be durable there, too.
        var reserved: CommitMark?

        @LoopActor var isReady: Bool {
            recorded?.isDurable ?? true && reserved?.isDurable ?? true
        }
    }

    let tenant: TenantID
    /// Hears all of them; nil for nobody.
    var listener: (any EventListener)?
    /// The newest sequence that was given.
    private(set) var last: Int64
    /// The mark that the store has or will have.
    var reserved: Int64
    /// The newest sequence that was shown.
    private(set) var shown: Int64
    private var pending = Deque<Pending>()
    /// Whether the hub looks at it when something has become durable.
    var isWatched = false

    /// A queue that goes on behind the newest sequence that the store has.
    init(of tenant: TenantID, after sequence: Int64) {
        self.tenant = tenant
        (last, reserved, shown) = (sequence, sequence, sequence)
    }

    var isEmpty: Bool { pending.isEmpty }

    /// The next number.
    func advance() -> Int64 {
        last += 1
        return last
    }

    func append(_ new: Pending) { pending.append(new) }

    /// Takes out the next event, if it may be shown.
    func popReady() -> Event? {
        guard !pending.isEmpty, pending[0].isReady else { return nil }
        let next = pending.removeFirst()
        if !next.event.body.isProgress { shown = next.event.tenantSequence }
        return next.event
    }

    /// Forgets all that waits to be shown.
    func discard() { pending.removeAll() }

    /// Forgets what waits to be shown of these: the store does not have it.
    func discard(_ refused: RefusedNumbers) { pending.removeAll { refused.contains($0.event) } }
}
