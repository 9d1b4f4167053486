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
            let session = SessionID(rawValue: 1)
            #expect(try await store.tasks(TaskQuery(tenant: World.alice)).isEmpty)
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
            var delegate = DelegateOptions()
            delegate.data = .inline
            let id = world.makeSession(configuration: configuration, delegate: delegate)
            try await store.commit(world.batch(id))
            world.change(id) { session in
                session.description = "nightly\u{0}mirror"
                session.state = .invalid
                session.invalidatedAt = Timestamp(milliseconds: World.start + 5)
                session.lastSequence = 17
                session.lastTaskNumber = 4
            }
            try await store.commit(world.batch(id))
            let contents = try await store.load()
            #expect(contents.sessions == [world.session(id)])
            #expect(contents.lastIdentifier == id.rawValue)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a task is read as it was saved last`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            for task in world.variety(in: session) {
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
            #expect(try await store.tasks(TaskQuery(tenant: World.bob)).isEmpty)
            #expect(
                try await store.tasks(TaskQuery(tenant: World.bob, session: session)).isEmpty)
            #expect(try await store.knows(task.id))
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
                        while case let page = try await store.tasks(query), let last = page.last {
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
                try await store.tasks(TaskQuery(tenant: World.alice)).map(\.id) == [tasks[1].id])
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

extension World {
    /// Tasks that together use every member, each as it was created and as it became.
    mutating func variety(in session: SessionID) -> [(created: TaskRecord, changed: TaskRecord)] {
        let plain = makeTask(in: session)
        let failed = makeTask(in: session)
        var failure = TransferError(
            .url(.cannotFindHost), at: "https://example.com/a", message: "no such host",
            underlying: .init(layer: .curl, code: 6, message: "Could not resolve host"),
            userInfo: ["a": .string("b"), "c": .integer(-4)])
        failure = failure.adding(.integer(.max), for: "d")
        var request = RequestRecord(
            url: WebURL(
                string: "http://[fe80::1%25eth0]:8080/", scheme: "http", host: "fe80::1",
                zone: "eth0",
                port: 8080, path: "/"),
            method: "POST",
            headers: ["Authorization": "Bearer x", "X-Api-Key": "k", "A": "", "a": "2"],
            sensitiveHeaders: ["x-api-key"], cachePolicy: .reloadIgnoringLocalCacheData,
            timeoutInterval: 0.125, body: Array(0...255))
        var options = TaskOptions()
        options.description = "ümläut 🚢"
        options.priority = 0.875
        options.delivery = .stream
        options.fileName = "n.bin"
        options.expectedDigest = ContentDigest(
            algorithm: .sha256, bytes: Array(repeating: 9, count: 32))
        options.computeDigest = true
        options.earliestBeginDate = Timestamp(milliseconds: World.start + 99)
        options.countOfBytesClientExpectsToSend = 5
        options.countOfBytesClientExpectsToReceive = 0
        let rich = makeTask(in: session, request: request, options: options, type: .download)
        var redirected = rich.completed(at: instant, error: failure)
        request.method = "GET"
        request.headers = ["Cookie": "a=b"]
        request.url = WebURL(
            string: "http://odd.example", scheme: "http", host: "odd.example", port: 80, path: "/x",
            query: "")
        redirected.currentRequest = request
        redirected.response?.url = "http://odd.example/x?"
        redirected.response?.headers = ["Set-Cookie": "s=1", "X": "y"]
        redirected.response?.httpVersion = "2"
        redirected.response?.mimeType = nil
        redirected.response?.expectedContentLength = unknownSize
        redirected.metrics.redirectCount = 1
        redirected.metrics.transactions.append(TransactionMetrics())
        redirected.metrics.transactions[1].localPort = 1
        redirected.content = ContentRecord(
            length: 1 << 40, place: .file, digest: "sha-256=:AA==:", lengthVerified: false)
        redirected.countOfBytesSent = 256
        redirected.countOfBytesExpectedToSend = unknownSize
        redirected.options.description = nil
        let other = makeTask(in: session)
        var running = (plain, other)
        running.0.state = .running
        running.0.hasLiveAttempt = true
        running.0.startedAt = instant
        running.1.state = .running
        running.1.startedAt = instant
        return [
            (plain, running.0), (running.1, other),
            (failed, failed.completed(at: instant, error: failure)), (rich, redirected),
        ]
    }
}
