internal import Engine
internal import Semantics

/// How the nodes of a database stand, by their rows and sessions at one moment.
struct NodeSight: Sendable {
    /// A row of a node.
    struct Node: Sendable {
        let record: NodeRecord
        /// What names it; nil where it has left, or counts as lost.
        let holder: [UInt8]?
        /// Its last sign of life.
        let seen: String?
        /// What its session has done last; nil where it has none.
        let activity: String?
    }

    private(set) var nodes: [Node] = []
    /// The node of each tenant, by its row.
    private var owners: [TenantID: NodeID?] = [:]
    private var accessVersion: Int64 = 0

    /// Reads everything by one statement, so that all of it is of one moment, and no transaction
    /// has to be begun for it.
    init(_ connection: Connection) throws(StoreError) {
        let rows = try connection.rows(Self.query)
        try connection.settle()
        _ = try rows.map { row in
            switch row.int64(0) {
            case 0:
                guard let id = NodeID(row.int64(1)) else { return }
                let record = NodeRecord(
                    id: id, address: row.stringOrNil(5) ?? "",
                    joinedAt: Timestamp(milliseconds: row.int64(2)), isDraining: row.bool(3))
                nodes.append(
                    Node(
                        record: record, holder: row.bytesOrNil(4), seen: row.stringOrNil(6),
                        activity: row.stringOrNil(7)))
            case 1:
                owners[TenantID(rawValue: row.int64(1))] = row.int64OrNil(2).flatMap(NodeID.init)
            default: accessVersion = row.int64(2)
            }
        }
    }

    /// Who lives, and has which tenants.
    var view: NodeView {
        var view = NodeView()
        for node in nodes where node.holder != nil { view.nodes[node.record.id] = node.record }
        for (tenant, owner) in owners {
            if let owner, view.nodes[owner] != nil { view.owners[tenant] = owner }
        }
        view.accessVersion = accessVersion
        return view
    }

    /// Whether somebody has left, or a tenant has no node that lives.
    var hasGaps: Bool {
        nodes.contains { $0.holder == nil } || view.owners.count != owners.count
    }

    /// Whether a node is there under its name.
    func has(_ node: NodeID, _ holder: [UInt8]) -> Bool {
        nodes.contains { $0.record.id == node && $0.holder == holder }
    }

    private static let query = """
        WITH sessions AS MATERIALIZED (
            SELECT \(DatabaseLock.number) AS number, max(\(DatabaseLock.activity)) AS activity
            FROM \(DatabaseLock.sessionsWithLocks) GROUP BY 1
        )
        SELECT 0::bigint, id, (extract(epoch FROM joined_at) * 1000)::bigint, is_draining, holder,
            address, seen::text, (SELECT activity::text FROM sessions
                WHERE number = hashtextextended('ferry node ' || id || ' ' || current_schema(), 0))
        FROM node
        UNION ALL SELECT 1, id, node, NULL, NULL, NULL, NULL, NULL FROM tenant
        UNION ALL SELECT 2, NULL, access_version, NULL, NULL, NULL, NULL, NULL FROM gateway
        """
}
