import Engine
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// Nodes that change what others look at: these learn of it at once, and none waits for ever.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresNodeHintTests {
    private let bench = PostgresNodeBench()

    @Test func `who waits is told at once that tenants, tokens or settings have changed`()
        async throws
    {
        try await TemporarySchema.with { url in
            let nodes = try [bench.node(url), bench.node(url, folder: 2)]
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
            let nodes = try [bench.node(url), bench.node(url, folder: 2)]
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
