internal import Diagnostics
internal import Engine
internal import Records
internal import Semantics

/// Seals every sealed value of the tables with another key, some rows at a time in the order of
/// their keys, inside the transaction that its caller has begun.
struct Resealing {
    let connection: Connection
    let keys: Resealer

    func run() throws {
        for column in SealedColumn.all { try reseal(column) }
        try resealTasks()
        try resealCreations()
        try resealItems(of: Cookie.table)
        try resealItems(of: StoredCredential.table)
        try resealPacks()
        try resealResponses()
    }

    /// Gives all rows of a query to the body, some at a time.
    ///
    /// - Parameters:
    ///   - sql: selects the rows behind a key, in its order, up to a limit.
    ///   - first: the parameters with a key in front of all others.
    ///   - key: the parameters for what lies behind a row.
    ///   - body: takes rows.
    /// - Throws: what the body throws, or the database's `StoreError`.
    private func forEachPage(
        _ sql: String, after first: [Parameter], _ key: (DatabaseRow) -> [Parameter],
        _ body: (Rows) throws -> Void
    ) throws {
        var place = first
        while true {
            let rows = try connection.rows(sql, place)
            guard let last = rows.last else { return }
            place = key(last)
            try body(rows)
        }
    }

    /// Runs the body; what it finds damaged is named by its row.
    private func naming<Value>(_ row: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            guard case .damaged(let words) = StoreError(any: error) else { throw error }
            throw StoreError.damaged("\(row): \(words)")
        }
    }

    /// Runs a statement. What is sent without an answer would gather in memory.
    private func run(_ sql: String, _ parameters: [Parameter]) throws {
        _ = try connection.count(sql, parameters)
    }

    // MARK: Tables

    private func reseal(_ column: SealedColumn) throws {
        try forEachPage(
            column.next, after: [.number(.min)], { [.number($0.int64(0))] }
        ) { rows in
            let resealed = try rows.map { row throws(StoreError) in
                let key = row.int64(0)
                do {
                    return try naming("\(column.table) \(key)") {
                        try keys.resealed(
                            row.bytes(2),
                            for: column.context(key, TenantID(rawValue: row.int64(1))))
                    }
                } catch {
                    throw StoreError(any: error)
                }
            }
            try run(
                """
                UPDATE \(column.table) SET \(column.name) = new.value
                FROM unnest($1, $2) AS new (key, value) WHERE \(column.key) = new.key
                """,
                [
                    .numbers(try rows.map { row throws(StoreError) in row.int64(0) }),
                    .chunks(resealed),
                ])
        }
    }

    /// The request's secret, and both parts of the status: an error has resume data.
    private func resealTasks() throws {
        try forEachPage(
            """
            SELECT id, tenant, request_secret, status, status_secret FROM task
            WHERE id > $1 AND (request_secret IS NOT NULL OR status IS NOT NULL)
            ORDER BY id LIMIT 100
            """, after: [.number(.min)], { [.number($0.int64(0))] }
        ) { rows in
            var numbers: [Int64] = []
            var (requests, statuses, secrets): ([[UInt8]?], [[UInt8]?], [[UInt8]?]) = ([], [], [])
            for row in try rows.map({ row throws(StoreError) in row }) {
                let tenant = TenantID(rawValue: row.int64(1))
                let id = TaskID(rawValue: row.int64(0))
                try naming("task \(id)") {
                    let request = try row.bytesOrNil(2).map {
                        try keys.resealed($0, for: .request(of: id, tenant: tenant))
                    }
                    let status = try row.bytesOrNil(3).flatMap {
                        try keys.resealed(status: $0, of: tenant)
                    }
                    let secret = try row.bytesOrNil(4).map {
                        try keys.resealed($0, for: .status(of: id, tenant: tenant))
                    }
                    guard request != nil || status != nil || secret != nil else { return }
                    numbers.append(id.rawValue)
                    requests.append(request)
                    statuses.append(status)
                    secrets.append(secret)
                }
            }
            guard !numbers.isEmpty else { return }
            try run(
                """
                UPDATE task SET request_secret = coalesce(new.request, request_secret),
                    status = coalesce(new.status, task.status),
                    status_secret = coalesce(new.secret, status_secret)
                FROM unnest($1, $2, $3, $4) AS new (id, request, status, secret)
                WHERE task.id = new.id
                """, [.numbers(numbers), .chunks(requests), .chunks(statuses), .chunks(secrets)])
        }
    }

    private func resealCreations() throws {
        try forEachPage(
            """
            SELECT tenant, key, fingerprint FROM creation WHERE (tenant, key) > ($1, $2)
            ORDER BY tenant, key LIMIT 100
            """, after: [.number(.min), .bytes([])],
            { [.number($0.int64(0)), .bytes($0.bytes(1))] }
        ) { rows in
            var values: [[UInt8]?] = []
            for row in try rows.map({ row throws(StoreError) in row }) {
                let tenant = TenantID(rawValue: row.int64(0))
                let context = SealContext.creation(row.stringOrNil(1) ?? "", of: tenant)
                try naming("creation of tenant \(tenant.rawValue)") {
                    values.append(try keys.resealed(row.bytes(2), for: context))
                }
            }
            try run(
                """
                UPDATE creation SET fingerprint = new.value
                FROM unnest($1, $2, $3) AS new (tenant, key, value)
                WHERE creation.tenant = new.tenant AND creation.key = new.key
                """,
                [
                    .numbers(try rows.map { row throws(StoreError) in row.int64(0) }),
                    .chunks(try rows.map { row throws(StoreError) in row.bytes(1) }),
                    .chunks(values),
                ])
        }
    }

    /// What does not open is removed, as it would be at the next start.
    private func resealItems(of table: String) throws {
        try forEachPage(
            """
            SELECT session, number, tenant, sealed FROM \(table)
            WHERE (session, number) > ($1, $2) ORDER BY session, number LIMIT 100
            """, after: [.number(.min), .number(.min)],
            { [.number($0.int64(0)), .number($0.int64(1))] }
        ) { rows in
            var (sessions, numbers, values): ([Int64], [Int64], [[UInt8]?]) = ([], [], [])
            for row in try rows.map({ row throws(StoreError) in row }) {
                let (session, number) = (row.int64(0), row.int64(1))
                let context = SealContext.item(
                    number, in: table, of: SessionID(rawValue: session),
                    tenant: TenantID(rawValue: row.int64(2)))
                do {
                    values.append(try keys.resealed(row.bytes(3), for: context))
                } catch SealError.notAuthentic {
                    Log.damage(of: table, number, "It does not open with the old key.")
                    values.append(nil)
                }
                sessions.append(session)
                numbers.append(number)
            }
            let parameters: [Parameter] = [
                .numbers(sessions), .numbers(numbers), .chunks(values),
            ]
            let new = "unnest($1, $2, $3) AS new (session, number, value)"
            let isNew = "\(table).session = new.session AND \(table).number = new.number"
            try run(
                "DELETE FROM \(table) USING \(new) WHERE \(isNew) AND new.value IS NULL",
                parameters)
            try run("UPDATE \(table) SET sealed = new.value FROM \(new) WHERE \(isNew)", parameters)
        }
    }

    /// What events carry. Packs without anything sealed are not written.
    private func resealPacks() throws {
        try forEachPage(
            """
            SELECT session, last_sequence, tenant, events FROM event_pack
            WHERE (session, last_sequence) > ($1, $2) ORDER BY session, last_sequence LIMIT 20
            """, after: [.number(.min), .number(.min)],
            { [.number($0.int64(0)), .number($0.int64(1))] }
        ) { rows in
            var (sessions, numbers, packs): ([Int64], [Int64], [[UInt8]?]) = ([], [], [])
            for row in try rows.map({ row throws(StoreError) in row }) {
                let session = SessionID(rawValue: row.int64(0))
                let pack = try naming("event_pack \(session) \(row.int64(1))") {
                    try keys.resealed(
                        pack: row.bytes(3), of: TenantID(rawValue: row.int64(2)), session)
                }
                guard let pack else { continue }
                sessions.append(session.rawValue)
                numbers.append(row.int64(1))
                packs.append(pack)
            }
            guard !packs.isEmpty else { return }
            try run(
                """
                UPDATE event_pack SET events = new.events
                FROM unnest($1, $2, $3) AS new (session, last_sequence, events)
                WHERE event_pack.session = new.session
                    AND event_pack.last_sequence = new.last_sequence
                """, [.numbers(sessions), .numbers(numbers), .chunks(packs)])
        }
    }

    /// Stored responses get the fingerprints that they are looked up by with the new key, too. One
    /// that does not open is removed, as it would be at its next use.
    private func resealResponses() throws {
        try forEachPage(
            """
            SELECT id, tenant, session, is_file, used_at, metadata, bytes FROM cache_entry
            WHERE id > $1 ORDER BY id LIMIT 50
            """, after: [.number(.min)], { [.number($0.int64(0))] }
        ) { rows in
            var (numbers, lost, fingerprints): ([Int64], [Int64], [Int64]) = ([], [], [])
            var (metadata, contents): ([[UInt8]?], [[UInt8]?]) = ([], [])
            for row in try rows.map({ row throws(StoreError) in row }) {
                let columns = CacheRow(
                    id: CacheEntryID(rawValue: row.int64(0)),
                    tenant: TenantID(rawValue: row.int64(1)),
                    session: SessionID(rawValue: row.int64(2)), isFile: row.bool(3),
                    usedAt: Timestamp(milliseconds: row.int64(4)))
                let response = try keys.resealed(
                    columns, metadata: row.bytes(5), content: row.bytesOrNil(6))
                guard let response else {
                    lost.append(row.int64(0))
                    continue
                }
                numbers.append(row.int64(0))
                fingerprints.append(response.fingerprint)
                metadata.append(response.metadata)
                contents.append(response.content)
            }
            try run("DELETE FROM cache_entry WHERE id = ANY($1)", [.numbers(lost)])
            try run(
                """
                UPDATE cache_entry SET fingerprint = new.fingerprint, metadata = new.metadata,
                    bytes = new.bytes
                FROM unnest($1, $2, $3, $4) AS new (id, fingerprint, metadata, bytes)
                WHERE cache_entry.id = new.id
                """,
                [
                    .numbers(numbers), .numbers(fingerprints), .chunks(metadata),
                    .chunks(contents),
                ])
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

    /// The rows after a key: key, tenant, value.
    var next: String {
        """
        SELECT \(table).\(key), tenant, \(table).\(name) FROM \(table) \(tenant)
        WHERE \(table).\(key) > $1 AND \(table).\(name) IS NOT NULL
        ORDER BY \(table).\(key) LIMIT 100
        """
    }

    static var all: [SealedColumn] {
        [
            SealedColumn(table: "session", key: "id", name: "secret") {
                .constants(of: SessionID(rawValue: $0), tenant: $1)
            },
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
