import Engine
import Semantics
import Testing

/// What is forgotten, and when (R-8, S-60).
@Suite struct RetentionTests {
    @Test(arguments: StoreKind.allCases)
    func `old tasks are forgotten, and those with files are named (S-60)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var batch = world.batch(session)
            for index in 0..<30 {
                var task = world.makeTask(in: session)
                if index % 3 != 2 {
                    task = task.completed(at: Timestamp(milliseconds: Int64(index)))
                }
                if index % 2 == 1 { task.content?.place = .file }
                batch.createdTasks.append(task)
            }
            try await store.commit(batch)
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: 20)
            let files = try await store.purge(limits).files
            let isOld = { (task: TaskRecord) in (task.completedAt?.milliseconds ?? 20) < 20 }
            #expect(
                Set(files)
                    == Set(
                        batch.createdTasks.filter { isOld($0) && $0.content?.place == .file }.map {
                            ContentName.task($0.id, in: $0.content?.series)
                        }))
            let all = TaskQuery(tenant: World.alice, states: Set(TaskState.allCases), limit: 500)
            #expect(try await store.tasks(all).tasks == batch.createdTasks.filter { !isOld($0) })
            #expect(try await store.purge(limits).files.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a change that comes late does not bring a forgotten task back`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            // Of one the events stay, of the other one nothing.
            var tasks = (0..<2).map { _ in world.makeTask(in: session).completed(at: world.instant)
            }
            var batch = world.batch(session)
            batch.createdTasks = tasks
            batch.events = [world.event(.didFinishDownloading(), of: tasks[0])]
            batch.sessions = [world.session(session)]
            try await store.commit(batch)
            batch = StoreBatch()
            batch.removedTasks = tasks.map(\.id)
            try await store.commit(batch)
            let counts = try await store.taskCounts(of: session).filter { $0.value != 0 }
            let events = EventQuery(stream: .session(session), after: 0, limit: 10)
            let told = try await store.events(events)
            for index in tasks.indices {
                tasks[index].options.description = "late"
                tasks[index].options.metadata = ["job": "1"]
            }
            batch = StoreBatch()
            batch.changedTasks = tasks
            batch.contents = tasks.map { ($0.id, [1]) }
            try await store.commit(batch)
            var all = TaskQuery(tenant: World.alice, states: Set(TaskState.allCases))
            for metadata in [[:], ["job": "1"]] {
                all.filter.metadata = metadata
                #expect(try await store.tasks(all) == TaskPage())
            }
            for task in tasks {
                #expect(try await store.task(task.id, of: World.alice) == nil)
                #expect(try await store.content(of: task.id) == nil)
            }
            #expect(try await !store.knows(tasks[1].id))
            #expect(try await store.taskCounts(of: session).filter { $0.value != 0 } == counts)
            #expect(try await store.events(events) == told && told.count == 1)
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            let forgotten = try await store.purge(limits)
            #expect(forgotten.files.isEmpty && forgotten.results.isEmpty)
            // Nothing of them keeps their session.
            world.change(session) {
                $0.state = .invalid
                $0.invalidatedAt = KeptTime(milliseconds: World.start)
            }
            try await store.commit(world.batch(session))
            limits.eventsBefore = KeptTime(milliseconds: .max)
            limits.sessionsInvalidBefore = KeptTime(milliseconds: .max)
            #expect(try await store.purge(limits).sessions == [session])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `old events are forgotten from the oldest on, and the stream says so (R-8)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let other = world.makeSession()
            let early = world.makeTask(in: session)
            let late = world.makeTask(in: session)
            var events: [Event] = []
            for index in 0..<20 {
                world.tick(milliseconds: 10)
                let task = index < 12 ? early : late
                let event =
                    index == 0
                    ? world.event(.didBecomeInvalid(nil), of: nil, in: other)
                    : world.event(.didFinishDownloading(), of: task)
                var batch = world.batch(session, other)
                if index == 1 { batch.createdTasks = [early] }
                if index == 12 { batch.createdTasks = [late] }
                batch.events = [event]
                events.append(event)
                try await store.commit(batch)
            }
            var limits = RetentionLimits.none
            limits.eventsBefore = KeptTime(milliseconds: events[10].at.milliseconds)
            _ = try await store.purge(limits)
            let stream = EventStreamKey.session(session)
            #expect(try await store.oldestEvent(of: stream) == events[10].sequence)
            let query = EventQuery(stream: stream, after: 0, limit: 100)
            #expect(try await store.events(query) == Array(events[10...]))
            // Its only event is gone: the stream goes on behind it.
            #expect(try await store.oldestEvent(of: .session(other)) == 2)
            #expect(
                try await store.oldestEvent(of: .tenant(World.alice)) == events[10].tenantSequence)
            #expect(
                try await store.oldestEvent(of: .task(early.id, session: session))
                    == events[10].sequence)
            #expect(try await store.oldestEvent(of: .task(late.id, session: session)) == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a session keeps at least as many of its newest events as it may (R-8)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            for index in 0..<10 {
                var batch = StoreBatch()
                if index == 0 { batch.createdTasks = [task] }
                batch.events = (0..<5).map { _ in world.event(.didFinishDownloading(), of: task) }
                batch.sessions = [world.session(session)]
                try await store.commit(batch)
            }
            var limits = RetentionLimits.none
            limits.eventsPerSession = 20
            _ = try await store.purge(limits)
            let query = EventQuery(stream: .session(session), after: 0, limit: 100)
            #expect(try await store.events(query).map(\.sequence) == Array(31...50))
            #expect(try await store.oldestEvent(of: .session(session)) == 31)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a session is forgotten when it is invalid and nothing of it is left`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            var batch = StoreBatch()
            batch.createdTasks = [task.completed(at: world.instant)]
            batch.events = [
                world.event(.didCreate, of: task),
                world.event(.didBecomeInvalid(nil), of: nil, in: session),
            ]
            world.change(session) {
                $0.state = .invalid
                $0.invalidatedAt = KeptTime(milliseconds: World.start)
            }
            batch.sessions = [world.session(session)]
            try await store.commit(batch)
            var limits = RetentionLimits.none
            limits.sessionsInvalidBefore = KeptTime(milliseconds: World.start + 1)
            _ = try await store.purge(limits)
            #expect(try await store.load().sessions.count == 1)
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            #expect(try await store.load().sessions.count == 1)
            limits.eventsBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            #expect(try await store.load().sessions.isEmpty)
            #expect(try await store.load().lastIdentifier == task.id.rawValue)
        }
    }

    @Test func `memory keeps the newest 100,000 events of a session`() async throws {
        let store = MemoryStore()
        var world = World()
        let session = world.makeSession()
        let task = world.makeTask(in: session)
        var batch = StoreBatch()
        batch.createdTasks = [task]
        for _ in 0..<MemoryStore.eventLimit + 5 {
            batch.events.append(world.event(.didFinishDownloading(), of: task))
        }
        batch.sessions = [world.session(session)]
        try await store.commit(batch)
        #expect(try await store.oldestEvent(of: .session(session)) == 6)
        #expect(try await store.oldestEvent(of: .tenant(World.alice)) == 6)
        let query = EventQuery(stream: .session(session), after: 0, limit: .max)
        #expect(try await store.events(query).count == MemoryStore.eventLimit)
    }

    @Test(arguments: StoreKind.allCases)
    func `background sessions have times of their own for results and events (S-60)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [world.makeSession(), world.makeSession(type: .background)]
            for _ in 0..<2 {
                var batch = world.batch(sessions[0], sessions[1])
                for session in sessions {
                    let task = world.makeTask(in: session)
                        .completed(at: world.instant)
                    batch.createdTasks.append(task)
                    batch.events.append(world.event(.didFinishDownloading(), of: task))
                }
                batch.sessions = sessions.map { world.session($0) }
                try await store.commit(batch)
                world.tick(milliseconds: 1000)
            }
            func counts() async throws -> [[Int]] {
                var counts: [[Int]] = []
                for session in sessions {
                    let tasks = TaskQuery(
                        tenant: World.alice, session: session, states: [.completed])
                    let events = EventQuery(stream: .session(session), after: 0, limit: 100)
                    counts.append([
                        try await store.tasks(tasks).tasks.count,
                        try await store.events(events).count,
                    ])
                }
                return counts
            }
            let (all, half) = (world.keptInstant, KeptTime(milliseconds: World.start + 500))
            var limits = RetentionLimits.none
            (limits.tasksCompletedBefore, limits.eventsBefore) = (half, half)
            _ = try await store.purge(limits)
            #expect(try await counts() == [[1, 1], [2, 2]])
            (limits.backgroundTasksCompletedBefore, limits.backgroundEventsBefore) = (half, all)
            _ = try await store.purge(limits)
            #expect(try await counts() == [[1, 1], [1, 0]])
            (limits.tasksCompletedBefore, limits.eventsBefore) = (all, all)
            limits.backgroundTasksCompletedBefore = all
            _ = try await store.purge(limits)
            #expect(try await counts() == [[0, 0], [0, 0]])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a session goes when its last task and event are gone, and is named (S-11)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var batch = world.batch(session)
            for _ in 0..<1200 {
                batch.createdTasks.append(
                    world.makeTask(in: session).completed(at: Timestamp(milliseconds: 10)))
            }
            let event = world.event(.didBecomeInvalid(nil), of: nil, in: session)
            batch.events = [event]
            var record = try #require(batch.sessions.first)
            record.state = .invalid
            record.invalidatedAt = KeptTime(milliseconds: 10)
            record.lastSequence = event.sequence
            batch.sessions = [record]
            try await store.commit(batch)
            var limits = RetentionLimits.none
            limits.sessionsInvalidBefore = KeptTime(milliseconds: 20)
            limits.tasksCompletedBefore = KeptTime(milliseconds: 20)
            // Events are told from tasks that are gone, and the session stays with them.
            #expect(try await store.purge(limits).sessions.isEmpty)
            #expect(try await store.load().sessions.count == 1)
            limits.eventsBefore = KeptTime(milliseconds: event.at.milliseconds + 1)
            #expect(try await store.purge(limits).sessions == [record.id])
            #expect(try await store.load().sessions.isEmpty)
            let all = TaskQuery(tenant: World.alice, states: Set(TaskState.allCases), limit: 500)
            #expect(try await store.tasks(all) == TaskPage())
        }
    }
}

extension RetentionLimits {
    /// Forgets nothing.
    static let none = RetentionLimits(
        tasksCompletedBefore: KeptTime(milliseconds: 0),
        backgroundTasksCompletedBefore: KeptTime(milliseconds: 0),
        eventsBefore: KeptTime(milliseconds: 0), backgroundEventsBefore: KeptTime(milliseconds: 0),
        eventsPerSession: .max, sessionsInvalidBefore: KeptTime(milliseconds: 0),
        creationsBefore: KeptTime(milliseconds: 0), deliveriesBefore: KeptTime(milliseconds: 0))
}
