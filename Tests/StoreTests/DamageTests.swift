import Engine
import GRDB
import Records
import Sealing
import Semantics
import Testing

@testable import SQLiteStore

/// Nothing that is read from the disk can stop the process.
@Suite struct DamageTests {
    @Test func `a record that is cut or changed is read or refused, never trapped on`() throws {
        var world = World()
        var delegate = DelegateOptions()
        delegate.handles = Set(DecisionKind.allCases)
        let session = world.makeSession(delegate: delegate)
        for (created, changed) in try world.variety(in: session) {
            for task in [created, changed] {
                var parts = RecordParts()
                task.originalRequest.write(to: &parts)
                try bend(parts.clear.bytes) { bytes throws(StoreError) in
                    _ = try RequestRecord(clear: RecordReader(bytes), secret: nil)
                }
                parts.reset()
                TaskStatus.write(task, to: &parts)
                try bend(parts.clear.bytes) { bytes throws(StoreError) in
                    var task = created
                    try TaskStatus.read(clear: bytes, secret: bytes, into: &task)
                }
            }
        }
        var parts = RecordParts()
        SessionConstants.write(world.session(session), to: &parts)
        try bend(parts.clear.bytes) { bytes throws(StoreError) in
            _ = try SessionConstants(clear: bytes, secret: bytes)
        }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e154])
    func `a number that is no length of time is refused`(value: Double) throws {
        var record = RecordWriter()
        record.put(1, value)
        var reader = RecordReader(record.bytes)
        #expect(try reader.next() == 1)
        #expect(throws: StoreError.damagedRecord) { try reader.double() }
    }

    @Test func `what a session remembers is read or refused when it is cut or changed`() throws {
        var world = World()
        let session = world.makeSession()
        for cookie in world.cookies() where cookie.value.utf8.count < 100 {
            var record = RecordWriter()
            cookie.write(to: &record)
            try bend(record.bytes) { bytes throws(StoreError) in
                _ = try Cookie(RecordReader(bytes), sequence: 1)
            }
        }
        for credential in world.credentials() {
            var record = RecordWriter()
            credential.write(to: &record)
            try bend(record.bytes) { bytes throws(StoreError) in
                _ = try StoredCredential(RecordReader(bytes))
            }
        }
        for response in world.responses(in: session) {
            let entry = response.entry
            let columns = CacheRow(
                id: entry.id, tenant: entry.tenant, session: session,
                isFile: entry.place == .file, usedAt: entry.usedAt)
            var record = RecordWriter()
            entry.writeMetadata(to: &record)
            #expect(
                try CachedEntry(metadata: RecordReader(record.bytes), columns: columns) == entry)
            try bend(record.bytes) { bytes throws(StoreError) in
                // The size too: it is counted with whatever is read.
                _ = try CachedEntry(metadata: RecordReader(bytes), columns: columns).size
            }
        }
    }

    @Test func `a pack that is cut or changed is read or refused, never trapped on`() throws {
        // One of each kind: every byte of theirs is changed.
        var seen: Set<EventKind> = []
        let events = History().events.filter { seen.insert(EventKind($0.body)).inserted }
        #expect(events.count == 18)
        var pack = EventPackWriter(startingAt: events[0])
        for event in events {
            var parts = RecordParts()
            EventCoding.write(event.body, to: &parts)
            pack.append(event, .clear(parts.clear.bytes + parts.secret.bytes))
        }
        try bend(pack.bytes) { bytes throws(StoreError) in
            var reader = try EventPackReader(bytes)
            while let event = try reader.next() {
                if case .clear(let payload) = event.payload {
                    _ = try EventCoding.body(event.kind, payload: payload)
                }
            }
        }
    }

    @Test(arguments: Question.all)
    func `a question that is cut or changed is read or refused, never trapped on`(
        question: Question
    ) throws {
        let event = question.event(
            DecisionNotice(
                id: DecisionID(rawValue: .max), kind: question.kind,
                deadline: Timestamp(milliseconds: World.start)))
        var parts = RecordParts()
        EventCoding.write(event, to: &parts)
        let whole = parts.clear.bytes + parts.secret.bytes
        #expect(try EventCoding.body(EventKind(event), payload: whole) == event)
        try bend(whole) { bytes throws(StoreError) in
            _ = try EventCoding.body(EventKind(event), payload: bytes)
        }
    }

    @Test(arguments: [
        "UPDATE task SET request = x'FFFF'", "UPDATE task SET type = 9",
        "UPDATE task SET state = 77", "DELETE FROM task_status",
        "UPDATE task_status SET status = x'0A7F'",
    ])
    func `a damaged task is left out of lists and of a start, and the others are there`(
        sql: String
    ) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            var batch = world.batch(session)
            for index in 0..<30 {
                let task = world.makeTask(in: session)
                let now = task.createdAt
                batch.createdTasks.append(
                    index < 20
                        ? task.completed(at: now) : task.running(at: now, isLive: index < 25))
            }
            try await store.commit(batch)
            let all = batch.createdTasks
            // One that is completed and one that runs, and of the latter no status is missed.
            let damaged = sql.contains("task_status") ? [all[3].id] : [all[3].id, all[22].id]
            let column = sql.contains("task_status") ? "task" : "id"
            let ids = damaged.map { String($0.rawValue) }.joined(separator: ", ")
            try await store.pool.write {
                try $0.execute(sql: "\(sql) WHERE \(column) IN (\(ids))")
            }
            let isStatusGone = sql.hasPrefix("DELETE")
            let rest = all.filter { !damaged.contains($0.id) }
            for session in [nil, session] {
                var query = TaskQuery(
                    tenant: World.alice, session: session, states: Set(TaskState.allCases),
                    limit: 4)
                var seen: [TaskID] = []
                var told: [TaskID] = []
                while true {
                    let page = try await store.tasks(query)
                    seen += page.tasks.map(\.id)
                    told += page.damaged
                    guard page.tasks.count == query.limit, let last = page.tasks.last else { break }
                    query.after = last.id
                }
                #expect(isStatusGone || seen == rest.map(\.id))
                // One of a state that there is not is in no list.
                #expect(isStatusGone || told == (sql.contains("77") ? [] : damaged))
            }
            let active = try await store.load().activeTasks.map(\.id)
            #expect(isStatusGone || active == rest.filter { $0.state == .running }.map(\.id))
        }
    }

    @Test(arguments: ["state = 'odd'", "constants = x'0AFF01'"])
    func `a damaged session is left out of a start, and the others are there`(
        damage: String
    ) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let sessions = (0..<3).map { _ in world.makeSession() }
            try await store.commit(world.batch(sessions[0], sessions[1], sessions[2]))
            try await store.pool.write {
                try $0.execute(
                    sql: "UPDATE session SET \(damage) WHERE id = \(sessions[1].rawValue)")
            }
            let contents = try await store.load()
            #expect(contents.sessions.map(\.id) == [sessions[0], sessions[2]])
            #expect(contents.damagedSessions == [sessions[1]: World.alice])
        }
    }

    @Test(arguments: ["x'01FF'", "x'02'"])
    func `behind a damaged pack its readers begin anew (R-8)`(damage: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            var events: [Event] = []
            for index in 0..<9 {
                let event = world.event(.didFinishDownloading(), of: task)
                var batch = world.batch(session)
                if index == 0 { batch.createdTasks = [task] }
                batch.events = [event]
                try await store.commit(batch)
                events.append(event)
            }
            try await store.pool.write {
                try $0.execute(
                    sql: "UPDATE event_pack SET events = \(damage) WHERE lastSequence = 5")
            }
            let streams: [EventStreamKey] = [
                .session(session), .task(task.id, session: session), .tenant(World.alice),
            ]
            for stream in streams {
                let query = EventQuery(stream: stream, after: 0, limit: 100)
                // What lies before it is told; it itself is told of once.
                if stream == streams[0] {
                    #expect(try await store.events(query) == Array(events[..<4]))
                    await #expect(throws: StoreError.self) {
                        try await store.events(
                            EventQuery(stream: stream, after: 4, limit: 100))
                    }
                }
                let oldest = try #require(try await store.oldestEvent(of: stream))
                #expect(oldest == 6)
                #expect(
                    try await store.events(EventQuery(stream: stream, after: 5, limit: 100))
                        == Array(events[5...]))
            }
        }
    }

    @Test(arguments: [
        "UPDATE task SET request = x'FFFF'", "UPDATE task_status SET status = x'0A7F'",
        "UPDATE task SET type = 9", "UPDATE event_pack SET events = x'01FF'",
        "UPDATE event_pack SET events = x'02'", "UPDATE task SET state = 77",
    ])
    func `a damaged row is told`(sql: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            try await store.pool.write { try $0.execute(sql: sql) }
            let error = await #expect(throws: StoreError.self) {
                _ = try await store.load()
                for task in history.tasks { _ = try await store.task(task.id, of: task.tenant) }
                for stream in history.streams {
                    _ = try await store.events(EventQuery(stream: stream, after: 0, limit: 1000))
                }
            }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    /// The first cookie and the first credential of a session do not open, or not as what they are.
    private static let damages = ["sealed = x'0102'", "sealed = zeroblob(64)", "tenant = 7"]

    @Test(arguments: damages)
    func `a damaged cookie or credential is left out, and goes with the next commit`(
        damage: String
    ) async throws {
        try await withDamagedMemory(damage) { folder, sealer, session, world in
            let store = try DurableStore(folder: folder, sealer: sealer)
            for _ in 0..<2 {
                let contents = try await store.load()
                #expect(contents.jar(of: session) == Array(world.cookies().dropFirst()))
                #expect(contents.credentials[session]?.keys.sorted() == [2, 3, 4, 5, 6])
                #expect(try await rows(of: "cookie", in: store) == 5)
            }
            // One that comes under the number of a damaged one stays.
            var batch = StoreBatch()
            batch.cookies = [world.jar(session, storing: [world.cookies()[0]])]
            try await store.commit(batch)
            #expect(try await rows(of: "cookie", in: store) == 5)
            #expect(try await rows(of: "credential", in: store) == 5)
            #expect(try await store.load().jar(of: session) == world.cookies())
        }
    }

    @Test(arguments: damages)
    func `another key takes a damaged cookie or credential away`(damage: String) async throws {
        try await withDamagedMemory(damage) { folder, old, _, _ in
            let new = AESGCMSealer(key: DataKey())
            try DurableStore.reseal(folder: folder, from: old, to: new)
            let store = try DurableStore(folder: folder, sealer: new)
            #expect(try await rows(of: "cookie", in: store) == 4)
            #expect(try await rows(of: "credential", in: store) == 5)
            let contents = try await store.load()
            #expect(contents.cookies.values.first?.count == 4)
            #expect(contents.credentials.values.first?.count == 5)
        }
    }

    private func rows(of table: String, in store: DurableStore) async throws -> Int {
        try await store.pool.read { database in
            try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? 0
        }
    }

    private func withDamagedMemory(
        _ damage: String,
        _ body: (String, any Sealer, SessionID, World) async throws -> Void
    ) async throws {
        try await withFolder { folder, sealer in
            var world = World()
            let session = world.makeSession()
            var batch = world.batch(session)
            batch.cookies = [world.jar(session, storing: world.cookies())]
            batch.credentials = [world.shelf(session, storing: world.credentials())]
            let store = try DurableStore(folder: folder, sealer: sealer)
            try await store.commit(batch)
            try await store.pool.write { database in
                for table in ["cookie", "credential"] {
                    try database.execute(sql: "UPDATE \(table) SET \(damage) WHERE number = 1")
                }
            }
            try store.close()
            try await body(folder, sealer, session, world)
        }
    }

    @Test func `a damaged task does not keep others from being forgotten`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            try await store.pool.write { database in
                try database.execute(
                    sql: "UPDATE task_status SET status = x'0A7F' WHERE task = ?",
                    arguments: [history.tasks[3].id.rawValue])
            }
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            // It may have had a file.
            #expect(try await store.purge(limits).files == [.task(history.tasks[3].id)])
            for task in history.tasks { #expect(try await !store.knows(task.id)) }
        }
    }

    /// Gives every prefix of the bytes, and the bytes with each one changed in several ways, to a
    /// reader that may throw.
    private func bend(
        _ bytes: [UInt8], _ read: ([UInt8]) throws(StoreError) -> Void
    ) throws {
        try read(bytes)
        var refused = 0
        func attempt(_ bytes: [UInt8]) {
            do throws(StoreError) { try read(bytes) } catch { refused += 1 }
        }
        for index in bytes.indices {
            attempt(Array(bytes[..<index]))
            for change: UInt8 in [0x01, 0x07, 0x80, 0xFF] {
                var changed = bytes
                changed[index] ^= change
                attempt(changed)
            }
        }
        #expect(bytes.isEmpty || refused > 0)
    }
}
