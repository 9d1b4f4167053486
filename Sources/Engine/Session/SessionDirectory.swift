internal import Loop
internal import Semantics

/// The sessions of all tenants: by id, and each tenant's in the order of creation.
@LoopActor
final class SessionDirectory {
    private var byID: [SessionID: LiveSession] = [:]
    /// Ascending. Ids grow, so what is new comes last.
    private var ofTenant: [TenantID: [SessionID]] = [:]
    private var sharedOnes: [TenantID: SessionID] = [:]
    /// Background sessions by the names that their tenants have given them (S-6).
    private var named: [Name: SessionID] = [:]
    /// Sessions whose rows cannot be read: nothing is done in them, or with what belongs to them.
    private var damaged: [SessionID: TenantID] = [:]

    private struct Name: Hashable {
        let tenant: TenantID
        let identifier: String
    }

    subscript(_ id: SessionID) -> LiveSession? { byID[id] }

    /// In no order.
    var values: Dictionary<SessionID, LiveSession>.Values { byID.values }

    var count: Int { byID.count }

    // MARK: Looking up

    /// A tenant's session. Another's does not exist for it.
    func live(_ id: SessionID, _ tenant: TenantID) throws(GatewayError) -> LiveSession {
        guard let session = byID[id], session.record.tenant == tenant else {
            throw damaged[id] == tenant ? .damaged : .noSuchSession
        }
        return session
    }

    /// A tenant's session that takes changes (S-11), and has room to note them.
    func active(_ id: SessionID, _ tenant: TenantID) throws(GatewayError) -> LiveSession {
        let session = try live(id, tenant)
        guard session.record.state == .active else { throw .sessionInvalidated }
        try session.requireRoom()
        return session
    }

    /// Whether a session's row cannot be read.
    func isDamaged(_ id: SessionID) -> Bool { damaged[id] != nil }

    /// The tenant's shared session, once it was made (S-4).
    func shared(of tenant: TenantID) -> SessionID? { sharedOnes[tenant] }

    /// A tenant's session of this identifier, unless it is invalid.
    func named(_ identifier: String, of tenant: TenantID) -> SessionID? {
        guard let id = named[Name(tenant: tenant, identifier: identifier)],
            let session = byID[id], session.record.state != .invalid
        else { return nil }
        return id
    }

    /// Whether a session is some tenant's shared one.
    func isShared(_ id: SessionID) -> Bool { byID[id]?.record.type == .shared }

    /// A page of a tenant's sessions, of those that fit; the loop is given back while many do not.
    func page(
        _ query: SessionQuery, of tenant: TenantID, where fits: (LiveSession) -> Bool
    ) async -> [LiveSession] {
        let ids = ofTenant[tenant] ?? []
        var page: [LiveSession] = []
        var looks = 0
        // Not by `filter`, which would look at all that follow.
        for id in query.order.elements(of: ids, behind: query.after) {
            guard page.count < query.limit else { break }
            if let session = byID[id], fits(session) { page.append(session) }
            looks += 1
            if looks.isMultiple(of: Slices.size * 4) { await LoopActor.nextTurn() }
        }
        return page
    }

    // MARK: Coming and going

    /// Takes note of sessions whose rows cannot be read.
    func recall(damaged sessions: [SessionID: TenantID]) {
        damaged.merge(sessions) { $1 }
    }

    /// Forgets those of a tenant, which another node has.
    func forgetDamaged(of tenant: TenantID) { damaged = damaged.filter { $0.value != tenant } }

    /// All sessions of a tenant, in the order of creation.
    func all(of tenant: TenantID) -> [LiveSession] {
        ofTenant[tenant]?.compactMap { byID[$0] } ?? []
    }

    func insert(_ session: LiveSession) {
        let (id, tenant) = (session.record.id, session.record.tenant)
        byID[id] = session
        if session.record.type == .shared { sharedOnes[tenant] = id }
        if let identifier = session.record.identifier, session.record.state != .invalid {
            named[Name(tenant: tenant, identifier: identifier)] = id
        }
        let place = SessionDirectory.place(of: id, in: ofTenant[tenant] ?? [])
        ofTenant[tenant, default: []].insert(id, at: place)
    }

    /// Forgets new sessions that the store has refused.
    func discard(_ refused: RefusedNumbers) {
        for number in refused.numbers {
            let id = SessionID(rawValue: number)
            byID[id]?.account.end()
            remove(id)
        }
    }

    func remove(_ id: SessionID) {
        guard let record = byID.removeValue(forKey: id)?.record else { return }
        forgetName(of: record)
        let tenant = record.tenant
        guard let ids = ofTenant[tenant], ids.count > 1 else {
            ofTenant[tenant] = nil
            return
        }
        ofTenant[tenant]?.remove(at: SessionDirectory.place(of: id, in: ids))
    }

    /// Removes many at the cost of one look at each session of their tenants.
    func remove(_ ids: some Sequence<SessionID>) {
        let records = ids.compactMap { byID.removeValue(forKey: $0)?.record }
        for record in records { forgetName(of: record) }
        let tenants = Set(records.map(\.tenant))
        for tenant in tenants {
            let left = ofTenant[tenant]?.filter { byID[$0] != nil } ?? []
            ofTenant[tenant] = left.isEmpty ? nil : left
        }
    }

    private func forgetName(of record: SessionRecord) {
        if sharedOnes[record.tenant] == record.id { sharedOnes[record.tenant] = nil }
        guard let identifier = record.identifier else { return }
        let name = Name(tenant: record.tenant, identifier: identifier)
        if named[name] == record.id { named[name] = nil }
    }

    /// Where an id is, or would go.
    private static func place(of id: SessionID, in ids: [SessionID]) -> Int {
        guard let last = ids.last, last >= id else { return ids.count }
        return ids.partitioningIndex { $0 >= id }
    }
}
