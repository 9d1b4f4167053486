import Engine
import GRDB
import Records
import Semantics
import TestSupport
import Testing

@testable import SQLiteStore

/// Lists in either order, and what they are narrowed to; every store passes.
@Suite struct TaskSearchTests {
    /// Tasks of two tenants and three sessions that differ in everything that is searched.
    private struct Library {
        var world = World()
        var tasks: [TaskRecord] = []
        private(set) var sessions: [SessionID] = []
        private var generator: SeededGenerator

        init(count: Int, seed: UInt64) {
            generator = SeededGenerator(seed)
            sessions = [world.makeSession(), world.makeSession(), world.makeSession(of: World.bob)]
            for _ in 0..<count { tasks.append(make()) }
        }

        private mutating func make() -> TaskRecord {
            let place = ["a", "b.example", "::1"].randomElement(using: &generator) ?? ""
            let url = WebURL(
                string: "http://\(place)/\(Int.random(in: 0..<9, using: &generator))",
                scheme: "http", host: place, port: 80, path: "/")
            var options = TaskOptions()
            options.description = ["Red", "blue", nil].randomElement(using: &generator) ?? nil
            options.fileName = ["RED.txt", nil].randomElement(using: &generator) ?? nil
            options.metadata =
                [[:], ["job": "1"], ["job": "2"], ["job": "1", "x": "y"]]
                .randomElement(using: &generator) ?? [:]
            world.tick(milliseconds: Int64.random(in: -3...9, using: &generator))
            let session = sessions.randomElement(using: &generator) ?? sessions[0]
            var task = world.makeTask(
                in: session, request: RequestRecord(url: url), options: options,
                type: TaskType.allCases.randomElement(using: &generator) ?? .data)
            // As the engine numbers them: by the microsecond, and always more than the last.
            let number = max((tasks.last?.id.rawValue ?? 0) + 1, world.instant.milliseconds * 1000)
            task = TaskRecord(
                id: TaskID(rawValue: number), tenant: task.tenant, session: session,
                number: task.number, type: task.type, options: options,
                request: task.originalRequest, createdAt: world.instant)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: return task.completed(at: world.instant)
            case 1: return task.completed(at: world.instant, error: .url(.timedOut))
            case 2: return task.running(at: world.instant, isLive: false)
            default: return task
            }
        }

        /// A query at random.
        mutating func query() -> TaskQuery {
            let all = Set(TaskState.allCases)
            var query = TaskQuery(
                tenant: Bool.random(using: &generator) ? World.alice : World.bob,
                states: [all, [.completed], [.suspended, .running]]
                    .randomElement(using: &generator) ?? all,
                limit: [1, 7, 100].randomElement(using: &generator) ?? 1)
            query.session = [nil, sessions[0], sessions[2]].randomElement(using: &generator) ?? nil
            query.types =
                [nil, [.data], [.download, .upload]].randomElement(using: &generator) ?? nil
            query.order = Bool.random(using: &generator) ? .oldestFirst : .newestFirst
            let instants: [Timestamp?] = [nil, nil, nil] + tasks.map(\.createdAt)
            query.filter.createdAfter = instants.randomElement(using: &generator) ?? nil
            if Bool.random(using: &generator) {
                query.filter.createdBefore = instants.randomElement(using: &generator) ?? nil
            }
            query.filter.text =
                [nil, nil, SearchText("red"), SearchText("/3")]
                .randomElement(using: &generator) ?? nil
            query.filter.host = [nil, nil, "b.example"].randomElement(using: &generator) ?? nil
            query.filter.hasError = [nil, nil, true, false].randomElement(using: &generator) ?? nil
            query.filter.metadata =
                [[:], [:], ["job": "1"], ["job": "1", "x": "y"], ["x": "z"]]
                .randomElement(using: &generator) ?? [:]
            return query
        }

