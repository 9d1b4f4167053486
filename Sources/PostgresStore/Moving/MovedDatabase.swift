package import Engine
package import Records

/// A database on a server that is made of the rows of another one, in one transaction.
package final class MovedDatabase {
    private let database: LockedDatabase
    /// Where it is, without the password.
    package var place: String { database.place }
    private var connection: Connection { database.connection }

    /// Opens a database and makes its tables; no gateway may have it. Blocks.
    ///
    /// - Throws: `away`; `failed` also where a gateway has it.
    package convenience init(url: String) throws(StoreError) {
        try self.init(url: url, patience: .seconds(10))
    }

    /// The same, with another time to wait for a gateway that still has it.
    init(url: String, patience: Duration) throws(StoreError) {
        database = try LockedDatabase(url: url, patience: patience)
        try Schema.migrate(connection)
        // Whoever had it before finds out, should it come back.
        try database.lock.claim(connection)
    }

    /// Whether it was made of a database in this state.
    /// - Throws: `failed` where it was made of that one, and either has been used since.
    package func isMade(of state: MovedState) throws(StoreError) -> Bool {
        let rows = try connection.rows(
            """
            SELECT key_check, kept_mark, last_forgotten,
                (SELECT sum(last_sequence) FROM tenant)::bigint, (SELECT max(id) FROM task)
            FROM gateway
            """)
        try connection.settle()
        guard let own = rows.first.map({ MovedState(row: $0) }), own.keyCheck == state.keyCheck
        else { return false }
        guard own == state else {
            throw .failed(
                """
                It was moved there before, and a gateway has used one of the two since: keep the one \
                that is newer.
                """)
        }
        return true
    }

    /// What marks the place where nodes have the contents; nil where none is known.
    package func contentsMark() throws(StoreError) -> String? { try database.contentsMark() }

    /// Makes sure that no gateway has done anything with it.
    /// - Throws: `failed` where one has.
    package func requireUnused() throws(StoreError) {
        try refuseUsed()
        try connection.settle()
    }

    /// Begins; what a gateway has written that has done nothing is replaced.
    /// - Throws: `failed` where there is anything else.
    package func begin() throws(StoreError) {
        try connection.begin("ISOLATION LEVEL READ COMMITTED")
        try refuseUsed()
        for table in ["gateway", "tenant"] { try connection.send("DELETE FROM \(table)") }
    }

    private func refuseUsed() throws(StoreError) {
        let tables = ["session", "task", "file", "webhook", "tenant_record", "token", "event_pack"]
        let any = tables.map { "EXISTS (SELECT 1 FROM \($0))" }.joined(separator: " OR ")
        guard try connection.rows("SELECT \(any)").first?.bool(0) == false else {
            throw .failed("There are sessions of a gateway in it already: name an empty database.")
        }
    }

    /// Writes rows.
    package func write(_ rows: MovedRows) throws(StoreError) {
        let names = rows.columns.map(\.name).joined(separator: ", ")
        let places = (1...rows.columns.count).map { "$\($0)" }.joined(separator: ", ")
        // What is sent without an answer would gather in memory.
        _ = try connection.count(
            "INSERT INTO \(rows.table) (\(names)) SELECT * FROM unnest(\(places))",
            rows.columns.map { Parameter($0.values) })
    }

    /// Ends it: from now on all of it is there, or nothing.
    ///
    /// - Parameter contentsMark: what marks the place of the contents; nil where that is for the
    ///   first node to say.
    /// - Throws: `away` where it may have ended all the same; `failed`.
    package func commit(contentsMark: String? = nil) throws(StoreError) {
        do throws(StoreError) {
            if let contentsMark {
                try connection.send(
                    "UPDATE gateway SET contents_mark = $1", [.text(contentsMark)])
            }
            try connection.commit()
        } catch {
            guard case .away(let words) = error else { throw error }
            throw .away(
                """
                \(words) It is not known whether all was moved: run this again, before any gateway \
                is started.
                """)
        }
    }

    /// Leaves it to a gateway.
    package func leave() { database.leave() }
}

extension Parameter {
    fileprivate init(_ values: MovedRows.Values) {
        switch values {
        case .numbers(let numbers): self = .numbers(numbers)
        case .flags(let flags): self = .flags(flags)
        case .bytes(let chunks): self = .chunks(chunks)
        case .texts(let texts): self = .texts(texts)
        }
    }
}
