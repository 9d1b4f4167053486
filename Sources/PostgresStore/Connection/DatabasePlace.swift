internal import Engine

/// What a gateway has of a database: all of it, or the place of one of several nodes.
enum DatabasePlace: Sendable, Equatable {
    case whole
    case node(NodeID)

    /// SQL for the row that tells who has the place.
    var row: String {
        switch self {
        case .whole: "holder WHERE id = 1"
        case .node(let node): "node WHERE id = \(node.rawValue)"
        }
    }

    /// The same for a change of it.
    func changing(_ changes: String) -> String {
        switch self {
        case .whole: "UPDATE holder SET \(changes) WHERE id = 1"
        case .node(let node): "UPDATE node SET \(changes) WHERE id = \(node.rawValue)"
        }
    }

    /// SQL for the number of the lock that one session alone has at a time.
    var lockNumber: String {
        switch self {
        case .whole: Self.lockNumber("gateway")
        case .node(let node): Self.lockNumber("node \(node.rawValue)")
        }
    }

    /// A statement that tries to have the place, without waiting. Nodes share the lock that
    /// somebody who has all of it has alone.
    var locking: String {
        switch self {
        case .whole: "SELECT pg_try_advisory_lock(\(lockNumber))"
        case .node:
            """
            SELECT CASE WHEN pg_try_advisory_lock_shared(\(Self.whole.lockNumber))
                THEN pg_try_advisory_lock(\(lockNumber)) ELSE false END
            """
        }
    }

    /// A statement that keeps those out who have all of it.
    static let sharing = "SELECT pg_try_advisory_lock_shared(\(whole.lockNumber))"

    /// SQL for the number of a lock that belongs to these tables: there may be others in the same
    /// database.
    static func lockNumber(_ name: String) -> String {
        "hashtextextended('ferry \(name) ' || current_schema(), 0)"
    }
}
