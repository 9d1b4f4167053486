package import Engine
internal import GRDB
package import Records
internal import Semantics

extension DurableStore {
    /// By what it is known again where it was moved to.
    package func movedState() throws(StoreError) -> MovedState {
        do {
            let state = try pool.read { database in
                try PreparedStatement(
                    database,
                    """
                    SELECT keyCheck, keptMark, lastForgottenIdentifier,
                        (SELECT sum(lastSequence) FROM tenant), (SELECT max(id) FROM task)
                    FROM gateway
                    """
                ).first { MovedState(row: $0) }
            }
            guard let state else { throw StoreError.damaged("The row of the gateway is missing.") }
            return state
        } catch {
            throw StoreError(error)
        }
    }

    /// Reads all that the database has, table by table, for one of another kind. Nobody writes
    /// meanwhile. Blocks.
    ///
    /// - Parameter body: is given some hundreds of rows at a time.
    /// - Throws: `damaged` for a task that cannot be read, `failed`, or what the body throws.
    package func forEachRows(_ body: (MovedRows) throws -> Void) throws(StoreError) {
        do {
            try pool.read { database in
                for table in MovedTable.all { try table.read(from: database, body) }
            }
        } catch {
            throw StoreError(error)
        }
    }
}

extension MovedTable {
    /// All tables.
    static let all = gateway + sessions + tasks + streams + memories + access

    private static let gateway = [
        MovedTable(
            "gateway",
            [
                Column("id", .number), Column("key_check", .bytes),
                Column("last_forgotten", .number, from: "lastForgottenIdentifier"),
                Column("maximum_bytes_per_second", .number), Column("background_updates", .flag),
                Column("kept_mark", .number), Column("wall_mark", .number),
                Column("boot_mark", .words), Column("elapsed_mark", .number),
            ]),
        MovedTable(
            "tenant",
            [
                Column("id", .number), Column("last_sequence", .number),
                Column("forgotten_sequence", .number),
            ]),
        MovedTable(
            "file",
            [
                Column("id", .number), Column("tenant", .number), Column("length", .number),
                Column("is_complete", .flag), Column("announced_length", .number),
                Column("expected_digest", .words), Column("media_type", .words),
                Column("created_at", .number), Column("used_at", .number),
            ]),
        MovedTable(
            "creation",
            [
                Column("tenant", .number), Column("key", .words), Column("at", .number),
                Column("fingerprint", .bytes), Column("created", .bytes),
            ]),
    ]

    private static let sessions = [
        MovedTable(
            "session",
            [
                Column("id", .number), Column("tenant", .number), Column("type", .text),
                Column("state", .text), Column("description", .words),
                Column("created_at", .number), Column("invalidated_at", .number),
                Column("last_sequence", .number), Column("last_task_number", .number),
                Column("maximum_bytes_per_second", .number), Column("owes_finish", .flag),
                Column("cache", .number), Column("constants", .bytes), Column("secret", .bytes),
                Column("known_leaves", .bytes), Column("metadata", .bytes),
            ]),
        MovedTable(
            "task_count",
            [Column("session", .number), Column("state", .number), Column("count", .number)]),
    ]

    private static let tasks = [
        MovedTable(
            "task",
            from: """
                task LEFT JOIN task_status ON task_status.task = task.id
                LEFT JOIN task_secret ON task_secret.task = task.id
                LEFT JOIN session ON session.id = task.session
                """,
            [
                Column("id", .number, from: "task.id"),
                Column("state", .number, from: "task.state"),
                Column("completed_at", .number), Column("status", .bytes),
                Column("tenant", .number, from: "task.tenant"),
                Column("session", .number, from: "task.session"), Column("number", .number),
                Column("type", .number, from: "task.type"), Column("has_live_attempt", .flag),
                Column(
                    "is_background", .flag,
                    from: "coalesce(session.type = 'background', isBackground, 0)"),
                Column("has_error", .flag, from: "coalesce(hasError, 0)"),
                Column("created_at", .number, from: "task.createdAt"),
                Column("started_at", .number),
                Column("kept_since", .number), Column("first_event", .number),
                Column("last_event", .number), Column("request", .bytes),
                Column("request_secret", .bytes, from: "task_secret.secret"),
                Column("status_secret", .bytes, from: "task_status.secret"),
            ], more: stored),
        MovedTable(
            "task_metadata",
            [
                Column("tenant", .number), Column("key", .words), Column("value", .words),
                Column("task", .number),
            ]),
        MovedTable("content", [Column("task", .number), Column("bytes", .bytes)]),
        MovedTable(
            "decision",
            [
                Column("id", .number), Column("tenant", .number), Column("session", .number),
                Column("task", .number), Column("kind", .text), Column("state", .number),
                Column("created_at", .number), Column("deadline", .number),
                Column("question", .bytes), Column("secret", .bytes),
            ]),
    ]

