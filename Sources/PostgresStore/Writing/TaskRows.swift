internal import Engine
internal import Records
internal import Semantics

/// Writes the rows of tasks, and counts them by session and state.
struct TaskRows {
    let connection: Connection
    let sealer: any Sealer

    /// Writes a batch's tasks; `marks` are those of the created ones, then of the changed ones.
    func write(_ batch: StoreBatch, marks: [EventPacker.Marks]) throws {
        let createdCount = batch.createdTasks.count
        try create(batch.createdTasks, Array(marks.prefix(createdCount)))
        try change(batch.changedTasks, Array(marks.dropFirst(createdCount)))
    }

    /// Sends a statement that writes tasks, or those that write half of them each, where they have
    /// too many bytes for one.
    private func send(
        _ sql: String, _ tasks: [TaskRecord], _ marks: [EventPacker.Marks],
        _ columns: ([TaskRecord], [EventPacker.Marks]) throws -> [Parameter]
    ) throws {
        let parameters = try columns(tasks, marks)
        let byteCount = parameters.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
        guard byteCount > connection.sliceLimit, tasks.count > 1 else {
            return try connection.send(sql, parameters)
        }
        let half = tasks.count / 2
        try send(sql, Array(tasks[..<half]), Array(marks[..<half]), columns)
        try send(sql, Array(tasks[half...]), Array(marks[half...]), columns)
    }

    private func create(_ tasks: [TaskRecord], _ marks: [EventPacker.Marks]) throws {
        guard !tasks.isEmpty else { return }
        try send(Self.creation, tasks, marks, columns)
        try insertMetadata(of: tasks)
    }

    /// All of tasks that are new, in columns.
    private func columns(
        of tasks: [TaskRecord], _ marks: [EventPacker.Marks]
    ) throws -> [Parameter] {
        var requests: [[UInt8]] = []
        var secrets: [[UInt8]?] = []
        for task in tasks {
            var parts = RecordParts()
            task.originalRequest.write(to: &parts)
            task.writeCreator(to: &parts.clear)
            requests.append(parts.clear.bytes)
            secrets.append(
                try sealer.sealIfPresent(
                    parts.secret, for: .request(of: task.id, tenant: task.tenant)))
        }
        return try state(of: tasks, marks) + [
            .numbers(tasks.map(\.tenant.rawValue)), .numbers(tasks.map(\.session.rawValue)),
            .numbers(tasks.map { Int64($0.number) }), .numbers(tasks.map(\.type.stored)),
            .numbers(tasks.map(\.createdAt.milliseconds)), .numbers(marks.map(\.first)),
            .chunks(requests), .chunks(secrets),
        ]
    }

    /// Those that are gone already stay so.
    private func change(_ tasks: [TaskRecord], _ marks: [EventPacker.Marks]) throws {
        guard !tasks.isEmpty else { return }
        try send(Self.change, tasks, marks, state)
        for some in metadataSlices(of: tasks) {
            try connection.send(
                """
                DELETE FROM task_metadata AS old WHERE task = ANY($1) AND NOT EXISTS (
                    SELECT 1 FROM unnest($2, $3, $4) AS new (task, key, value)
                    WHERE new.task = old.task AND new.key = old.key AND new.value = old.value)
                """,
                [.numbers(some.map(\.id.rawValue))] + metadata(of: some).dropFirst())
        }
        try insertMetadata(of: tasks)
    }

    /// What may change of a task, in columns.
    private func state(
        of tasks: [TaskRecord], _ marks: [EventPacker.Marks]
    ) throws -> [Parameter] {
        var statuses: [[UInt8]?] = []
        var secrets: [[UInt8]?] = []
        for task in tasks {
            var parts = RecordParts()
            TaskStatus.write(task, to: &parts)
            let isAsCreated = parts.isEmpty && task.completedAt == nil
            statuses.append(isAsCreated ? nil : parts.clear.bytes)
            secrets.append(
                try sealer.sealIfPresent(
                    parts.secret, for: .status(of: task.id, tenant: task.tenant)))
        }
        let results = tasks.map { $0.state == .completed ? $0.content : nil }
        return [
            .numbers(tasks.map(\.id.rawValue)),
            .numbers(tasks.map { StoredState($0.state).rawValue }),
            .flags(tasks.map(\.hasLiveAttempt)), .flags(tasks.map { $0.error != nil }),
            .flags(results.map { $0?.place == .file }),
            .numbers(tasks.map(\.startedAt?.milliseconds)),
            .numbers(tasks.map(\.completedAt?.milliseconds)),
            .numbers(tasks.map(\.keptSince?.milliseconds)),
            .numbers(tasks.map(\.storedLength)),
            .numbers(marks.map { $0.last == 0 ? nil : $0.last }),
            .chunks(statuses), .chunks(secrets),
        ]
    }

