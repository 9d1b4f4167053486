import Engine
import Foundation
import Sealing
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// Gateways that share a database: nodes, each with tenants of its own.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresNodeTests {
    private let sealer = AESGCMSealer(key: DataKey())
    private static let tenants = (1...6).map { TenantID(rawValue: $0) }
    /// Nobody is silent for so long.
    private static let patient = DatabaseLock.Silence(
        withSession: .seconds(3600), withoutSession: .seconds(3600))
    /// Who has lost its session is lost.
    private static let hasty = DatabaseLock.Silence(
        withSession: .seconds(3600), withoutSession: .milliseconds(300))
    private static let lost = StoreError.lost

    private func node(
        _ url: String, _ silence: DatabaseLock.Silence = patient, folder: UInt8 = 1,
        givesSigns: Bool = true
    ) throws -> PostgresNode {
        try PostgresNode(
            url: url, sealer: sealer, at: "http://node-\(folder).example:8080",
            folder: [folder], silence, givesSignsOfLife: givesSigns)
    }

    /// Ends the session that has a node's lock: as if it had been killed.
    private func endSession(of node: PostgresNode, at url: String) throws {
        let others = try Connection(DatabaseAddress(url))
        let ended = try others.rows(
            """
            SELECT pg_terminate_backend(pid) FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND \(DatabaseLock.number)
                = \(DatabasePlace.node(node.node).lockNumber)
            """)
        #expect(ended.count == 1)
    }

    /// Looks until all tenants have nodes as they should.
    private func look(
        _ node: PostgresNode, _ what: String, until isDone: (NodeView) -> Bool
    ) async throws -> NodeView {
        var view = NodeView()
        try await eventually(what) {
            view = try await node.look(waiting: .milliseconds(20))
            return isDone(view)
        }
        return view
    }

    /// What makes a session of a tenant.
    private func batch(of tenant: TenantID, _ world: inout World) -> StoreBatch {
        let session = world.makeSession(of: tenant)
        return world.batch(session)
    }

    /// Sessions of tenants, committed by a node.
    private func sessions(
        of tenants: [TenantID], _ world: inout World, by store: any Store
    ) async throws -> [SessionID] {
        var batch = StoreBatch()
        let sessions = tenants.map { world.makeSession(of: $0) }
        batch.sessions = sessions.map(world.session)
        try await store.commit(batch)
        return sessions
    }

    // MARK: Who is there

    @Test func `nodes have different numbers, and write at the same time`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try (1...3).map { try node(url, folder: $0) }
            #expect(nodes.map(\.node.rawValue) == [1, 2, 3])
            var world = World()
            var batches: [StoreBatch] = []
            for index in 0..<60 {
                batches.append(batch(of: Self.tenants[index % nodes.count], &world))
            }
            try await withThrowingTaskGroup { [batches] group in
                for (index, node) in nodes.enumerated() {
                    group.addTask {
                        for step in stride(from: index, to: batches.count, by: nodes.count) {
                            try await node.commit(batches[step])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let view = try await nodes[2].look(waiting: .zero)
            #expect(view.nodes.keys.sorted() == nodes.map(\.node))
            #expect(view.nodes[nodes[1].node]?.address == "http://node-2.example:8080")
            for node in nodes { await node.close() }
            // Whoever comes gets the lowest number that is free.
            let next = try node(url)
            #expect(next.node.rawValue == 1)
            let alone = try await look(next, "the others to be gone") { $0.nodes.count == 1 }
            #expect(alone.tenants(of: next.node) == Set(Self.tenants.prefix(3)))
            let all = try await next.load(Set(Self.tenants))
            #expect(all.contents.sessions.count == batches.count)
            await next.close()
        }
    }

    @Test func `one that has the database alone keeps nodes out, and the other way round`()
        async throws
    {
        try await TemporarySchema.with { url in
            let used = StoreError.failed("Another gateway uses the database.")
            let alone = try PostgresStore(url: url, sealer: sealer)
            #expect(throws: used) {
                try PostgresNode(
                    url: url, sealer: sealer, at: "http://a", folder: [1], Self.patient,
                    patience: .zero)
            }
            await alone.close()
            let nodes = try [node(url), node(url, folder: 2)]
            await nodes[0].close()
            #expect(throws: used) {
                try PostgresStore(url: url, sealer: sealer, patience: .zero)
            }
            #expect(throws: used) { try MovedDatabase(url: url, patience: .zero) }
            // One that waits for its turn takes it from no node, however long they are silent.
            let wait = DatabaseWait()
            let waitCount = Atomic(0)
            let silence = DatabaseLock.Silence(
                withSession: .milliseconds(50), withoutSession: .milliseconds(50))
            let result = Mutex<Result<PostgresStore, StoreError>?>(nil)
            Thread.detachNewThread { [sealer] in
                let opened: Result<PostgresStore, StoreError>
                do throws(StoreError) {
                    opened = .success(
                        try PostgresStore(url: url, sealer: sealer, inTurn: wait, silence) {
                            waitCount.wrappingAdd(1, ordering: .relaxed)
                        })
                } catch {
                    opened = .failure(error)
                }
                result.withLock { $0 = opened }
            }
            try await eventually("it to wait") { waitCount.load(ordering: .relaxed) > 3 }
            var world = World()
            _ = try await sessions(of: [World.alice], &world, by: nodes[1])
            #expect(try await nodes[1].take(World.alice) == nodes[1].node)
            await nodes[1].close()
            try await eventually("its turn") { result.withLock { $0 != nil } }
            let next = try #require(result.withLock { $0 }).get()
            #expect(try await next.load().sessions.count == 1)
            await next.close()
        }
    }

    @Test func `one that had the database alone does not come back among nodes`() async throws {
        try await TemporarySchema.with { url in
            let alone = try PostgresStore(
                url: url, sealer: sealer, patience: .seconds(10), givesSignsOfLife: false)
            let others = try Connection(DatabaseAddress(url))
            #expect(try others.rows(PostgresStoreTests.endingOthers).count == 1)
            let node = try node(url)
            var world = World()
            let batch = batch(of: World.alice, &world)
            await #expect(throws: Self.lost) { try await alone.commit(batch) }
            try await node.commit(batch)
            await alone.close()
            await node.close()
        }
    }

    @Test func `whoever has the database alone has all tenants`() async throws {
        try await TemporarySchema.with { url in
            let first = try node(url, givesSigns: false)
            let second = try node(url, folder: 2)
            var world = World()
            _ = try await sessions(of: Self.tenants, &world, by: first)
            let view = try await first.look(waiting: .zero)
            #expect(view.owners.count == Self.tenants.count)
            #expect(
                try await first.settle(view.tenants(of: first.node)) == view.tenants(of: first.node)
            )
            #expect(
                try await first.give(
                    view.tenants(of: first.node).first ?? World.alice, to: second.node))
            await second.close()
            try endSession(of: first, at: url)
            let alone = try PostgresStore(url: url, sealer: sealer)
            #expect(try await alone.load().sessions.count == Self.tenants.count)
            let late = batch(of: World.alice, &world)
            await #expect(throws: Self.lost) { try await first.commit(late) }
            await first.close()
            let others = try Connection(DatabaseAddress(url))
            let left = try others.rows(
                """
                SELECT (SELECT count(*) FROM node) + (SELECT count(*) FROM tenant
                    WHERE node IS NOT NULL OR handed_over OR parts_at IS NOT NULL)
                """)
            #expect(left.first?.int64(0) == 0)
            await alone.close()
            let next = try node(url)
            #expect(try await next.look(waiting: .zero).tenants(of: next.node) == Set(Self.tenants))
            await next.close()
        }
    }

    // MARK: Whose tenants

    @Test func `tenants are given evenly, taken when nobody has them, and given away`()
        async throws
    {
        try await TemporarySchema.with { url in
            let nodes = try (1...3).map { try node(url, folder: $0) }
            let ids = nodes.map(\.node)
            var world = World()
            _ = try await sessions(of: Self.tenants, &world, by: nodes[0])
            let view = try await nodes[1].look(waiting: .zero)
            #expect(ids.allSatisfy { view.tenants(of: $0).count == 2 })
            // New ones are whoever's asks first.
            let new = TenantID(rawValue: 100)
            #expect(try await nodes[2].take(new) == ids[2])
            #expect(try await nodes[1].take(new) == ids[2])
            #expect(try await nodes[0].look(waiting: .zero).owners[new] == ids[2])
            // Only its node gives it away, and only to one that is there.
            #expect(try await !nodes[0].give(new, to: ids[1]))
            #expect(try await !nodes[2].give(new, to: try #require(NodeID(63))))
            #expect(try await nodes[2].give(new, to: ids[0]))
            #expect(try await nodes[2].take(new) == ids[0])
            // One that drains gets nothing, and whoever leaves leaves all to the others.
            #expect(try await nodes[0].setDraining(true, of: ids[1]))
            #expect(try await !nodes[0].setDraining(true, of: try #require(NodeID(63))))
            #expect(try await nodes[2].look(waiting: .zero).nodes[ids[1]]?.isDraining == true)
            await nodes[2].close()
            var left = try await look(nodes[1], "the last one to be gone") { $0.nodes.count == 2 }
            #expect(left.tenants(of: ids[1]).count == 2 && left.tenants(of: ids[0]).count == 5)
            // To one that drains all is left if there is no other.
            await nodes[0].close()
            left = try await look(nodes[1], "the first one to be gone") { $0.nodes.count == 1 }
            #expect(left.tenants(of: ids[1]) == Set(Self.tenants + [new]))
            await nodes[1].close()
        }
    }

    @Test func `a tenant is given to a node that drains only if all others do`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try (1...3).map { try node(url, folder: $0) }
            let ids = nodes.map(\.node)
            #expect(try await nodes[0].take(World.alice) == ids[0])
            for id in ids.prefix(2) { _ = try await nodes[0].setDraining(true, of: id) }
            #expect(try await !nodes[0].give(World.alice, to: ids[1]))
            #expect(try await nodes[0].look(waiting: .zero).owners[World.alice] == ids[0])
            _ = try await nodes[0].setDraining(true, of: ids[2])
            #expect(try await nodes[0].give(World.alice, to: ids[1]))
            // It does not matter whether the one that gives drains.
            _ = try await nodes[0].setDraining(false, of: ids[1])
            #expect(try await nodes[1].give(World.alice, to: ids[2]))
            for node in nodes { await node.close() }
        }
    }

    @Test func `a node with a copy of another one's folder is refused while that one lives`()
        async throws
    {
        try await TemporarySchema.with { url in
            let first = try node(url, givesSigns: false)
            let error = StoreError.failed(
                "Another node works with a copy of this data directory: give each node its own.")
            #expect(throws: error) {
                try PostgresNode(
                    url: url, sealer: sealer, at: "http://a", folder: [1], Self.patient,
                    patience: .zero)
            }
            // One that was killed and comes back need not wait until it counts as lost.
            try endSession(of: first, at: url)
            let second = try node(url)
            #expect(second.node.rawValue == 2)
            await second.close()
            await first.close()
        }
    }

    @Test func `what a node commits of a tenant that it has given away is left out`()
        async throws
    {
        try await TemporarySchema.with { url in
            let nodes = try [node(url), node(url, folder: 2)]
            for tenant in [World.alice, World.bob] {
                #expect(try await nodes[0].take(tenant) == nodes[0].node)
            }
            var world = World()
            let ids = try await sessions(of: [World.alice, World.bob], &world, by: nodes[0])
            let given = world.makeTask(in: ids[0])
            var batch = world.batch(ids[0], ids[1])
            batch.createdTasks = [given]
            batch.events = [world.event(.didCreate, of: given)]
            batch.tenantSequences = [:]
            try await nodes[0].commit(batch)
            #expect(try await nodes[0].give(World.alice, to: nodes[1].node))

            // Both go on from there: each with what it takes for the session's second event.
            var late = world
            let completed = given.completed(at: world.instant)
            batch = StoreBatch()
            batch.changedTasks = [completed]
            batch.events = [world.event(.didComplete(nil), of: completed)]
            batch.sessions = [world.session(ids[0])]
            batch.creations = [world.creation("k", of: [given.id.rawValue], tenant: World.alice)]
            #expect(try await nodes[1].commit(batch).conflicts.isEmpty)
            let events = try await nodes[1].events(
                EventQuery(stream: .session(ids[0]), after: 0, limit: 10))
            let loaded = try await nodes[1].load([World.alice]).contents

            batch = StoreBatch()
            let new = late.makeSession(of: World.alice)
            let tasks = ids.map { late.makeTask(in: $0) }
            batch.createdTasks = tasks
            batch.changedTasks = [given]
            batch.contents = [(given.id, [1]), (tasks[1].id, [2])]
            batch.events = tasks.map { late.event(.didCreate, of: $0) }
            batch.sessions = (ids + [new]).map { late.session($0) }
            batch.tenantSequences = [World.alice: 50, World.bob: 1]
            // It exists: that is a conflict only for who has the tenant.
            batch.creations = [late.creation("k", of: [new.rawValue], tenant: World.alice)]
            let webhooks = [World.alice, World.bob].map { late.makeWebhook(of: $0) }
            batch.webhooks = webhooks
            batch.deliveries = webhooks.map { late.delivery(1, by: $0) }
            #expect(try await nodes[0].commit(batch).conflicts.isEmpty)

            let after = try await nodes[1].load([World.alice])
            #expect(after.owned == [World.alice])
            #expect(after.contents.sessions == loaded.sessions)
            #expect(after.contents.tenantSequences == loaded.tenantSequences)
            #expect(after.contents.webhooks.isEmpty)
            #expect(try await nodes[1].task(given.id, of: World.alice) == completed)
            #expect(try await nodes[1].task(tasks[0].id, of: World.alice) == nil)
            #expect(try await nodes[1].content(of: given.id) == nil)
            #expect(
                try await nodes[1].events(
                    EventQuery(stream: .session(ids[0]), after: 0, limit: 10)) == events)
            let others = try await nodes[0].load([World.alice, World.bob])
            #expect(others.owned == [World.bob])
            #expect(others.contents.sessions == [late.session(ids[1])])
            #expect(others.contents.webhooks == [webhooks[1]])
            #expect(try await nodes[0].task(tasks[1].id, of: World.bob) == tasks[1])
            #expect(try await nodes[0].content(of: tasks[1].id) == [2])

            // Once it is back it is written again.
            #expect(try await nodes[1].give(World.alice, to: nodes[0].node))
            batch = StoreBatch()
            batch.sessions = [late.session(new)]
            try await nodes[0].commit(batch)
            #expect(try await nodes[0].load([World.alice]).contents.sessions.count == 2)
            for node in nodes { await node.close() }
        }
    }

    @Test func `what a killed node had is given to the others, and it writes nothing any more`()
        async throws
    {
        try await TemporarySchema.with { url in
            let killed = try node(url, givesSigns: false)
            let others = try [node(url, Self.hasty, folder: 2), node(url, Self.hasty, folder: 3)]
            var world = World()
            let sessions = try await sessions(of: Self.tenants, &world, by: killed)
            let view = try await others[0].look(waiting: .zero)
            #expect(view.tenants(of: killed.node).count == 2)
            try endSession(of: killed, at: url)
            // Both look at the same time.
            async let seen = look(others[0], "it to be lost") { $0.nodes[killed.node] == nil }
            _ = try await look(others[1], "it to be lost") { $0.nodes[killed.node] == nil }
            _ = try await seen
            let after = try await look(others[1], "all to have nodes") {
                $0.owners.count == Self.tenants.count
            }
            #expect(others.allSatisfy { after.tenants(of: $0.node).count == 3 })
            let late = batch(of: World.alice, &world)
            await #expect(throws: Self.lost) { try await killed.commit(late) }
            await #expect(throws: Self.lost) { try await killed.look(waiting: .zero) }
            let loaded = try await others[0].load(after.tenants(of: others[0].node)).contents
            #expect(loaded.sessions.count == 3)
            #expect(loaded.sessions.allSatisfy { sessions.contains($0.id) })
            await killed.close()
            for node in others { await node.close() }
        }
    }

    @Test
    func `a node whose session says nothing is ended, and in the middle of a transaction, too`()
        async throws
    {
        try await TemporarySchema.with { url in
            // A node that has a transaction open.
            let address = try DatabaseAddress(url)
            let silent = try Connection(address)
            try Schema.migrate(silent)
            try DatabaseLock.acquire(DatabasePlace.sharing, silent, within: .seconds(10))
            let lock = try Newcomer(address: "http://silent", folder: [9]).join(silent)
            let tenant = Self.tenants[0]
            try silent.begin("")
            _ = try NodeRows(connection: silent).take(
                tenant, for: try #require(NodeID(1)))
            try lock.record(DatabaseLock.random(), by: silent)
            try silent.commit()
            try silent.begin("")
            _ = try silent.rows(
                "UPDATE tenant SET last_sequence = 77 WHERE id = $1", [.number(tenant.rawValue)])
            try lock.record(DatabaseLock.random(), by: silent)
            let node = try node(
                url, .init(withSession: .milliseconds(500), withoutSession: .milliseconds(500)),
                folder: 2)
            let view = try await look(node, "it to be lost") { $0.owners[tenant] == node.node }
            #expect(view.nodes.keys.map(\.self) == [node.node])
            #expect(throws: StoreError.self) { try silent.commit() }
            let again = try Connection(address)
            #expect(throws: Self.lost) { try lock.reacquire(again) }
            let contents = try await node.load([tenant]).contents
            #expect(contents.tenantSequences == [tenant: 0])
            await node.close()
        }
    }

    @Test func `a node that lost its connection only comes back under its number`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try [node(url), node(url, folder: 2)]
            var world = World()
            let view = try await nodes[1].look(waiting: .zero)
            try endSession(of: nodes[0], at: url)
            _ = try await sessions(of: [World.alice], &world, by: nodes[0])
            #expect(try await nodes[1].look(waiting: .zero).nodes == view.nodes)
            for node in nodes { await node.close() }
        }
    }

    // MARK: Joining again

    @Test func `a node that was lost joins again as another one, that has nothing`() async throws {
        try await TemporarySchema.with { url in
            let lost = try node(url, givesSigns: false)
            let other = try node(url, Self.hasty, folder: 2)
            var world = World()
            let tenant = World.alice
            _ = try await sessions(of: [tenant], &world, by: lost)
            _ = try await lost.settle([tenant])
            #expect(try await lost.contentsMark(proposing: "here") == "here")
            try endSession(of: lost, at: url)
            _ = try await look(other, "the tenant to move") { $0.owners[tenant] == other.node }
            let stale = batch(of: tenant, &world)
            await #expect(throws: Self.lost) { try await lost.commit(stale) }

            try await lost.rejoin()
            #expect(lost.node != other.node && lost.leaseLeft > .seconds(8))
            // What it had before is not its own.
            try await lost.commit(stale)
            let loaded = try await lost.load([tenant])
            #expect(loaded.owned.isEmpty && loaded.contents.sessions.isEmpty)
            #expect(try await other.load([tenant]).contents.sessions.count == 1)
            let view = try await look(lost, "both") { $0.nodes.count == 2 }
            #expect(view.owners[tenant] == other.node)
            // It takes part like any other.
            let next = Self.tenants[5]
            #expect(try await lost.take(next) == lost.node)
            try await lost.commit(batch(of: next, &world))
            #expect(try await lost.load([next]).contents.sessions.count == 1)
            for node in [lost, other] { await node.close() }
        }
    }

    @Test func `a node does not join again where the database is another one`() async throws {
        try await TemporarySchema.with { url in
            let node = try node(url)
            #expect(try await node.contentsMark(proposing: "here") == "here")
            let others = try Connection(DatabaseAddress(url))
            _ = try others.rows("UPDATE gateway SET contents_mark = 'elsewhere'")
            try others.settle()
            let refusal = StoreError.failed(
                "The database is another one than before: its contents are elsewhere.")
            await #expect(throws: refusal) { try await node.rejoin() }
            await #expect(throws: Self.lost) { try await node.look(waiting: .zero) }
            _ = try others.rows("UPDATE gateway SET contents_mark = 'here'")
            try others.settle()
            try await node.rejoin()
            #expect(try await node.look(waiting: .zero).nodes.count == 1)
            await node.close()
            let closed = StoreError.failed("The store is closed.")
            await #expect(throws: closed) { try await node.rejoin() }
        }
    }

    @Test func `the lease runs out, sooner without a session, and begins anew with a commit`()
        async throws
    {
        let server = try await PostgresServer()
        let silence = DatabaseLock.Silence(
            withSession: .seconds(1000), withoutSession: .milliseconds(100))
        let node = try node(server.url(), silence, givesSigns: false)
        #expect(node.leaseLeft > .seconds(700) && node.leaseLeft <= .seconds(800))
        try await server.stop(atOnce: true)
        var world = World()
        let change = batch(of: World.alice, &world)
        await #expect(throws: StoreError.self) { try await node.commit(change) }
        #expect(node.leaseLeft <= .zero)
        try await server.start()
        try await eventually("a commit") { (try? await node.commit(change)) != nil }
        #expect(node.leaseLeft > .seconds(700))
        await node.close()
    }

    @Test func `a part is of use until another node has got those of its tenant`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try [node(url), node(url, folder: 2)]
            var world = World()
            let session = world.makeSession(of: World.alice)
            let task = world.makeTask(in: session)
            var made = world.batch(session)
            made.createdTasks = [task]
            try await nodes[0].commit(made)
            #expect(try await nodes[0].take(World.alice) == nodes[0].node)
            #expect(try await nodes[0].needs(.part, of: .task(task.id)))
            _ = try await nodes[0].settle([World.alice])
            #expect(try await nodes[0].needs(.part, of: .task(task.id)))
            #expect(try await !nodes[1].needs(.part, of: .task(task.id)))
            #expect(try await nodes[1].needs(.whole, of: .task(task.id)))
            #expect(try await !nodes[0].needs(.part, of: .task(TaskID(rawValue: 1))))
            for node in nodes { await node.close() }
        }
    }

    @Test func `of what was put in a series that is of use which its record tells of`() async throws
    {
        try await TemporarySchema.with { url in
            let node = try node(url)
            var world = World()
            let session = world.makeSession(of: World.alice)
            var task = world.makeTask(in: session)
            var file = world.makeFile(of: World.alice)
            var batch = world.batch(session)
            (batch.createdTasks, batch.files) = ([task], [file])
            try await node.commit(batch)
            #expect(try await node.take(World.alice) == node.node)
            let contents = [8, 9].map { ContentName.task(task.id, in: $0) }
            let staged = [8, 9].map { ContentName.file(file.id, in: $0) }
            func needed() async throws -> [Bool] {
                var needed: [Bool] = []
                for content in contents + staged {
                    needed.append(try await node.needs(.whole, of: content))
                }
                return needed
            }
            func neededParts() async throws -> [Bool] {
                [
                    try await node.needs(.part, of: .task(task.id)),
                    try await node.needs(.part, of: .file(file.id)),
                ]
            }
            #expect(
                try await needed() == [true, true, true, true], "any of them may yet be told of")
            #expect(try await neededParts() == [true, true])
            task = task.completed(at: world.instant)
            task.content = ContentRecord(
                length: 10, place: .file, digest: nil, lengthVerified: true, series: 9)
            (file.isComplete, file.series) = (true, 8)
            batch = world.batch(session)
            (batch.changedTasks, batch.files) = ([task], [file])
            try await node.commit(batch)
            #expect(try await needed() == [false, true, true, false])
            #expect(try await neededParts() == [false, false], "the wholes are there")
            // One that was kept for another download, which no record tells of.
            #expect(try await !node.needs(.whole, of: .task(task.id)))
            #expect(try await node.load([World.alice]).contents.files.map(\.series) == [8])
            // A damaged row may tell of any of them.
            let connection = try Connection(DatabaseAddress(url))
            try connection.send("BEGIN")
            try connection.send("UPDATE task SET status = '\\x0aff01'")
            try connection.commit()
            #expect(try await needed() == [true, true, true, false])
            await node.close()
        }
    }

    // MARK: What is read, and forgotten

    @Test func `what is loaded is of the tenants that are asked for, and common to all`()
        async throws
    {
        try await TemporarySchema.with { url in
            let whole = try WholeStore(sealer: sealer)
            let alone = try PostgresStore(url: url, sealer: sealer)
            for batch in whole.batches { try await alone.commit(batch) }
            var world = World()
            _ = try await sessions(of: [TenantID(rawValue: 50)], &world, by: alone)
            let all = try await alone.load()
            await alone.close()
            let node = try node(url)
            let common = try await node.load()
            #expect(common.sessions.isEmpty && common.activeTasks.isEmpty && common.files.isEmpty)
            #expect(common.tenantSequences.isEmpty && common.webhooks.isEmpty)
            #expect(common.tenants == all.tenants && common.tokens == all.tokens)
            #expect(common.lastIdentifier == all.lastIdentifier)
            #expect(common.clockMark == all.clockMark)
            let owners = try await node.look(waiting: .zero).owners
            let known = Set(all.sessions.map(\.tenant))
            #expect(known.isSubset(of: owners.keys) && known.count > 1)
            for tenant in known {
                let own = try await node.load([tenant]).contents
                #expect(own.sessions == all.sessions.filter { $0.tenant == tenant })
                #expect(own.activeTasks == all.activeTasks.filter { $0.tenant == tenant })
                #expect(own.pendingDecisions == all.pendingDecisions.filter { $0.tenant == tenant })
                #expect(own.files == all.files.filter { $0.tenant == tenant })
                #expect(own.webhooks == all.webhooks.filter { $0.tenant == tenant })
                #expect(own.tenants == all.tenants && own.tokens == all.tokens)
                #expect(own.tenantSequences == all.tenantSequences.filter { $0.key == tenant })
                #expect(own.outstandingTasks == all.outstandingTasks.filter { $0.key == tenant })
                let sessions = Set(own.sessions.map(\.id))
                #expect(
                    Set(own.cookies.keys) == Set(all.cookies.keys.filter(sessions.contains)))
                #expect(
                    Set(own.credentials.keys) == Set(all.credentials.keys.filter(sessions.contains))
                )
            }
            for file in all.files { #expect(try await node.needs(.whole, of: .file(file.id))) }
            #expect(try await !node.needs(.whole, of: .file(FileID(rawValue: 1))))
            for task in all.activeTasks { #expect(try await node.hasOutstanding(task.id)) }
            #expect(try await !node.hasOutstanding(TaskID(rawValue: 1)))
            await node.close()
        }
    }

    @Test func `a load tells how the tenant was left until that is settled`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try [node(url, folder: 1), node(url, folder: 2)]
            let tenant = World.alice
            #expect(try await nodes[0].take(tenant) == nodes[0].node)
            var loaded = try await nodes[0].load([tenant])
            #expect(loaded.owned == [tenant])
            #expect(loaded.handedOver.isEmpty && loaded.withPartsHere.isEmpty)
            #expect(try await nodes[0].settle([tenant, World.bob]) == [tenant])
            // Another node's is neither loaded nor settled.
            #expect(try await nodes[1].settle([tenant]).isEmpty)
            loaded = try await nodes[1].load([tenant])
            #expect(loaded.contents.tenantSequences.isEmpty)
            #expect(loaded.owned.isEmpty && loaded.withPartsHere.isEmpty)
            #expect(try await nodes[0].load([tenant]).withPartsHere == [tenant])
            #expect(try await nodes[0].give(tenant, to: nodes[1].node))
            for _ in 1...2 {
                loaded = try await nodes[1].load([tenant])
                #expect(loaded.owned == [tenant])
                #expect(loaded.handedOver == [tenant] && loaded.withPartsHere.isEmpty)
            }
            #expect(try await nodes[1].settle([tenant]) == [tenant])
            // As after a crash.
            loaded = try await nodes[1].load([tenant])
            #expect(loaded.handedOver.isEmpty && loaded.withPartsHere == [tenant])
            // Whoever is lost before it has settled it changes nothing of that.
            #expect(try await nodes[1].give(tenant, to: nodes[0].node))
            _ = try await nodes[0].load([tenant])
            await nodes[0].close()
            _ = try await look(nodes[1], "it to come back") { $0.owners[tenant] == nodes[1].node }
            loaded = try await nodes[1].load([tenant])
            #expect(loaded.handedOver == [tenant] && loaded.withPartsHere == [tenant])
            await nodes[1].close()
        }
    }

    @Test func `only what belongs to the tenants named is forgotten (R-8)`() async throws {
        try await TemporarySchema.with { url in
            let node = try node(url)
            var world = World()
            let owners = [World.alice, World.bob]
            var batch = StoreBatch()
            var tasks: [TaskRecord] = []
            var invalid: [SessionID] = []
            for tenant in owners {
                let session = world.makeSession(of: tenant)
                let task = world.makeTask(in: session).completed(at: world.instant)
                batch.events.append(world.event(.didComplete(nil), of: task))
                tasks.append(task)
                batch.sessions.append(world.session(session))
                let ended = world.makeSession(of: tenant)
                let end = world.keptInstant
                world.change(ended) {
                    $0.state = .invalid
                    $0.invalidatedAt = end
                }
                invalid.append(ended)
                batch.sessions.append(world.session(ended))
            }
            batch.createdTasks = tasks
            batch.creations = owners.map { world.creation("k", of: [], tenant: $0) }
            let webhooks = owners.map { tenant in
                var webhook = world.makeWebhook(of: tenant)
                webhook.cursor = 3
                return webhook
            }
            batch.webhooks = webhooks
            batch.deliveries = webhooks.flatMap { webhook in
                (1...3).map { (position: Int64) in
                    var delivery = world.delivery(position, by: webhook)
                    delivery.state = .delivered
                    return delivery
                }
            }
            func deliveryCounts() async throws -> [Int] {
                var counts: [Int] = []
                for webhook in webhooks {
                    let page = try await node.deliveries(DeliveryQuery(webhook: webhook.id))
                    counts.append(page.deliveries.count)
                }
                return counts
            }
            batch.keptAt = world.keptInstant
            try await node.commit(batch)
            let later = KeptTime(milliseconds: world.keptInstant.milliseconds + 1000)
            var limits = RetentionLimits(
                tasksCompletedBefore: later, backgroundTasksCompletedBefore: later,
                eventsBefore: later, backgroundEventsBefore: later, eventsPerSession: 1000,
                sessionsInvalidBefore: later, creationsBefore: later, deliveriesBefore: later)
            limits.ends = Dictionary(
                uniqueKeysWithValues: owners.map {
                    (
                        $0,
                        RetentionLimits.End(
                            completedBefore: later, createdBefore: TaskID(rawValue: .max))
                    )
                })
            limits.tenants = [World.bob]
            var early = limits
            early.deliveriesBefore = KeptTime(milliseconds: 0)
            early.deliveriesPerWebhook = 2
            #expect(try await node.purge(early).sessions == [invalid[1]])
            #expect(try await deliveryCounts() == [3, 2])
            _ = try await node.purge(limits)
            #expect(try await deliveryCounts() == [3, 0])
            #expect(try await node.creation(of: "k", of: World.alice) != nil)
            #expect(try await node.creation(of: "k", of: World.bob) == nil)
            let stays = try await node.task(tasks[0].id, of: World.alice)
            #expect(stays == tasks[0])
            #expect(try await node.task(tasks[1].id, of: World.bob) == nil)
            for (index, task) in tasks.enumerated() {
                let query = EventQuery(stream: .session(task.session), after: 0, limit: 10)
                #expect(try await node.events(query).count == 1 - index)
            }
            limits.tenants = []
            #expect(try await node.purge(limits).sessions.isEmpty)
            limits.tenants = nil
            #expect(try await node.purge(limits).sessions == [invalid[0]])
            await node.close()
        }
    }

    // MARK: Hints

    @Test func `who waits is told at once that tenants, tokens or settings have changed`()
        async throws
    {
        try await TemporarySchema.with { url in
            let nodes = try [node(url), node(url, folder: 2)]
            var version = try await nodes[0].look(waiting: .zero).accessVersion
            var world = World()
            let token = world.makeToken()
            var batches = [StoreBatch](repeating: StoreBatch(), count: 6)
            batches[0].tokens = [token]
            batches[1].tenants = [world.makeTenant(World.bob)]
            batches[2].gatewayLimit = 5
            batches[3].backgroundUpdates = false
            batches[4].removedTokens = [token.id]
            batches[5].removedTenants = [World.bob]
            let start = ContinuousClock.now
            for batch in batches {
                let old = version
                let change = Task {
                    while true {
                        let view = try await nodes[0].look(waiting: .seconds(60))
                        if view.accessVersion != old { return view.accessVersion }
                    }
                }
                try await nodes[1].commit(batch)
                let next = try await change.value
                #expect(next > version)
                version = next
            }
            // That a token was used is of no account.
            var batch = StoreBatch()
            batch.tokenUses = [token.id: world.instant]
            try await nodes[1].commit(batch)
            async let view = nodes[0].look(waiting: .seconds(60))
            nodes[0].endWait()
            #expect(try await view.accessVersion == version)
            #expect(ContinuousClock.now - start < .seconds(60))
            for node in nodes { await node.close() }
        }
    }

    @Test func `nodes that need each other's rows do not end each other`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try [node(url), node(url, folder: 2)]
            try await withThrowingTaskGroup { group in
                for (index, node) in nodes.enumerated() {
                    group.addTask {
                        for step in 0..<20 {
                            let isDraining = step % 2 == 0
                            _ = try await node.setDraining(isDraining, of: nodes[1 - index].node)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let view = try await nodes[0].look(waiting: .zero)
            #expect(view.nodes.values.allSatisfy { !$0.isDraining } && view.nodes.count == 2)
            for node in nodes { await node.close() }
        }
    }
}
