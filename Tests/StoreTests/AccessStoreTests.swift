import Engine
import Semantics
import Testing

/// Tenants and tokens; every store passes.
@Suite struct AccessStoreTests {
    @Test(arguments: StoreKind.allCases)
    func `tenants and tokens are loaded as they were saved last`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            var tenants = [world.makeTenant(World.bob), world.makeTenant(TenantID(rawValue: 3))]
            var tokens = [world.makeToken(), world.makeToken(of: World.bob, scopes: [.admin])]
            var batch = StoreBatch()
            batch.tenants = tenants.reversed()
            batch.tokens = tokens.reversed()
            try await store.commit(batch)
            #expect(try await store.load().tenants == tenants)
            #expect(try await store.load().tokens == tokens)
            tenants[0].egress = EgressNarrowing()
            tenants[0].quotas = TenantQuotas([:])
            tenants[0].taskRetention = nil
            tenants[0].description = nil
            tenants[1].isEnding = true
            tokens[0].lastUsedAt = world.instant
            batch = StoreBatch()
            batch.tenants = tenants
            batch.tokenUses = [tokens[0].id: world.instant, TokenID(rawValue: 1): world.instant]
            try await store.commit(batch)
            #expect(try await store.load().tenants == tenants)
            #expect(try await store.load().tokens == tokens)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the number of a token or tenant is not given again`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let token = world.makeToken()
            let tenant = world.makeTenant(TenantID(rawValue: world.nextIdentifier()))
            var batch = StoreBatch()
            batch.tokens = [token]
            batch.tenants = [tenant]
            try await store.commit(batch)
            batch = StoreBatch()
            batch.removedTokens = [token.id]
            batch.removedTenants = [tenant.id]
            try await store.commit(batch)
            let left = try await store.load()
            #expect(left.tokens.isEmpty && left.tenants.isEmpty)
            #expect(left.lastIdentifier == tenant.id.rawValue)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a tenant is forgotten with all that it has, and nobody else with it`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [World.alice, World.bob].map { world.makeSession(of: $0) }
            var tasks: [TaskRecord] = []
            var files: [StagedFile] = []
            for session in sessions {
                let tenant = world.session(session).tenant
                var batch = StoreBatch()
                for _ in 0..<600 { batch.createdTasks.append(world.makeTask(in: session)) }
                batch.events = batch.createdTasks.map { world.event(.didCreate, of: $0) }
                batch.contents = batch.createdTasks.map { ($0.id, [1]) }
                batch.creations = [world.creation("key", of: [1], tenant: tenant)]
                batch.files = [world.makeFile(of: tenant)]
                batch.webhooks = [
                    world.makeWebhook(of: tenant), world.makeWebhook(of: tenant, session: session),
                ]
                batch.sessions = [world.session(session)]
                batch.tenantSequences = world.tenantSequences
                tasks.append(batch.createdTasks[0])
                files += batch.files
                try await store.commit(batch)
            }
            let forgotten = try await store.forget(World.bob)
            #expect(forgotten.sessions == [sessions[1]])
            let left = try await store.load()
            #expect(left.sessions.map(\.id) == [sessions[0]])
            #expect(left.files == [files[0]])
            #expect(left.webhooks.map(\.tenant) == [World.alice, World.alice])
            #expect(try await store.creation(of: "key", of: World.bob) == nil)
            #expect(try await store.creation(of: "key", of: World.alice) != nil)
            #expect(try await store.task(tasks[1].id, of: World.bob) == nil)
            #expect(try await store.task(tasks[0].id, of: World.alice) != nil)
            #expect(try await !store.knows(tasks[1].id))
            #expect(try await store.content(of: tasks[1].id) == nil)
            #expect(try await store.taskCounts(of: sessions)[sessions[0]] == [.suspended: 600])
            let query = EventQuery(stream: .tenant(World.bob), after: 0, limit: 10)
            #expect(try await store.events(query).isEmpty)
            // Numbers of what is gone are not given again.
            #expect(left.lastIdentifier >= files[1].id.rawValue)
            #expect(try await store.forget(World.bob).sessions.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a tenant's completed tasks go before others', of background sessions too (S-60)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [
                world.makeSession(of: World.alice), world.makeSession(of: World.bob),
                world.makeSession(of: World.bob, type: .background),
            ]
            var batch = StoreBatch()
            var tasks: [TaskRecord] = []
            for session in sessions {
                var task = world.makeTask(in: session).completed(at: world.instant)
                task.keptSince = world.keptInstant
                tasks.append(task)
            }
            // Made before the end, completed behind it.
            var late = world.makeTask(in: sessions[1])
            world.tick(milliseconds: 1000)
            let end = world.keptInstant
            world.tick(milliseconds: 1000)
            late = late.completed(at: world.instant)
            late.keptSince = world.keptInstant
            batch.createdTasks = tasks + [late]
            batch.sessions = sessions.map(world.session)
            try await store.commit(batch)
            var limits = RetentionLimits.none
            limits.ends = [
                World.bob: RetentionLimits.End(
                    completedBefore: end, createdBefore: TaskID(rawValue: end.milliseconds * 1000))
            ]
            _ = try await store.purge(limits)
            #expect(try await store.task(tasks[0].id, of: World.alice) != nil)
            #expect(try await store.task(tasks[1].id, of: World.bob) == nil)
            #expect(try await store.task(tasks[2].id, of: World.bob) == nil)
            #expect(try await store.task(late.id, of: World.bob) != nil)
        }
    }
}
