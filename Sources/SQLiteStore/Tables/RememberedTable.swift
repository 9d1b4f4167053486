internal import Diagnostics
internal import Engine
internal import GRDB
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
    func remove(from database: Database) throws {
        let delete = try PreparedStatement(
            database, "DELETE FROM \(table) WHERE session = ?1 AND number = ?2")
        delete.bind(1, session.rawValue)
        delete.bind(2, number)
        try delete.run()
    }
}

/// The rows of one kind of items.
struct RememberedTable<Item: RememberedItem> {
    let database: Database
    let sealer: any Sealer

    /// Writes what has changed, in its order. A session that is not there remembers nothing.
    func apply(_ changes: [SessionChange<Item>]) throws {
        guard !changes.isEmpty else { return }
        let session = try PreparedStatement(database, "SELECT 1 FROM session WHERE id = ?1")
        for change in changes {
            session.bind(1, change.session.rawValue)
            guard try session.first({ _ in true }) ?? false else { continue }
            if change.removesAll { try removeAll(of: change.session) }
            try remove(change.removed, of: change.session)
            try store(change)
        }
    }

    /// Forgets all that a session remembers.
    func removeAll(of session: SessionID) throws {
        let delete = try PreparedStatement(
            database, "DELETE FROM \(Item.table) WHERE session = ?1")
        delete.bind(1, session.rawValue)
        try delete.run()
    }

    private func remove(_ numbers: [Int64], of session: SessionID) throws {
        guard !numbers.isEmpty else { return }
        let delete = try PreparedStatement(
            database, "DELETE FROM \(Item.table) WHERE session = ?1 AND number = ?2")
        delete.bind(1, session.rawValue)
        for number in numbers {
            delete.bind(2, number)
            try delete.run()
        }
    }

    private func store(_ change: SessionChange<Item>) throws {
        guard !change.stored.isEmpty else { return }
        let insert = try PreparedStatement(
            database,
            """
            INSERT INTO \(Item.table) (session, number, tenant, sealed) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET sealed = excluded.sealed
            """)
        insert.bind(1, change.session.rawValue)
        insert.bind(3, change.tenant.rawValue)
        var writer = RecordWriter()
        for (number, item) in change.stored {
            writer.reset()
            item.write(to: &writer)
            insert.bind(2, number)
            let context = SealContext.item(
                number, in: Item.table, of: change.session, tenant: change.tenant)
            try insert.run(4, try sealer.seal(writer.bytes, for: context))
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
    func all() throws -> Found {
        let statement = try PreparedStatement(
            database, "SELECT session, number, tenant, sealed FROM \(Item.table)")
        var found = Found()
        try statement.forEachRow { row throws(StoreError) in
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
            return true
        }
        return found
    }
}
