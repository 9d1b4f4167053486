internal import Engine
internal import Records
internal import Semantics

/// The one row of `gateway`.
struct GatewayRow {
    let connection: Connection

    /// Writes what a batch says of the gateway itself.
    func apply(_ batch: StoreBatch) throws(StoreError) {
        if let limit = batch.gatewayLimit {
            try connection.send(
                "UPDATE gateway SET maximum_bytes_per_second = $1", [.number(limit)])
        }
        if let isOn = batch.backgroundUpdates {
            try connection.send("UPDATE gateway SET background_updates = $1", [.flag(isOn)])
        }
        if batch.changesAccess {
            try connection.send("UPDATE gateway SET access_version = access_version + 1")
        }
        guard let mark = batch.clockMark else { return }
        try connection.send(
            """
            UPDATE gateway SET kept_mark = $1, wall_mark = $2, boot_mark = $3, elapsed_mark = $4
            """,
            [
                .number(mark.kept.milliseconds), .number(mark.wall.milliseconds),
                .bytes(of: mark.machine.boot), .number(mark.machine.elapsed.milliseconds),
            ])
    }

    /// Records the greatest identifier that is no longer in use, so that it is never used again.
    func note(_ identifier: Int64) throws(StoreError) {
        guard identifier > 0 else { return }
        try connection.send(
            "UPDATE gateway SET last_forgotten = $1 WHERE last_forgotten < $1",
            [.number(identifier)])
    }

    /// Reads what a start needs of it.
    func read(into contents: inout StoreContents) throws(StoreError) {
        let rows = try connection.rows(
            """
            SELECT kept_mark, wall_mark, boot_mark, elapsed_mark, maximum_bytes_per_second,
                background_updates
            FROM gateway
            """)
        guard let row = rows.first else { return }
        contents.clockMark = row.int64OrNil(0) == nil ? nil : try ClockMark(row: row)
        contents.gatewayLimit = row.int64OrNil(4)
        contents.backgroundUpdates = row.bool(5)
    }

    /// Looks whether the tables, where there are any, were made with this key.
    /// - Throws: `damaged` where it was another one.
    static func check(_ sealer: any Sealer, by connection: Connection) throws {
        guard try opens(sealer, by: connection) != false else {
            throw StoreError.damaged(
                "The key is not the one that the database was made with. Nothing has been changed.")
        }
    }

    /// Whether the tables were made with this key, or have been given it; nil where there are none.
    static func opens(_ sealer: any Sealer, by connection: Connection) throws -> Bool? {
        let isThere = try connection.rows("SELECT to_regclass('gateway') IS NOT NULL")
        guard isThere.first?.bool(0) == true,
            let row = try connection.rows("SELECT key_check FROM gateway").first
        else { return nil }
        return try KeyWords.open(row.bytes(0), by: sealer)
    }

    /// Writes what tells another key.
    static func replaceKey(by sealer: any Sealer, _ connection: Connection) throws {
        try connection.send(
            "UPDATE gateway SET key_check = $1", [.bytes(try KeyWords.sealed(by: sealer))])
    }

    /// Writes what tells the key, where there is nothing yet.
    static func make(_ sealer: any Sealer, by connection: Connection) throws {
        try connection.send(
            "INSERT INTO gateway (id, key_check) VALUES (1, $1) ON CONFLICT DO NOTHING",
            [.bytes(try KeyWords.sealed(by: sealer))])
        try connection.settle()
    }
}

extension StoreBatch {
    /// Whether it changes what all nodes know: tenants, tokens or settings. When a token was used
    /// is none of that.
    var changesAccess: Bool {
        !tenants.isEmpty || !removedTenants.isEmpty || !tokens.isEmpty || !removedTokens.isEmpty
            || gatewayLimit != nil || backgroundUpdates != nil
    }
}
