internal import Engine
internal import Semantics

/// That a gateway is one of the nodes of a database.
final class NodeMembership: Sendable {
    /// Its number.
    let node: NodeID
    /// What keeps it from writing what others have.
    let fence: TenantFence
    private let folder: [UInt8]
    private let silence: DatabaseLock.Silence
    private let lock: DatabaseLock
    private let connections: DatabaseConnections
    private let watch: NodeWatch

    /// A node that has joined.
    ///
    /// - Parameters:
    ///   - node: its number.
    ///   - folder: a mark that names its data folder.
    ///   - connections: of which the writer's has the lock.
    ///   - silence: after which another node counts as lost.
    /// - Throws: `failed` where the process has no descriptor left.
    init(
        _ node: NodeID, in folder: [UInt8], _ connections: DatabaseConnections,
        _ silence: DatabaseLock.Silence
    ) throws(StoreError) {
        self.node = node
        fence = TenantFence(of: node)
        self.folder = folder
        self.silence = silence
        self.connections = connections
        lock = connections.lock
        watch = try NodeWatch(connections.address, connections.waiting, silence, of: node)
    }

    /// How much is left of four fifths of the time after which the others take this node for lost:
    /// they look at what the server has had of it.
    var leaseLeft: Duration {
        let sign = connections.newestSign
        let limit = sign.hasSession ? silence.withSession : silence.withoutSession
        return limit * 0.8 - (ContinuousClock.now - sign.instant)
    }

    /// Looks how the nodes stand, and sees to it that each tenant has one.
    func look(waiting limit: Duration) async throws(StoreError) -> NodeView {
        let (sight, lost) = try await watch.look(waiting: limit)
        guard sight.has(node, lock.holder) else {
            // It is refused, which ends everything.
            try await connections.writing { _ in }
            return sight.view
        }
        guard sight.hasGaps || !lost.isEmpty else { return sight.view }
        try await writing { connection in
            try Allotment(connection: connection).run(without: lost)
        }
        return try await watch.look(waiting: .zero).0.view
    }

    /// Lets a look that waits go on.
    func endWait() { watch.endWait() }

    /// Takes a tenant, unless another node has it, and returns who has it.
    func take(_ tenant: TenantID) async throws(StoreError) -> NodeID {
        let node = node
        // Nothing is locked of what somebody else has.
        let owner = try await connections.reading { connection in
            try NodeRows(connection: connection).owner(of: tenant)
        }
        if let owner { return owner }
        return try await writing { connection in
            try NodeRows(connection: connection).take(tenant, for: node) ?? node
        }
    }

    /// Gives a tenant to another node, and returns whether it did.
    func give(_ tenant: TenantID, to other: NodeID) async throws(StoreError) -> Bool {
        let (node, fence) = (node, fence)
        return try await writing { connection in
            fence.forget([tenant])
            return try NodeRows(connection: connection).give(tenant, of: node, to: other)
        }
    }

    /// Has a node hand over all that it has, or take part again; returns whether there is one.
    func setDraining(_ isDraining: Bool, of node: NodeID) async throws(StoreError) -> Bool {
        let own = self.node
        return try await writing { connection in
            try NodeRows(connection: connection).setDraining(isDraining, of: node, by: own)
        }
    }

    /// Those of the tenants that this node has, as their last nodes have left them; inside a read
    /// of its caller's.
    func legacies(
        _ tenants: Set<TenantID>, by connection: Connection
    ) throws(StoreError) -> [NodeRows.Legacy] {
        try NodeRows(connection: connection).legacies(tenants, of: node, in: folder)
    }

    /// Writes down that tenants go on here, as far as this node still has them; returns these.
    func settle(_ tenants: Set<TenantID>) async throws(StoreError) -> Set<TenantID> {
        guard !tenants.isEmpty else { return [] }
        let (node, folder) = (node, folder)
        return try await connections.writing { connection in
            try NodeRows(connection: connection).settle(tenants, of: node, in: folder)
        }
    }

    /// Whether a content is anybody's; of a part whether it may be gone on from in this node's
    /// folder.
    func needs(_ kind: ContentKind, of content: ContentName) async throws(StoreError) -> Bool {
        let folder = kind == .part ? folder : nil
        return try await connections.reading { connection in
            try NodeRows(connection: connection).needs(content, withPartsIn: folder)
        }
    }

    /// Tells the others that there is something to look at; nobody relies on it.
    func announce() {
        Task { [connections] in
            _ = try? await connections.reading { try $0.rows(NodeRows.announcing).count }
        }
    }

    /// Closes the connection that looks.
    func close() async { await watch.close() }

    /// Runs a transaction, and has the others look at what it has done.
    private func writing<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws(StoreError) -> Value {
        let value = try await connections.writing(body)
        announce()
        return value
    }
}
