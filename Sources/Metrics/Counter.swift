/// A number that only grows, for one thread, or one isolation, to count with.
public struct Counter: Sendable {
    /// What was counted since the start.
    public private(set) var value = 0

    /// Nothing yet.
    public init() {}

    /// Counts `count` more.
    @inlinable
    @inline(__always)
    public mutating func add(_ count: Int = 1) { increase(by: count) }

    @usableFromInline
    mutating func increase(by count: Int) { value &+= count }
}

/// Counters by the value of one label, of which there must be few.
public struct LabelledCounter<Label: Hashable & Sendable>: Sendable {
    @usableFromInline var counts: [Label: Int] = [:]

    /// What was counted of each label that has come.
    public var values: [Label: Int] { counts }

    /// Nothing yet.
    public init() {}

    /// What was counted of all labels together.
    public var total: Int { values.values.reduce(0, +) }

    /// Counts `count` more of a label.
    @inlinable
    public mutating func add(_ label: Label, _ count: Int = 1) {
        counts[label, default: 0] += count
    }
}
