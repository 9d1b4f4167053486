internal import Diagnostics
internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// What a task has left behind.
struct ForgottenTask: Sendable {
    /// Its content, where that was in a file, or may have been.
    var file: ContentName?
    /// Nil where there was no task that could be read.
    var session: SessionID?
    /// Bytes of its content.
    var byteCount: Int64 = 0
}

/// Forgets tasks and sessions, inside the transaction that its caller has begun.
struct Removal {
    private let database: Database
    private let sealer: any Sealer
    private let gateway: GatewayRow
    private let log = Log("store.removal")

    init(_ database: Database, sealer: any Sealer) throws {
        self.database = database
        self.sealer = sealer
        self.gateway = GatewayRow(database: database)
    }

    /// A task's row, as far as its removal is concerned.
    private struct Row {
        let tenant: TenantID
        let session: SessionID
        /// Nil where it is none that this version knows.
        let state: StoredState?
        let request: [UInt8]
        let lastEvent: Int64?
        let status: [UInt8]
        let secret: [UInt8]?
        let lastSequence: Int64
    }

    /// Forgets a task: content, secrets and decisions at once, the rest when no stored event is
    /// told from it any more.
    @discardableResult
    func forget(_ task: TaskID) throws -> ForgottenTask {
        guard let row = try row(of: task) else {
            try sweepUp(task)
            return ForgottenTask()
        }
        for table in ["content", "task_secret", "decision", "task_metadata"] {
            try run("DELETE FROM \(table) WHERE task = ?1", task.rawValue)
        }
        let content = try TaskStatus.content(in: row.status)
        let lastEvent = row.lastEvent ?? row.lastSequence
        if let oldest = try oldestEvent(of: row.session), oldest <= lastEvent {
            try leaveOutcome(of: task, row, lastEvent: lastEvent)
        } else {
            try erase(task)
        }
        return ForgottenTask(
            file: content?.place == .file ? .task(task, in: content?.series) : nil,
            session: row.session,
            byteCount: content?.storedLength ?? 0)
    }

    /// Takes away what was left of a task that is gone: it would be found again and again by who
    /// looks for tasks that have outlived their time.
    private func sweepUp(_ task: TaskID) throws {
        for table in ["content", "task_secret", "decision", "task_metadata", "task_status"] {
            try run(
                """
                DELETE FROM \(table) WHERE task = ?1
                    AND NOT EXISTS (SELECT 1 FROM task WHERE id = ?1)
                """, task.rawValue)
        }
        // Of one that has been removed events are told from it.
        try run("UPDATE task_status SET completedAt = NULL WHERE task = ?1", task.rawValue)
    }

    /// Forgets a task; one whose row is damaged goes altogether, so that it cannot stand in the way
    /// of the others.
    ///
    /// Its content may have been in a file.
    func forgetEvenDamaged(_ task: TaskID) throws -> ForgottenTask {
        do {
            return try forget(task)
        } catch StoreError.damaged(let words) {
            log.write(
                .error, "a damaged task was forgotten",
                ["task": .name(task.description), "error": .words(words)])
            try erase(task)
            return ForgottenTask(file: .task(task))
        }
    }

    /// Takes away the last that is left of a task.
    func erase(_ task: TaskID) throws {
        try run("DELETE FROM task WHERE id = ?1", task.rawValue)
        try run("DELETE FROM task_status WHERE task = ?1", task.rawValue)
        try run("DELETE FROM task_metadata WHERE task = ?1", task.rawValue)
        try gateway.note(task.rawValue)
    }

