internal import Engine
internal import Semantics
internal import Synchronization

/// Keeps a node from writing what belongs to tenants that other nodes have.
///
/// For as long as a node lives nobody but itself gives away what it has, by the connection that
/// also commits; and of one that counts as lost each transaction is refused as a whole. So what has
/// once been found to be its own is so until it gives it away, and needs no look, nor a lock. The
/// numbers of tenants are not given again.
final class TenantFence: Sendable {
    private let node: NodeID
    /// Tenants that are known to be this node's.
    private let own = Mutex<Set<TenantID>>([])

    /// Nothing is known of any tenant.
    init(of node: NodeID) { self.node = node }

    /// Which of some tenants another node has, inside the transaction that is to write their work.
    /// Those that no node ever had are not among them.
    func foreign(
        among tenants: Set<TenantID>, by connection: Connection
    ) throws(StoreError) -> Set<TenantID> {
        let unknown = own.withLock { tenants.subtracting($0) }
        guard !unknown.isEmpty else { return [] }
        let rows = try connection.rows(
            "SELECT id, node = $2 FROM tenant WHERE id = ANY($1) AND node IS NOT NULL",
            [.numbers(unknown.map(\.rawValue)), .number(node.rawValue)])
        let found = try rows.map { (id: TenantID(rawValue: $0.int64(0)), isOwn: $0.bool(1)) }
        own.withLock { $0.formUnion(found.lazy.filter(\.isOwn).map(\.id)) }
        return Set(found.lazy.filter { !$0.isOwn }.map(\.id))
    }

    /// Is called inside the transaction that gives tenants away, or removes them, whether or not it
    /// comes to its end: they are looked at again.
    func forget(_ tenants: some Sequence<TenantID>) {
        own.withLock { $0.subtract(tenants) }
    }
}
