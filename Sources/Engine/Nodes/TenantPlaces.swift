public import Loop
public import Semantics

/// Which node has which tenant, for whoever passes requests on: `NodeService`, or what a test has
/// in its place.
@LoopActor
public protocol TenantPlaces: AnyObject, Sendable {
    /// This node.
    var own: NodeID { get }
    /// What the nodes knew of each other lately.
    var view: NodeView { get }
    /// The nodes, by their numbers.
    var nodes: [NodeRecord] { get }
    /// Whether this node cannot tell who may call, nor which tenants it has.
    var isCutOff: Bool { get }
    /// Called with nodes that are gone, and tenants that are elsewhere now.
    var onChange: (@LoopActor () -> Void)? { get set }
    /// Who answers for a tenant, where that is known at once.
    func knownPlace(of tenant: TenantID) -> TenantPlace?
    /// Who answers for a tenant; waits for one that is on its way.
    ///
    /// - Parameters:
    ///   - tenant: the tenant.
    ///   - isPassedOn: whether another node has taken this one for it: then nobody else is named.
    /// - Returns: the node.
    /// - Throws: `tenantIsMoving` where that takes too long, or it is not this one that a request
    ///   was passed on to; `store`.
    func place(
        of tenant: TenantID, isPassedOn: Bool
    ) async throws(GatewayError) -> TenantPlace
    /// A node has not answered as it should: how things stand is looked at anew.
    func lookSoon()
    /// Waits until this node has looked once more, five seconds at most: what other nodes have
    /// written by now is known here then.
    func caughtUp() async
    /// Has a node hand over all that it has, or take part again.
    ///
    /// - Returns: the node.
    /// - Throws: `noSuchNode`, `store`.
    func setDraining(
        _ isDraining: Bool, of node: NodeID
    ) async throws(GatewayError) -> NodeRecord
}

extension NodeService: TenantPlaces {}
