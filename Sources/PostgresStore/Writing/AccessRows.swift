internal import Engine
internal import Records
internal import Semantics

/// The rows of tenants and of tokens.
struct AccessRows {
    let connection: Connection

    /// Writes tenants and tokens, new or changed, and forgets tokens.
    func save(_ batch: StoreBatch) throws(StoreError) {
        try save(batch.tenants)
        try insert(batch.tokens)
        if !batch.tokenUses.isEmpty {
            // Nodes that write the same rows lock them in the same order.
            let uses = batch.tokenUses.sorted { $0.key < $1.key }
            try connection.send(
                """
                UPDATE token SET last_used_at = new.at FROM unnest($1, $2) AS new (id, at)
                WHERE token.id = new.id
                """,
                [
                    .numbers(uses.map(\.key.rawValue)),
                    .numbers(uses.map(\.value.milliseconds)),
                ])
        }
        try remove(batch.removedTokens)
    }

    // MARK: Tenants

    private func save(_ tenants: [TenantRecord]) throws(StoreError) {
        guard !tenants.isEmpty else { return }
        try connection.send(
            """
            INSERT INTO tenant_record (id, name, created_at, is_ending, properties)
            SELECT * FROM unnest($1, $2, $3, $4, $5)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, is_ending = excluded.is_ending,
                properties = excluded.properties
            """,
            [
                .numbers(tenants.map(\.id.rawValue)), .chunks(of: tenants.map(\.name)),
                .numbers(tenants.map(\.createdAt?.milliseconds)), .flags(tenants.map(\.isEnding)),
                .chunks(
                    tenants.map { tenant in
                        var properties = RecordWriter()
                        tenant.write(to: &properties)
                        return properties.bytes
                    }),
            ])
    }

    /// Forgets tenants with their counters; their numbers are not given again.
    func remove(_ tenants: [TenantID]) throws(StoreError) {
        guard let newest = tenants.map(\.rawValue).max() else { return }
        let ids = Parameter.numbers(tenants.map(\.rawValue))
        try connection.send("DELETE FROM tenant_record WHERE id = ANY($1)", [ids])
        try connection.send("DELETE FROM tenant WHERE id = ANY($1)", [ids])
        try GatewayRow(connection: connection).note(newest)
    }

    /// Every tenant that can be read, in the order of creation.
    func tenants(damaged: inout [DamagedTenant]) throws(StoreError) -> [TenantRecord] {
        let rows = try connection.rows(
            """
            SELECT id, name, created_at, is_ending, properties FROM tenant_record ORDER BY id
            """)
        return try rows.mapReadable(
            of: "tenant_record", damaged: { damaged.append(DamagedTenant(row: $0)) }
        ) { row throws(StoreError) in try TenantRecord(row: row) }
    }

    // MARK: Tokens

    private func insert(_ tokens: [TokenRecord]) throws(StoreError) {
        guard !tokens.isEmpty else { return }
        try connection.send(
            """
            INSERT INTO token (id, tenant, digest, created_at, expires_at, last_used_at, properties)
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)
            """,
            [
                .numbers(tokens.map(\.id.rawValue)), .numbers(tokens.map(\.tenant.rawValue)),
                .chunks(tokens.map(\.digest)), .numbers(tokens.map(\.createdAt.milliseconds)),
                .numbers(tokens.map(\.expiresAt?.milliseconds)),
                .numbers(tokens.map(\.lastUsedAt?.milliseconds)),
                .chunks(
                    tokens.map { token in
                        var properties = RecordWriter()
                        token.write(to: &properties)
                        return properties.bytes
                    }),
            ])
    }

    /// Forgets tokens; their numbers are not given again.
    private func remove(_ tokens: [TokenID]) throws(StoreError) {
        guard let newest = tokens.max() else { return }
        try connection.send(
            "DELETE FROM token WHERE id = ANY($1)", [.numbers(tokens.map(\.rawValue))])
        try GatewayRow(connection: connection).note(newest.rawValue)
    }

    /// Every token that can be read, in the order of creation. One that cannot lets nobody in.
    func tokens() throws(StoreError) -> [TokenRecord] {
        let rows = try connection.rows(
            """
            SELECT id, tenant, digest, created_at, expires_at, last_used_at, properties
            FROM token ORDER BY id
            """)
        return try rows.mapReadable(of: "token") { row throws(StoreError) in
            try TokenRecord(row: row)
        }
    }
}
