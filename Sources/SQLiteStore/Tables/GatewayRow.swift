internal import Engine
internal import GRDB
internal import Records
internal import Semantics

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

    /// Keeps what kept time goes on from.
    func set(mark: ClockMark) throws {
        let statement = try PreparedStatement(
            database,
            """
            UPDATE gateway SET keptMark = ?1, wallMark = ?2, bootMark = ?3, elapsedMark = ?4
            """)
        statement.bind(1, mark.kept.milliseconds)
        statement.bind(2, mark.wall.milliseconds)
        statement.bind(3, mark.machine.boot)
        statement.bind(4, mark.machine.elapsed.milliseconds)
        try statement.run()
    }

    /// What kept time goes on from; nil where nobody has said.
    func mark() throws -> ClockMark? {
        let statement = try PreparedStatement(
            database,
            """
            SELECT keptMark, wallMark, bootMark, elapsedMark FROM gateway
            WHERE keptMark IS NOT NULL
            """)
        return try statement.first { row throws(StoreError) in
            try ClockMark(row: row)
        }
    }

    /// Sets whether work begins that may be put off (S-27).
    func set(backgroundUpdates isOn: Bool) throws {
        let statement = try PreparedStatement(
            database, "UPDATE gateway SET backgroundUpdates = ?1")
        statement.bind(1, isOn)
        try statement.run()
    }

    /// Whether work begins that may be put off.
    func backgroundUpdates() throws -> Bool {
        try PreparedStatement(database, "SELECT backgroundUpdates FROM gateway").first {
            $0.int64(0) != 0
        } ?? true
    }

    /// The gateway's own limit in bytes a second; nil for none.
    func limit() throws -> Int64? {
        try PreparedStatement(database, "SELECT maximumBytesPerSecond FROM gateway").first {
            $0.int64OrNil(0)
        } ?? nil
    }
}
