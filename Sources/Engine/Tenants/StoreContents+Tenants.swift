internal import Semantics

extension StoreContents {
    /// Tenants that something is stored of, and that no record tells of: what a store lost, or kept
    /// by mistake. A row that is damaged says nothing of whose it is.
    var strayTenants: Set<TenantID> {
        var found = Set(tenantSequences.keys)
        for session in sessions { found.insert(session.tenant) }
        for file in files { found.insert(file.tenant) }
        for webhook in webhooks { found.insert(webhook.tenant) }
        for token in tokens { found.insert(token.tenant) }
        found.subtract(tenants.map(\.id))
        found.subtract(damagedTenants.map(\.id))
        found.subtract(damagedSessions.values)
        found.subtract(damagedFiles.values)
        found.remove(.operatorTenant)
        return found
    }

    /// Tenants whose work is not begun again: those that are being deleted, and those that cannot
    /// be read, as nobody knows what they may do.
    var restingTenants: Set<TenantID> {
        Set(tenants.filter(\.isEnding).map(\.id))
            .union(damagedTenants.map(\.id).filter { $0 != .operatorTenant })
    }

    /// What is of some tenants, and what is of nobody or is read of all: tenants, tokens, settings,
    /// the clock and the greatest identifier.
    func limited(to owners: Set<TenantID>) -> StoreContents {
        var contents = self
        contents.sessions.removeAll { !owners.contains($0.tenant) }
        let known = Set(contents.sessions.map(\.id))
        contents.cookies = cookies.filter { known.contains($0.key) }
        contents.credentials = credentials.filter { known.contains($0.key) }
        contents.activeTasks.removeAll { !owners.contains($0.tenant) }
        contents.pendingDecisions.removeAll { !owners.contains($0.tenant) }
        contents.files.removeAll { !owners.contains($0.tenant) }
        contents.webhooks.removeAll { !owners.contains($0.tenant) }
        contents.tenantSequences = tenantSequences.filter { owners.contains($0.key) }
        contents.outstandingTasks = outstandingTasks.filter { owners.contains($0.key) }
        contents.damagedSessions = damagedSessions.filter { owners.contains($0.value) }
        contents.damagedFiles = damagedFiles.filter { owners.contains($0.value) }
        return contents
    }

    /// What the store holds, but for the work of some tenants.
    func withoutWork(of resting: Set<TenantID>) -> StoreContents {
        guard !resting.isEmpty else { return self }
        var contents = self
        contents.activeTasks.removeAll { resting.contains($0.tenant) }
        contents.pendingDecisions.removeAll { resting.contains($0.tenant) }
        contents.webhooks.removeAll { resting.contains($0.tenant) }
        return contents
    }
}

extension TenantContents {
    /// What is stored of those that are in a set.
    func limited(to tenants: Set<TenantID>) -> TenantContents {
        guard !owned.isSubset(of: tenants) else { return self }
        return TenantContents(
            contents.limited(to: tenants), of: owned.intersection(tenants),
            handedOver: handedOver.intersection(tenants),
            withPartsHere: withPartsHere.intersection(tenants))
    }
}
