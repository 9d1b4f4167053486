internal import Loop
internal import Semantics

/// The sessions of all tenants: by id, and each tenant's in the order of creation.
@LoopActor
struct SessionTable {
    private var byID: [SessionID: LiveSession] = [:]
    /// Ascending. Ids grow, so what is new comes last.
    private var ofTenant: [TenantID: [SessionID]] = [:]

    subscript(_ id: SessionID) -> LiveSession? { byID[id] }

    /// In no order.
    var values: Dictionary<SessionID, LiveSession>.Values { byID.values }

    var count: Int { byID.count }

    mutating func insert(_ session: LiveSession) {
        let (id, tenant) = (session.record.id, session.record.tenant)
        byID[id] = session
        let place = SessionTable.place(of: id, in: ofTenant[tenant] ?? [])
        ofTenant[tenant, default: []].insert(id, at: place)
    }

    mutating func remove(_ id: SessionID) {
        guard let tenant = byID.removeValue(forKey: id)?.record.tenant else { return }
        guard let ids = ofTenant[tenant], ids.count > 1 else { return ofTenant[tenant] = nil }
        ofTenant[tenant]?.remove(at: SessionTable.place(of: id, in: ids))
    }

    /// Removes many at the cost of one look at each session of their tenants.
    mutating func remove(_ ids: some Sequence<SessionID>) {
        let tenants = Set(ids.compactMap { byID.removeValue(forKey: $0)?.record.tenant })
        for tenant in tenants {
            let left = ofTenant[tenant]?.filter { byID[$0] != nil } ?? []
            ofTenant[tenant] = left.isEmpty ? nil : left
        }
    }

    /// A tenant's sessions behind one of them, or from the first, as many as `limit`, of those that
    /// fit.
    func page(
        of tenant: TenantID, after id: SessionID?, limit: Int, where fits: (LiveSession) -> Bool
    ) -> [LiveSession] {
        let ids = ofTenant[tenant] ?? []
        let start = id.map { id in ids.partitioningIndex { $0 > id } } ?? 0
        var page: [LiveSession] = []
        // Not by `filter`, which would look at all that follow.
        for id in ids[start...] {
            guard page.count < limit else { break }
            if let session = byID[id], fits(session) { page.append(session) }
        }
        return page
    }

    /// Where an id is, or would go.
    private static func place(of id: SessionID, in ids: [SessionID]) -> Int {
        guard let last = ids.last, last >= id else { return ids.count }
        return ids.partitioningIndex { $0 >= id }
    }
}