    private static let creation = """
        WITH made AS (
            INSERT INTO task (id, state, has_live_attempt, has_error, has_file, started_at,
                completed_at, kept_since, stored_length, last_event, status, status_secret, tenant,
                session, number, type, created_at, first_event, request, request_secret,
                is_background)
            SELECT new.*, coalesce(session.type = 'background', false)
            FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
                $18, $19, $20) AS new (id, state, has_live_attempt, has_error, has_file, started_at,
                completed_at, kept_since, stored_length, last_event, status, status_secret, tenant,
                session, number, type, created_at, first_event, request, request_secret)
            LEFT JOIN session ON session.id = new.session
            RETURNING task.session, task.state
        )
        INSERT INTO task_count (session, state, count)
        SELECT session, state, count(*) FROM made GROUP BY session, state
        ON CONFLICT (session, state) DO UPDATE SET count = task_count.count + excluded.count
        """

    private static let change = """
        WITH new AS (
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS new (id,
                state, has_live_attempt, has_error, has_file, started_at, completed_at, kept_since,
                stored_length, last_event, status, status_secret)
        ), old AS (
            SELECT task.id, task.session, task.state FROM task JOIN new ON new.id = task.id
        ), changed AS (
            UPDATE task SET state = new.state, has_live_attempt = new.has_live_attempt,
                has_error = new.has_error, has_file = new.has_file, started_at = new.started_at,
                completed_at = new.completed_at, kept_since = new.kept_since,
                stored_length = new.stored_length,
                last_event = coalesce(new.last_event, task.last_event),
                status = new.status, status_secret = new.status_secret
            FROM new WHERE task.id = new.id AND task.state <> 6 RETURNING task.id, task.state
        ), moved AS (
            SELECT old.session, old.state AS left_state, changed.state
            FROM old JOIN changed ON changed.id = old.id WHERE old.state <> changed.state
        )
        INSERT INTO task_count (session, state, count)
        SELECT session, state, sum(difference) FROM (
            SELECT session, state, 1 AS difference FROM moved
            UNION ALL SELECT session, left_state, -1 FROM moved) AS differences
        GROUP BY session, state
        ON CONFLICT (session, state) DO UPDATE SET count = task_count.count + excluded.count
        """

    // MARK: Metadata

    private func insertMetadata(of tasks: [TaskRecord]) throws {
        let described = tasks.filter { !$0.options.metadata.isEmpty }
        for some in metadataSlices(of: described) {
            try connection.send(
                """
                INSERT INTO task_metadata (tenant, task, key, value)
                SELECT new.* FROM unnest($1, $2, $3, $4) AS new (tenant, task, key, value)
                JOIN task ON task.id = new.task AND task.state <> 6
                ON CONFLICT DO NOTHING
                """, metadata(of: some))
        }
    }

    private func metadataSlices(of tasks: [TaskRecord]) -> [ArraySlice<TaskRecord>] {
        tasks.slices(of: connection.sliceLimit) { task in
            task.options.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        }
    }

    private func metadata(of tasks: ArraySlice<TaskRecord>) -> [Parameter] {
        let all = tasks.flatMap { task in
            task.options.metadata.map { (task: task, key: $0.key, value: $0.value) }
        }
        return [
            .numbers(all.map(\.task.tenant.rawValue)), .numbers(all.map(\.task.id.rawValue)),
            .chunks(of: all.map(\.key)), .chunks(of: all.map(\.value)),
        ]
    }
}
