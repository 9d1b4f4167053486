internal import Engine
internal import Records
internal import Semantics

/// Writes one batch inside the transaction that its caller has begun: a statement for all rows of a
/// kind, and none of them is waited for that nothing depends on.
///
/// Events are encoded first, because a task's row names its events.
struct BatchWriter {
    let connection: Connection
    let sealer: any Sealer
    /// Sessions of which it is known that their rows are there.
    let knownSessions: Set<SessionID>

    /// `damaged` are stored responses that cannot be read, and go first.
    func write(_ batch: StoreBatch, damaged: [CacheEntryID]) throws -> CommitReceipt {
        let conflicts = try writeConditional(batch)
        try writeRest(of: conflicts.isEmpty ? batch : batch.without(conflicts), damaged: damaged)
        return CommitReceipt(conflicts: conflicts)
    }

    /// Writes the changes that have a precondition, where it holds: each by the statement that asks
    /// for it.
    private func writeConditional(_ batch: StoreBatch) throws -> [CommitConflict] {
        try CreationRows(connection: connection, sealer: sealer).insert(batch.creations)
            + DecisionRows(connection: connection, sealer: sealer).change(batch)
    }

    private func writeRest(of batch: StoreBatch, damaged: [CacheEntryID]) throws {
        var packer = EventPacker(batch, sealer: sealer)
        try packer.pack(batch.events)
        packer.completeMarks(from: batch.sessions)
        let gateway = GatewayRow(connection: connection)
        let removal = Removal(connection: connection, sealer: sealer)
        try writeCounters(of: batch, packer)
        try SessionRows(connection: connection, sealer: sealer)
            .save(batch.sessions, known: knownSessions)
        try TaskRows(connection: connection, sealer: sealer).write(batch, marks: packer.marks)
        try writeContents(batch)
        try DecisionRows(connection: connection, sealer: sealer).save(batch)
        try writePacks(packer, at: batch.keptAt)
        let files = FileRows(connection: connection)
        try files.save(batch.files)
        try files.remove(batch.removedFiles)
        try RememberedRows(connection: connection, sealer: sealer).apply(batch.cookies)
        try RememberedRows(connection: connection, sealer: sealer).apply(batch.credentials)
        try WebhookRows(connection: connection, sealer: sealer).apply(batch)
        try AccessRows(connection: connection).save(batch)
        let caches = CacheRows(connection: connection, sealer: sealer)
        try caches.remove(damaged)
        try caches.apply(batch)
        try gateway.apply(batch)
        try gateway.note(packer.newestDecision)
        _ = try removal.forget(batch.removedTasks)
        try removal.forget(batch.removedSessions)
        try AccessRows(connection: connection).remove(batch.removedTenants)
    }

    private func writeCounters(of batch: StoreBatch, _ packer: EventPacker) throws {
        var sequences = batch.tenantSequences.merging(packer.newestOfTenant, uniquingKeysWith: max)
        for session in batch.sessions where sequences[session.tenant] == nil {
            sequences[session.tenant] = 0
        }
        guard !sequences.isEmpty else { return }
        let counters = sequences.sorted { $0.key.rawValue < $1.key.rawValue }
        try connection.send(
            """
            INSERT INTO tenant (id, last_sequence) SELECT * FROM unnest($1, $2)
            ON CONFLICT (id) DO UPDATE
                SET last_sequence = greatest(tenant.last_sequence, excluded.last_sequence)
            """,
            [.numbers(counters.map(\.key.rawValue)), .numbers(counters.map(\.value))])
    }

    /// What is forgotten goes first: a new content of the same task stays.
    private func writeContents(_ batch: StoreBatch) throws {
        if !batch.removedContents.isEmpty {
            try connection.send(
                "DELETE FROM content WHERE task = ANY($1)",
                [.numbers(batch.removedContents.map(\.rawValue))])
        }
        guard !batch.contents.isEmpty else { return }
        let tenants = try tenants(of: batch)
        // Where the task is gone already, so is its content.
        let contents = batch.contents.filter { tenants[$0.task] != nil }
        for some in contents.slices(of: connection.sliceLimit, by: \.bytes.count) {
            let sealed = try some.compactMap { content in
                try tenants[content.task].map {
                    try sealer.seal(content.bytes, for: .content(of: content.task, tenant: $0))
                }
            }
            try connection.send(
                """
                INSERT INTO content (task, bytes) SELECT new.task, new.bytes
                FROM unnest($1, $2) AS new (task, bytes)
                JOIN task ON task.id = new.task AND task.state <> 6
                ON CONFLICT (task) DO UPDATE SET bytes = excluded.bytes
                """,
                [.numbers(some.map(\.task.rawValue)), .chunks(sealed)])
        }
    }

    /// Whose the tasks are that have contents: mostly the batch has them, too.
    private func tenants(of batch: StoreBatch) throws -> [TaskID: TenantID] {
        var tenants: [TaskID: TenantID] = [:]
        for task in batch.createdTasks { tenants[task.id] = task.tenant }
        for task in batch.changedTasks { tenants[task.id] = task.tenant }
        let others = batch.contents.map(\.task).filter { tenants[$0] == nil }
        guard !others.isEmpty else { return tenants }
        let rows = try connection.rows(
            "SELECT id, tenant FROM task WHERE id = ANY($1)", [.numbers(others.map(\.rawValue))])
        for (task, tenant) in try rows.map({ ($0.int64(0), $0.int64(1)) }) {
            tenants[TaskID(rawValue: task)] = TenantID(rawValue: tenant)
        }
        return tenants
    }

    private func writePacks(_ packer: EventPacker, at instant: KeptTime) throws {
        let newest = packer.newestOfTenant
        for packs in packer.packs.slices(of: connection.sliceLimit, by: \.bytes.count) {
            try connection.send(
                """
                INSERT INTO event_pack (session, last_sequence, first_sequence, tenant,
                    tenant_through, events, newest_at)
                SELECT *, $7 FROM unnest($1, $2, $3, $4, $5, $6)
                """,
                [
                    .numbers(packs.map(\.session.rawValue)), .numbers(packs.map(\.lastSequence)),
                    .numbers(packs.map(\.firstSequence)), .numbers(packs.map(\.tenant.rawValue)),
                    .numbers(packs.map { newest[$0.tenant] ?? $0.newestTenantSequence }),
                    .chunks(packs.map(\.bytes)), .number(instant.milliseconds),
                ])
        }
    }
}

extension Array {
    /// Its elements in their order, as many at a time as one statement writes, and at least one: a
    /// statement is limited, and what has one with more in it would be refused for good.
    ///
    /// - Parameters:
    ///   - limit: how many bytes that is.
    ///   - size: how many an element has.
    /// - Returns: the slices; none of an empty array.
    func slices(of limit: Int, by size: (Element) -> Int) -> [ArraySlice<Element>] {
        var slices: [ArraySlice<Element>] = []
        var (start, byteCount) = (startIndex, 0)
        for index in indices {
            let more = size(self[index])
            if byteCount + more > limit, index > start {
                slices.append(self[start..<index])
                (start, byteCount) = (index, 0)
            }
            byteCount += more
        }
        if start < endIndex { slices.append(self[start...]) }
        return slices
    }
}
