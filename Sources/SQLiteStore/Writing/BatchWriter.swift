internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Writes one batch inside the transaction that its caller has begun.
///
/// Costs about a microsecond a row. Events are encoded first, because a task's row names its
/// events.
struct BatchWriter {
    /// How many rows of emptied caches a commit takes along: a few milliseconds.
    private static let remainsLimit = 100

    private let database: Database
    private let sealer: any Sealer
    private let cache: CacheTable
    private let parts: TaskWriter

    init(_ database: Database, sealer: any Sealer) throws {
        self.database = database
        self.sealer = sealer
        self.cache = CacheTable(database: database, sealer: sealer)
        self.parts = try TaskWriter(database, sealer: sealer)
    }

    /// `damaged` are stored responses that cannot be read, and go first.
    func write(_ batch: StoreBatch, damaged: [CacheEntryID] = []) throws -> CommitReceipt {
        let conflicts = try writeConditional(batch)
        // Copied only where there are some: each of its lists is counted.
        try writeRest(of: conflicts.isEmpty ? batch : batch.without(conflicts), damaged: damaged)
        return CommitReceipt(conflicts: conflicts)
    }

    /// Writes the changes that have a precondition, where it holds: each by the statement that asks
    /// for it.
    private func writeConditional(_ batch: StoreBatch) throws -> [CommitConflict] {
        try CreationTable(database: database, sealer: sealer).insert(batch.creations)
            + DecisionTable(database: database, sealer: sealer).change(batch)
    }

    private func writeRest(of batch: StoreBatch, damaged: [CacheEntryID]) throws {
        var packer = EventPacker(batch, sealer: sealer)
        try packer.pack(batch.events)
        packer.completeMarks(from: batch.sessions)
        try writeTenants(batch, packer)
        try writeSessions(batch.sessions)
        var tasks = parts
        // By index: an element of a loop would be copied, and a task has some forty references to
        // count.
        for index in batch.createdTasks.indices {
            try tasks.create(batch.createdTasks[index], events: packer.marks[index])
        }
        for index in batch.changedTasks.indices {
            let marks = packer.marks[batch.createdTasks.count + index]
            try tasks.change(batch.changedTasks[index], events: marks)
        }
        // Before sessions are removed, and their counts with them.
        try tasks.writeCounts(to: database)
        try writeContents(batch)
        try DecisionTable(database: database, sealer: sealer).save(batch)
        try writePacks(packer, at: batch.keptAt)
        let files = FileTable(database: database)
        try files.save(batch.files)
        try files.remove(batch.removedFiles)
        try RememberedTable(database: database, sealer: sealer).apply(batch.cookies)
        try RememberedTable(database: database, sealer: sealer).apply(batch.credentials)
        try WebhookTable(database: database, sealer: sealer).apply(batch)
        let tenants = TenantTable(database: database)
        try tenants.save(batch.tenants)
        try AccessTokenTable(database: database).apply(batch)
        try CacheRemoval(database: database).remove(damaged)
        try cache.apply(batch)
        let gateway = GatewayRow(database: database)
        if let limit = batch.gatewayLimit { try gateway.set(limit: limit) }
        if let isOn = batch.backgroundUpdates { try gateway.set(backgroundUpdates: isOn) }
        if let mark = batch.clockMark { try gateway.set(mark: mark) }
        if packer.newestDecision > 0 { try gateway.note(packer.newestDecision) }
        let removal = try Removal(database, sealer: sealer)
        for task in batch.removedTasks { _ = try removal.forgetEvenDamaged(task) }
        for session in batch.removedSessions { try removal.forget(session) }
        try tenants.remove(batch.removedTenants)
        _ = try CacheRemoval(database: database).removeRemains(limit: Self.remainsLimit)
    }

    private func writeTenants(_ batch: StoreBatch, _ packer: EventPacker) throws {
        var sequences = batch.tenantSequences.merging(packer.newestOfTenant, uniquingKeysWith: max)
        for session in batch.sessions where sequences[session.tenant] == nil {
            sequences[session.tenant] = 0
        }
        let statement = try PreparedStatement(
            database,
            """
            INSERT INTO tenant (id, lastSequence) VALUES (?1, ?2)
            ON CONFLICT (id) DO UPDATE
                SET lastSequence = max(CAST(lastSequence AS INTEGER), excluded.lastSequence)
            """)
        for (tenant, sequence) in sequences {
            statement.bind(1, tenant.rawValue)
            statement.bind(2, sequence)
            try statement.run()
        }
    }

