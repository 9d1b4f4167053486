import Engine
import Semantics
import Testing

/// What the port promises; every store passes.
@Suite struct StoreTests {
    @Test(arguments: StoreKind.allCases)
    func `an empty store has nothing`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let contents = try await store.load()
            #expect(contents.sessions.isEmpty && contents.activeTasks.isEmpty)
            #expect(contents.lastIdentifier == 0 && contents.tenantSequences.isEmpty)
            #expect(contents.files.isEmpty && contents.gatewayLimit == nil)
            #expect(contents.pendingDecisions.isEmpty)
            #expect(try await store.decision(DecisionID(rawValue: 1), of: World.alice) == nil)
            #expect(try await store.creation(of: "", of: World.alice) == nil)
            let session = SessionID(rawValue: 1)
            #expect(try await store.tasks(TaskQuery(tenant: World.alice)) == TaskPage())
            #expect(try await store.taskCounts(of: session).isEmpty)
            #expect(try await store.content(of: TaskID(rawValue: 1)) == nil)
            let query = EventQuery(stream: .session(session), after: 0, limit: 10)
            #expect(try await store.events(query).isEmpty)
            #expect(try await store.oldestEvent(of: .session(session)) == nil)
            #expect(try await store.oldestEvent(of: .tenant(World.alice)) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a session is loaded as it was saved last`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            var configuration = SessionConfiguration()
            configuration.timeoutIntervalForRequest = 7.25
            configuration.httpAdditionalHeaders = [
                "User-Agent": "a/1", "Authorization": "Basic eA==",
            ]
            configuration.tlsMaximumSupportedProtocolVersion = .tls12
            configuration.allowsCellularAccess = false
            configuration.urlCache.diskCapacity = 0
            configuration.connectionProxyDictionary = ProxyConfiguration()
            configuration.connectionProxyDictionary?.https = ProxyAddress(host: "::1", port: 3128)
            var delegate = DelegateOptions()
            delegate.data = .inline
            delegate.handles = [.bodyStream, .redirect]
            let id = world.makeSession(configuration: configuration, delegate: delegate)
            try await store.commit(world.batch(id))
            world.change(id) { session in
                session.description = "nightly\u{0}mirror"
                session.metadata = ["a.b": "1", "c": ""]
                session.maximumBytesPerSecond = 1 << 20
                session.knownLeaves = (0..<3).map { index in
                    KnownLeaf(
                        host: "ü\(index).example", port: 443 + index % 2,
                        fingerprint: Array(repeating: UInt8(index), count: 32),
                        mustVerify: index == 1)
                }
                session.state = .invalid
                session.invalidatedAt = KeptTime(milliseconds: World.start + 5)
                session.lastSequence = 17
                session.lastTaskNumber = 4
            }
            try await store.commit(world.batch(id))
            let contents = try await store.load()
            #expect(contents.sessions == [world.session(id)])
            #expect(contents.lastIdentifier == id.rawValue)
            for leaves in [1, 0] {
                world.change(id) { session in
                    session.description = ""
                    session.metadata = leaves == 0 ? [:] : ["c": "2"]
                    session.maximumBytesPerSecond = nil
                    session.knownLeaves = session.knownLeaves.suffix(leaves)
                }
                try await store.commit(world.batch(id))
                #expect(try await store.load().sessions == [world.session(id)])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a session's proxies and leaves are there from its creation on (S-23, S-75)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            var proxies: [ProxyConfiguration?] = [nil, ProxyConfiguration()]
            var both = ProxyConfiguration()
            both.http = ProxyAddress(host: "proxy.example", port: 1)
            proxies.append(both)
            both.https = ProxyAddress(host: "192.0.2.1", port: 65_535)
            proxies.append(both)
            for proxies in proxies {
                var configuration = SessionConfiguration()
                configuration.connectionProxyDictionary = proxies
                let id = world.makeSession(configuration: configuration)
                world.change(id) { session in
                    session.knownLeaves = [
                        KnownLeaf(host: "a", port: 443, fingerprint: [1], mustVerify: true)
                    ]
                }
                try await store.commit(world.batch(id))
            }
            let expected = world.sessions.values.sorted { $0.id < $1.id }
            #expect(try await store.load().sessions == expected)
            #expect(expected.map(\.configuration.connectionProxyDictionary) == proxies)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a task is read as it was saved last`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            for task in try world.variety(in: session) {
                var batch = world.batch(session)
                batch.createdTasks = [task.created]
                try await store.commit(batch)
                #expect(try await store.task(task.created.id, of: World.alice) == task.created)
                batch = StoreBatch()
                batch.changedTasks = [task.changed]
                try await store.commit(batch)
                #expect(try await store.task(task.created.id, of: World.alice) == task.changed)
                batch.changedTasks = [task.created]
                try await store.commit(batch)
                #expect(try await store.task(task.created.id, of: World.alice) == task.created)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `another tenant's task is not there`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession(of: World.alice)
            let other = world.makeSession(of: World.bob)
            let task = world.makeTask(in: session)
            var batch = world.batch(session, other)
            batch.createdTasks = [task]
            try await store.commit(batch)
            #expect(try await store.task(task.id, of: World.bob) == nil)
            #expect(try await store.tasks(TaskQuery(tenant: World.bob)) == TaskPage())
            #expect(
                try await store.tasks(TaskQuery(tenant: World.bob, session: session)) == TaskPage())
            #expect(try await store.knows(task.id))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `whose tasks are is told of all at once, and of none that is gone`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let (mine, theirs) = (world.makeSession(), world.makeSession(of: World.bob))
            let tasks = [mine, theirs, theirs, mine].map { world.makeTask(in: $0) }
            // Its row stays for as long as this is told.
            let event = world.event(.didCreate, of: tasks[3])
            var batch = world.batch(mine, theirs)
            (batch.createdTasks, batch.events) = (tasks, [event])
            try await store.commit(batch)
            batch = StoreBatch()
            batch.removedTasks = [tasks[3].id]
            try await store.commit(batch)
            let asked = tasks.map(\.id) + [TaskID(rawValue: 1), tasks[0].id]
            #expect(
                try await store.tenants(of: asked) == [
                    tasks[0].id: World.alice, tasks[1].id: World.bob, tasks[2].id: World.bob,
                ])
            #expect(try await store.tenants(of: []).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `active tasks are loaded in the order of creation`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var tasks: [TaskRecord] = []
            for index in 0..<40 {
                var task = world.makeTask(in: session)
                task.state = TaskState.allCases[index % 4]
                if task.state == .completed { task = task.completed(at: world.instant) }
                // A suspended one may still be on the wire (S-32, S-56).
                if task.state == .suspended { task.hasLiveAttempt = index % 8 == 0 }
                tasks.append(task)
            }
            var batch = world.batch(session)
            batch.createdTasks = tasks
            try await store.commit(batch)
            let contents = try await store.load()
            let active = tasks.filter {
                [.running, .canceling].contains($0.state) || $0.hasLiveAttempt
            }
            #expect(contents.activeTasks == active && active.count == 25)
            #expect(contents.lastIdentifier == tasks.last?.id.rawValue)
            #expect(
                try await store.taskCounts(of: session)
                    == [.suspended: 10, .running: 10, .canceling: 10, .completed: 10])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pages of a list are every task once, in order`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [
                world.makeSession(), world.makeSession(), world.makeSession(of: World.bob),
            ]
            var batch = world.batch(sessions[0], sessions[1], sessions[2])
            for index in 0..<90 {
                var task = world.makeTask(
                    in: sessions[index % 3], type: index % 2 == 0 ? .data : .download)
                task.state = TaskState.allCases[index / 3 % 4]
                batch.createdTasks.append(task)
            }
            try await store.commit(batch)
            for session in [nil, sessions[0], sessions[2]] {
                for types in [nil, Set([TaskType.data]), []] {
                    for states in [
                        [.suspended], [.running, .canceling], Set(TaskState.allCases), [],
                    ] {
                        let expected = batch.createdTasks.filter { task in
                            task.tenant == World.alice && session ?? task.session == task.session
                                && types?.contains(task.type) ?? true && states.contains(task.state)
                        }
                        var query = TaskQuery(
                            tenant: World.alice, session: session, states: states, types: types,
                            limit: 7)
                        var found: [TaskRecord] = []
                        while case let page = try await store.tasks(query).tasks,
                            let last = page.last
                        {
                            #expect(page.count <= 7)
                            found += page
                            query.after = last.id
                        }
                        #expect(found == expected)
                    }
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a content is kept until its task is removed`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let tasks = [world.makeTask(in: session), world.makeTask(in: session)]
            var batch = world.batch(session)
            batch.createdTasks = tasks
            batch.contents = [(tasks[0].id, [1, 2, 3]), (tasks[1].id, [])]
            try await store.commit(batch)
            #expect(try await store.content(of: tasks[0].id) == [1, 2, 3])
            #expect(try await store.content(of: tasks[1].id) == [])
            batch = StoreBatch()
            batch.removedTasks = [tasks[0].id]
            try await store.commit(batch)
            #expect(try await store.content(of: tasks[0].id) == nil)
            #expect(try await store.task(tasks[0].id, of: World.alice) == nil)
            #expect(try await !store.knows(tasks[0].id))
            #expect(try await store.taskCounts(of: session) == [.suspended: 1])
            #expect(
                try await store.tasks(TaskQuery(tenant: World.alice)).tasks.map(\.id)
                    == [tasks[1].id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a removed session takes everything of its own along`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let other = world.makeSession()
            let task = world.makeTask(in: session)
            let kept = world.makeTask(in: other)
            var batch = world.batch()
            batch.createdTasks = [task, kept]
            batch.contents = [(task.id, [1]), (kept.id, [2])]
            batch.events = [world.event(.didCreate, of: kept), world.event(.didCreate, of: task)]
            batch.sessions = [world.session(session), world.session(other)]
            batch.tenantSequences = world.tenantSequences
            try await store.commit(batch)
            batch = StoreBatch()
            batch.removedSessions = [session]
            try await store.commit(batch)
            let contents = try await store.load()
            #expect(contents.sessions == [world.session(other)])
            #expect(contents.tenantSequences == world.tenantSequences)
            // Identifiers are not given twice, also not those of what has been forgotten.
            #expect(contents.lastIdentifier == kept.id.rawValue)
            #expect(try await store.task(task.id, of: World.alice) == nil)
            #expect(try await store.content(of: task.id) == nil)
            #expect(try await store.taskCounts(of: session).isEmpty)
            let stream = EventStreamKey.session(session)
            #expect(try await store.events(EventQuery(stream: stream, after: 0, limit: 9)).isEmpty)
            #expect(try await store.oldestEvent(of: stream) == nil)
            #expect(try await store.content(of: kept.id) == [2])
            // The tenant's stream has lost its second event: only what follows it is whole.
            #expect(try await store.oldestEvent(of: .tenant(World.alice)) == 3)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a tenant's sequence never goes back`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var batch = StoreBatch()
            batch.tenantSequences = [World.alice: 10_000, World.bob: 3]
            try await store.commit(batch)
            batch.tenantSequences = [World.alice: 12]
            try await store.commit(batch)
            #expect(try await store.load().tenantSequences == [World.alice: 10_000, World.bob: 3])
        }
    }
}