    /// What the bytes of a task's result, or part, take, and whether its result has a file: of
    /// columns that begin with id, state, completed_at and status.
    @Sendable private static func stored(
        _ columns: [MovedRows.Values]
    ) throws(StoreError) -> [(String, MovedRows.Values)] {
        guard case .numbers(let tasks) = columns[0], case .numbers(let states) = columns[1],
            case .numbers(let ends) = columns[2], case .bytes(let statuses) = columns[3]
        else { return [] }
        var lengths: [Int64] = []
        var files: [Bool] = []
        for (index, status) in statuses.enumerated() {
            let task = TaskID(rawValue: tasks[index] ?? 0)
            guard let status, states[index] != StoredState.removed.rawValue else {
                lengths.append(0)
                files.append(false)
                continue
            }
            do throws(StoreError) {
                let isCompleted = ends[index] != nil
                lengths.append(
                    try StoredBytes.length(in: status, of: task, isCompleted: isCompleted))
                let content = isCompleted ? try TaskStatus.content(in: status) : nil
                files.append(content?.place == .file)
            } catch {
                throw .damaged("The task \(task) cannot be read.")
            }
        }
        return [("stored_length", .numbers(lengths)), ("has_file", .flags(files))]
    }

    private static let streams = [
        MovedTable(
            "event_pack",
            [
                Column("session", .number), Column("last_sequence", .number),
                Column("first_sequence", .number), Column("tenant", .number),
                Column("tenant_through", .number), Column("newest_at", .number),
                Column("events", .bytes),
            ]),
        MovedTable(
            "webhook",
            [
                Column("id", .number), Column("tenant", .number), Column("session", .number),
                Column("state", .text), Column("cursor", .number), Column("created_at", .number),
                Column("properties", .bytes), Column("secret", .bytes),
            ]),
        MovedTable(
            "delivery",
            [
                Column("webhook", .number), Column("position", .number), Column("state", .number),
                Column("kept_at", .number), Column("delivery", .bytes),
            ]),
    ]

    private static let memories = [
        remembered("cookie"), remembered("credential"),
        MovedTable(
            "cache_entry",
            from: """
                cache_entry JOIN cache_metadata ON cache_metadata.entry = cache_entry.id
                LEFT JOIN cache_content ON cache_content.entry = cache_entry.id
                """,
            [
                Column("id", .number), Column("tenant", .number), Column("session", .number),
                Column("cache", .number), Column("fingerprint", .number), Column("size", .number),
                Column("is_file", .flag), Column("used_at", .number), Column("metadata", .bytes),
                Column("bytes", .bytes),
            ]),
        MovedTable("cache_remains", [Column("session", .number), Column("cache", .number)]),
    ]

    private static func remembered(_ table: String) -> MovedTable {
        MovedTable(
            table,
            [
                Column("session", .number), Column("number", .number), Column("tenant", .number),
                Column("sealed", .bytes),
            ])
    }

    private static let access = [
        MovedTable(
            "tenant_record",
            [
                Column("id", .number), Column("name", .words), Column("created_at", .number),
                Column("is_ending", .flag), Column("properties", .bytes),
            ]),
        MovedTable(
            "token",
            [
                Column("id", .number), Column("tenant", .number), Column("digest", .bytes),
                Column("created_at", .number), Column("expires_at", .number),
                Column("last_used_at", .number), Column("properties", .bytes),
            ]),
    ]
}
