internal import Loop
internal import Semantics

/// The tenants whose work is done here: of one of several nodes those that it has, else all.
@LoopActor
final class ServedTenants {
    /// Nil for all.
    private(set) var tenants: Set<TenantID>?

    init(isNode: Bool) { tenants = isNode ? [] : nil }

    func contains(_ tenant: TenantID) -> Bool { tenants?.contains(tenant) ?? true }

    func insert(_ arriving: Set<TenantID>) { tenants?.formUnion(arriving) }

    func remove(_ tenant: TenantID) { tenants?.remove(tenant) }
}
