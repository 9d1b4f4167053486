/// Keeps what was used lately, so that asking again costs nothing.
///
/// Two generations: what is used moves to the young one; when that is full, the old one is dropped.
/// Inlinable, since what asks for a value in other modules does so with every request.
public struct RecentCache<Key: Hashable, Value> {
    @usableFromInline let limit: Int
    @usableFromInline let cost: @Sendable (Value) -> Int
    @usableFromInline var young: [Key: Value] = [:]
    @usableFromInline var youngCost = 0
    @usableFromInline var old: [Key: Value] = [:]

    /// Holds values of `limit` to twice as much cost.
    ///
    /// - Parameters:
    ///   - limit: In the unit of `cost`.
    ///   - cost: What a value takes, at least 1; the same for the same value. Without it values are
    ///     counted.
    @inlinable
    public init(limit: Int, cost: @escaping @Sendable (Value) -> Int = { _ in 1 }) {
        self.limit = limit
        self.cost = cost
    }

    /// The value of a key that was set or asked for lately.
    @inlinable
    public subscript(key: Key) -> Value? {
        mutating get {
            if let value = young[key] { return value }
            guard let value = old.removeValue(forKey: key) else { return nil }
            insert(value, for: key)
            return value
        }
        set {
            old[key] = nil
            if let newValue {
                insert(newValue, for: key)
            } else if let value = young.removeValue(forKey: key) {
                youngCost -= cost(value)
            }
        }
    }

    /// Drops values.
    public mutating func removeAll(where isOver: (Value) -> Bool) {
        old = old.filter { !isOver($0.value) }
        young = young.filter { !isOver($0.value) }
        youngCost = young.values.reduce(0) { $0 + cost($1) }
    }

    /// Drops everything, and the room for it.
    public mutating func removeAll() {
        self = RecentCache(limit: limit, cost: cost)
    }

    @inlinable
    mutating func insert(_ value: Value, for key: Key) {
        if let replaced = young.removeValue(forKey: key) { youngCost -= cost(replaced) }
        if youngCost + cost(value) > limit, !young.isEmpty {
            old = young
            young = [:]
            youngCost = 0
        }
        young[key] = value
        youngCost += cost(value)
    }
}
