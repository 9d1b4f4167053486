internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// The rows of decisions (§7).
struct DecisionTable {
    /// All decisions.
    static let columns = """
        SELECT id, tenant, session, task, kind, state, createdAt, deadline, question, secret
        FROM decision
        """

    let database: Database
    let sealer: any Sealer

    /// Changes those decisions of a batch that must have a certain state for it, where they have
    /// it. Only state and deadline are written.
    ///
    /// - Returns: The others: they stay as they are.
    func change(_ batch: StoreBatch) throws -> [CommitConflict] {
        guard !batch.expectedStates.isEmpty else { return [] }
        let update = try PreparedStatement(
            database,
            "UPDATE decision SET state = ?2, deadline = ?3 WHERE id = ?1 AND state = ?4")
        var conflicts: [CommitConflict] = []
        for decision in batch.decisions {
            guard let expected = batch.expectedStates[decision.id] else { continue }
            update.bind(1, decision.id.rawValue)
            update.bind(2, decision.state.stored)
            update.bind(3, decision.deadline.milliseconds)
            update.bind(4, expected.stored)
            try update.run()
            if database.changesCount == 0 { conflicts.append(.decision(decision.id)) }
        }
        return conflicts
    }

    /// Writes the other decisions of a batch, new or changed. Of one that is there only state and
    /// deadline are written; one whose task has been forgotten is forgotten with it.
    func save(_ batch: StoreBatch) throws {
        guard batch.decisions.count > batch.expectedStates.count else { return }
        let update = try PreparedStatement(
            database, "UPDATE decision SET state = ?2, deadline = ?3 WHERE id = ?1")
        let tasks = TaskIndex(database: database)
        var newest: Int64 = 0
        for decision in batch.decisions where batch.expectedStates[decision.id] == nil {
            update.bind(1, decision.id.rawValue)
            update.bind(2, decision.state.stored)
            update.bind(3, decision.deadline.milliseconds)
            try update.run()
            guard database.changesCount == 0, try tasks.knows(decision.task) else { continue }
            try insert(decision)
            newest = max(newest, decision.id.rawValue)
        }
        // At once, because decisions are forgotten by task, without a look at their numbers.
        if newest > 0 { try GatewayRow(database: database).note(newest) }
    }

    private func insert(_ decision: DecisionRecord) throws {
        let insert = try PreparedStatement(
            database,
            """
            INSERT INTO decision (id, tenant, session, task, kind, state, createdAt, deadline,
                question, secret)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """)
        insert.bind(1, decision.id.rawValue)
        insert.bind(2, decision.tenant.rawValue)
        insert.bind(3, decision.session.rawValue)
        insert.bind(4, decision.task.rawValue)
        insert.bind(5, decision.kind.rawValue)
        insert.bind(6, decision.state.stored)
        insert.bind(7, decision.createdAt.milliseconds)
        insert.bind(8, decision.deadline.milliseconds)
        let parts = decision.questionParts
        let secret = try sealer.sealIfPresent(
            parts.secret, for: .question(of: decision.id, tenant: decision.tenant))
        try insert.run(9, parts.clear.bytes, 10, secret)
    }

    /// One decision, unless it is another tenant's.
    func decision(_ id: DecisionID, of tenant: TenantID) throws -> DecisionRecord? {
        let statement = try PreparedStatement(
            database, Self.columns + " WHERE id = ?1 AND tenant = ?2")
        statement.bind(1, id.rawValue)
        statement.bind(2, tenant.rawValue)
        return try statement.first { row throws(StoreError) in
            try DecisionRecord(row: row, sealer: sealer)
        }
    }

    /// A page in the order of creation; damaged ones are left out, and logged.
    func page(_ query: DecisionQuery) throws -> DecisionPage {
        let statement = try PreparedStatement(database, Self.pageOfState)
        statement.bind(1, query.tenant.rawValue)
        statement.bind(3, query.after?.rawValue ?? -1)
        // One more than asked for tells that there are others.
        statement.bind(4, Int64(query.limit) + 1)
        var found: [DecisionRecord] = []
        var ids: [DecisionID] = []
        for state in query.states {
            statement.bind(2, state.stored)
            found += try statement.allReadable(of: "decision") { row throws(StoreError) in
                ids.append(DecisionID(rawValue: row.int64(0)))
                return try DecisionRecord(row: row, sealer: sealer)
            }
        }
        return DecisionPage(found, from: ids, limit: query.limit)
    }

    /// The page of one state: a range of an index.
    static let pageOfState =
        columns + """
             INDEXED BY decision_by_tenant WHERE tenant = ?1 AND state = ?2 AND id > ?3
            ORDER BY id LIMIT ?4
            """

    /// Those that wait, of all tenants, in the order of creation.
    func pending() throws -> [DecisionRecord] {
        try PreparedStatement(database, Self.columns + " WHERE state = 2 ORDER BY id")
            .allReadable(of: "decision") { row throws(StoreError) in
                try DecisionRecord(row: row, sealer: sealer)
            }
    }
}
