internal import Loop
internal import Semantics

/// The sessions of all tenants: by id, and each tenant's in the order of creation.
@LoopActor
final class SessionDirectory {
    private var sessions = OrderedGroups<TenantID, SessionID, LiveSession>()
    private var sharedOnes: [TenantID: SessionID] = [:]
    /// Background sessions by the names that their tenants have given them (S-6).
    private var named: [Name: SessionID] = [:]
    /// Sessions whose rows cannot be read: nothing is done in them, or with what belongs to them.
    private var damaged: [SessionID: TenantID] = [:]

    private struct Name: Hashable {
        let tenant: TenantID
        let identifier: String
    }

    subscript(_ id: SessionID) -> LiveSession? { sessions[id] }

    /// In no order.
    var values: some Sequence<LiveSession> { sessions.values }

    var count: Int { sessions.count }

    // MARK: Looking up

    /// A tenant's session. Another's does not exist for it.
    func live(_ id: SessionID, _ tenant: TenantID) throws(GatewayError) -> LiveSession {
        guard let session = sessions[id], session.record.tenant == tenant else {
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
            let session = sessions[id], session.record.state != .invalid
        else { return nil }
        return id
    }

    /// Whether a session is some tenant's shared one.
    func isShared(_ id: SessionID) -> Bool { sessions[id]?.record.type == .shared }

    /// A page of a tenant's sessions, of those that fit; the loop is given back while many do not.
    func page(
        _ query: SessionQuery, of tenant: TenantID, where fits: (LiveSession) -> Bool
    ) async -> [LiveSession] {
        let ids = sessions.ids(of: tenant)
        var page: [LiveSession] = []
        var looks = 0
        // Not by `filter`, which would look at all that follow.
        for id in query.order.elements(of: ids, behind: query.after) {
            guard page.count < query.limit else { break }
            if let session = sessions[id], fits(session) { page.append(session) }
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
    func all(of tenant: TenantID) -> [LiveSession] { sessions.values(of: tenant) }

    func insert(_ session: LiveSession) {
        let (id, tenant) = (session.record.id, session.record.tenant)
        sessions.insert(session, as: id, of: tenant)
        if session.record.type == .shared { sharedOnes[tenant] = id }
        if let identifier = session.record.identifier, session.record.state != .invalid {
            named[Name(tenant: tenant, identifier: identifier)] = id
        }
    }

    /// Forgets new sessions that the store has refused.
    func discard(_ refused: RefusedNumbers) {
        for number in refused.numbers {
            let id = SessionID(rawValue: number)
            sessions[id]?.account.end()
            remove(id)
        }
    }

    func remove(_ id: SessionID) {
        if let session = sessions.remove(id) { forgetName(of: session.record) }
    }

    /// Removes many at the cost of one look at each session of their tenants.
    func remove(_ ids: some Sequence<SessionID>) {
        for session in sessions.removeAll(ids) { forgetName(of: session.record) }
    }

    private func forgetName(of record: SessionRecord) {
        if sharedOnes[record.tenant] == record.id { sharedOnes[record.tenant] = nil }
        guard let identifier = record.identifier else { return }
        let name = Name(tenant: record.tenant, identifier: identifier)
        if named[name] == record.id { named[name] = nil }
    }
}
