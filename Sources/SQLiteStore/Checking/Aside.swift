internal import Engine
internal import GRDB
internal import Semantics

/// Something that the database has rows of, and that may be set aside with them.
struct StoredThing {
    /// Rows of one table.
    struct Rows {
        let table: String
        /// SQL, of columns and literals.
        let condition: String
    }

    let name: String
    let rows: [Rows]
    /// Its number, which is not given again.
    var identifier: Int64 = 0
    /// Whose file in the folder of the contents goes with it.
    var owner: (any Identifier)?

    static func session(_ id: SessionID) -> StoredThing {
        let own = ["cookie", "credential", "event_pack"].map {
            Rows(table: $0, condition: "session = \(id.rawValue)")
        }
        return StoredThing(
            name: "session \(id)",
            rows: [Rows(table: "session", condition: "id = \(id.rawValue)")] + own,
            identifier: id.rawValue)
    }

    static func task(_ id: TaskID) -> StoredThing {
        let own = ["task_status", "task_secret", "content", "decision", "task_metadata"].map {
            Rows(table: $0, condition: "task = \(id.rawValue)")
        }
        return StoredThing(
            name: "task \(id)",
            rows: [Rows(table: "task", condition: "id = \(id.rawValue)")] + own,
            identifier: id.rawValue, owner: id)
    }

    static func decision(_ id: DecisionID) -> StoredThing {
        StoredThing(
            name: "decision \(id)",
            rows: [Rows(table: "decision", condition: "id = \(id.rawValue)")],
            identifier: id.rawValue)
    }

    static func webhook(_ id: WebhookID) -> StoredThing {
        StoredThing(
            name: "webhook \(id)",
            rows: [
                Rows(table: "webhook", condition: "id = \(id.rawValue)"),
                Rows(table: "delivery", condition: "webhook = \(id.rawValue)"),
            ],
            identifier: id.rawValue)
    }

    static func tenant(_ id: TenantID) -> StoredThing {
        StoredThing(
            name: "tenant \(id.rawValue)",
            rows: [Rows(table: "tenant_record", condition: "id = \(id.rawValue)")],
            identifier: id.rawValue)
    }

    static func token(_ id: TokenID) -> StoredThing {
        StoredThing(
            name: "token \(id)", rows: [Rows(table: "token", condition: "id = \(id.rawValue)")],
            identifier: id.rawValue)
    }

    static func file(_ id: FileID) -> StoredThing {
        StoredThing(
            name: "staged file \(id)",
            rows: [Rows(table: "file", condition: "id = \(id.rawValue)")],
            identifier: id.rawValue, owner: id)
    }

    static func response(_ id: CacheEntryID) -> StoredThing {
        let rows = [("cache_entry", "id"), ("cache_metadata", "entry"), ("cache_content", "entry")]
        return StoredThing(
            name: "cached response \(id)",
            rows: rows.map { Rows(table: $0.0, condition: "\($0.1) = \(id.rawValue)") },
            identifier: id.rawValue, owner: id)
    }

    static func creation(_ key: String, of tenant: TenantID) -> StoredThing {
        let text = key.replacing("'", with: "''")
        return StoredThing(
            name: "an Idempotency-Key",
            rows: [
                Rows(
                    table: "creation", condition: "tenant = \(tenant.rawValue) AND key = '\(text)'")
            ])
    }

    static func item(_ item: DamagedItem) -> StoredThing {
        StoredThing(
            name: "a \(item.table) of session \(item.session)",
            rows: [
                Rows(
                    table: item.table,
                    condition: "session = \(item.session.rawValue) AND number = \(item.number)")
            ])
    }

    /// What is left of a task in one table.
    static func remnant(_ task: TaskID, in table: String) -> StoredThing {
        StoredThing(
            name: "\(table) of task \(task)",
            rows: [Rows(table: table, condition: "task = \(task.rawValue)")],
            identifier: task.rawValue)
    }

    /// A pack with those of its session that are older: what is replayed has no gaps.
    static func packs(through last: Int64, of session: SessionID) -> StoredThing {
        StoredThing(
            name: "events of session \(session)",
            rows: [
                Rows(
                    table: "event_pack",
                    condition: "session = \(session.rawValue) AND lastSequence <= \(last)")
            ])
    }
}

/// Takes rows and files out of the way of the gateway, to where they can be looked at.
struct Aside {
    let database: Database
    let contents: ContentFolder
    /// Where files go.
    let folder: String

    /// Makes the table where there is none. It is no part of the schema: no version of Ferry reads
    /// it.
    func prepare() throws {
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS damaged (
                    id INTEGER PRIMARY KEY,
                    foundAt TEXT NOT NULL DEFAULT (datetime()),
                    source TEXT NOT NULL,
                    reason TEXT NOT NULL,
                    statement TEXT NOT NULL
                )
                """)
    }

    func take(_ thing: StoredThing, _ reason: String) throws {
        if let owner = thing.owner { try contents.move(owner, to: folder) }
        for rows in thing.rows {
            if rows.table == "event_pack" { try forgetReplay(of: rows) }
            if rows.table == "session" { try abandonCache(of: rows) }
            try take(rows, reason)
        }
        if thing.identifier > 0 { try GatewayRow(database: database).note(thing.identifier) }
    }

    /// Keeps rows as they are now; they stay where they are.
    func copy(_ thing: StoredThing, _ reason: String) throws {
        for rows in thing.rows { try copy(rows, reason) }
    }

    private func take(_ rows: StoredThing.Rows, _ reason: String) throws {
        try copy(rows, reason)
        try database.execute(sql: "DELETE FROM \(rows.table) WHERE \(rows.condition)")
    }

    private func copy(_ rows: StoredThing.Rows, _ reason: String) throws {
        let columns = try database.columns(in: rows.table).map { "\"\($0.name)\"" }
        let values = columns.map { "quote(\($0))" }.joined(separator: " || ', ' || ")
        let names = columns.joined(separator: ", ")
        try database.execute(
            sql: """
                INSERT INTO damaged (source, reason, statement)
                SELECT ?1, ?2, 'INSERT INTO \(rows.table) (\(names)) VALUES (' || \(values) || ')'
                FROM \(rows.table) WHERE \(rows.condition)
                """, arguments: [rows.table, reason])
    }

    /// Whoever has not seen these events is told so by a reset.
    private func forgetReplay(of packs: StoredThing.Rows) throws {
        try database.execute(
            sql: """
                UPDATE tenant SET forgottenSequence = max(forgottenSequence, coalesce(
                    (SELECT max(tenantThrough) FROM event_pack
                        WHERE event_pack.tenant = tenant.id AND \(packs.condition)), 0))
                """)
    }

    /// A cache is only a copy: housekeeping removes it.
    private func abandonCache(of session: StoredThing.Rows) throws {
        try database.execute(
            sql: """
                INSERT OR IGNORE INTO cache_remains (session, cache)
                SELECT id, cache FROM session WHERE \(session.condition)
                """)
    }
}
