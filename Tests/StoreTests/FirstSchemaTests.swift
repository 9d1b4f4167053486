import Engine
import Foundation
import GRDB
import Sealing
import Semantics
import Testing

@testable import SQLiteStore

/// A database that an earlier version has written is this version's.
@Suite struct FirstSchemaTests {
    @Test func `a database of the first schema is read as it was written (S-56)`() async throws {
        try await withFirstSchema { folder, sealer in
            let history = FirstSchemaHistory()
            let store = try DurableStore(folder: folder, sealer: sealer)
            let contents = try await store.load()
            #expect(contents.sessions == [history.session])
            #expect(contents.sessions.first?.delegate?.handles == [])
            #expect(contents.sessions.first?.maximumBytesPerSecond == nil)
            #expect(contents.sessions.first?.knownLeaves == [])
            #expect(contents.sessions.first?.configuration.connectionProxyDictionary == nil)
            #expect(contents.pendingDecisions.isEmpty)
            #expect(contents.activeTasks == history.tasks.filter(\.isActive))
            #expect(contents.activeTasks.count == 3)
            #expect(contents.files.isEmpty && contents.gatewayLimit == nil)
            #expect(contents.lastIdentifier == history.gone.rawValue)
            #expect(contents.tenantSequences == [World.alice: 18])
            for task in history.tasks {
                #expect(try await store.task(task.id, of: World.alice) == task)
                #expect(task.suspendCount == (task.state == .suspended ? 1 : 0))
                #expect(task.dialogue == TaskDialogue())
            }
            #expect(try await store.task(history.gone, of: World.alice) == nil)
            #expect(
                try await store.content(of: history.tasks[4].id) == Array("twelve bytes".utf8))
            let query = EventQuery(stream: .tenant(World.alice), after: 0, limit: 100)
            #expect(try await store.events(query) == history.events)
            #expect(try await store.creation(of: "a", of: World.alice) == nil)
            try store.close()
        }
    }

    @Test func `a database of the first schema takes everything new`() async throws {
        try await withFirstSchema { folder, sealer in
            let history = FirstSchemaHistory()
            var store = try DurableStore(folder: folder, sealer: sealer)
            var world = history.world
            world.change(history.session.id) { session in
                session.maximumBytesPerSecond = 9
                session.owesFinish = true
                session.knownLeaves = [
                    KnownLeaf(host: "a", port: 1, fingerprint: [1], mustVerify: false)
                ]
            }
            var batch = world.batch(history.session.id)
            var task = history.tasks[2]
            task.suspendCount = 3
            task.checkpoint = .plain(part: task.id)
            task.options.mirrors = [.plain]
            task.dialogue.held = HeldResponse(.cookie, bodyLength: 1)
            task.dialogue.authentication.identity = .without
            batch.changedTasks = [task]
            batch.contents = [(task.id, [9])]
            batch.removedContents = [history.tasks[4].id]
            batch.decisions = Question.all.map { world.makeDecision($0, of: task) }
            batch.files = [world.makeFile()]
            batch.creations = [world.creation("a", of: [.max])]
            batch.gatewayLimit = .some(7)
            batch.events = [
                world.event(.willRetry(attempt: 2, delay: 1, reason: "503"), of: history.tasks[1])
            ]
            batch.events += batch.decisions.map { world.event($0.question, of: task) }
            batch.sessions = [world.session(history.session.id)]
            try await store.commit(batch)
            try store.close()
            store = try DurableStore(folder: folder, sealer: sealer)
            let contents = try await store.load()
            #expect(contents.sessions == batch.sessions)
            #expect(contents.files == batch.files && contents.gatewayLimit == 7)
            #expect(contents.pendingDecisions == batch.decisions)
            #expect(try await store.task(task.id, of: World.alice) == task)
            #expect(try await store.content(of: task.id) == [9])
            #expect(try await store.content(of: history.tasks[4].id) == nil)
            #expect(try await store.creation(of: "a", of: World.alice) == batch.creations[0])
            let query = EventQuery(stream: .session(history.session.id), after: 0, limit: 100)
            #expect(try await store.events(query) == history.events + batch.events)
            try store.close()
        }
    }

    @Test func `a database of the second schema is read as it was written`() async throws {
        try await withFolder { folder, sealer in
            var store = try DurableStore(folder: folder, sealer: sealer)
            let history = FirstSchemaHistory()
            for batch in history.batches { try await store.commit(batch) }
            var world = history.world
            var batch = world.batch(history.session.id)
            batch.files = [world.makeFile()]
            batch.creations = [world.creation("a", of: [1])]
            batch.gatewayLimit = .some(7)
            try await store.commit(batch)
            // Without what the later ones have added nothing else differs from the second.
            try await store.pool.write { database in
                try database.execute(
                    sql: Self.withoutLater + """
                        DROP TABLE decision;
                        ALTER TABLE session DROP COLUMN knownLeaves;
                        DELETE FROM grdb_migrations WHERE identifier LIKE '3 %';
                        """)
                #expect(database.changesCount == 1)
            }
            try store.close()
            store = try DurableStore(folder: folder, sealer: sealer)
            let contents = try await store.load()
            #expect(contents.sessions == [history.session])
            #expect(contents.files == batch.files && contents.gatewayLimit == 7)
            #expect(contents.pendingDecisions.isEmpty)
            for task in history.tasks {
                #expect(try await store.task(task.id, of: World.alice) == task)
            }
            let query = EventQuery(stream: .tenant(World.alice), after: 0, limit: 100)
            #expect(try await store.events(query) == history.events)
            batch = StoreBatch()
            batch.decisions = Question.all.map { world.makeDecision($0, of: history.tasks[1]) }
            try await store.commit(batch)
            #expect(try await store.load().pendingDecisions == batch.decisions)
        }
    }

    @Test
    func `a database of the third schema is read as it was written, and remembers from now on`()
        async throws
    {
        try await withFolder { folder, sealer in
            var store = try DurableStore(folder: folder, sealer: sealer)
            let history = FirstSchemaHistory()
            for batch in history.batches { try await store.commit(batch) }
            var world = history.world
            let session = history.session.id
            var batch = world.batch(session)
            batch.decisions = Question.all.map { world.makeDecision($0, of: history.tasks[1]) }
            try await store.commit(batch)
            let decisions = batch.decisions
            try await store.pool.write { database in
                try database.execute(sql: Self.withoutLater)
                #expect(database.changesCount == 1)
            }
            try store.close()
            store = try DurableStore(folder: folder, sealer: sealer)
            var contents = try await store.load()
            #expect(contents.sessions == [history.session])
            #expect(contents.sessions.first?.configuration.hasCookieStorage == true)
            #expect(contents.sessions.first?.configuration.hasCredentialStorage == true)
            #expect(contents.pendingDecisions == decisions)
            #expect(contents.cookies.isEmpty && contents.credentials.isEmpty)
            #expect(try await store.cacheIndex(of: session).isEmpty)
            for task in history.tasks {
                #expect(try await store.task(task.id, of: World.alice) == task)
            }
            batch = StoreBatch()
            let cookies = world.cookies()
            batch.cookies = [world.jar(session, storing: cookies)]
            batch.credentials = [world.shelf(session, storing: world.credentials())]
            batch.cacheEntries = world.responses(in: session)
            try await store.commit(batch)
            try store.close()
            store = try DurableStore(folder: folder, sealer: sealer)
            contents = try await store.load()
            #expect(contents.jar(of: session) == cookies)
            #expect(contents.credentials[session] == batch.credentials[0].stored)
            #expect(try await store.cache(of: session) == batch.cacheEntries)
            #expect(contents.lastIdentifier == batch.cacheEntries.last?.entry.id.rawValue)
        }
    }

    @Test func `background results of an earlier schema have their own time (S-60)`() async throws {
        try await withFolder { folder, sealer in
            var store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let sessions = [world.makeSession(), world.makeSession(type: .background)]
            var batch = world.batch(sessions[0], sessions[1])
            batch.createdTasks = sessions.map {
                world.makeTask(in: $0).completed(at: world.instant)
            }
            batch.sessions = sessions.map { world.session($0) }
            try await store.commit(batch)
            try await store.pool.write { try $0.execute(sql: Self.withoutQuietTime) }
            try store.close()
            store = try DurableStore(folder: folder, sealer: sealer)
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            let all = TaskQuery(tenant: World.alice, states: [.completed])
            #expect(try await store.tasks(all).tasks.map(\.session) == [sessions[1]])
            try store.close()
        }
    }

    /// Takes away what the eighth schema has added.
    private static let withoutQuietTime = """
        DROP INDEX task_status_kept;
        ALTER TABLE task_status DROP COLUMN isBackground;
        ALTER TABLE gateway DROP COLUMN backgroundUpdates;
        CREATE INDEX task_status_kept ON task_status (coalesce(keptSince, completedAt))
            WHERE completedAt IS NOT NULL;
        DELETE FROM grdb_migrations WHERE identifier LIKE '8 %';
        """

    /// Takes away what the later schemas have added to the third, and no row with it.
    private static let withoutLater = """
        DELETE FROM grdb_migrations WHERE identifier LIKE '12 %';
        DROP TABLE delivery;
        DROP TABLE webhook;
        DELETE FROM grdb_migrations WHERE identifier LIKE '9 %';
        DROP INDEX task_status_kept;
        ALTER TABLE task_status DROP COLUMN isBackground;
        ALTER TABLE gateway DROP COLUMN backgroundUpdates;
        DELETE FROM grdb_migrations WHERE identifier LIKE '8 %';
        ALTER TABLE task_status DROP COLUMN keptSince;
        CREATE INDEX task_status_completed ON task_status (completedAt)
            WHERE completedAt IS NOT NULL;
        ALTER TABLE gateway DROP COLUMN keptMark; ALTER TABLE gateway DROP COLUMN wallMark;
        ALTER TABLE gateway DROP COLUMN bootMark; ALTER TABLE gateway DROP COLUMN elapsedMark;
        DELETE FROM grdb_migrations WHERE identifier LIKE '6 %';
        DROP INDEX task_history; DROP TABLE task_count;
        DROP TRIGGER task_goes;
        DELETE FROM grdb_migrations WHERE identifier LIKE '5 %';
        DROP TABLE cookie; DROP TABLE credential; DROP TABLE cache_entry;
        DROP TABLE cache_metadata; DROP TABLE cache_content; DROP TABLE cache_remains;
        ALTER TABLE session DROP COLUMN cache;
        DELETE FROM grdb_migrations WHERE identifier LIKE '4 %';

        """

    /// The common life of a task, from its creation to its end, with nothing that is new.
    @Test func `what was kept before takes the same rows and not a byte more`() async throws {
        try await withFirstSchema { folder, sealer in
            let old = try DurableStore(folder: folder, sealer: sealer)
            let new = try DurableStore(folder: folder + "-new", sealer: sealer)
            defer { try? FileManager.default.removeItem(atPath: folder + "-new") }
            for batch in FirstSchemaHistory().batches { try await new.commit(batch) }
            // Sealed values differ by their nonces: their lengths count.
            for sql in [
                """
                SELECT id, number, type, state, hasLiveAttempt, startedAt, firstEvent, hex(request)
                FROM task
                """,
                """
                SELECT task, completedAt, lastEvent, hex(status), length(secret) FROM task_status
                """,
                "SELECT task, length(secret) FROM task_secret",
                "SELECT task, length(bytes) FROM content",
                """
                SELECT id, session, firstSequence, lastSequence, tenantThrough, length(events)
                FROM event_pack
                """,
                "SELECT id, hex(constants), length(secret) FROM session",
            ] {
                let found = try await rows(sql, of: old)
                #expect(try await rows(sql, of: new) == found)
                #expect(!found.isEmpty)
            }
            try old.close()
            try new.close()
        }
    }

    @Test func `a task that waits or runs as it was created has no status at all`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            var task = world.makeTask(in: session)
            for (state, suspendCount, rows) in [
                (TaskState.suspended, 1, 0), (.running, 0, 0), (.suspended, 2, 1), (.running, 1, 1),
                (.running, 0, 0), (.suspended, 1, 0),
            ] {
                var batch = world.batch(session)
                task.state = state
                task.suspendCount = suspendCount
                if try await store.knows(task.id) {
                    batch.changedTasks = [task]
                } else {
                    batch.createdTasks = [task]
                }
                try await store.commit(batch)
                #expect(try await store.task(task.id, of: World.alice) == task)
                let found = try await store.pool.read {
                    try Int.fetchOne($0, sql: "SELECT count(*) FROM task_status")
                }
                #expect(found == rows)
            }
        }
    }

    private func rows(_ sql: String, of store: DurableStore) async throws -> [String] {
        try await store.pool.read { try Row.fetchAll($0, sql: sql).map(\.description) }
    }

    /// Runs the body with a folder that has the old database, and its sealer.
    private func withFirstSchema(
        _ body: (String, any Sealer) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            let queue = try DatabaseQueue(path: folder + "/" + DurableStore.fileName)
            try await queue.write { try $0.execute(sql: FirstSchema.dump) }
            try queue.close()
            let key = try #require(DataKey(bytes: Array(0..<32)))
            try await body(folder, AESGCMSealer(key: key))
        }
    }
}

