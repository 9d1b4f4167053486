internal import DequeModule
internal import Loop
internal import Semantics

/// How many requests go to receivers at a time, of all webhooks together. Tenants that wait have
/// their turns, one after the other.
@LoopActor
final class WebhookSlots {
    /// How many nobody has.
    private(set) var free: Int
    private var waiting: [TenantID: Deque<@LoopActor () -> Void>] = [:]
    /// Tenants of which something waits.
    private var turns = Deque<TenantID>()

    init(count: Int) { free = count }

    /// Takes one, if there is one.
    func take() -> Bool {
        guard free > 0 else { return false }
        free -= 1
        return true
    }

    /// Calls once, when there is one to be taken.
    func wait(_ tenant: TenantID, _ call: @escaping @LoopActor () -> Void) {
        waiting[tenant, default: []].append(call)
        if waiting[tenant]?.count == 1 { turns.append(tenant) }
    }

    /// Takes one, as soon as there is one.
    func take(_ tenant: TenantID) async {
        while !take() {
            await withCheckedContinuation { continuation in
                wait(tenant) { continuation.resume() }
            }
        }
    }

    /// Gives one back.
    func giveBack() {
        free += 1
        // On the next turn: who gives one back is in the middle of something.
        LoopActor.later { [self] in
            while free > 0, let call = next() { call() }
        }
    }

    private func next() -> (@LoopActor () -> Void)? {
        guard let tenant = turns.popFirst() else { return nil }
        let call = waiting[tenant]?.popFirst()
        if waiting[tenant]?.isEmpty ?? true {
            waiting[tenant] = nil
        } else {
            turns.append(tenant)
        }
        return call
    }
}
