internal import Loop
internal import Semantics

/// How many requests go to receivers at a time, of all webhooks together.
///
/// One begins in each turn of the loop: receivers that answer at once would otherwise keep those
/// waiting who ask the gateway for something. Tenants that wait have their turns, one after the
/// other, and whose receivers do not answer leaves some to the others.
@LoopActor
final class WebhookSlots {
    private let room: SharedRoom
    /// While they stand still none begins.
    var standsStill = false {
        didSet { handOut() }
    }
    private var waiting = FairQueue<@LoopActor () -> Void>(share: 1)
    /// Whether one has begun in this turn of the loop.
    private var isTurnTaken = false
    /// A timer of no time fires in the next turn, behind the sockets that are ready by then.
    private lazy var nextTurn = LoopTimer { [weak self] in
        self?.isTurnTaken = false
        self?.handOut()
    }

    init(count: Int) { room = SharedRoom(limit: count) }

    /// How many nobody has.
    var free: Int { room.free }

    private var isOpen: Bool { free > 0 && !isTurnTaken && !standsStill }

    /// Takes one, if one can begin now.
    func take(_ tenant: TenantID) -> Bool {
        guard isOpen, room.admits(1, of: tenant) else { return false }
        room.change(by: 1, of: tenant)
        isTurnTaken = true
        nextTurn.arm(after: .zero)
        return true
    }

    /// Calls once, when one can be taken.
    func wait(_ tenant: TenantID, _ call: @escaping @LoopActor () -> Void) {
        waiting.append(call, of: tenant)
    }

    /// Takes one, as soon as one can begin.
    func wait(_ tenant: TenantID) async {
        guard !take(tenant) else { return }
        await withCheckedContinuation { continuation in
            wait(tenant) { [self] in
                // Who is called can take one.
                _ = take(tenant)
                continuation.resume()
            }
        }
    }

    /// Gives back one that the tenant has.
    func giveBack(_ tenant: TenantID) {
        room.change(by: -1, of: tenant)
        // On the next turn: who gives one back is in the middle of something.
        LoopActor.later { [self] in handOut() }
    }

    private func handOut() {
        while isOpen,
            let call = waiting.popFirst(cost: { _ in 1 }, of: { room.admits(1, of: $0) })
        {
            call()
        }
    }
}
