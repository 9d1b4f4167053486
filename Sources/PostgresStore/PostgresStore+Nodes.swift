public import Engine
public import Semantics

/// Of use where it was opened as a node: for a gateway that has the tables alone everything of it
/// throws `failed`, but for `knows`.
extension PostgresStore: NodeStore {
    /// What this gateway is among the nodes.
    var shared: NodeMembership {
        get throws(StoreError) {
            guard let membership else { throw .failed("This gateway has the database alone.") }
            return membership
        }
    }

    /// The number of this node, for as long as it lives: never asked of a gateway that has the
    /// tables alone.
    public var node: NodeID {
        guard let membership else { preconditionFailure("a gateway without others has no number") }
        return membership.node
    }

    /// Looks by a connection of its own, which is told of changes at once where the server can be
    /// listened to; a node counts as lost after 6 s without a sign of life where it has no
    /// connection, and after 15 s where it has one. Both by the looks of this node, which are to
    /// come every two seconds or so.
    public func look(waiting limit: Duration) async throws(StoreError) -> NodeView {
        try await shared.look(waiting: limit)
    }

    /// Lets a `look` that waits go on; where none does, the next one will not wait.
    public func endWait() { membership?.endWait() }

    /// One look at the primary key where another node has it, or else a transaction.
    public func take(_ tenant: TenantID) async throws(StoreError) -> NodeID {
        try await shared.take(tenant)
    }

    /// One transaction.
    public func give(_ tenant: TenantID, to node: NodeID) async throws(StoreError) -> Bool {
        try await shared.give(tenant, to: node)
    }

    /// One transaction.
    public func setDraining(_ isDraining: Bool, of node: NodeID) async throws(StoreError) -> Bool {
        try await shared.setDraining(isDraining, of: node)
    }
}
