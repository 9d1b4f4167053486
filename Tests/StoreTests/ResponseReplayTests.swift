import Engine
import GRDB
import Semantics
import Testing

@testable import SQLiteStore

/// A task may have several responses (S-46), of which its record has only the last.
@Suite struct ResponseReplayTests {
    /// Which responses the tasks get: numbers of `response(_:)`.
    private static let stories = [
        [0], [0, 1], [1, 0, 2], [0, 1, 0], [2, 2, 2], [3, 0, 3], [0, 3], [0, 1, 2, 3, 4],
    ]

    @Test(arguments: StoreKind.allCases, [1, 2, 5, 12, 1000])
    func `every response is told as it was, whatever the batches were (R-8, S-46)`(
        kind: StoreKind, size: Int
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let created = Self.stories.map { _ in world.makeTask(in: session) }
            var tasks = created
            // Event by event of all tasks, so that they interleave.
            let stories = Self.stories.map { story in
                [.didCreate] + story.map { .didReceiveResponse(Self.response($0)) } + [
                    EventBody.didFinishCollectingMetrics(.plain), .didComplete(nil),
                ]
            }
            var steps: [(task: Int, body: EventBody)] = []
            for turn in 0..<(stories.map(\.count).max() ?? 0) {
                for (task, story) in stories.enumerated() where turn < story.count {
                    steps.append((task, story[turn]))
                }
            }
            var events: [Event] = []
            var known: Set<Int> = []
            for start in stride(from: 0, to: steps.count, by: size) {
                var batch = StoreBatch()
                var touched: Set<Int> = []
                for step in steps[start..<min(start + size, steps.count)] {
                    Self.advance(&tasks[step.task], step.body, world)
                    touched.insert(step.task)
                    batch.events.append(world.event(step.body, of: created[step.task]))
                }
                batch.createdTasks = touched.subtracting(known).sorted().map { tasks[$0] }
                batch.changedTasks = touched.intersection(known).sorted().map { tasks[$0] }
                known.formUnion(touched)
                batch.sessions = [world.session(session)]
                batch.tenantSequences = world.tenantSequences
                try await store.commit(batch)
                events += batch.events
            }
            try await check(store, tasks, session, events)
            for task in tasks {
                #expect(try await store.task(task.id, of: task.tenant) == task)
            }
            var batch = StoreBatch()
            batch.removedTasks = tasks.map(\.id)
            try await store.commit(batch)
            try await check(store, tasks, session, events)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a response that asks is told with its question, though it is the task's own (S-70)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var task = world.makeTask(in: session).completed(at: world.instant)
            task.dialogue.becameTask = TaskID(rawValue: 9)
            let question = Question(kind: .response) { .didReceiveResponse(.plain, decision: $0) }
            let decision = world.makeDecision(question, of: task)
            var batch = StoreBatch()
            batch.createdTasks = [task]
            batch.decisions = [decision]
            batch.events = [
                world.event(.didCreate, of: task),
                world.event(.didReceiveResponse(.plain), of: task),
                world.event(decision.question, of: task),
                world.event(.didBecomeDownloadTask(TaskID(rawValue: 9)), of: task),
            ]
            batch.sessions = [world.session(session)]
            batch.tenantSequences = world.tenantSequences
            try await store.commit(batch)
            try await check(store, [task], session, batch.events)
            var removal = StoreBatch()
            removal.removedTasks = [task.id]
            try await store.commit(removal)
            try await check(store, [task], session, batch.events)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `resume data in an error is kept whole (S-35)`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let (batch, task) = Self.failure(in: session, &world)
            try await store.commit(batch)
            #expect(try await store.task(task.id, of: World.alice) == task)
            try await check(store, [task], session, batch.events)
        }
    }

    @Test func `resume data in an error is stored once`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            try await store.commit(Self.failure(in: session, &world).batch)
            let (status, events) = try await store.pool.read { database in
                (
                    try Int.fetchOne(database, sql: "SELECT sum(length(status)) FROM task_status"),
                    try Int.fetchOne(database, sql: "SELECT sum(length(events)) FROM event_pack")
                )
            }
            #expect(status ?? 0 > 100 << 10)
            #expect(events ?? .max < 100)
        }
    }

    private func check(
        _ store: any Store, _ tasks: [TaskRecord], _ session: SessionID, _ events: [Event]
    ) async throws {
        let streams: [EventStreamKey] =
            [.session(session), .tenant(World.alice)]
            + tasks.map { .task($0.id, session: session) }
        for stream in streams {
            let query = EventQuery(stream: stream, after: 0, limit: 1000)
            #expect(try await store.events(query) == events.filter { stream.has($0) })
        }
    }

    private static func advance(_ task: inout TaskRecord, _ body: EventBody, _ world: World) {
        switch body {
        case .didReceiveResponse(let response, _):
            task = task.running(at: world.instant, isLive: true)
            task.response = response
        case .didFinishCollectingMetrics(let metrics): task.metrics = metrics
        case .didComplete:
            let response = task.response
            task = task.completed(at: world.instant)
            task.response = response
        default: break
        }
    }

    /// A response that differs from those of other numbers, in one way or another.
    private static func response(_ number: Int) -> ResponseRecord {
        var response = ResponseRecord.plain
        switch number {
        case 0: break
        case 1: response.expectedContentLength = unknownSize
        case 2: response.headers = ["Content-Type": "image/jpeg", "Content-Length": "9"]
        case 3: response.headers.append("Set-Cookie", "part=3")
        default: response.mimeType = nil
        }
        return response
    }

    /// A download that has failed with resume data of 100 KiB.
    private static func failure(
        in session: SessionID, _ world: inout World
    ) -> (batch: StoreBatch, task: TaskRecord) {
        var task = world.makeTask(in: session, type: .download)
        let blob = String(repeating: "0123456789abcdef", count: 100 << 6)
        task = task.completed(
            at: world.instant,
            error: TransferError.url(.networkConnectionLost, at: WebURL.plain.string).adding(
                .string(blob), for: "NSURLSessionDownloadTaskResumeData"))
        task.content = nil
        task.checkpoint = .plain(part: task.id)
        var batch = StoreBatch()
        batch.createdTasks = [task]
        batch.events = [
            world.event(.didFinishCollectingMetrics(task.metrics), of: task),
            world.event(.didComplete(task.error), of: task),
        ]
        batch.sessions = [world.session(session)]
        return (batch, task)
    }
}
