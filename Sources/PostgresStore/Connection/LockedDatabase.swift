internal import Engine

/// A database on a server that no gateway has for as long as this is there. All of it blocks.
struct LockedDatabase {
    let connection: Connection
    let lock = DatabaseLock()
    /// Where it is, without the password.
    let place: String

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - url: of the database.
    ///   - patience: how long it waits for a gateway that still has it.
    /// - Throws: `away`; `failed` also where a gateway has it.
    init(url: String, patience: Duration) throws(StoreError) {
        let address = try DatabaseAddress(url)
        place = address.place
        connection = try Connection(address)
        try lock.acquire(connection, within: patience)
    }

    /// What marks the place where nodes have the contents; nil where none is known.
    func contentsMark() throws(StoreError) -> String? {
        let rows = try connection.rows("SELECT contents_mark FROM gateway")
        try connection.settle()
        return rows.first?.stringOrNil(0)
    }

    /// Leaves it to a gateway.
    func leave() { lock.leave(connection) }
}
