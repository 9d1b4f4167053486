internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Seals every sealed value of a database with another key, inside the transaction that its caller
/// has begun.
///
/// Row by row, in the order of the keys: a value keeps its context and its length, so that a row
/// stays where it is, and of however many only one is in memory.
struct Resealing {
    let database: Database
    let keys: Resealer

    func run() throws {
        for column in SealedColumn.all { try reseal(column) }
        try resealStatus()
        try resealPacks()
        try resealCreations()
        try resealItems(of: Cookie.table)
        try resealItems(of: StoredCredential.table)
        try resealCaches()
    }

    /// Gives each row of a query that is limited to one row, the next after a key, to the body.
    ///
    /// Each row is a query of its own, because the body changes the table that is being read.
    func forEachRow<Found>(
        of table: String, _ sql: String, key: (Found) -> Int64, _ read: (PreparedRow) -> Found,
        _ body: (Found) throws -> Void
    ) throws {
        let select = try PreparedStatement(database, sql)
        var last = Int64.min
        while true {
            select.bind(1, last)
            guard let found = try select.first({ row throws(StoreError) in read(row) }) else {
                return
            }
            last = key(found)
            try naming("\(table) \(last)") { try body(found) }
        }
    }

    /// Runs the body; what it finds damaged is named by its row.
    private func naming(_ row: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            guard case .damaged(let words) = StoreError(error) else { throw error }
            throw StoreError.damaged("\(row): \(words)")
        }
    }

    // MARK: Tables

    private func reseal(_ column: SealedColumn) throws {
        let update = try PreparedStatement(
            database, "UPDATE \(column.table) SET \(column.name) = ?2 WHERE \(column.key) = ?1")
        try forEachRow(
            of: column.table, column.next, key: \.0, { ($0.int64(0), $0.int64(1), $0.bytes(2)) }
        ) { key, tenant, sealed in
            let context = column.context(key, TenantID(rawValue: tenant))
            update.bind(1, key)
            try update.run(2, try keys.resealed(sealed, for: context))
        }
    }

    private func resealStatus() throws {
        let update = try PreparedStatement(
            database, "UPDATE task_status SET status = ?2, secret = ?3 WHERE task = ?1")
        try forEachRow(
            of: "task_status",
            """
            SELECT task, tenant, status, secret FROM task_status LEFT JOIN task ON id = task
            WHERE task > ?1 ORDER BY task LIMIT 1
            """,
            key: \.task,
            { row in
                (
                    task: row.int64(0), tenant: TenantID(rawValue: row.int64(1)),
                    clear: row.bytes(2), secret: row.bytesOrNil(3)
                )
            }
        ) { task, tenant, clear, secret in
            let changed = try keys.resealed(status: clear, of: tenant)
            guard changed != nil || secret != nil else { return }
            update.bind(1, task)
            let secret = try secret.map { secret in
                try keys.resealed(
                    secret, for: .status(of: TaskID(rawValue: task), tenant: tenant))
            }
            try update.run(2, changed ?? clear, 3, secret)
        }
    }

    private func resealCreations() throws {
        let select = try PreparedStatement(
            database,
            """
            SELECT tenant, key, fingerprint FROM creation WHERE (tenant, key) > (?1, ?2)
            ORDER BY tenant, key LIMIT 1
            """)
        let update = try PreparedStatement(
            database, "UPDATE creation SET fingerprint = ?3 WHERE tenant = ?1 AND key = ?2")
        var (tenant, key) = (Int64.min, "")
        while true {
            select.bind(1, tenant)
            select.bind(2, key)
            let found = try select.first { row throws(StoreError) in
                (row.int64(0), try row.string(1), row.bytes(2))
            }
            guard let found else { return }
            (tenant, key) = (found.0, found.1)
            let context = SealContext.creation(key, of: TenantID(rawValue: tenant))
            update.bind(1, tenant)
            update.bind(2, key)
            try naming("creation of tenant \(tenant)") {
                try update.run(3, try keys.resealed(found.2, for: context))
            }
        }
    }

    /// What does not open is removed, as it would be at the next start.
    private func resealItems(of table: String) throws {
        let select = try PreparedStatement(
            database,
            """
            SELECT session, number, tenant, sealed FROM \(table)
            WHERE (session, number) > (?1, ?2) ORDER BY session, number LIMIT 1
            """)
        let update = try PreparedStatement(
            database, "UPDATE \(table) SET sealed = ?3 WHERE session = ?1 AND number = ?2")
        var (session, number) = (Int64.min, Int64.min)
        while true {
            select.bind(1, session)
            select.bind(2, number)
            let found = try select.first { row in
                (row.int64(0), row.int64(1), TenantID(rawValue: row.int64(2)), row.bytes(3))
            }
            guard let found else { return }
            (session, number) = (found.0, found.1)
            let owner = SessionID(rawValue: session)
            let context = SealContext.item(number, in: table, of: owner, tenant: found.2)
            update.bind(1, session)
            update.bind(2, number)
            do {
                try update.run(3, try keys.resealed(found.3, for: context))
            } catch SealError.notAuthentic {
                let damaged = DamagedItem(table: table, session: owner, number: number)
                damaged.note("It does not open with the old key.")
                try damaged.remove(from: database)
            }
        }
    }
}

/// A column of sealed values in a table with one number as its key.
private struct SealedColumn {
    let table: String
    let key: String
    let name: String
    /// Where the tenant of a row is found, if not in the row.
    var tenant = ""
    let context: (Int64, TenantID) -> SealContext

    /// The row after a key: key, tenant, value.
    var next: String {
        """
        SELECT \(table).\(key), tenant, \(table).\(name) FROM \(table) \(tenant)
        WHERE \(table).\(key) > ?1 AND \(table).\(name) IS NOT NULL
        ORDER BY \(table).\(key) LIMIT 1
        """
    }

    static var all: [SealedColumn] {
        [
            SealedColumn(table: "session", key: "id", name: "secret") {
                .constants(of: SessionID(rawValue: $0), tenant: $1)
            },
            SealedColumn(
                table: "task_secret", key: "task", name: "secret",
                tenant: "LEFT JOIN task ON task.id = task_secret.task"
            ) { .request(of: TaskID(rawValue: $0), tenant: $1) },
            SealedColumn(
                table: "content", key: "task", name: "bytes",
                tenant: "LEFT JOIN task ON task.id = content.task"
            ) { .content(of: TaskID(rawValue: $0), tenant: $1) },
            SealedColumn(table: "webhook", key: "id", name: "secret") {
                .webhook(WebhookID(rawValue: $0), tenant: $1)
            },
            SealedColumn(table: "decision", key: "id", name: "secret") {
                .question(of: DecisionID(rawValue: $0), tenant: $1)
            },
        ]
    }
}
