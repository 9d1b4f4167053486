internal import Diagnostics
internal import Engine
internal import Records
internal import Semantics

/// What a task has left behind.
struct ForgottenTask: Sendable {
    let id: TaskID
    /// Its content, where that was in a file, or may have been.
    var file: ContentName?
    /// Nil where it could not be read.
    var session: SessionID?
    /// Bytes of its content.
    var byteCount: Int64 = 0
}

/// Forgets tasks and sessions, inside the transaction that its caller has begun.
struct Removal {
    let connection: Connection
    let sealer: any Sealer

    /// What stays of a task that stored events are told from.
    private struct Outcome {
        let task: TaskID
        let lastEvent: Int64
        let status: [UInt8]
        let secret: [UInt8]?
    }

    /// Forgets tasks: contents, secrets and decisions at once, the rest when no stored event is
    /// told from it any more. Those whose rows are damaged go altogether, so that they cannot
    /// stand in the way of the others; their contents may have been in files.
    ///
    /// - Returns: Those that there were.
    func forget(_ tasks: [TaskID]) throws -> [ForgottenTask] {
        guard !tasks.isEmpty else { return [] }
        let rows = try connection.rows(
            """
            SELECT task.id, task.tenant, task.session, task.request, task.last_event, task.status,
                task.status_secret, coalesce(session.last_sequence, 0),
                CASE WHEN task.completed_at IS NULL THEN 0 ELSE task.stored_length END,
                task.has_file, (SELECT first_sequence FROM event_pack
                    WHERE event_pack.session = task.session
                    ORDER BY event_pack.last_sequence LIMIT 1)
            FROM task LEFT JOIN session ON session.id = task.session
            WHERE task.id = ANY($1) AND task.state <> 6
            """, [.numbers(tasks.map(\.rawValue))])
        var forgotten: [ForgottenTask] = []
        var outcomes: [Outcome] = []
        var erased: [TaskID] = []
        for row in try rows.map(\.self) {
            let id = TaskID(rawValue: row.int64(0))
            do {
                let outcome = try outcome(of: id, row)
                if let outcome { outcomes.append(outcome) } else { erased.append(id) }
                forgotten.append(
                    ForgottenTask(
                        id: id,
                        file: row.bool(9)
                            ? .task(id, in: try TaskStatus.content(in: row.bytes(5))?.series) : nil,
                        session: SessionID(rawValue: row.int64(2)), byteCount: row.int64(8)))
            } catch {
                guard case .damaged(let words) = StoreError(any: error) else { throw error }
                Log("store.removal").write(
                    .error, "a damaged task was forgotten",
                    ["task": .name(id.description), "error": .words(words)])
                erased.append(id)
                forgotten.append(ForgottenTask(id: id, file: .task(id)))
            }
        }
        try leave(outcomes)
        try erase(erased)
        return forgotten
    }

    /// What stored events are told from; nil where none is.
    private func outcome(of task: TaskID, _ row: DatabaseRow) throws -> Outcome? {
        let context = SealContext.status(of: task, tenant: TenantID(rawValue: row.int64(1)))
        let outcome = try TaskStatus.outcome(
            clear: row.bytes(5), secret: try sealer.openIfPresent(row.bytesOrNil(6), for: context),
            base: try RequestRecord.url(in: row.bytes(3)))
        let lastEvent = row.int64OrNil(4) ?? row.int64(7)
        guard let oldest = row.int64OrNil(10), oldest <= lastEvent else { return nil }
        var parts = RecordParts()
        TaskStatus.write(outcome, to: &parts, base: "")
        return Outcome(
            task: task, lastEvent: lastEvent, status: parts.clear.bytes,
            secret: try sealer.sealIfPresent(parts.secret, for: context))
    }

    /// Leaves rows that nobody sees.
    private func leave(_ outcomes: [Outcome]) throws {
        guard !outcomes.isEmpty else { return }
        let tasks = Parameter.numbers(outcomes.map(\.task.rawValue))
        try removeParts(of: tasks)
        try countOff(tasks)
        try connection.send(
            """
            UPDATE task SET state = 6, request = '', request_secret = NULL, completed_at = NULL,
                kept_since = NULL, has_error = false, has_file = false, has_live_attempt = false,
                stored_length = 0, last_event = new.last_event, status = new.status,
                status_secret = new.secret
            FROM unnest($1, $2, $3, $4) AS new (id, last_event, status, secret)
            WHERE task.id = new.id
            """,
            [
                tasks, .numbers(outcomes.map(\.lastEvent)), .chunks(outcomes.map(\.status)),
                .chunks(outcomes.map(\.secret)),
            ])
    }

    /// Takes away the last that is left of tasks.
    func erase(_ tasks: [TaskID]) throws(StoreError) {
        guard let newest = tasks.max() else { return }
        let ids = Parameter.numbers(tasks.map(\.rawValue))
        try removeParts(of: ids)
        try countOff(ids)
        try connection.send("DELETE FROM task WHERE id = ANY($1)", [ids])
        try GatewayRow(connection: connection).note(newest.rawValue)
    }

    private func removeParts(of tasks: Parameter) throws(StoreError) {
        for table in ["content", "decision", "task_metadata"] {
            try connection.send("DELETE FROM \(table) WHERE task = ANY($1)", [tasks])
        }
    }

    /// Counts tasks no more: before they are changed.
    private func countOff(_ tasks: Parameter) throws(StoreError) {
        try connection.send(
            """
            UPDATE task_count SET count = task_count.count - gone.count
            FROM (SELECT session, state, count(*) AS count FROM task
                WHERE id = ANY($1) AND state <> 6 GROUP BY session, state) AS gone
            WHERE task_count.session = gone.session AND task_count.state = gone.state
            """, [tasks])
    }

    /// Forgets sessions with all that belongs to them.
    func forget(_ sessions: [SessionID]) throws(StoreError) {
        guard !sessions.isEmpty else { return }
        let ids = [Parameter.numbers(sessions.map(\.rawValue))]
        for table in ["content", "decision", "task_metadata"] {
            try connection.send(
                """
                DELETE FROM \(table) WHERE task IN (SELECT id FROM task WHERE session = ANY($1))
                """, ids)
        }
        try connection.send(
            """
            UPDATE gateway SET last_forgotten = greatest(last_forgotten,
                (SELECT max(id) FROM unnest($1) AS gone (id)),
                (SELECT max(id) FROM task WHERE session = ANY($1)))
            """, ids)
        try connection.send(
            """
            UPDATE tenant SET forgotten_sequence = greatest(forgotten_sequence, gone.through)
            FROM (SELECT session.tenant, max(tenant_through) AS through
                FROM event_pack JOIN session ON session.id = event_pack.session
                WHERE session.id = ANY($1) GROUP BY session.tenant) AS gone
            WHERE tenant.id = gone.tenant
            """, ids)
        try CacheRows(connection: connection, sealer: sealer).abandon(sessions)
        try WebhookRows(connection: connection, sealer: sealer).removeAll(of: sessions)
        for table in ["task", "task_count", "event_pack", "cookie", "credential"] {
            try connection.send("DELETE FROM \(table) WHERE session = ANY($1)", ids)
        }
        try connection.send("DELETE FROM session WHERE id = ANY($1)", ids)
    }
}
