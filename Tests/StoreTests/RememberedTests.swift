import Engine
import Semantics
import Testing

/// Cookies and credentials of sessions; every store passes.
@Suite struct RememberedTests {
    @Test(arguments: StoreKind.allCases)
    func `cookies and credentials are loaded as they were saved (S-21, S-67)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let other = world.makeSession(of: World.bob)
            var batch = world.batch(session, other)
            let cookies = world.cookies()
            let credentials = world.credentials()
            batch.cookies = [
                world.jar(session, storing: cookies), world.jar(other, storing: [cookies[0]]),
            ]
            batch.credentials = [
                world.shelf(session, storing: credentials),
                world.shelf(other, storing: [credentials[1]]),
            ]
            try await store.commit(batch)
            let contents = try await store.load()
            #expect(contents.jar(of: session) == cookies)
            // Equality of texts would not tell two spellings of one letter apart.
            #expect(
                contents.jar(of: session).map { Array($0.value.utf8) }
                    == cookies.map { Array($0.value.utf8) })
            #expect(contents.cookies[other] == [cookies[0]])
            #expect(
                contents.credentials == [
                    session: world.shelf(session, storing: credentials).stored,
                    other: [1: credentials[1]],
                ])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `changes are carried out in their order: all, some, then what comes`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var cookies = world.cookies()
            var batch = world.batch(session)
            // One after the other in one batch.
            batch.cookies = [
                world.jar(session, storing: cookies),
                world.jar(session, storing: [cookies[1]], removing: [1, 2, 3, 99]),
            ]
            try await store.commit(batch)
            #expect(
                try await store.load().jar(of: session) == [cookies[1], cookies[3], cookies[4]])
            cookies[3].value = "new"
            batch = StoreBatch()
            batch.cookies = [world.jar(session, storing: [cookies[3]])]
            try await store.commit(batch)
            #expect(
                try await store.load().jar(of: session) == [cookies[1], cookies[3], cookies[4]])
            batch.cookies = [world.jar(session, storing: [cookies[0]], removesAll: true)]
            try await store.commit(batch)
            #expect(try await store.load().jar(of: session) == [cookies[0]])
            batch.cookies = [world.jar(session, storing: [], removing: [1])]
            try await store.commit(batch)
            #expect(try await store.load().cookies.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `credentials change like cookies, each session's for itself`(kind: StoreKind) async throws
    {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let other = world.makeSession()
            let credentials = world.credentials()
            var batch = world.batch(session, other)
            batch.credentials = [session, other].map { world.shelf($0, storing: credentials) }
            batch.cookies = [session, other].map { world.jar($0, storing: world.cookies()) }
            try await store.commit(batch)
            var change = SessionChange<StoredCredential>(session: session, tenant: World.alice)
            change.removesAll = true
            change.stored = [.max: credentials[2], 0: credentials[3], -7: credentials[4]]
            batch = StoreBatch()
            batch.credentials = [change]
            try await store.commit(batch)
            let contents = try await store.load()
            #expect(contents.credentials[session] == change.stored)
            #expect(contents.credentials[other]?.count == credentials.count)
            #expect(contents.jar(of: session) == contents.jar(of: other))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what a session remembers goes with it, and comes to no session that is not there`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let other = world.makeSession()
            let (cookies, credentials) = (world.cookies(), world.credentials())
            var batch = world.batch(session, other)
            batch.cookies = [session, other].map { world.jar($0, storing: cookies) }
            batch.credentials = [session, other].map { world.shelf($0, storing: credentials) }
            try await store.commit(batch)
            batch = StoreBatch()
            // Also what the very batch brings.
            batch.cookies = [world.jar(session, storing: [cookies[0]], removesAll: true)]
            batch.removedSessions = [session]
            try await store.commit(batch)
            batch.removedSessions = []
            batch.credentials = [world.shelf(session, storing: credentials)]
            batch.cacheEntries = [world.makeResponse(in: session)]
            try await store.commit(batch)
            let contents = try await store.load()
            #expect(contents.jar(of: other) == cookies)
            #expect(contents.cookies.keys.elementsEqual([other]))
            #expect(contents.credentials.keys.elementsEqual([other]))
            #expect(try await !store.knows(batch.cacheEntries[0].entry.id))
            #expect(try await store.cacheIndex(of: session).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what a session is told of its stores and proxies stays (S-5, S-15…S-26)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            for index in 0..<4 {
                var configuration = SessionConfiguration()
                configuration.hasCookieStorage = index % 2 == 0
                configuration.hasCredentialStorage = index < 2
                configuration.requestCachePolicy = RequestCachePolicy.allCases[index + 1]
                configuration.httpCookieAcceptPolicy = CookieAcceptPolicy.allCases[index % 3]
                configuration.httpShouldSetCookies = index == 3
                configuration.waitsForConnectivity = index == 2
                configuration.urlCache.memoryCapacity = Int64(index)
                configuration.urlCache.diskCapacity = .max
                var proxies = ProxyConfiguration()
                proxies.socks = ProxyAddress(
                    host: "s.example", port: 1080 + index, kind: ProxyAddress.Kind.allCases[index])
                if index > 0 { proxies.http = ProxyAddress(host: "p.example", port: 1) }
                proxies.exceptions = ["*.local", "10.0.0.0/8", "Intranet", "::1"].prefix(index)
                    .compactMap { ProxyException($0) }
                #expect(proxies.exceptions.count == index)
                configuration.connectionProxyDictionary = proxies
                let id = world.makeSession(configuration: configuration)
                try await store.commit(world.batch(id))
            }
            let sessions = try await store.load().sessions
            #expect(sessions == world.sessions.values.sorted { $0.id < $1.id })
            #expect(sessions.map(\.configuration.hasCookieStorage) == [true, false, true, false])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a task keeps where its bytes came from, and that it has told of waiting (S-26, S-47)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var request = RequestRecord.plain
            request.cachePolicy = .returnCacheDataDontLoad
            let waiting = world.makeTask(in: session, request: request)
            var told = waiting.running(at: world.instant, isLive: false)
            told.dialogue.hasToldOfWaiting = true
            var completed = told.completed(at: world.instant)
            completed.metrics.transactions[0].resourceFetchType = .localCache
            var batch = world.batch(session)
            batch.createdTasks = [waiting]
            batch.events = [
                world.event(.isWaitingForConnectivity, of: waiting),
                world.event(.didChangeCredentialStorage, of: nil, in: session),
            ]
            batch.sessions = [world.session(session)]
            try await store.commit(batch)
            for task in [told, completed, told] {
                var change = StoreBatch()
                change.changedTasks = [task]
                try await store.commit(change)
                #expect(try await store.task(task.id, of: World.alice) == task)
            }
            let stream = EventStreamKey.session(session)
            #expect(
                try await store.events(EventQuery(stream: stream, after: 0, limit: 9))
                    == batch.events)
        }
    }
}
