internal import Loop
public import Semantics

/// The tenants, by number and by name.
@LoopActor
final class TenantDirectory {
    /// How many there may be.
    static let limit = 1000

    private var tenants: [TenantID: Acknowledged<TenantRecord>] = [:]
    private var ids: [String: TenantID] = [:]
    /// Those whose records cannot be read: nobody may call for them.
    private var damaged: [TenantID: DamagedTenant] = [:]
    /// Where each may go; made when it is first asked for.
    private var rules: [TenantID: TenantEgress] = [:]
    private let commits: CommitQueue
    /// Those whose work is done here.
    let served: ServedTenants

    /// Those that the store has, and the operator's, which is there before anybody changes it.
    /// Where that one's record cannot be read its transfers go nowhere until somebody says where
    /// they may.
    init(_ contents: StoreContents, commits: CommitQueue, served: ServedTenants) {
        self.commits = commits
        self.served = served
        var own = TenantRecord.ofOperator
        for tenant in contents.damagedTenants {
            if tenant.id == own.id { own.egress = .nothing } else { damaged[tenant.id] = tenant }
        }
        insert(Acknowledged(own, in: commits))
        for record in contents.tenants { insert(Acknowledged(record, in: commits)) }
    }

    private func insert(_ tenant: Acknowledged<TenantRecord>) {
        tenants[tenant.newest.id] = tenant
        ids[tenant.newest.name] = tenant.newest.id
    }

    // MARK: Looking up

    /// The tenant as it is now, whether it is shown or not.
    subscript(_ id: TenantID) -> TenantRecord? { tenants[id]?.newest }

    func named(_ name: String) -> TenantRecord? { ids[name].flatMap { tenants[$0]?.newest } }

    /// The tenant as the store has it.
    func shown(_ name: String) -> TenantRecord? { ids[name].flatMap { tenants[$0]?.shown } }

    /// The one of this name whose record cannot be read.
    func damaged(named name: String) -> DamagedTenant? {
        damaged.values.first { $0.name == name }
    }

    /// What a tenant is called, also a damaged one; nil where nobody knows.
    func name(of id: TenantID) -> String? { self[id]?.name ?? damaged[id]?.name }

    /// In no order, without the damaged ones.
    var all: [TenantRecord] { tenants.values.map(\.newest) }

    /// Those that are being deleted, damaged ones among them, in no order.
    var ending: [TenantID] {
        all.filter(\.isEnding).map(\.id) + damaged.values.filter(\.isEnding).map(\.id)
    }

    /// Of those the store has, in the order of creation.
    func page(after id: TenantID?, limit: Int) -> TenantPage {
        let first = id?.rawValue ?? 0
        let found = tenants.values.compactMap(\.shown).filter { $0.id.rawValue > first }
            .sorted { $0.id.rawValue < $1.id.rawValue }
        let records = Array(found.prefix(limit))
        let last = found.count > limit ? records.last?.id : nil
        let unreadable = damaged.values.filter { tenant in
            tenant.id.rawValue > first && last.map { tenant.id.rawValue < $0.rawValue } ?? true
        }
        return TenantPage(
            records: records,
            damaged: unreadable.sorted { $0.id.rawValue < $1.id.rawValue }.compactMap(\.name),
            next: last)
    }

    /// Where a tenant's transfers may go: what is changed later holds for this one, too. Nowhere,
    /// where the tenant is not known or cannot be read.
    func egress(of id: TenantID) -> TenantEgress {
        if let rule = rules[id] { return rule }
        let rule = TenantEgress(of: id, self[id]?.egress ?? .nothing)
        rules[id] = rule
        return rule
    }

    // MARK: Coming and going

    /// Takes over what the store has: another node has changed it.
    ///
    /// - Returns: those that are new or others than before, and those that are gone.
    func refresh(_ contents: StoreContents) -> (changed: [TenantRecord], gone: [TenantID]) {
        let stored = Set(contents.tenants.map(\.id))
        damaged = [:]
        for tenant in contents.damagedTenants where tenant.id != .operatorTenant {
            damaged[tenant.id] = tenant
        }
        let gone = tenants.keys.filter { $0 != .operatorTenant && !stored.contains($0) }
        for tenant in gone { drop(tenant) }
        let changed = contents.tenants.filter { self[$0.id] != $0 }
        for record in changed {
            insert(Acknowledged(record, in: commits))
            rules[record.id]?.narrowing = record.egress
        }
        return (changed, gone)
    }

    /// - Throws: `noSuchTenant` for one that is not known, is deleted or cannot be read: nothing
    ///   new is made for it; `tenantIsMoving` for one that another node has.
    func requireLiving(_ id: TenantID) throws(GatewayError) {
        guard served.contains(id) else { throw .tenantIsMoving }
        guard self[id]?.isEnding == false else { throw .noSuchTenant }
    }

    func requireRoom() throws(GatewayError) {
        guard tenants.count + damaged.count < TenantDirectory.limit else {
            throw .tooManyTenants(limit: TenantDirectory.limit)
        }
    }

    /// Takes in a new tenant, which is on its way to the store from now on.
    func admit(_ record: TenantRecord) {
        insert(Acknowledged(new: record, in: commits))
        rules[record.id]?.narrowing = record.egress
        commits.record(.tenant(record))
    }

    /// Makes a damaged tenant one that is being deleted; the store gets a record in the place of
    /// the one that cannot be read.
    func end(_ tenant: DamagedTenant, called name: String) {
        damaged[tenant.id] = nil
        let record = TenantRecord(id: tenant.id, name: name, egress: .nothing, createdAt: nil)
        insert(Acknowledged(record, in: commits))
        change(tenant.id) { $0.isEnding = true }
    }

    func change(_ id: TenantID, _ change: (inout TenantRecord) -> Void) {
        tenants[id]?.change(change)
        guard let record = self[id] else { return }
        rules[id]?.narrowing = record.egress
        commits.record(.tenant(record))
    }

    /// The store has forgotten a tenant.
    func drop(_ id: TenantID) {
        damaged[id] = nil
        // Who still has it gets nowhere.
        rules.removeValue(forKey: id)?.narrowing = .nothing
        guard let tenant = tenants.removeValue(forKey: id) else { return }
        ids[tenant.newest.name] = nil
    }
}

/// A page of the list of tenants.
public struct TenantPage: Sendable {
    /// In the order of creation.
    public let records: [TenantRecord]
    /// The names of those of this page that cannot be read.
    public let damaged: [String]
    /// What the next page begins behind; nil where this one is the last.
    public let next: TenantID?
}
