public import Engine
public import Semantics
internal import Synchronization

extension DurableStore {
    /// One look at an index, and two values to open for each. What is damaged is left out, and
    /// removed with the next commit.
    public func cacheEntries(
        of session: SessionID, under fingerprint: Int64
    ) async throws(StoreError) -> [KeptResponse] {
        let sealer = sealer
        let found = try await reading { database in
            try CacheReader(database, sealer: sealer)
                .responses(of: session, under: fingerprint)
        }
        damagedEntries.withLock { $0.formUnion(found.damaged) }
        return found.responses
    }

    /// Opens nothing, and sorts: some 3 µs for each.
    public func cacheIndex(of session: SessionID) async throws(StoreError) -> [CacheIndexRow] {
        let sealer = sealer
        return try await reading { database in
            try CacheReader(database, sealer: sealer).index(of: session)
        }
    }

    /// One look at the primary key.
    public func knows(_ id: CacheEntryID) async throws(StoreError) -> Bool {
        let sealer = sealer
        return try await reading { database in
            try CacheReader(database, sealer: sealer).knows(id)
        }
    }
}
