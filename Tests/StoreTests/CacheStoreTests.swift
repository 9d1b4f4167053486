import Engine
import Semantics
import Testing

/// Stored responses of sessions' caches; every store passes.
@Suite struct CacheStoreTests {
    @Test(arguments: StoreKind.allCases)
    func `stored responses are found as they were saved`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let responses = world.responses(in: session)
            var batch = world.batch(session)
            batch.cacheEntries = responses
            try await store.commit(batch)
            // Two of them are of one URL.
            let key = responses[0].entry.response.key
            #expect(
                try await store.cacheEntries(of: session, under: key.fingerprint)
                    == [responses[0], responses[2]])
            for response in [responses[1], responses[3]] {
                let fingerprint = response.entry.response.key.fingerprint
                #expect(try await store.cacheEntries(of: session, under: fingerprint) == [response])
            }
            #expect(try await store.cacheEntries(of: session, under: 7).isEmpty)
            for response in responses { #expect(try await store.knows(response.entry.id)) }
            #expect(try await !store.knows(CacheEntryID(rawValue: session.rawValue)))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the index has everything, what was not used for the longest time first (S-24)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let responses = world.responses(in: session)
            var batch = world.batch(session)
            batch.cacheEntries = responses.reversed()
            try await store.commit(batch)
            func row(_ response: KeptResponse) -> CacheIndexRow {
                CacheIndexRow(
                    id: response.entry.id, fingerprint: response.entry.response.key.fingerprint,
                    size: response.entry.size, isFile: response.entry.place == .file)
            }
            #expect(try await store.cacheIndex(of: session) == responses.map(row))
            batch = StoreBatch()
            let instant = Timestamp(milliseconds: world.instant.milliseconds + 1)
            batch.cacheUses = [
                responses[0].entry.id: instant, responses[2].entry.id: instant,
                responses[3].entry.id: Timestamp(milliseconds: 0),
                CacheEntryID(rawValue: 7): instant,
            ]
            try await store.commit(batch)
            #expect(
                try await store.cacheIndex(of: session)
                    == [responses[3], responses[1], responses[0], responses[2]].map(row))
            #expect(
                try await store.cache(of: session).map(\.entry.usedAt.milliseconds) == [
                    instant.milliseconds, responses[1].entry.usedAt.milliseconds,
                    instant.milliseconds, 0,
                ])
            #expect(try await !store.knows(CacheEntryID(rawValue: 7)))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a confirmed response keeps its content, another content takes its place`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var response = world.makeResponse(in: session)
            let content = response.content
            var batch = world.batch(session)
            batch.cacheEntries = [response]
            try await store.commit(batch)
            response.entry.response.headers = ["ETag": "\"2\"", "Date": "x"]
            response.entry.response.responseTime = Timestamp(milliseconds: 9)
            response.entry.usedAt = Timestamp(milliseconds: 11)
            response.content = nil
            batch.cacheEntries = [response]
            try await store.commit(batch)
            response.content = content
            #expect(try await store.cache(of: session) == [response])
            response.content = [1]
            response.entry.response.length = 1
            batch.cacheEntries = [response]
            try await store.commit(batch)
            #expect(try await store.cache(of: session) == [response])
            #expect(try await store.cacheIndex(of: session).count == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a cache is emptied first, then comes what the batch brings`(kind: StoreKind) async throws
    {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let other = world.makeSession()
            let old = world.responses(in: session)
            let others = world.responses(in: other)
            let late = world.makeResponse(in: session)
            var batch = world.batch(session, other)
            batch.cacheEntries = old + others
            try await store.commit(batch)
            batch = StoreBatch()
            batch.emptiedCaches = [session]
            batch.removedCacheEntries = [others[0].entry.id, others[3].entry.id]
            batch.cacheEntries = [late]
            batch.cacheUses = [
                old[0].entry.id: world.instant, late.entry.id: Timestamp(milliseconds: 3),
            ]
            try await store.commit(batch)
            var used = late
            used.entry.usedAt = Timestamp(milliseconds: 3)
            #expect(try await store.cache(of: session) == [used])
            #expect(try await store.cache(of: other) == [others[1], others[2]])
            for response in old + [others[0], others[3]] {
                #expect(try await !store.knows(response.entry.id))
            }
            // Also twice, and where nothing is.
            batch = StoreBatch()
            batch.emptiedCaches = [session, session, SessionID(rawValue: 7)]
            try await store.commit(batch)
            try await store.commit(batch)
            #expect(try await store.cache(of: session).isEmpty)
            batch.emptiedCaches = []
            batch.cacheEntries = [old[3]]
            try await store.commit(batch)
            #expect(try await store.cache(of: session) == [old[3]])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `no session sees another one's stored responses, also of the same URL`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [
                world.makeSession(), world.makeSession(), world.makeSession(of: World.bob),
            ]
            var batch = world.batch(sessions[0], sessions[1], sessions[2])
            batch.cacheEntries = sessions.map { world.makeResponse(in: $0) }
            try await store.commit(batch)
            for (session, response) in zip(sessions, batch.cacheEntries) {
                let fingerprint = response.entry.response.key.fingerprint
                #expect(try await store.cacheEntries(of: session, under: fingerprint) == [response])
            }
            let removal = batch.cacheEntries
            batch = StoreBatch()
            batch.removedSessions = [sessions[1]]
            try await store.commit(batch)
            #expect(try await store.cache(of: sessions[0]) == [removal[0]])
            #expect(try await store.cache(of: sessions[1]).isEmpty)
            #expect(try await !store.knows(removal[1].entry.id))
            #expect(try await store.cache(of: sessions[2]) == [removal[2]])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a stored response is looked up by what it was saved under`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let made = world.makeResponse(in: session)
            let fingerprints: [Int64] = [0, -1, .min, .max]
            let responses = fingerprints.map { fingerprint in
                KeptResponse(
                    world.makeResponse(in: session).entry, under: fingerprint,
                    content: made.content)
            }
            var batch = world.batch(session)
            batch.cacheEntries = responses
            try await store.commit(batch)
            for response in responses {
                #expect(
                    try await store.cacheEntries(of: session, under: response.fingerprint)
                        == [response])
            }
            #expect(try await store.cacheIndex(of: session).map(\.fingerprint) == fingerprints)
            let own = made.entry.response.key.fingerprint
            #expect(try await store.cacheEntries(of: session, under: own).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the number of a stored response is not given again`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let response = world.makeResponse(in: session)
            var batch = world.batch(session)
            batch.cacheEntries = [response]
            try await store.commit(batch)
            #expect(try await store.load().lastIdentifier == response.entry.id.rawValue)
            batch = StoreBatch()
            batch.removedCacheEntries = [response.entry.id]
            try await store.commit(batch)
            #expect(try await store.cacheIndex(of: session).isEmpty)
            #expect(try await store.load().lastIdentifier == response.entry.id.rawValue)
        }
    }
}