        /// What a query is about.
        func matches(of query: TaskQuery) -> [TaskID] {
            let found = tasks.filter { task in
                task.tenant == query.tenant && query.session ?? task.session == task.session
                    && query.states.contains(task.state)
                    && query.types?.contains(task.type) ?? true && query.filter.fits(task)
            }
            return found.map(\.id).sorted { query.order.comesBefore($0, $1) }
        }

        var batch: StoreBatch {
            var batch = world.batch(sessions[0], sessions[1], sessions[2])
            batch.createdTasks = tasks
            return batch
        }
    }

    /// The ids that a query finds, page after page, and how many pages were full.
    private func all(_ query: TaskQuery, in store: any Store) async throws -> [TaskID] {
        var query = query
        var ids: [TaskID] = []
        while true {
            let page = try await store.tasks(query)
            #expect(page.tasks.count <= query.limit && page.damaged.isEmpty)
            ids += page.tasks.map(\.id)
            if let through = page.searchedThrough {
                #expect(page.tasks.count < query.limit)
                query.after = through
            } else if page.tasks.count == query.limit {
                query.after = page.tasks.last?.id
            } else {
                return ids
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is found is what fits, in order, whatever is asked for`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var library = Library(count: 200, seed: 11)
            try await store.commit(library.batch)
            var foundSomething = 0
            for _ in 0..<400 {
                let query = library.query()
                let expected = library.matches(of: query)
                #expect(try await all(query, in: store) == expected, "\(query)")
                if !expected.isEmpty { foundSomething += 1 }
            }
            #expect(foundSomething > 50)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what has changed is found as it is now, and what is gone is not`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var library = Library(count: 60, seed: 5)
            try await store.commit(library.batch)
            var batch = StoreBatch()
            for index in library.tasks.indices {
                switch index % 3 {
                case 0:
                    library.tasks[index].options.metadata = index % 2 == 0 ? [:] : ["job": "1"]
                    batch.changedTasks.append(library.tasks[index])
                case 1 where library.tasks[index].state != .completed:
                    library.tasks[index] = library.tasks[index].completed(
                        at: library.world.instant, error: .url(.cancelled))
                    batch.changedTasks.append(library.tasks[index])
                case 2 where index % 4 == 0: batch.removedTasks.append(library.tasks[index].id)
                default: break
                }
            }
            try await store.commit(batch)
            let gone = Set(batch.removedTasks)
            library.tasks.removeAll { gone.contains($0.id) }
            for _ in 0..<100 {
                let query = library.query()
                #expect(try await all(query, in: store) == library.matches(of: query))
            }
            var end = StoreBatch()
            end.removedSessions = library.sessions
            try await store.commit(end)
            if let durable = store as? DurableStore {
                #expect(
                    try await durable.pool.read {
                        try Int.fetchOne($0, sql: "SELECT count(*) FROM task_metadata")
                    } == 0)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a long search ends early, and says how far it has come`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var batch = world.batch(session)
            for index in 0..<10_000 {
                var options = TaskOptions()
                if index == 9_990 { options.description = "needle" }
                batch.createdTasks.append(world.makeTask(in: session, options: options))
            }
            try await store.commit(batch)
            var query = TaskQuery(tenant: World.alice, limit: 1)
            query.filter.text = SearchText("NEEDLE")
            let first = try await store.tasks(query)
            #expect(first.tasks.isEmpty && first.searchedThrough != nil)
            #expect(try await all(query, in: store) == [batch.createdTasks[9_990].id])
            query.order = .newestFirst
            #expect(try await store.tasks(query).tasks.map(\.id) == [batch.createdTasks[9_990].id])
            query.filter = TaskFilter()
            #expect(try await store.tasks(query).tasks.map(\.id) == [batch.createdTasks[9_999].id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a page of large tasks ends early, and says how far it has come`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var batch = world.batch(session)
            for _ in 0..<300 {
                var options = TaskOptions()
                options.metadata = ["note": String(repeating: "x", count: 100_000)]
                batch.createdTasks.append(world.makeTask(in: session, options: options))
            }
            try await store.commit(batch)
            let query = TaskQuery(tenant: World.alice, limit: 300)
            let first = try await store.tasks(query)
            #expect((80..<200).contains(first.tasks.count))
            #expect(first.searchedThrough == first.tasks.last?.id)
            #expect(try await all(query, in: store) == batch.createdTasks.map(\.id))
        }
    }

    @Test func `a search by metadata, failure or state is a range of an index`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            for (sql, index) in [
                (TaskIndex.withMetadata, "task>?"), (TaskIndex.failed, "task_failed (task>?)"),
                (TaskIndex.page(inSession: false, .completed), "task_history"),
                (TaskIndex.page(inSession: true, .running), "task_by_session"),
                (DecisionTable.pageOfState, "decision_by_tenant"),
            ] {
                for order in [ListOrder.oldestFirst, .newestFirst] {
                    let plan = try await store.pool.read { database in
                        let sql = TaskIndex.inOrder(order, sql).replacing("?6", with: "1")
                            .replacing("?2", with: sql.contains("state = 5") ? "5" : "3")
                            .replacing(/\?\d/, with: "1")
                        return try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql)
                            .map { $0["detail"] as String }
                    }
                    let expected =
                        order == .oldestFirst ? index : index.replacing("task>?", with: "task<?")
                    #expect(plan.count == 1 && plan[0].contains(expected), "\(plan)")
                }
            }
        }
    }

    @Test func `failures that an earlier version has kept are found`() async throws {
        try await withFolder { folder, sealer in
            var library = Library(count: 40, seed: 3)
            var store = try DurableStore(folder: folder, sealer: sealer)
            try await store.commit(library.batch)
            try await store.pool.write { database in
                try database.execute(
                    sql: """
                        DROP TABLE task_metadata; DROP INDEX task_failed;
                        DROP INDEX decision_by_tenant;
                        ALTER TABLE task_status DROP COLUMN hasError;
                        ALTER TABLE session DROP COLUMN metadata;
                        DELETE FROM grdb_migrations WHERE identifier = '10 metadata';
                        """)
            }
            try store.close()
            store = try DurableStore(folder: folder, sealer: sealer)
            var query = TaskQuery(tenant: World.alice, states: [.completed])
            query.filter.hasError = true
            #expect(!library.matches(of: query).isEmpty)
            #expect(try await all(query, in: store) == library.matches(of: query))
            // Its metadata is new to it.
            library.tasks[0].options.metadata = ["since": "today"]
            var batch = StoreBatch()
            batch.changedTasks = [library.tasks[0]]
            try await store.commit(batch)
            query = TaskQuery(
                tenant: library.tasks[0].tenant, states: Set(TaskState.allCases))
            query.filter.metadata = ["since": "today"]
            #expect(try await all(query, in: store) == [library.tasks[0].id])
            try store.close()
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `decisions are listed by state, page by page, each tenant's own`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [world.makeSession(), world.makeSession(of: World.bob)]
            var batch = world.batch(sessions[0], sessions[1])
            for index in 0..<40 {
                let task = world.makeTask(in: sessions[index % 2])
                batch.createdTasks.append(task)
                var decision = world.makeDecision(Question.all[0], of: task)
                decision.state = DecisionState.allCases[index / 2 % 4]
                batch.decisions.append(decision)
            }
            try await store.commit(batch)
            for tenant in [World.alice, World.bob] {
                for states: Set<DecisionState> in [
                    [.pending], [.answered, .withdrawn], Set(DecisionState.allCases), [],
                ] {
                    var query = DecisionQuery(tenant: tenant, states: states, limit: 3)
                    var found: [DecisionRecord] = []
                    while true {
                        let page = try await store.decisions(query)
                        #expect(page.decisions.count <= 3)
                        found += page.decisions
                        guard let next = page.next else { break }
                        #expect(next == page.decisions.last?.id)
                        query.after = next
                    }
                    let expected = batch.decisions.filter {
                        $0.tenant == tenant && states.contains($0.state)
                    }
                    #expect(found == expected)
                }
            }
        }
    }
}
