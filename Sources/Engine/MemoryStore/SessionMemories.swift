internal import Semantics

/// What sessions in memory remember beside their tasks: cookies, credentials and stored responses.
struct SessionMemories {
    /// What one session remembers.
    private struct Memory {
        var cookies: [Int64: Cookie] = [:]
        var credentials: [Int64: StoredCredential] = [:]
        var responses: [CacheEntryID: KeptResponse] = [:]
    }

    private var memories: [SessionID: Memory] = [:]
    /// Whose each stored response is.
    private var owners: [CacheEntryID: SessionID] = [:]

    /// The cookies of each session that has any.
    var cookies: [SessionID: [Cookie]] {
        memories.compactMapValues { $0.cookies.isEmpty ? nil : Array($0.cookies.values) }
    }

    /// The credentials of each session that has any.
    var credentials: [SessionID: [Int64: StoredCredential]] {
        memories.compactMapValues { $0.credentials.isEmpty ? nil : $0.credentials }
    }

    /// Takes what a batch says of sessions that `isKnown` tells of; of others there is nothing to
    /// remember.
    mutating func apply(_ batch: StoreBatch, isKnown: (SessionID) -> Bool) {
        for change in batch.cookies where isKnown(change.session) {
            apply(change, to: \.cookies)
        }
        for change in batch.credentials where isKnown(change.session) {
            apply(change, to: \.credentials)
        }
        for session in batch.emptiedCaches {
            for id in (memories[session]?.responses ?? [:]).keys { owners[id] = nil }
            memories[session]?.responses = [:]
        }
        for id in batch.removedCacheEntries {
            if let owner = owners.removeValue(forKey: id) {
                memories[owner]?.responses[id] = nil
            }
        }
        for response in batch.cacheEntries where isKnown(response.entry.session) { keep(response) }
        for (id, instant) in batch.cacheUses {
            if let owner = owners[id] { memories[owner]?.responses[id]?.entry.usedAt = instant }
        }
    }

    private mutating func apply<Item>(
        _ change: SessionChange<Item>, to items: WritableKeyPath<Memory, [Int64: Item]>
    ) {
        var memory = memories.removeValue(forKey: change.session) ?? Memory()
        if change.removesAll { memory[keyPath: items] = [:] }
        for number in change.removed { memory[keyPath: items][number] = nil }
        memory[keyPath: items].merge(change.stored) { $1 }
        memories[change.session] = memory
    }

    private mutating func keep(_ response: KeptResponse) {
        let (id, session) = (response.entry.id, response.entry.session)
        var response = response
        if response.content == nil { response.content = memories[session]?.responses[id]?.content }
        memories[session, default: Memory()].responses[id] = response
        owners[id] = session
    }

    /// Forgets a session.
    mutating func remove(_ session: SessionID) {
        let memory = memories.removeValue(forKey: session)
        for id in (memory?.responses ?? [:]).keys { owners[id] = nil }
    }

    /// Whether there is a stored response of that id.
    func knows(_ id: CacheEntryID) -> Bool { owners[id] != nil }

    /// A session's stored responses under a fingerprint, in the order of their ids. Looks at all of
    /// them.
    func responses(of session: SessionID, under fingerprint: Int64) -> [KeptResponse] {
        (memories[session]?.responses ?? [:]).values
            .filter { $0.fingerprint == fingerprint }
            .sorted { $0.entry.id < $1.entry.id }
    }

    /// The bytes that a session's stored responses take.
    func cacheSize(of session: SessionID) -> Int64 {
        (memories[session]?.responses ?? [:]).values.reduce(0) { $0 + $1.entry.size }
    }

    /// All of a session's stored responses, what was not used for the longest time first.
    func index(of session: SessionID) -> [CacheIndexRow] {
        (memories[session]?.responses ?? [:]).values
            .sorted {
                ($0.entry.usedAt.milliseconds, $0.entry.id)
                    < ($1.entry.usedAt.milliseconds, $1.entry.id)
            }
            .map { response in
                CacheIndexRow(
                    id: response.entry.id, fingerprint: response.fingerprint,
                    size: response.entry.size, isFile: response.entry.place == .file)
            }
    }
}

extension MemoryState {
    /// The bytes of results, resting downloads and caches, by tenants: of some, or of all for nil.
    func storedBytes(of tenants: Set<TenantID>?) -> [TenantID: Int64] {
        var bytes: [TenantID: Int64] = [:]
        for task in tasks.values { bytes[task.tenant, default: 0] += task.storedLength }
        for (id, kept) in sessions {
            guard let tenant = kept.record?.tenant else { continue }
            bytes[tenant, default: 0] += memories.cacheSize(of: id)
        }
        return bytes.filter { $0.value > 0 && tenants?.contains($0.key) ?? true }
    }
}
