public import Semantics

/// The number of one of several gateways that share a database: a node.
///
/// While a node lives nobody else has its number, which is in the identifiers that it gives.
public struct NodeID: Hashable, Sendable, Comparable {
    /// The numbers that there are.
    public static let range: ClosedRange<Int64> = 1...63

    /// One of `range`.
    public let rawValue: Int64

    /// A number; nil outside of the range.
    public init?(_ rawValue: Int64) {
        guard NodeID.range.contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// In the order of their numbers.
    public static func < (left: NodeID, right: NodeID) -> Bool { left.rawValue < right.rawValue }
}

/// A node as all others know it.
public struct NodeRecord: Equatable, Sendable {
    /// Its number.
    public let id: NodeID
    /// Where the other nodes reach it: an http or https URL without a path.
    public let address: String
    /// When it joined, by the clock of the database.
    public let joinedAt: Timestamp
    /// Whether it hands over what it has, and takes nothing new.
    public var isDraining: Bool

    /// A node from its parts.
    public init(id: NodeID, address: String, joinedAt: Timestamp, isDraining: Bool = false) {
        self.id = id
        self.address = address
        self.joinedAt = joinedAt
        self.isDraining = isDraining
    }
}

/// What the nodes of a database know of each other, at one moment.
public struct NodeView: Equatable, Sendable {
    /// Those that live, this one among them.
    public var nodes: [NodeID: NodeRecord] = [:]
    /// Which of them has each tenant. Nobody has a tenant that is absent.
    public var owners: [TenantID: NodeID] = [:]
    /// Another one whenever tenants, tokens or settings have changed.
    public var accessVersion: Int64 = 0

    /// Nothing is known.
    public init() {}

    /// The tenants of a node.
    public func tenants(of node: NodeID) -> Set<TenantID> {
        Set(owners.lazy.filter { $0.value == node }.map(\.key))
    }
}

/// What is stored of the tenants that a node takes over.
public struct TenantContents: Sendable {
    /// Those of them that this node has; nothing is told of others.
    public var owned: Set<TenantID>
    /// As of a start, but of these tenants only; tenants, tokens and settings are of all.
    public var contents: StoreContents
    /// Those whose last node has let them go in order: what ran has been settled, and goes on.
    public var handedOver: Set<TenantID>
    /// Those of whose downloads the parts are in this node's folder: it had them last.
    public var withPartsHere: Set<TenantID>

    /// What is stored, from its parts.
    public init(
        _ contents: StoreContents, of owned: Set<TenantID>, handedOver: Set<TenantID> = [],
        withPartsHere: Set<TenantID> = []
    ) {
        self.contents = contents
        self.owned = owned
        self.handedOver = handedOver
        self.withPartsHere = withPartsHere
    }
}

/// A store that several nodes share. Each tenant is one node's at a time: that one alone writes
/// what is the tenant's, until it has given it away, or has given no sign of life for too long.
/// From then on nothing that it commits is written (`StoreError.lost`), and its tenants are given
/// to others; it may join again, as a node that has none. What a node that lives commits of a
/// tenant that another one has is left out.
///
/// `Store.load()` returns what all nodes know and nothing of a tenant's: tenants, tokens, settings,
/// the clock and the greatest identifier.
public protocol NodeStore: Store {
    /// This node: another one once it has joined again.
    var node: NodeID { get }
    /// Joins the nodes again, as one that has no tenants. Nothing comes behind it of what was begun
    /// before: until it returns every call is answered with `lost`, or comes to its end.
    ///
    /// - Throws: `away`; `failed`, or `damaged` for another key, where it cannot be one of them: as
    ///   when it was started.
    func rejoin() async throws(StoreError)
    /// For how long the others certainly do not take this node for lost, by what the store has
    /// answered it: measured with a clock that goes on while the machine sleeps, and compared with
    /// no other one. Zero or less once that is over; at most some seconds.
    var leaseLeft: Duration { get }
    /// Finds out how the nodes stand. Whoever is lost loses its number first, and tenants that no
    /// node has are given to nodes that take any, evenly.
    ///
    /// - Parameter limit: waits for so long at most until there is a hint that something has
    ///   changed; `.zero` does not wait.
    /// - Returns: how they stand.
    /// - Throws: `away`; `lost` where this node itself was taken for lost.
    func look(waiting limit: Duration) async throws(StoreError) -> NodeView
    /// Lets a `look` that waits go on at once.
    func endWait()
    /// Takes a tenant for this node, unless another one has it.
    ///
    /// - Returns: who has it now.
    func take(_ tenant: TenantID) async throws(StoreError) -> NodeID
    /// What is stored of tenants that this node has and nothing is known of here yet. Changes
    /// nothing.
    func load(_ tenants: Set<TenantID>) async throws(StoreError) -> TenantContents
    /// Writes down that tenants go on here: the parts of their downloads are in this node's folder
    /// from now on, and what their last nodes have settled has been taken up.
    ///
    /// - Returns: those of them that this node still has; of others nothing is written.
    func settle(_ tenants: Set<TenantID>) async throws(StoreError) -> Set<TenantID>
    /// Gives a tenant of this node to another, in order: everything of it has been committed, and
    /// nothing more will be.
    ///
    /// - Returns: false where that node is not there any more, or drains while another one does
    ///   not; the tenant then stays.
    func give(_ tenant: TenantID, to node: NodeID) async throws(StoreError) -> Bool
    /// Has a node hand over all that it has, or take part again.
    ///
    /// - Returns: false where there is no such node.
    func setDraining(_ isDraining: Bool, of node: NodeID) async throws(StoreError) -> Bool
    /// Whether a content that this machine has found is anybody's: there is such a task, staged
    /// file or stored response, and of a part no other node has got those of its tenant since; once
    /// the task has ended, or the file is complete, it tells of the content's series, where that
    /// has one. For housekeeping.
    func needs(_ kind: ContentKind, of content: ContentName) async throws(StoreError) -> Bool
    /// Whether there is a task of that id that has not ended, whosever it is: for housekeeping.
    func hasOutstanding(_ id: TaskID) async throws(StoreError) -> Bool
}
