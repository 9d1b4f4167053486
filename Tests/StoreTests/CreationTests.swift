import Engine
import GRDB
import Semantics
import Testing

@testable import SQLiteStore

/// what a request with an `Idempotency-Key` has created.
@Suite struct CreationTests {
    @Test(arguments: StoreKind.allCases)
    func `a key tells what was created under it, to its tenant only (R-10)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            let world = World()
            let records = [
                world.creation("k", of: [World.start]),
                world.creation("k", of: [5, 0, .max, 0, 1], tenant: World.bob),
                world.creation("K", of: []), world.creation("\u{e9}", of: [1]),
                // The same to Swift, another text to a client.
                world.creation("e\u{301}", of: [2]), world.creation("a\u{0}b", of: [3]),
                world.creation(String(repeating: "x", count: 255), of: Array(1...500)),
            ]
            var batch = StoreBatch()
            batch.creations = records
            try await store.commit(batch)
            for record in records {
                #expect(
                    try await store.creation(of: record.key, of: record.tenant) == record)
            }
            for (key, tenant) in [("K", World.bob), ("a", World.alice), ("", World.alice)] {
                #expect(try await store.creation(of: key, of: tenant) == nil)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `keys are forgotten when their time is over, and may come again (R-10)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            var records: [IdempotencyRecord] = []
            // More than a step of the purge, and as many in a step.
            for index in 0..<3000 {
                if index >= 2000 { world.tick() }
                records.append(world.creation("key \(index)", of: [Int64(index)]))
            }
            var batch = StoreBatch()
            batch.creations = records
            try await store.commit(batch)
            var limits = RetentionLimits.none
            limits.creationsBefore = records[2500].at
            #expect(try await store.purge(limits).files.isEmpty)
            for (index, record) in records.enumerated() {
                let found = try await store.creation(of: record.key, of: record.tenant)
                #expect(found == (index < 2500 ? nil : record))
            }
            world.tick()
            batch.creations = [
                world.creation("key 7", of: [1]), world.creation("key 2700", of: []),
            ]
            let (again, late) = (batch.creations[0], batch.creations[1])
            #expect(
                try await store.commit(batch).conflicts == [.creation(CreationKey(late))])
            #expect(try await store.creation(of: again.key, of: World.alice) == again)
            // One that is kept still is not taken over.
            #expect(try await store.creation(of: late.key, of: World.alice) == records[2700])
        }
    }

    @Test(arguments: [
        "UPDATE creation SET key = 'b'", "UPDATE creation SET tenant = 2",
        "UPDATE creation SET fingerprint = substr(fingerprint, 1, 20)",
        "UPDATE creation SET fingerprint = x''", "UPDATE creation SET created = x'FF'",
    ])
    func `a damaged or moved row is told`(sql: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let world = World()
            var batch = StoreBatch()
            batch.creations = [world.creation("a", of: [1])]
            try await store.commit(batch)
            try await store.pool.write { try $0.execute(sql: sql) }
            let error = await #expect(throws: StoreError.self) {
                for key in ["a", "b"] {
                    for tenant in [World.alice, World.bob] {
                        _ = try await store.creation(of: key, of: tenant)
                    }
                }
            }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }
}
