public import Engine
internal import GRDB
internal import Semantics

extension DurableStore {
    /// Whether a row tells of a file in the folder of the contents: a staged file, a stored
    /// response, or the content of one of the newest 100,000 tasks that have completed. Some 100 ms
    /// where none does.
    public func namesFiles() async throws(StoreError) -> Bool {
        try await reading { try NamedFiles(database: $0).isAny() }
    }
}

/// The files that rows tell of. All that is read of the rows lies in clear.
struct NamedFiles {
    /// How many of the newest tasks a start looks at.
    private static let taskLimit: Int64 = 100_000

    let database: Database

    func isAny() throws -> Bool {
        for table in ["file WHERE length > 0", "cache_entry WHERE isFile"] {
            let statement = try PreparedStatement(database, "SELECT 1 FROM \(table) LIMIT 1")
            if try statement.first({ _ in true }) != nil { return true }
        }
        let tasks = try PreparedStatement(
            database,
            """
            SELECT status FROM task_status WHERE completedAt IS NOT NULL
            ORDER BY completedAt DESC LIMIT ?1
            """)
        tasks.bind(1, Self.taskLimit)
        var isAny = false
        try tasks.forEachRow { row throws(StoreError) in
            // One that is damaged tells of nothing.
            isAny = (try? TaskStatus.content(in: row.bytes(0)))??.place == .file
            return !isAny
        }
        return isAny
    }
}
