public import Semantics

extension StoreBatch {
    /// Whose work is in the batch, as far as what it has names a tenant. Costs a look at every
    /// change.
    public var tenantsOfWork: Set<TenantID> {
        var found = Set(tenantSequences.keys)
        for session in sessions { found.insert(session.tenant) }
        for task in createdTasks { found.insert(task.tenant) }
        for task in changedTasks { found.insert(task.tenant) }
        for decision in decisions { found.insert(decision.tenant) }
        for event in events { found.insert(event.tenant) }
        for file in files { found.insert(file.tenant) }
        for creation in creations { found.insert(creation.tenant) }
        for change in cookies { found.insert(change.tenant) }
        for change in credentials { found.insert(change.tenant) }
        for response in cacheEntries { found.insert(response.entry.tenant) }
        for webhook in webhooks { found.insert(webhook.tenant) }
        return found
    }

    /// The batch without the work of some tenants, for a store of which somebody else has them.
    /// What it says of tenants themselves and of tokens stays, and so does what is known by its
    /// number alone, unless that is of a session, a task or a webhook that goes.
    public func without(workOf tenants: Set<TenantID>) -> StoreBatch {
        var batch = self
        var numbers: Set<Int64> = []
        for session in sessions where tenants.contains(session.tenant) {
            numbers.insert(session.id.rawValue)
        }
        for task in createdTasks + changedTasks where tenants.contains(task.tenant) {
            numbers.insert(task.id.rawValue)
        }
        for webhook in webhooks where tenants.contains(webhook.tenant) {
            numbers.insert(webhook.id.rawValue)
        }
        batch.sessions.removeAll { tenants.contains($0.tenant) }
        batch.createdTasks.removeAll { tenants.contains($0.tenant) }
        batch.changedTasks.removeAll { tenants.contains($0.tenant) }
        batch.contents.removeAll { numbers.contains($0.task.rawValue) }
        batch.removedContents.removeAll { numbers.contains($0.rawValue) }
        batch.decisions.removeAll { tenants.contains($0.tenant) }
        for decision in decisions where tenants.contains(decision.tenant) {
            batch.expectedStates[decision.id] = nil
        }
        batch.successors = successors.filter { !numbers.contains($0.key.rawValue) }
        batch.events.removeAll { tenants.contains($0.tenant) }
        batch.tenantSequences = tenantSequences.filter { !tenants.contains($0.key) }
        batch.files.removeAll { tenants.contains($0.tenant) }
        batch.creations.removeAll { tenants.contains($0.tenant) }
        batch.cookies.removeAll { tenants.contains($0.tenant) }
        batch.credentials.removeAll { tenants.contains($0.tenant) }
        batch.emptiedCaches.removeAll { numbers.contains($0.rawValue) }
        batch.cacheEntries.removeAll { tenants.contains($0.entry.tenant) }
        batch.webhooks.removeAll { tenants.contains($0.tenant) }
        batch.replayedWebhooks = replayedWebhooks.filter { !numbers.contains($0.key.rawValue) }
        batch.webhookCursors = webhookCursors.filter { !numbers.contains($0.key.rawValue) }
        batch.deliveries.removeAll { numbers.contains($0.webhook.rawValue) }
        return batch
    }
}
