internal import Diagnostics
public import Loop
public import Semantics

/// Who answers for a tenant.
public enum TenantPlace: Equatable, Sendable {
    /// This node.
    case here
    /// Another one, which is to be asked.
    case at(NodeRecord)
}

/// The nodes that share the database: which tenant is at which of them, and what is done where that
/// changes.
@LoopActor
public final class NodeService {
    /// How long a request waits for its tenant to arrive at a node.
    static let patience = Duration.seconds(10)

    /// This node.
    public let own: NodeID
    /// What the nodes knew of each other lately.
    public private(set) var view = NodeView()
    /// Called with nodes that are gone, and tenants that are elsewhere now: what was asked of them
    /// there is answered by nobody.
    public var onChange: (@LoopActor () -> Void)?

    private let store: any NodeStore
    /// The tenants that are served here.
    private var served: Set<TenantID> = []
    private var waiters = Waiters()

    init(_ store: any NodeStore) {
        self.store = store
        own = store.node
    }

    /// The nodes, by their numbers.
    public var nodes: [NodeRecord] { view.nodes.values.sorted { $0.id < $1.id } }

    /// Who answers for a tenant, where that is known at once.
    public func placeAtHand(of tenant: TenantID) -> TenantPlace? {
        served.contains(tenant) ? .here : nil
    }

    /// Who answers for a tenant. This node takes one that nobody has, and waits for one that is on
    /// its way here.
    ///
    /// - Parameter isPassedOn: whether another node has taken this one for it: then it waits until
    ///   it is.
    /// - Throws: `tenantIsMoving` where that takes too long, `store`.
    public func place(
        of tenant: TenantID, isPassedOn: Bool = false
    ) async throws(GatewayError) -> TenantPlace {
        if served.contains(tenant) { return .here }
        throw .tenantIsMoving
    }

    /// A node has not answered as it should: how things stand is looked at anew.
    public func lookSoon() { store.endWait() }

    /// Has a node hand over all that it has, or take part again.
    ///
    /// - Returns: the node.
    /// - Throws: `noSuchNode`, `store`.
    public func setDraining(
        _ isDraining: Bool, of node: NodeID
    ) async throws(GatewayError) -> NodeRecord {
        let isThere = try await reading { () throws(StoreError) in
            try await store.setDraining(isDraining, of: node)
        }
        guard isThere else { throw .noSuchNode }
        let view = try await reading { () throws(StoreError) in try await store.look(waiting: .zero) }
        guard let record = view.nodes[node] else { throw .noSuchNode }
        return record
    }
}
