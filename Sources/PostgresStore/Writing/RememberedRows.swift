internal import Diagnostics
internal import Engine
internal import Records
internal import Semantics

/// Where an item lies that cannot be read.
struct DamagedItem: Hashable, Sendable {
    let table: String
    let session: SessionID
    let number: Int64

    /// Says so in the log.
    func note(_ words: String) {
        Log("store.remembered").write(
            .error, "a damaged cookie or credential was forgotten",
            [
                "table": .name(table), "session": .name(session.description),
                "error": .words(words),
            ])
    }

    /// Takes the row off the disk.
    func remove(by connection: Connection) throws(StoreError) {
        try connection.send(
            "DELETE FROM \(table) WHERE session = $1 AND number = $2",
            [.number(session.rawValue), .number(number)])
    }
}

/// The rows of one kind of items.
struct RememberedRows<Item: RememberedItem> {
    let connection: Connection
    let sealer: any Sealer

    /// Writes what has changed, in its order. A session that is not there remembers nothing.
    func apply(_ changes: [SessionChange<Item>]) throws {
        for change in changes {
            let session = Parameter.number(change.session.rawValue)
            if change.removesAll {
                try connection.send("DELETE FROM \(Item.table) WHERE session = $1", [session])
            }
            if !change.removed.isEmpty {
                try connection.send(
                    "DELETE FROM \(Item.table) WHERE session = $1 AND number = ANY($2)",
                    [session, .numbers(change.removed)])
            }
            try store(change)
        }
    }

    private func store(_ change: SessionChange<Item>) throws {
        let items = change.stored.map { number, item in
            var writer = RecordWriter()
            item.write(to: &writer)
            return (number: number, bytes: writer.bytes)
        }
        for some in items.slices(of: connection.sliceLimit, by: \.bytes.count) {
            let sealed = try some.map { number, bytes in
                try sealer.seal(
                    bytes,
                    for: .item(number, in: Item.table, of: change.session, tenant: change.tenant))
            }
            try connection.send(
                """
                INSERT INTO \(Item.table) (session, tenant, number, sealed)
                SELECT session.id, $2, new.* FROM unnest($3, $4) AS new
                JOIN session ON session.id = $1
                ON CONFLICT (session, number)
                    DO UPDATE SET tenant = excluded.tenant, sealed = excluded.sealed
                """,
                [
                    .number(change.session.rawValue), .number(change.tenant.rawValue),
                    .numbers(some.map(\.number)), .chunks(sealed),
                ])
        }
    }

    /// What is found, and what of it cannot be read.
    struct Found {
        var items: [SessionID: [Int64: Item]] = [:]
        /// With the reason, in words.
        var damaged: [(item: DamagedItem, words: String)] = []
    }

    /// Everything, by session and number.
    ///
    /// A damaged item is as good as none: the server sets another cookie, and the client is asked
    /// for the credential. It keeps no gateway from its start.
    func all(_ filter: TenantFilter) throws(StoreError) -> Found {
        let rows = try connection.rows(
            """
            SELECT session, number, tenant, sealed FROM \(Item.table) WHERE \(filter.bySession())
            """, filter.parameters)
        var found = Found()
        _ = try rows.map { row throws(StoreError) in
            let session = SessionID(rawValue: row.int64(0))
            let number = row.int64(1)
            let context = SealContext.item(
                number, in: Item.table, of: session, tenant: TenantID(rawValue: row.int64(2)))
            do throws(StoreError) {
                let record = try sealer.openIfPresent(row.bytes(3), for: context) ?? []
                let item = try Item(RecordReader(record), number: number)
                found.items[session, default: [:]][number] = item
            } catch StoreError.damaged(let words) {
                let damaged = DamagedItem(table: Item.table, session: session, number: number)
                found.damaged.append((damaged, words))
            }
        }
        return found
    }
}
