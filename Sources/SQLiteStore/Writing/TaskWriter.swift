internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Writes the rows of tasks.
struct TaskWriter {
    private let sealer: any Sealer
    private let insert: PreparedStatement
    private let insertSecret: PreparedStatement
    private let state: PreparedStatement
    private let update: PreparedStatement
    private let putStatus: PreparedStatement
    private let isBackground: PreparedStatement
    private let dropStatus: PreparedStatement
    private let metadata: MetadataTable
    private var parts = RecordParts()
    private var counts = TaskCounts()
    /// The session of the newest task, and whether it is a background one: mostly many tasks of one
    /// session follow each other.
    private var newestSession: (id: SessionID, isBackground: Bool)?

    init(_ database: Database, sealer: any Sealer) throws {
        self.sealer = sealer
        insert = try PreparedStatement(
            database,
            """
            INSERT INTO task (id, tenant, session, number, type, state, hasLiveAttempt, createdAt,
                startedAt, firstEvent, request)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            """)
        insertSecret = try PreparedStatement(
            database, "INSERT INTO task_secret (task, secret) VALUES (?1, ?2)")
        state = try PreparedStatement(database, "SELECT state FROM task WHERE id = ?1")
        update = try PreparedStatement(
            database,
            "UPDATE task SET state = ?2, hasLiveAttempt = ?3, startedAt = ?4 WHERE id = ?1")
        putStatus = try PreparedStatement(
            database,
            """
            INSERT INTO task_status (task, completedAt, lastEvent, status, secret, keptSince,
                isBackground, hasError)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT DO UPDATE SET completedAt = excluded.completedAt,
                lastEvent = excluded.lastEvent, status = excluded.status,
                secret = excluded.secret, keptSince = excluded.keptSince,
                hasError = excluded.hasError
            """)
        isBackground = try PreparedStatement(
            database, "SELECT type = 'background' FROM session WHERE id = ?1")
        dropStatus = try PreparedStatement(database, "DELETE FROM task_status WHERE task = ?1")
        metadata = try MetadataTable(database)
    }

    /// Writes a task that the database does not have.
    mutating func create(_ task: TaskRecord, events: EventPacker.Marks) throws {
        parts.reset()
        task.originalRequest.write(to: &parts)
        task.writeCreator(to: &parts.clear)
        insert.bind(1, task.id.rawValue)
        insert.bind(2, task.tenant.rawValue)
        insert.bind(3, task.session.rawValue)
        insert.bind(4, Int64(task.number))
        insert.bind(5, task.type.stored)
        insert.bind(6, StoredState(task.state).rawValue)
        insert.bind(7, task.hasLiveAttempt)
        insert.bind(8, task.createdAt.milliseconds)
        insert.bind(9, task.startedAt?.milliseconds)
        insert.bind(10, events.first)
        try insert.run(11, parts.clear.bytes)
        if let secret = try sealer.sealIfPresent(
            parts.secret, for: .request(of: task.id, tenant: task.tenant))
        {
            insertSecret.bind(1, task.id.rawValue)
            try insertSecret.run(2, secret)
        }
        counts.enter(StoredState(task.state), in: task.session)
        try metadata.insert(task)
        try writeStatus(of: task, events: events, isNew: true)
    }

    /// Writes what has changed of a task that the database has; one that is gone already stays so.
    mutating func change(_ task: TaskRecord, events: EventPacker.Marks) throws {
        let new = StoredState(task.state)
        state.bind(1, task.id.rawValue)
        guard let old = try state.first({ StoredState(rawValue: $0.int64(0)) }), old != .removed
        else { return }
        if let old, old != new {
            counts.leave(old, in: task.session)
            counts.enter(new, in: task.session)
        }
        update.bind(1, task.id.rawValue)
        update.bind(2, new.rawValue)
        update.bind(3, task.hasLiveAttempt)
        update.bind(4, task.startedAt?.milliseconds)
        try update.run()
        try metadata.change(task)
        try writeStatus(of: task, events: events, isNew: false)
    }

    /// Writes how many tasks are in which state, once all of a batch have been written.
    mutating func writeCounts(to database: Database) throws { try counts.write(to: database) }

    private mutating func writeStatus(
        of task: TaskRecord, events: EventPacker.Marks, isNew: Bool
    ) throws {
        parts.reset()
        TaskStatus.write(task, to: &parts)
        guard !parts.isEmpty || task.completedAt != nil else {
            guard !isNew else { return }
            dropStatus.bind(1, task.id.rawValue)
            return try dropStatus.run()
        }
        putStatus.bind(1, task.id.rawValue)
        putStatus.bind(2, task.completedAt?.milliseconds)
        putStatus.bind(6, task.keptSince?.milliseconds)
        putStatus.bind(7, try isBackground(task.session))
        putStatus.bind(8, task.error != nil)
        putStatus.bind(3, events.last == 0 ? nil : events.last)
        let secret = try sealer.sealIfPresent(
            parts.secret, for: .status(of: task.id, tenant: task.tenant))
        try putStatus.run(4, parts.clear.bytes, 5, secret)
    }

    /// Whether the session is a background one: how long results are kept depends on that.
    private mutating func isBackground(_ session: SessionID) throws -> Bool {
        if let newestSession, newestSession.id == session { return newestSession.isBackground }
        isBackground.bind(1, session.rawValue)
        let answer = try isBackground.first { $0.int64(0) == 1 } ?? false
        newestSession = (session, answer)
        return answer
    }
}
