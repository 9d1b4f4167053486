import Engine
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// How long a node is sure of its number, and how it joins again once it was taken for lost.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresNodeRejoinTests {
    private let bench = PostgresNodeBench()

    @Test func `a node that was lost joins again as another one, that has nothing`() async throws {
        try await TemporarySchema.with { url in
            let lost = try bench.node(url, givesSigns: false)
            let other = try bench.node(url, .hasty, folder: 2)
            var world = World()
            let tenant = World.alice
            _ = try await bench.sessions(of: [tenant], &world, by: lost)
            _ = try await lost.settle([tenant])
            #expect(try await lost.contentsMark(proposing: "here") == "here")
            try bench.endSession(of: lost, at: url)
            _ = try await bench.look(other, "the tenant to move") {
                $0.owners[tenant] == other.node
            }
            let stale = bench.batch(of: tenant, &world)
            await #expect(throws: StoreError.lost) { try await lost.commit(stale) }

            try await lost.rejoin()
            #expect(lost.node != other.node && lost.leaseLeft > .seconds(8))
            // What it had before is not its own.
            try await lost.commit(stale)
            let loaded = try await lost.load([tenant])
            #expect(loaded.owned.isEmpty && loaded.contents.sessions.isEmpty)
            #expect(try await other.load([tenant]).contents.sessions.count == 1)
            let view = try await bench.look(lost, "both") { $0.nodes.count == 2 }
            #expect(view.owners[tenant] == other.node)
            // It takes part like any other.
            let next = bench.tenants[5]
            #expect(try await lost.take(next) == lost.node)
            try await lost.commit(bench.batch(of: next, &world))
            #expect(try await lost.load([next]).contents.sessions.count == 1)
            for node in [lost, other] { await node.close() }
        }
    }

    @Test func `a node does not join again where the database is another one`() async throws {
        try await TemporarySchema.with { url in
            let node = try bench.node(url)
            #expect(try await node.contentsMark(proposing: "here") == "here")
            let others = try Connection(DatabaseAddress(url))
            _ = try others.rows("UPDATE gateway SET contents_mark = 'elsewhere'")
            try others.settle()
            let refusal = StoreError.failed(
                "The database is another one than before: its contents are elsewhere.")
            await #expect(throws: refusal) { try await node.rejoin() }
            await #expect(throws: StoreError.lost) { try await node.look(waiting: .zero) }
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
        let node = try bench.node(server.url(), silence, givesSigns: false)
        #expect(node.leaseLeft > .seconds(700) && node.leaseLeft <= .seconds(800))
        try await server.stop(atOnce: true)
        var world = World()
        let change = bench.batch(of: World.alice, &world)
        await #expect(throws: StoreError.self) { try await node.commit(change) }
        #expect(node.leaseLeft <= .zero)
        try await server.start()
        try await eventually("a commit") { (try? await node.commit(change)) != nil }
        #expect(node.leaseLeft > .seconds(700))
        await node.close()
    }
}
