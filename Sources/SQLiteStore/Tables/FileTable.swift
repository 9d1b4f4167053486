internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// The rows of staged files.
struct FileTable {
    let database: Database

    /// Writes files, new or changed.
    func save(_ files: [StagedFile]) throws {
        guard !files.isEmpty else { return }
        let statement = try PreparedStatement(
            database,
            """
            INSERT INTO file (id, tenant, length, isComplete, announcedLength, expectedDigest,
                mediaType, createdAt, usedAt)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            ON CONFLICT (id) DO UPDATE SET length = excluded.length,
                isComplete = excluded.isComplete, announcedLength = excluded.announcedLength,
                expectedDigest = excluded.expectedDigest, usedAt = excluded.usedAt
            """)
        for file in files {
            statement.bind(1, file.id.rawValue)
            statement.bind(2, file.tenant.rawValue)
            statement.bind(3, file.length)
            statement.bind(4, file.isComplete)
            statement.bind(5, file.announcedLength)
            statement.bind(6, file.expectedDigest?.description)
            statement.bind(7, file.mediaType)
            statement.bind(8, file.createdAt.milliseconds)
            statement.bind(9, file.usedAt.milliseconds)
            try statement.run()
        }
    }

    /// Forgets files; their numbers are not given again.
    func remove(_ files: [FileID]) throws {
        guard let newest = files.max() else { return }
        let statement = try PreparedStatement(database, "DELETE FROM file WHERE id = ?1")
        for file in files {
            statement.bind(1, file.rawValue)
            try statement.run()
        }
        try GatewayRow(database: database).note(newest.rawValue)
    }

    /// Every file that can be read, in the order of creation.
    func all(damaged: inout [FileID: TenantID]) throws -> [StagedFile] {
        try PreparedStatement(database, Self.columns + " ORDER BY id").allReadable(
            of: "file",
            damaged: { damaged[FileID(rawValue: $0.int64(0))] = TenantID(rawValue: $0.int64(1)) }
        ) { row throws(StoreError) in try StagedFile(row: row) }
    }

    /// All files. A gateway that has a database of its own has the place of contents alone: there
    /// are no series.
    static let columns = """
        SELECT id, tenant, length, isComplete, announcedLength, expectedDigest, mediaType, createdAt,
            usedAt, NULL
        FROM file
        """
}
