internal import Loop
internal import Semantics

/// Room of the whole gateway that its tenants share: bytes of memory, or requests at a time.
///
/// None takes more than three times what is left: whoever takes all that he can leaves some to the
/// others, and so do all of those together (Choudhury and Hahne, "Dynamic queue length thresholds
/// for shared-memory packet switches", 1998).
@LoopActor
final class SharedRoom {
    private static let share = 3

    let limit: Int
    private(set) var used = 0
    private var held: [TenantID: Int] = [:]

    init(limit: Int) { self.limit = limit }

    /// What nobody has.
    var free: Int { limit - used }

    /// Whether a tenant may take so much more.
    func admits(_ count: Int, of tenant: TenantID) -> Bool {
        count == 0
            || count <= free && held[tenant, default: 0] + count <= SharedRoom.share * free
    }

    /// Takes one for a tenant, given back when nobody holds it any more; nil where there is none.
    func permit(for tenant: TenantID) -> SharedPermit? {
        admits(1, of: tenant) ? SharedPermit(of: self, for: tenant) : nil
    }

    /// A tenant takes so much more, whatever the limit, or gives it back.
    func change(by count: Int, of tenant: TenantID) {
        guard count != 0 else { return }
        used += count
        let sum = held[tenant, default: 0] + count
        held[tenant] = sum == 0 ? nil : sum
    }
}

/// One that a tenant has of a shared room, for as long as somebody holds it.
@LoopActor
final class SharedPermit {
    private let room: SharedRoom
    private let tenant: TenantID

    fileprivate init(of room: SharedRoom, for tenant: TenantID) {
        self.room = room
        self.tenant = tenant
        room.change(by: 1, of: tenant)
    }

    isolated deinit {
        room.change(by: -1, of: tenant)
    }
}
