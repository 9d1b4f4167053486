public import Semantics

/// How many tasks a store has, of all tenants.
public struct TaskCensus: Equatable, Sendable {
    /// What outstanding tasks are told apart by.
    public struct Kind: Hashable, Sendable {
        /// Not `completed`.
        public let state: TaskState
        /// What is done with the bodies.
        public let type: TaskType

        /// A kind from its parts.
        public init(_ state: TaskState, _ type: TaskType) {
            self.state = state
            self.type = type
        }
    }

    /// Those that have not completed; absent kinds have none.
    public var outstanding: [Kind: Int] = [:]
    /// Those that have, and are kept.
    public var completed = 0

    /// Of no task.
    public init() {}

    /// How many there are in a state.
    public func count(_ state: TaskState) -> Int {
        guard state != .completed else { return completed }
        return outstanding.reduce(0) { $0 + ($1.key.state == state ? $1.value : 0) }
    }

    /// Adds what another store has.
    mutating func add(_ other: TaskCensus) {
        outstanding.merge(other.outstanding, uniquingKeysWith: +)
        completed += other.completed
    }
}
