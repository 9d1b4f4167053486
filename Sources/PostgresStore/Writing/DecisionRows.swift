internal import Engine
internal import Records
internal import Semantics

/// The rows of decisions (§7).
struct DecisionRows {
    private static let columns = """
        SELECT id, tenant, session, task, kind, state, created_at, deadline, question, secret
        FROM decision
        """

    let connection: Connection
    let sealer: any Sealer

    /// Changes those decisions of a batch that must have a certain state for it, where they have
    /// it. Only state and deadline are written.
    ///
    /// - Returns: The others: they stay as they are.
    func change(_ batch: StoreBatch) throws -> [CommitConflict] {
        let decisions = batch.decisions.filter { batch.expectedStates[$0.id] != nil }
        guard !decisions.isEmpty else { return [] }
        let rows = try connection.rows(
            """
            UPDATE decision SET state = new.state, deadline = new.deadline
            FROM unnest($1, $2, $3, $4) AS new (id, state, deadline, expected)
            WHERE decision.id = new.id AND decision.state = new.expected RETURNING decision.id
            """,
            [
                .numbers(decisions.map(\.id.rawValue)), .numbers(decisions.map(\.state.stored)),
                .numbers(decisions.map(\.deadline.milliseconds)),
                .numbers(decisions.map { batch.expectedStates[$0.id]?.stored }),
            ])
        let written = Set(try rows.map { DecisionID(rawValue: $0.int64(0)) })
        return decisions.map(\.id).filter { !written.contains($0) }.map { .decision($0) }
    }

    /// Writes the other decisions of a batch, new or changed. Of one that is there only state and
    /// deadline are written; one whose task has been forgotten is forgotten with it.
    func save(_ batch: StoreBatch) throws {
        let decisions = batch.decisions.filter { batch.expectedStates[$0.id] == nil }
        guard let newest = decisions.map(\.id.rawValue).max() else { return }
        let questions = decisions.map { (decision: $0, parts: $0.questionParts) }
        for some in questions.slices(of: connection.sliceLimit, by: \.parts.byteCount) {
            try save(some)
        }
        // At once, because decisions are forgotten by task, without a look at their numbers.
        try GatewayRow(connection: connection).note(newest)
    }

    private func save(
        _ questions: ArraySlice<(decision: DecisionRecord, parts: RecordParts)>
    ) throws {
        let decisions = questions.map(\.decision)
        let secrets = try questions.map { decision, parts in
            try sealer.sealIfPresent(
                parts.secret, for: .question(of: decision.id, tenant: decision.tenant))
        }
        try connection.send(
            """
            INSERT INTO decision (id, tenant, session, task, kind, state, created_at, deadline,
                question, secret)
            SELECT new.*
            FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS new (id, tenant, session, task,
                kind, state, created_at, deadline, question, secret)
            JOIN task ON task.id = new.task AND task.state <> 6
            ON CONFLICT (id) DO UPDATE SET state = excluded.state, deadline = excluded.deadline
            """,
            [
                .numbers(decisions.map(\.id.rawValue)), .numbers(decisions.map(\.tenant.rawValue)),
                .numbers(decisions.map(\.session.rawValue)),
                .numbers(decisions.map(\.task.rawValue)), .texts(decisions.map(\.kind.rawValue)),
                .numbers(decisions.map(\.state.stored)),
                .numbers(decisions.map(\.createdAt.milliseconds)),
                .numbers(decisions.map(\.deadline.milliseconds)),
                .chunks(questions.map(\.parts.clear.bytes)), .chunks(secrets),
            ])
    }

    /// One decision, unless it is another tenant's.
    func decision(_ id: DecisionID, of tenant: TenantID) throws(StoreError) -> DecisionRecord? {
        let rows = try connection.rows(
            Self.columns + " WHERE id = $1 AND tenant = $2",
            [.number(id.rawValue), .number(tenant.rawValue)])
        return try rows.first.map { row throws(StoreError) in
            try DecisionRecord(row: row, sealer: sealer)
        }
    }

    /// A page in the order of creation; damaged ones are left out, and logged.
    func page(_ query: DecisionQuery) throws(StoreError) -> DecisionPage {
        let rows = try connection.rows(
            """
            SELECT found.* FROM unnest($2) AS wanted (state), LATERAL (
                \(Self.columns) WHERE tenant = $1 AND decision.state = wanted.state AND id > $3
                ORDER BY id LIMIT $4) AS found
            ORDER BY found.id LIMIT $4
            """,
            [
                .number(query.tenant.rawValue), .numbers(query.states.map(\.stored)),
                .number(query.after?.rawValue ?? -1),
                // One more than asked for tells that there are others.
                .number(Int64(query.limit) + 1),
            ])
        var ids: [DecisionID] = []
        let found = try rows.mapReadable(of: "decision") { row throws(StoreError) in
            ids.append(DecisionID(rawValue: row.int64(0)))
            return try DecisionRecord(row: row, sealer: sealer)
        }
        return DecisionPage(found, from: ids, limit: query.limit)
    }

    /// Those that wait, of all tenants, in the order of creation.
    func pending(_ filter: TenantFilter) throws(StoreError) -> [DecisionRecord] {
        let rows = try connection.rows(
            Self.columns + " WHERE state = 2 AND \(filter.by()) ORDER BY id", filter.parameters)
        return try rows.mapReadable(of: "decision") { row throws(StoreError) in
            try DecisionRecord(row: row, sealer: sealer)
        }
    }
}
