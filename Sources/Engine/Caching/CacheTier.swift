internal import Semantics

/// What a cache keeps in one place: found by key, given up in the order of use.
struct CacheTier<Key: Hashable, Item> {
    private var order = UsageOrder<(key: Key, item: Item)>()
    private var ids: [Key: [Int64]] = [:]
    /// Bytes; beyond it the oldest are given up.
    let capacity: Int64

    init(capacity: Int64) { self.capacity = capacity }

    /// Bytes of all.
    var usage: Int64 { order.total }
    /// How many there are.
    var count: Int { order.count }

    /// What there is under a key, oldest first.
    func ids(under key: Key) -> [Int64] { ids[key] ?? [] }

    subscript(id: Int64) -> Item? { order[id]?.item }

    /// Puts something in, or in place of what has its name.
    ///
    /// - Returns: what had to go for it.
    mutating func insert(
        _ item: Item, as id: Int64, under key: Key, size: Int64
    ) -> [(id: Int64, item: Item)] {
        if order[id] == nil { ids[key, default: []].append(id) }
        order.insert((key, item), as: id, size: size)
        var evicted: [(id: Int64, item: Item)] = []
        while order.total > capacity, let oldest = order.leastRecent?.id,
            let item = remove(oldest)
        {
            evicted.append((oldest, item))
        }
        return evicted
    }

    /// The one that was not used for the longest time.
    var leastRecent: Int64? { order.leastRecent?.id }

    mutating func touch(_ id: Int64) { order.touch(id) }

    mutating func remove(_ id: Int64) -> Item? {
        guard let (key, item) = order.remove(id) else { return nil }
        ids[key]?.removeAll { $0 == id }
        if ids[key]?.isEmpty == true { ids[key] = nil }
        return item
    }

    mutating func removeAll() { self = CacheTier(capacity: capacity) }

    /// All of them, the one that was not used for the longest time first.
    var all: [(id: Int64, item: Item)] { order.all.map { ($0.id, $0.thing.item) } }
}
