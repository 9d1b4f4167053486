import Engine
import Semantics
import Synchronization
import Testing

/// What tenants have in a store at a start: outstanding tasks, and bytes.
struct StoredBytesTests {
    /// What is stored at the moment; says how often it was told that the count has begun.
    private static func count(
        _ store: any Store, of tenants: Set<TenantID>? = nil
    ) async throws -> (bytes: [TenantID: Int64], beginnings: Int) {
        let beginnings = Mutex(0)
        let bytes = try await store.storedBytes(of: tenants) { beginnings.withLock { $0 += 1 } }
        return (bytes, beginnings.withLock { $0 })
    }

    private static func kept(
        _ task: TaskRecord, _ length: Int64, _ place: ContentRecord.Place, _ world: World
    ) -> TaskRecord {
        var task = task.completed(at: world.instant)
        task.content = ContentRecord(
            length: length, place: place, digest: nil, lengthVerified: true)
        return task
    }

    @Test(arguments: StoreKind.allCases)
    func `results and caches count for their tenants, until they are gone`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            let nothing = try await Self.count(store)
            #expect(nothing.bytes.isEmpty && nothing.beginnings == 1)
            var world = World()
            let (mine, theirs) = (world.makeSession(), world.makeSession(of: World.bob))
            let tasks = [mine, mine, mine, theirs, theirs].map { world.makeTask(in: $0) }
            var batch = world.batch(mine, theirs)
            batch.createdTasks = tasks
            let cached = world.makeResponse(in: mine)
            batch.cacheEntries = [cached]
            try await store.commit(batch)
            #expect(try await store.load().outstandingTasks == [World.alice: 3, World.bob: 2])
            batch = StoreBatch()
            batch.changedTasks = [
                Self.kept(tasks[0], 100, .store, world), Self.kept(tasks[1], 2000, .file, world),
                Self.kept(tasks[2], 77, .folder, world), Self.kept(tasks[3], 1 << 40, .file, world),
            ]
            try await store.commit(batch)
            #expect(try await store.load().outstandingTasks == [World.bob: 1])
            let size = cached.entry.size
            let count = try await Self.count(store)
            #expect(count.bytes == [World.alice: 2100 + size, World.bob: 1 << 40])
            #expect(count.beginnings == 1)
            for tenant in [World.alice, World.bob] {
                let own = try await Self.count(store, of: [tenant, TenantID(rawValue: 50)])
                #expect(own.bytes == count.bytes.filter { $0.key == tenant })
                #expect(own.beginnings == 1)
            }
            let none = try await Self.count(store, of: [])
            #expect(none.bytes.isEmpty && none.beginnings == 1)
            batch = StoreBatch()
            batch.removedTasks = [tasks[0].id]
            batch.emptiedCaches = [mine]
            try await store.commit(batch)
            #expect(try await Self.count(store).bytes == [World.alice: 2000, World.bob: 1 << 40])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what has come of a download that rests counts, unless it is another one's`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var tasks = (0..<3).map { _ in world.makeTask(in: session, type: .download) }
            tasks[0].checkpoint = .plain(part: tasks[0].id)
            tasks[1].checkpoint = .plain(part: tasks[0].id)
            var batch = world.batch(session)
            batch.createdTasks = tasks
            try await store.commit(batch)
            let length = try #require(tasks[0].checkpoint).point.receivedCount
            #expect(try await Self.count(store).bytes == [World.alice: length])
            batch = StoreBatch()
            tasks[2].checkpoint = .checkpoint(
                tag: "\"v1\"", date: nil, total: 1000, received: [0..<10], part: tasks[2].id)
            batch.changedTasks = [tasks[0].completed(at: world.instant), tasks[2]]
            batch.changedTasks[0].checkpoint = nil
            batch.changedTasks[0].content = nil
            try await store.commit(batch)
            #expect(try await Self.count(store).bytes == [World.alice: 10])
            batch = StoreBatch()
            batch.removedTasks = [tasks[2].id]
            try await store.commit(batch)
            #expect(try await Self.count(store).bytes.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a purge tells how many bytes of which session are gone`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let (first, second) = (world.makeSession(), world.makeSession())
            let tasks = [first, first, second].map { world.makeTask(in: $0) }
            var batch = world.batch(first, second)
            batch.createdTasks = tasks
            try await store.commit(batch)
            batch = StoreBatch()
            batch.changedTasks = [
                Self.kept(tasks[0], 10, .store, world), Self.kept(tasks[1], 20, .file, world),
                Self.kept(tasks[2], 40, .file, world),
            ]
            try await store.commit(batch)
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            let forgotten = try await store.purge(limits)
            let results = forgotten.results.sorted { $0.task < $1.task }
            #expect(results.map(\.task) == tasks.map(\.id))
            #expect(results.map(\.session) == [first, first, second])
            #expect(results.map(\.byteCount) == [10, 20, 40])
            #expect(Set(forgotten.files) == [.task(tasks[1].id), .task(tasks[2].id)])
            #expect(try await Self.count(store).bytes.isEmpty)
        }
    }
}
