package import Engine
package import Records

/// A database on a server that is made of the rows of another one, in one transaction.
package final class MovedDatabase {
    private let connection: Connection
    private let lock = DatabaseLock()
    /// Where it is, without the password.
    package let place: String

    /// Opens a database and makes its tables; no gateway may have it. Blocks.
    ///
    /// - Throws: `away`; `failed` also where a gateway has it.
    package convenience init(url: String) throws(StoreError) {
        try self.init(url: url, patience: .seconds(10))
    }

    /// The same, with another time to wait for a gateway that still has it.
    init(url: String, patience: Duration) throws(StoreError) {
        let address = try DatabaseAddress(url)
        place = address.place
        connection = try Connection(address)
        try lock.acquire(connection, within: patience)
        try Schema.migrate(connection)
    }

    /// Whether it was made of the database with this value for the key: no other one has the same.
    package func isMade(with keyCheck: [UInt8]) throws(StoreError) -> Bool {
        let rows = try connection.rows("SELECT key_check FROM gateway")
        try connection.settle()
        return rows.first?.bytes(0) == keyCheck
    }

    /// Begins; what a gateway has written that has done nothing is replaced.
    /// - Throws: `failed` where there is anything else.
    package func begin() throws(StoreError) {
        try connection.begin("ISOLATION LEVEL READ COMMITTED")
        let tables = ["session", "task", "file", "webhook", "tenant_record", "token", "event_pack"]
        let any = tables.map { "EXISTS (SELECT 1 FROM \($0))" }.joined(separator: " OR ")
        guard try connection.rows("SELECT \(any)").first?.bool(0) == false else {
            throw .failed("There are sessions of a gateway in it already: name an empty database.")
        }
        for table in ["gateway", "tenant"] { try connection.send("DELETE FROM \(table)") }
    }

    /// Writes rows.
    package func write(_ rows: MovedRows) throws(StoreError) {
        let names = rows.columns.map(\.name).joined(separator: ", ")
        let places = (1...rows.columns.count).map { "$\($0)" }.joined(separator: ", ")
        try connection.send(
            "INSERT INTO \(rows.table) (\(names)) SELECT * FROM unnest(\(places))",
            rows.columns.map { Parameter($0.values) })
    }

    /// Ends it: from now on all of it is there, or nothing.
    package func commit() throws(StoreError) { try connection.commit() }
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
