internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// The rows of tokens.
struct AccessTokenTable {
    /// All tokens.
    static let columns = """
        SELECT id, tenant, digest, createdAt, expiresAt, lastUsedAt, properties FROM token
        """

    let database: Database

    /// Writes what has changed.
    func apply(_ batch: StoreBatch) throws {
        try insert(batch.tokens)
        try note(batch.tokenUses)
        try remove(batch.removedTokens)
    }

    private func insert(_ tokens: [TokenRecord]) throws {
        guard !tokens.isEmpty else { return }
        let statement = try PreparedStatement(
            database,
            """
            INSERT INTO token (id, tenant, digest, createdAt, expiresAt, lastUsedAt, properties)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        for token in tokens {
            var properties = RecordWriter()
            token.write(to: &properties)
            statement.bind(1, token.id.rawValue)
            statement.bind(2, token.tenant.rawValue)
            statement.bind(4, token.createdAt.milliseconds)
            statement.bind(5, token.expiresAt?.milliseconds)
            statement.bind(6, token.lastUsedAt?.milliseconds)
            try statement.run(3, token.digest, 7, properties.bytes)
        }
    }

    private func note(_ uses: [TokenID: Timestamp]) throws {
        guard !uses.isEmpty else { return }
        let statement = try PreparedStatement(
            database, "UPDATE token SET lastUsedAt = ?2 WHERE id = ?1")
        for (token, instant) in uses {
            statement.bind(1, token.rawValue)
            statement.bind(2, instant.milliseconds)
            try statement.run()
        }
    }

    /// Forgets tokens; their numbers are not given again.
    private func remove(_ tokens: [TokenID]) throws {
        guard !tokens.isEmpty else { return }
        let delete = try PreparedStatement(database, "DELETE FROM token WHERE id = ?1")
        for token in tokens {
            delete.bind(1, token.rawValue)
            try delete.run()
            try GatewayRow(database: database).note(token.rawValue)
        }
    }

    /// Every token that can be read, in the order of creation. One that cannot lets nobody in.
    func all() throws -> [TokenRecord] {
        try PreparedStatement(database, Self.columns + " ORDER BY id")
            .allReadable(of: "token") { row throws(StoreError) in try TokenRecord(row: row) }
    }
}
