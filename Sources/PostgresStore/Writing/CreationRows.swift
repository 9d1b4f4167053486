internal import Engine
internal import Records
internal import Semantics

/// The rows of idempotency keys.
struct CreationRows {
    let connection: Connection
    let sealer: any Sealer

    /// Writes what requests have created.
    ///
    /// - Returns: The keys that were there already: they stay as they are.
    func insert(_ creations: [IdempotencyRecord]) throws -> [CommitConflict] {
        guard !creations.isEmpty else { return [] }
        let fingerprints = try creations.map { creation in
            try sealer.seal(
                creation.fingerprint, for: .creation(creation.key, of: creation.tenant))
        }
        let rows = try connection.rows(
            """
            INSERT INTO creation (tenant, key, at, fingerprint, created)
            SELECT * FROM unnest($1, $2, $3, $4, $5)
            ON CONFLICT (tenant, key) DO NOTHING RETURNING tenant, key
            """,
            [
                .numbers(creations.map(\.tenant.rawValue)), .chunks(of: creations.map(\.key)),
                .numbers(creations.map(\.at.milliseconds)), .chunks(fingerprints),
                .chunks(creations.map(\.packedCreated)),
            ])
        let written = Set(
            try rows.map { row in
                CreationKey(
                    tenant: TenantID(rawValue: row.int64(0)), key: row.stringOrNil(1) ?? "")
            })
        return creations.map { CreationKey($0) }.filter { !written.contains($0) }
            .map { .creation($0) }
    }

    /// What a request with this key has created; nil for a key that is not there.
    func creation(
        of key: String, of tenant: TenantID
    ) throws(StoreError) -> IdempotencyRecord? {
        let rows = try connection.rows(
            "SELECT at, fingerprint, created FROM creation WHERE tenant = $1 AND key = $2",
            [.number(tenant.rawValue), .bytes(of: key)])
        return try rows.first.map { row throws(StoreError) in
            try IdempotencyRecord(row: row, key: key, of: tenant, sealer: sealer)
        }
    }
}