/// What `FirstSchema.dump` was made of.
private struct FirstSchemaHistory {
    let session: SessionRecord
    /// All but the removed one, in their last form.
    let tasks: [TaskRecord]
    /// The removed one, whose events are still there.
    let gone: TaskID
    let events: [Event]
    let batches: [StoreBatch]
    let world: World

    init() {
        var world = World()
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForRequest = 7.5
        configuration.httpAdditionalHeaders = ["Authorization": "Basic eA=="]
        let session = world.makeSession(configuration: configuration, delegate: DelegateOptions())
        world.change(session) { $0.description = "nightly" }
        let post = RequestRecord(
            url: .plain, method: "POST", headers: ["Cookie": "a=b"], timeoutInterval: 9,
            body: .bytes(Array("a secret".utf8)))
        var options = TaskOptions()
        options.description = "ümläut"
        options.priority = 0.25
        options.expectedDigest = ContentDigest(
            algorithm: .sha256, bytes: Array(repeating: 9, count: 32))
        let waiting = world.makeTask(in: session)
        var running = world.makeTask(in: session, request: post, options: options)
        var held = world.makeTask(in: session, type: .download)
        var canceling = world.makeTask(in: session)
        var redirected = world.makeTask(in: session, request: post)
        var failed = world.makeTask(in: session)
        let removed = world.makeTask(in: session, request: post)
        var first = StoreBatch()
        first.createdTasks = [waiting, running, held, canceling, redirected, failed, removed]
        var early = ResponseRecord.plain
        early.status = 206
        early.headers = ["Set-Cookie": "early=1"]
        first.events = first.createdTasks.map { world.event(.didCreate, of: $0) }
        first.events += [
            world.event(
                .didReceiveInformationalResponse(status: 103, headers: ["Link": "</a>"]),
                of: redirected),
            world.event(.didReceiveResponse(early), of: redirected),
        ]
        first.sessions = [world.session(session)]
        first.tenantSequences = world.tenantSequences

        running = running.running(at: world.instant, isLive: true)
        held.hasLiveAttempt = true
        held.startedAt = world.instant
        canceling = canceling.running(at: world.instant, isLive: false)
        canceling.state = .canceling
        redirected = redirected.completed(at: world.instant)
        redirected.currentRequest.url = WebURL(
            string: "http://odd.example/x", scheme: "http", host: "odd.example", port: 80,
            path: "/x")
        redirected.response?.headers.append("Set-Cookie", "late=1")
        redirected.countOfBytesSent = 8
        failed = failed.completed(
            at: world.instant,
            error: TransferError(
                .url(.timedOut), at: WebURL.plain.string, userInfo: ["a": .integer(1)]))
        failed.content = nil
        let gone = removed.completed(at: world.instant)
        var second = StoreBatch()
        second.changedTasks = [running, held, canceling, redirected, failed, gone]
        second.contents = [(redirected.id, Array("twelve bytes".utf8))]
        for task in [redirected, failed, gone] {
            for body: EventBody in [
                .didReceiveResponse(task.response ?? .plain),
                .didFinishCollectingMetrics(task.metrics), .didComplete(task.error),
            ] {
                second.events.append(world.event(body, of: task))
            }
        }
        second.sessions = [world.session(session)]
        second.tenantSequences = world.tenantSequences
        var third = StoreBatch()
        third.removedTasks = [gone.id]
        self.session = world.session(session)
        self.tasks = [waiting, running, held, canceling, redirected, failed]
        self.gone = gone.id
        self.events = first.events + second.events
        self.batches = [first, second, third]
        self.world = world
    }
}

extension TaskRecord {
    /// Whether a start reads the task.
    fileprivate var isActive: Bool {
        self.state == .running || self.state == .canceling
            || (self.state == .suspended && self.hasLiveAttempt)
    }
}
