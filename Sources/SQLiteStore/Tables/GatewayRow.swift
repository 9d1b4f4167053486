internal import Engine
internal import GRDB

/// The one row of `gateway`.
struct GatewayRow {
    let database: Database

    /// Keeps the greatest identifier that no row has, or has any more: it is not given again.
    func note(_ identifier: Int64) throws {
        let statement = try PreparedStatement(
            database,
            """
            UPDATE gateway SET lastForgottenIdentifier = ?1 WHERE lastForgottenIdentifier < ?1
            """)
        statement.bind(1, identifier)
        try statement.run()
    }

    /// Sets the gateway's own limit in bytes a second; nil takes it away.
    func set(limit: Int64?) throws {
        let statement = try PreparedStatement(
            database, "UPDATE gateway SET maximumBytesPerSecond = ?1")
        statement.bind(1, limit)
        try statement.run()
    }

    /// The gateway's own limit in bytes a second; nil for none.
    func limit() throws -> Int64? {
        try PreparedStatement(database, "SELECT maximumBytesPerSecond FROM gateway").first {
            $0.int64OrNil(0)
        } ?? nil
    }
}
