internal import Loop
internal import Semantics

/// The stored responses that a session's cache has in memory with their contents, and what of the
/// memory for all caches that takes.
@LoopActor
final class CacheMemory {
    private let room: SharedRoom
    private let tenant: TenantID
    private let capacity: CacheCapacity
    private var tier: CacheTier<CacheKey, CacheCandidate> {
        didSet { noteUsage() }
    }
    private var taken = 0

    /// An empty one; with a capacity of more than there is for all, it has that.
    init(_ capacity: CacheCapacity, of tenant: TenantID, in room: SharedRoom) {
        var capacity = capacity
        capacity.memoryCapacity = min(max(0, capacity.memoryCapacity), Int64(room.limit))
        self.capacity = capacity
        self.room = room
        self.tenant = tenant
        tier = CacheTier(capacity: capacity.memoryCapacity)
    }

    isolated deinit {
        room.change(by: -taken, of: tenant)
    }

    private func noteUsage() {
        let usage = Int(tier.usage)
        room.change(by: usage - taken, of: tenant)
        taken = usage
    }

    /// Bytes of all.
    var usage: Int64 { tier.usage }

    /// The names of all.
    var ids: [Int64] { tier.all.map(\.id) }

    /// Those that there are under a key, oldest first.
    func candidates(under key: CacheKey) -> [CacheCandidate] {
        tier.ids(under: key).compactMap { tier[$0] }
    }

    subscript(id: Int64) -> CacheCandidate? { tier[id] }

    /// Whether a response of this size, in bytes, may be in memory (S-24).
    func admits(_ size: Int64) -> Bool { capacity.memoryAdmits(size) }

    /// Puts a response in, or in place of what has its name, if it is small and its content is
    /// here; the oldest ones make room, of which others may have left less than the capacity.
    func insert(_ candidate: CacheCandidate) {
        let entry = candidate.entry
        guard candidate.content != nil, admits(entry.size) else { return }
        let isKnown = tier[entry.response.id] != nil
        while !isKnown, !room.admits(Int(entry.size), of: tenant) {
            guard let oldest = tier.leastRecent else { return }
            remove(oldest)
        }
        _ = tier.insert(
            candidate, as: entry.response.id, under: entry.response.key, size: entry.size)
    }

    func touch(_ id: Int64) { tier.touch(id) }

    func remove(_ id: Int64) { _ = tier.remove(id) }

    func removeAll() { tier.removeAll() }
}
