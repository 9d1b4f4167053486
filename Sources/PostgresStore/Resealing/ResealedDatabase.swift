package import Engine
internal import Records

/// A database on a server that gets another key, in one transaction. All of it blocks.
package final class ResealedDatabase {
    private let database: LockedDatabase
    /// Where it is, without the password.
    package var place: String { database.place }
    private var connection: Connection { database.connection }

    /// Opens a database, which no gateway may have.
    ///
    /// - Throws: `away`; `failed` also where a gateway has it.
    package convenience init(url: String) throws(StoreError) {
        try self.init(url: url, patience: .seconds(10))
    }

    /// The same, with another time to wait for a gateway that still has it.
    init(url: String, patience: Duration) throws(StoreError) {
        database = try LockedDatabase(url: url, patience: patience)
    }

    /// Whether it is sealed with a key; nil where there is nothing in it.
    package func isSealed(with sealer: any Sealer) throws(StoreError) -> Bool? {
        do {
            let isSealed = try GatewayRow.opens(sealer, by: connection)
            try connection.settle()
            return isSealed
        } catch {
            throw StoreError(any: error)
        }
    }

    /// Seals everything in it with another key, and brings it to this version's tables before.
    ///
    /// Stored responses, cookies and credentials that do not open are removed; of all else nothing
    /// may be damaged. What the server has kept of the old values goes with its next VACUUM.
    ///
    /// - Throws: `damaged` when the old key is another one, or a row does not open with it; `full`,
    ///   `failed`. The old key is still in force then. `away`: `isSealed` tells which one is.
    package func reseal(from old: any Sealer, to new: any Sealer) throws(StoreError) {
        do {
            try GatewayRow.check(old, by: connection)
            try connection.settle()
            try Schema.migrate(connection)
            // Whoever had it before finds out, should it come back.
            try database.lock.claim(connection)
            try connection.begin("ISOLATION LEVEL READ COMMITTED")
            try GatewayRow.replaceKey(by: new, connection)
            try Resealing(connection: connection, keys: Resealer(from: old, to: new)).run()
            try connection.commit()
        } catch {
            throw StoreError(any: error)
        }
    }

    /// Leaves it to a gateway.
    package func leave() { database.leave() }
}
