/// Keeps what was used lately, so that asking again costs nothing.
///
/// Two generations: what is used moves to the young one; when that is full, the old one is dropped.
public struct RecentCache<Key: Hashable, Value> {
    private let limit: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    /// Holds `limit` to twice as many values.
    public init(limit: Int) { self.limit = limit }

    /// The value of a key that was set or asked for lately.
    public subscript(key: Key) -> Value? {
        mutating get {
            if let value = young[key] { return value }
            guard let value = old[key] else { return nil }
            insert(value, for: key)
            return value
        }
        set {
            if let newValue {
                insert(newValue, for: key)
            } else {
                young[key] = nil
                old[key] = nil
            }
        }
    }

    /// Drops values.
    public mutating func removeAll(where isOver: (Value) -> Bool) {
        young = young.filter { !isOver($0.value) }
        old = old.filter { !isOver($0.value) }
    }

    private mutating func insert(_ value: Value, for key: Key) {
        if young.count >= limit {
            old = young
            young = [:]
        }
        young[key] = value
    }
}