    private func writeSessions(_ sessions: [SessionRecord]) throws {
        let update = try PreparedStatement(
            database,
            """
            UPDATE session SET state = ?2, description = ?3, invalidatedAt = ?4, lastSequence = ?5,
                lastTaskNumber = ?6, maximumBytesPerSecond = ?7, knownLeaves = ?8,
                owesFinish = ?9, metadata = ?10
            WHERE id = ?1
            """)
        for session in sessions {
            update.bind(1, session.id.rawValue)
            update.bind(2, session.state.rawValue)
            update.bind(3, session.description)
            update.bind(4, session.invalidatedAt?.milliseconds)
            update.bind(5, session.lastSequence)
            update.bind(6, Int64(session.lastTaskNumber))
            update.bind(7, session.maximumBytesPerSecond)
            update.bind(8, KnownLeaf.bytes(of: session.knownLeaves))
            update.bind(9, session.owesFinish ? 1 : 0)
            update.bind(10, RecordWriter.column(of: session.metadata))
            try update.run()
            if database.changesCount == 0 { try insert(session) }
        }
    }

    private func insert(_ session: SessionRecord) throws {
        let insert = try PreparedStatement(
            database,
            """
            INSERT INTO session (id, state, description, invalidatedAt, lastSequence,
                lastTaskNumber, maximumBytesPerSecond, tenant, type, createdAt, constants, secret,
                knownLeaves, owesFinish, metadata)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
            """)
        var constants = RecordParts()
        SessionConstants.write(session, to: &constants)
        insert.bind(1, session.id.rawValue)
        insert.bind(2, session.state.rawValue)
        insert.bind(3, session.description)
        insert.bind(4, session.invalidatedAt?.milliseconds)
        insert.bind(5, session.lastSequence)
        insert.bind(6, Int64(session.lastTaskNumber))
        insert.bind(7, session.maximumBytesPerSecond)
        insert.bind(8, session.tenant.rawValue)
        insert.bind(9, session.type.rawValue)
        insert.bind(10, session.createdAt.milliseconds)
        insert.bind(13, KnownLeaf.bytes(of: session.knownLeaves))
        insert.bind(14, session.owesFinish ? 1 : 0)
        insert.bind(15, RecordWriter.column(of: session.metadata))
        let secret = try sealer.sealIfPresent(
            constants.secret, for: .constants(of: session.id, tenant: session.tenant))
        try insert.run(11, constants.clear.bytes, 12, secret)
    }

    /// What is forgotten goes first: a new content of the same task stays.
    private func writeContents(_ batch: StoreBatch) throws {
        if !batch.removedContents.isEmpty {
            let delete = try PreparedStatement(database, "DELETE FROM content WHERE task = ?1")
            for task in batch.removedContents {
                delete.bind(1, task.rawValue)
                try delete.run()
            }
        }
        guard !batch.contents.isEmpty else { return }
        let insert = try PreparedStatement(
            database,
            """
            INSERT INTO content (task, bytes) VALUES (?1, ?2)
            ON CONFLICT DO UPDATE SET bytes = excluded.bytes
            """)
        let tenant = try PreparedStatement(
            database, "SELECT tenant FROM task WHERE id = ?1 AND state <> ?2")
        tenant.bind(2, StoredState.removed.rawValue)
        for content in batch.contents {
            tenant.bind(1, content.task.rawValue)
            // The task is gone already: so is its content.
            guard let owner = try tenant.first({ TenantID(rawValue: $0.int64(0)) }) else {
                continue
            }
            insert.bind(1, content.task.rawValue)
            try insert.run(
                2, try sealer.seal(content.bytes, for: .content(of: content.task, tenant: owner)))
        }
    }

    private func writePacks(_ packer: EventPacker, at instant: KeptTime) throws {
        guard !packer.packs.isEmpty else { return }
        let newestOfTenant = packer.newestOfTenant
        let insert = try PreparedStatement(
            database,
            """
            INSERT INTO event_pack (tenant, session, firstSequence, lastSequence, tenantThrough,
                newestAt, events)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        for pack in packer.packs {
            insert.bind(1, pack.tenant.rawValue)
            insert.bind(2, pack.session.rawValue)
            insert.bind(3, pack.firstSequence)
            insert.bind(4, pack.lastSequence)
            insert.bind(5, newestOfTenant[pack.tenant] ?? pack.newestTenantSequence)
            insert.bind(6, instant.milliseconds)
            try insert.run(7, pack.bytes)
        }
    }
}
