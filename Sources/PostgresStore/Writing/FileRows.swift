internal import Engine
internal import Records
internal import Semantics

/// The rows of staged files.
struct FileRows {
    let connection: Connection

    /// Writes files, new or changed.
    func save(_ files: [StagedFile]) throws(StoreError) {
        guard !files.isEmpty else { return }
        try connection.send(
            """
            INSERT INTO file (id, tenant, length, is_complete, announced_length, expected_digest,
                media_type, created_at, used_at, series)
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            ON CONFLICT (id) DO UPDATE SET length = excluded.length,
                is_complete = excluded.is_complete, announced_length = excluded.announced_length,
                expected_digest = excluded.expected_digest, used_at = excluded.used_at,
                series = excluded.series
            """,
            [
                .numbers(files.map(\.id.rawValue)), .numbers(files.map(\.tenant.rawValue)),
                .numbers(files.map(\.length)), .flags(files.map(\.isComplete)),
                .numbers(files.map(\.announcedLength)),
                .chunks(of: files.map(\.expectedDigest?.description)),
                .chunks(of: files.map(\.mediaType)),
                .numbers(files.map(\.createdAt.milliseconds)),
                .numbers(files.map(\.usedAt.milliseconds)), .numbers(files.map(\.series)),
            ])
    }

    /// Forgets files; their numbers are not given again.
    func remove(_ files: [FileID]) throws(StoreError) {
        guard let newest = files.max() else { return }
        try connection.send(
            "DELETE FROM file WHERE id = ANY($1)", [.numbers(files.map(\.rawValue))])
        try GatewayRow(connection: connection).note(newest.rawValue)
    }

    /// Every file that can be read, in the order of creation.
    func all(
        _ filter: TenantFilter, damaged: inout [FileID: TenantID]
    ) throws(StoreError) -> [StagedFile] {
        let rows = try connection.rows(
            """
            SELECT id, tenant, length, is_complete, announced_length, expected_digest, media_type,
                created_at, used_at, series
            FROM file WHERE \(filter.by()) ORDER BY id
            """, filter.parameters)
        return try rows.mapReadable(
            of: "file",
            damaged: { damaged[FileID(rawValue: $0.int64(0))] = TenantID(rawValue: $0.int64(1)) }
        ) { row throws(StoreError) in try StagedFile(row: row) }
    }
}
