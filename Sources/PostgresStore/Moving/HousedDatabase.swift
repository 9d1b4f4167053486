package import Engine
internal import Records
package import Semantics
internal import Synchronization

/// A database on a server whose gateway has had its contents in its data directory, while they go
/// to a place that several reach. All of it blocks.
package final class HousedDatabase: Sendable {
    private let database: Mutex<LockedDatabase>
    /// How many tasks are read at a time.
    private static let pageLength: Int64 = 10_000
    /// Where it is, without the password.
    package let place: String
    /// How often it has to be given a sign of life.
    package static let beat = DatabaseLock.Silence.beat

    /// Opens a database, which no gateway may have, and brings it to this version's tables.
    ///
    /// - Throws: `away`; `failed` also where a gateway has it.
    package init(url: String) throws(StoreError) {
        let database = try LockedDatabase(url: url, patience: .seconds(10))
        try Schema.migrate(database.connection)
        // Whoever had it before finds out, should it come back.
        try database.lock.claim(database.connection)
        place = database.place
        self.database = Mutex(database)
    }

    /// What marks the place of the contents; nil where none is known.
    package func contentsMark() throws(StoreError) -> String? {
        try database.withLock { database throws(StoreError) in try database.contentsMark() }
    }

    /// Gives a sign of life, so that no gateway that stands by takes it.
    ///
    /// - Throws: `away`; `failed` where another gateway has it.
    package func giveSign() throws(StoreError) {
        try database.withLock { database throws(StoreError) in
            try database.lock.giveSign(by: database.connection)
        }
    }

    /// The files that rows tell of, in no order. Rows that are damaged tell of none.
    package func namedFiles() throws(StoreError) -> [NamedFile] {
        try database.withLock { database throws(StoreError) in
            try Self.namedFiles(database.connection)
        }
    }

    private static func namedFiles(_ connection: Connection) throws(StoreError) -> [NamedFile] {
        var files: [NamedFile] = []
        var last = Int64.min
        while true {
            let tasks = try connection.rows(
                """
                SELECT id, state, status FROM task WHERE (has_file OR state < $1) AND id > $2
                ORDER BY id LIMIT \(Self.pageLength)
                """, [.number(StoredState.completed.rawValue), .number(last)])
            guard tasks.count > 0 else { break }
            files += try tasks.map { row in
                last = row.int64(0)
                return NamedFile(
                    of: TaskID(rawValue: last), state: row.int64(1),
                    status: row.bytesOrNil(2) ?? [])
            }.compactMap(\.self)
        }
        var damaged: [FileID: TenantID] = [:]
        for file in try FileRows(connection: connection).all(.all, damaged: &damaged)
        where file.length > 0 || file.isComplete { files.append(NamedFile(of: file)) }
        let entries = try connection.rows(
            """
            SELECT cache_entry.id FROM cache_entry JOIN session
                ON session.id = cache_entry.session AND session.cache = cache_entry.cache
            WHERE is_file
            """)
        files += try entries.map { NamedFile(of: CacheEntryID(rawValue: $0.int64(0))) }
        try connection.settle()
        return files
    }

    /// Tells it where the contents are from now on, in one transaction.
    ///
    /// - Parameters:
    ///   - mark: that of the place.
    ///   - series: in which what has come of downloads is there.
    /// - Throws: `damaged` for a task that cannot be read; `away`, `failed`.
    package func tell(_ mark: String, _ series: [TaskID: Int64]) throws(StoreError) {
        try database.withLock { database throws(StoreError) in
            try Self.tell(mark, series, by: database.connection)
        }
    }

    private static func tell(
        _ mark: String, _ series: [TaskID: Int64], by connection: Connection
    ) throws(StoreError) {
        try connection.begin("ISOLATION LEVEL READ COMMITTED")
        let rows = try connection.rows(
            "SELECT id, status FROM task WHERE id = ANY($1)",
            [.numbers(series.keys.map(\.rawValue))])
        var tasks: [Int64] = []
        var statuses: [[UInt8]] = []
        _ = try rows.map { row throws(StoreError) in
            let id = TaskID(rawValue: row.int64(0))
            guard let series = series[id] else { return }
            tasks.append(id.rawValue)
            statuses.append(try TaskStatus.clear(row.bytes(1), of: id, sentIn: series))
        }
        try connection.send(
            """
            UPDATE task SET status = new.status FROM unnest($1, $2) AS new (id, status)
            WHERE task.id = new.id
            """, [.numbers(tasks), .chunks(statuses)])
        try connection.send("UPDATE gateway SET contents_mark = $1", [.text(mark)])
        try connection.commit()
    }

    /// Leaves it to a gateway.
    package func leave() { database.withLock { $0.leave() } }
}
