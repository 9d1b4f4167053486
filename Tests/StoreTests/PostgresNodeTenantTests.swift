import Engine
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// Which of the nodes that share a database has a tenant, and writes what is the tenant's.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresNodeTenantTests {
    private let bench = PostgresNodeBench()

    @Test func `tenants are given evenly, taken when nobody has them, and given away`()
        async throws
    {
        try await TemporarySchema.with { url in
            let nodes = try (1...3).map { try bench.node(url, folder: $0) }
            let ids = nodes.map(\.node)
            var world = World()
            _ = try await bench.sessions(of: bench.tenants, &world, by: nodes[0])
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
            var left = try await bench.look(nodes[1], "the last one to be gone") {
                $0.nodes.count == 2
            }
            #expect(left.tenants(of: ids[1]).count == 2 && left.tenants(of: ids[0]).count == 5)
            // To one that drains all is left if there is no other.
            await nodes[0].close()
            left = try await bench.look(nodes[1], "the first one to be gone") {
                $0.nodes.count == 1
            }
            #expect(left.tenants(of: ids[1]) == Set(bench.tenants + [new]))
            await nodes[1].close()
        }
    }

    @Test func `a tenant is given to a node that drains only if all others do`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try (1...3).map { try bench.node(url, folder: $0) }
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
            let first = try bench.node(url, givesSigns: false)
            let error = StoreError.failed(
                "Another node works with a copy of this data directory: give each node its own.")
            #expect(throws: error) {
                try PostgresNode(
                    url: url, sealer: bench.sealer, at: "http://a", folder: [1], .patient,
                    patience: .zero)
            }
            // One that was killed and comes back need not wait until it counts as lost.
            try bench.endSession(of: first, at: url)
            let second = try bench.node(url)
            #expect(second.node.rawValue == 2)
            await second.close()
            await first.close()
        }
    }

    @Test func `what a node commits of a tenant that it has given away is left out`()
        async throws
    {
        try await TemporarySchema.with { url in
            let nodes = try [bench.node(url), bench.node(url, folder: 2)]
            for tenant in [World.alice, World.bob] {
                #expect(try await nodes[0].take(tenant) == nodes[0].node)
            }
            var world = World()
            let ids = try await bench.sessions(of: [World.alice, World.bob], &world, by: nodes[0])
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
            let killed = try bench.node(url, givesSigns: false)
            let others = try [
                bench.node(url, .hasty, folder: 2), bench.node(url, .hasty, folder: 3),
            ]
            var world = World()
            let sessions = try await bench.sessions(of: bench.tenants, &world, by: killed)
            let view = try await others[0].look(waiting: .zero)
            #expect(view.tenants(of: killed.node).count == 2)
            try bench.endSession(of: killed, at: url)
            // Both look at the same time.
            async let seen = bench.look(others[0], "it to be lost") { $0.nodes[killed.node] == nil }
            _ = try await bench.look(others[1], "it to be lost") { $0.nodes[killed.node] == nil }
            _ = try await seen
            let after = try await bench.look(others[1], "all to have nodes") {
                $0.owners.count == bench.tenants.count
            }
            #expect(others.allSatisfy { after.tenants(of: $0.node).count == 3 })
            let late = bench.batch(of: World.alice, &world)
            await #expect(throws: StoreError.lost) { try await killed.commit(late) }
            await #expect(throws: StoreError.lost) { try await killed.look(waiting: .zero) }
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
            let tenant = bench.tenants[0]
            try silent.begin("")
            _ = try NodeRows(connection: silent).take(
                tenant, for: try #require(NodeID(1)))
            try lock.record(DatabaseLock.random(), by: silent)
            try silent.commit()
            try silent.begin("")
            _ = try silent.rows(
                "UPDATE tenant SET last_sequence = 77 WHERE id = $1", [.number(tenant.rawValue)])
            try lock.record(DatabaseLock.random(), by: silent)
            let node = try bench.node(
                url, .init(withSession: .milliseconds(500), withoutSession: .milliseconds(500)),
                folder: 2)
            let view = try await bench.look(node, "it to be lost") {
                $0.owners[tenant] == node.node
            }
            #expect(view.nodes.keys.map(\.self) == [node.node])
            #expect(throws: StoreError.self) { try silent.commit() }
            let again = try Connection(address)
            #expect(throws: StoreError.lost) { try lock.reacquire(again) }
            let contents = try await node.load([tenant]).contents
            #expect(contents.tenantSequences == [tenant: 0])
            await node.close()
        }
    }

    @Test func `a node that lost its connection only comes back under its number`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try [bench.node(url), bench.node(url, folder: 2)]
            var world = World()
            let view = try await nodes[1].look(waiting: .zero)
            try bench.endSession(of: nodes[0], at: url)
            _ = try await bench.sessions(of: [World.alice], &world, by: nodes[0])
            #expect(try await nodes[1].look(waiting: .zero).nodes == view.nodes)
            for node in nodes { await node.close() }
        }
    }
}
