public import Engine
internal import GRDB
internal import Records
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

    /// The tables whose rows tell of files.
    enum Table: CaseIterable {
        case tasks, staged, responses

        init(_ owner: ContentOwner) {
            self =
                switch owner {
                case .task: .tasks
                case .file: .staged
                case .entry: .responses
                }
        }

        var key: String {
            switch self {
            case .tasks: "task.id"
            case .staged: "file.id"
            case .responses: "cache_entry.id"
            }
        }

        /// The rows, but for those of which it is known that they tell of none; a condition may
        /// follow.
        var columns: String {
            switch self {
            case .tasks:
                """
                SELECT task.id, state, status FROM task JOIN task_status ON task_status.task = task.id
                WHERE state <> \(StoredState.removed.rawValue)
                """
            case .staged: FileTable.columns + " WHERE (length > 0 OR isComplete)"
            case .responses:
                """
                SELECT cache_entry.id FROM cache_entry JOIN session
                    ON session.id = cache_entry.session AND session.cache = cache_entry.cache
                WHERE isFile
                """
            }
        }
    }

    /// The file of a row of the table's `columns`; nil where it tells of none, or is damaged.
    static func file(_ row: PreparedRow, in table: Table) -> NamedFile? {
        switch table {
        case .responses: NamedFile(of: CacheEntryID(rawValue: row.int64(0)))
        case .staged: (try? StagedFile(row: row)).map { NamedFile(of: $0) }
        case .tasks:
            NamedFile(
                of: TaskID(rawValue: row.int64(0)), state: row.int64(1), status: row.bytes(2))
        }
    }

    /// Makes a row one that tells of no file.
    func withdraw(_ owner: ContentOwner) throws {
        switch owner {
        case .file(let id): try FileTable(database: database).remove([id])
        case .entry(let id): try CacheRemoval(database: database).remove([id])
        case .task(let id):
            let select = try PreparedStatement(
                database, "SELECT status FROM task_status WHERE task = ?1")
            select.bind(1, id.rawValue)
            guard let status = try select.first({ $0.bytes(0) }) else { return }
            let update = try PreparedStatement(
                database, "UPDATE task_status SET status = ?2 WHERE task = ?1")
            update.bind(1, id.rawValue)
            try update.run(2, try TaskStatus.withoutContent(status))
        }
    }
}
