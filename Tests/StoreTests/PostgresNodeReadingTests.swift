import Engine
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// What a node reads of its tenants when it gets them, and what it forgets of them.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresNodeReadingTests {
    private let bench = PostgresNodeBench()

    @Test func `what is loaded is of the tenants that are asked for, and common to all`()
        async throws
    {
        try await TemporarySchema.with { url in
            let whole = try WholeStore(sealer: bench.sealer)
            let alone = try PostgresStore(url: url, sealer: bench.sealer)
            for batch in whole.batches { try await alone.commit(batch) }
            var world = World()
            _ = try await bench.sessions(of: [TenantID(rawValue: 50)], &world, by: alone)
            let all = try await alone.load()
            await alone.close()
            let node = try bench.node(url)
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
            let nodes = try [bench.node(url, folder: 1), bench.node(url, folder: 2)]
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
            _ = try await bench.look(nodes[1], "it to come back") {
                $0.owners[tenant] == nodes[1].node
            }
            loaded = try await nodes[1].load([tenant])
            #expect(loaded.handedOver == [tenant] && loaded.withPartsHere == [tenant])
            await nodes[1].close()
        }
    }

    @Test func `only what belongs to the tenants named is forgotten (R-8)`() async throws {
        try await TemporarySchema.with { url in
            let node = try bench.node(url)
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
}