    /// Forgets a session with all that belongs to it.
    func forget(_ session: SessionID) throws {
        let ofItsTasks = "WHERE task IN (SELECT id FROM task WHERE session = ?1)"
        for table in ["content", "task_secret", "task_status", "decision", "task_metadata"] {
            try run("DELETE FROM \(table) \(ofItsTasks)", session.rawValue)
        }
        let newestTask = try PreparedStatement(
            database, "SELECT coalesce(max(id), 0) FROM task WHERE session = ?1")
        newestTask.bind(1, session.rawValue)
        let newest = try newestTask.first { $0.int64(0) } ?? 0
        try run(
            """
            UPDATE tenant SET forgottenSequence = max(forgottenSequence, coalesce(
                (SELECT max(tenantThrough) FROM event_pack WHERE session = ?1), 0))
            WHERE id = (SELECT tenant FROM session WHERE id = ?1)
            """, session.rawValue)
        try CacheRemoval(database: database).abandon(session)
        try WebhookTable(database: database, sealer: sealer).removeAll(of: session)
        for sql in [
            "DELETE FROM task WHERE session = ?1", "DELETE FROM task_count WHERE session = ?1",
            "DELETE FROM event_pack WHERE session = ?1",
            "DELETE FROM cookie WHERE session = ?1", "DELETE FROM credential WHERE session = ?1",
            "DELETE FROM session WHERE id = ?1",
        ] {
            try run(sql, session.rawValue)
        }
        try gateway.note(max(newest, session.rawValue))
    }

    /// The sequence of the session's oldest event that is kept.
    func oldestEvent(of session: SessionID) throws -> Int64? {
        let statement = try PreparedStatement(
            database,
            "SELECT firstSequence FROM event_pack WHERE session = ?1 ORDER BY lastSequence LIMIT 1")
        statement.bind(1, session.rawValue)
        return try statement.first { $0.int64(0) }
    }

    /// Leaves a row that nobody sees: what the stored events are told from.
    private func leaveOutcome(of task: TaskID, _ row: Row, lastEvent: Int64) throws {
        let base = try RequestRecord.url(in: row.request)
        let context = SealContext.status(of: task, tenant: row.tenant)
        let outcome = try TaskStatus.outcome(
            clear: row.status, secret: try sealer.openIfPresent(row.secret, for: context),
            base: base)
        var parts = RecordParts()
        TaskStatus.write(outcome, to: &parts, base: "")
        let status = try PreparedStatement(
            database,
            """
            INSERT OR REPLACE INTO task_status (task, completedAt, lastEvent, status, secret)
            VALUES (?1, NULL, ?2, ?3, ?4)
            """)
        status.bind(1, task.rawValue)
        status.bind(2, lastEvent)
        try status.run(
            3, parts.clear.bytes, 4, try sealer.sealIfPresent(parts.secret, for: context))
        let update = try PreparedStatement(
            database, "UPDATE task SET state = ?2, request = x'' WHERE id = ?1")
        update.bind(1, task.rawValue)
        update.bind(2, StoredState.removed.rawValue)
        try update.run()
        var counts = TaskCounts()
        if let state = row.state { counts.leave(state, in: row.session) }
        counts.enter(.removed, in: row.session)
        try counts.write(to: database)
    }

    private func row(of task: TaskID) throws -> Row? {
        let statement = try PreparedStatement(
            database,
            """
            SELECT task.tenant, task.session, task.request, lastEvent, status, task_status.secret,
                lastSequence, task.state
            FROM task LEFT JOIN task_status ON task_status.task = task.id
                LEFT JOIN session ON session.id = task.session
            WHERE task.id = ?1 AND task.state <> ?2
            """)
        statement.bind(1, task.rawValue)
        statement.bind(2, StoredState.removed.rawValue)
        return try statement.first { row in
            Row(
                tenant: TenantID(rawValue: row.int64(0)),
                session: SessionID(rawValue: row.int64(1)),
                state: StoredState(rawValue: row.int64(7)),
                request: row.bytes(2), lastEvent: row.int64OrNil(3), status: row.bytes(4),
                secret: row.bytesOrNil(5), lastSequence: row.int64(6))
        }
    }

    private func run(_ sql: String, _ parameter: Int64) throws {
        let statement = try PreparedStatement(database, sql)
        statement.bind(1, parameter)
        try statement.run()
    }
}
