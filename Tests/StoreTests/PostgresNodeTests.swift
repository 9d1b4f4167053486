import Engine
import Foundation
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// Gateways that share a database, as nodes: who is there, and who is kept out.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresNodeTests {
    private let bench = PostgresNodeBench()

    @Test func `nodes have different numbers, and write at the same time`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try (1...3).map { try bench.node(url, folder: $0) }
            #expect(nodes.map(\.node.rawValue) == [1, 2, 3])
            var world = World()
            var batches: [StoreBatch] = []
            for index in 0..<60 {
                batches.append(bench.batch(of: bench.tenants[index % nodes.count], &world))
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
            let next = try bench.node(url)
            #expect(next.node.rawValue == 1)
            let alone = try await bench.look(next, "the others to be gone") { $0.nodes.count == 1 }
            #expect(alone.tenants(of: next.node) == Set(bench.tenants.prefix(3)))
            let all = try await next.load(Set(bench.tenants))
            #expect(all.contents.sessions.count == batches.count)
            await next.close()
        }
    }

    @Test func `one that has the database alone keeps nodes out, and the other way round`()
        async throws
    {
        try await TemporarySchema.with { url in
            let used = StoreError.failed("Another gateway uses the database.")
            let alone = try PostgresStore(url: url, sealer: bench.sealer)
            #expect(throws: used) {
                try PostgresNode(
                    url: url, sealer: bench.sealer, at: "http://a", folder: [1], .patient,
                    patience: .zero)
            }
            await alone.close()
            let nodes = try [bench.node(url), bench.node(url, folder: 2)]
            await nodes[0].close()
            #expect(throws: used) {
                try PostgresStore(url: url, sealer: bench.sealer, patience: .zero)
            }
            #expect(throws: used) { try MovedDatabase(url: url, patience: .zero) }
            // One that waits for its turn takes it from no node, however long they are silent.
            let wait = DatabaseWait()
            let waitCount = Atomic(0)
            let silence = DatabaseLock.Silence(
                withSession: .milliseconds(50), withoutSession: .milliseconds(50))
            let result = Mutex<Result<PostgresStore, StoreError>?>(nil)
            Thread.detachNewThread { [sealer = bench.sealer] in
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
            _ = try await bench.sessions(of: [World.alice], &world, by: nodes[1])
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
                url: url, sealer: bench.sealer, patience: .seconds(10), givesSignsOfLife: false)
            let others = try Connection(DatabaseAddress(url))
            #expect(try others.rows(PostgresStoreTests.endingOthers).count == 1)
            let node = try bench.node(url)
            var world = World()
            let batch = bench.batch(of: World.alice, &world)
            await #expect(throws: StoreError.lost) { try await alone.commit(batch) }
            try await node.commit(batch)
            await alone.close()
            await node.close()
        }
    }

    @Test func `whoever has the database alone has all tenants`() async throws {
        try await TemporarySchema.with { url in
            let first = try bench.node(url, givesSigns: false)
            let second = try bench.node(url, folder: 2)
            var world = World()
            _ = try await bench.sessions(of: bench.tenants, &world, by: first)
            let view = try await first.look(waiting: .zero)
            #expect(view.owners.count == bench.tenants.count)
            #expect(
                try await first.settle(view.tenants(of: first.node)) == view.tenants(of: first.node)
            )
            #expect(
                try await first.give(
                    view.tenants(of: first.node).first ?? World.alice, to: second.node))
            await second.close()
            try bench.endSession(of: first, at: url)
            let alone = try PostgresStore(url: url, sealer: bench.sealer)
            #expect(try await alone.load().sessions.count == bench.tenants.count)
            let late = bench.batch(of: World.alice, &world)
            await #expect(throws: StoreError.lost) { try await first.commit(late) }
            await first.close()
            let others = try Connection(DatabaseAddress(url))
            let left = try others.rows(
                """
                SELECT (SELECT count(*) FROM node) + (SELECT count(*) FROM tenant
                    WHERE node IS NOT NULL OR handed_over OR parts_at IS NOT NULL)
                """)
            #expect(left.first?.int64(0) == 0)
            await alone.close()
            let next = try bench.node(url)
            #expect(
                try await next.look(waiting: .zero).tenants(of: next.node) == Set(bench.tenants))
            await next.close()
        }
    }
}
