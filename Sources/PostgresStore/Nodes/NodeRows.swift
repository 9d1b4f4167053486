internal import Engine
internal import Records
internal import Semantics

/// The rows of nodes, and which node has a tenant; inside the transaction that its caller has
/// begun.
struct NodeRows {
    let connection: Connection

    /// Whoever has the whole database has all tenants, and the parts of all downloads.
    static let forgetting = [
        "DELETE FROM node",
        """
        UPDATE tenant SET node = NULL, handed_over = false, parts_at = NULL
        WHERE node IS NOT NULL OR handed_over OR parts_at IS NOT NULL
        """,
    ]
    /// SQL for the name of the channel that belongs to these tables, in lower case.
    private static let channel =
        "'ferry_' || to_hex(\(DatabasePlace.lockNumber("nodes")))"
    /// Tells all nodes that there is something to look at. The server orders such transactions
    /// among each other: none that writes more should be one.
    static let announcing = "SELECT pg_notify(\(channel), '')"
    /// SQL for whether the node of a tenant lives.
    static let hasNode = """
        EXISTS (SELECT 1 FROM node WHERE node.id = tenant.node AND node.holder IS NOT NULL)
        """

    /// Has the session told what `announcing` tells.
    static func listen(_ connection: Connection) throws(StoreError) {
        guard let name = try connection.rows("SELECT \(channel)").first?.stringOrNil(0) else {
            throw .failed("None of the schemas exists that the database's search_path names.")
        }
        _ = try connection.rows("LISTEN \(name)")
        try connection.settle()
    }

    // MARK: Tenants

    /// Which living node has a tenant; nil where none has.
    func owner(of tenant: TenantID) throws(StoreError) -> NodeID? {
        let rows = try connection.rows(
            "SELECT node FROM tenant WHERE id = $1 AND \(Self.hasNode)",
            [.number(tenant.rawValue)])
        return rows.first?.int64OrNil(0).flatMap(NodeID.init)
    }

    /// Gives a tenant that no living node has to this one.
    ///
    /// - Returns: who has it then.
    func take(_ tenant: TenantID, for node: NodeID) throws(StoreError) -> NodeID? {
        let id = Parameter.number(tenant.rawValue)
        try connection.send("INSERT INTO tenant (id) VALUES ($1) ON CONFLICT DO NOTHING", [id])
        // What follows is to see the nodes as they are when nobody else can give it away.
        try connection.send("SELECT FROM tenant WHERE id = $1 FOR UPDATE", [id])
        try connection.send(
            "UPDATE tenant SET node = $2 WHERE id = $1 AND NOT \(Self.hasNode)",
            [id, .number(node.rawValue)])
        return try owner(of: tenant)
    }

    /// Gives a tenant of a node to another one that lives, and does not drain unless all others do.
    ///
    /// - Returns: Whether it is that one's now.
    func give(
        _ tenant: TenantID, of node: NodeID, to other: NodeID
    ) throws(StoreError) -> Bool {
        let count = try connection.count(
            """
            UPDATE tenant SET node = $3, handed_over = true WHERE id = $1 AND node = $2
                AND EXISTS (SELECT 1 FROM node WHERE id = $3 AND holder IS NOT NULL AND (
                    NOT is_draining OR NOT EXISTS (SELECT 1 FROM node AS other
                        WHERE other.id <> $2 AND other.holder IS NOT NULL
                            AND NOT other.is_draining)))
            """,
            [.number(tenant.rawValue), .number(node.rawValue), .number(other.rawValue)])
        return count == 1
    }

    /// A tenant of a node, and how its last node has left it.
    struct Legacy: Sendable {
        let tenant: TenantID
        let isHandedOver: Bool
        let hasPartsHere: Bool
    }

    /// Those of the tenants that a node has, as they were left.
    ///
    /// - Parameters:
    ///   - tenants: which ones.
    ///   - node: whose.
    ///   - folder: the mark of the node's folder.
    /// - Returns: What is written of each.
    /// - Throws: what is wrong with the database.
    func legacies(
        _ tenants: Set<TenantID>, of node: NodeID, in folder: [UInt8]
    ) throws(StoreError) -> [Legacy] {
        let rows = try connection.rows(
            """
            SELECT id, handed_over, coalesce(parts_at = $3, false) FROM tenant
            WHERE id = ANY($1) AND node = $2
            """,
            [.numbers(tenants.map(\.rawValue)), .number(node.rawValue), .bytes(folder)])
        return try rows.map { row in
            Legacy(
                tenant: TenantID(rawValue: row.int64(0)), isHandedOver: row.bool(1),
                hasPartsHere: row.bool(2))
        }
    }

    /// Writes down that tenants go on at a node, as far as it has them, and where their parts are.
    ///
    /// - Parameters:
    ///   - tenants: which ones.
    ///   - node: whose they should be.
    ///   - folder: the mark of the node's folder.
    /// - Returns: those that it has.
    /// - Throws: what is wrong with the database.
    func settle(
        _ tenants: Set<TenantID>, of node: NodeID, in folder: [UInt8]
    ) throws(StoreError) -> Set<TenantID> {
        let rows = try connection.rows(
            """
            WITH own AS MATERIALIZED (
                SELECT id FROM tenant WHERE id = ANY($1) AND node = $2 ORDER BY id FOR UPDATE
            )
            UPDATE tenant SET handed_over = false, parts_at = $3 FROM own WHERE tenant.id = own.id
            RETURNING tenant.id
            """,
            [.numbers(tenants.map(\.rawValue)), .number(node.rawValue), .bytes(folder)])
        return Set(try rows.map { TenantID(rawValue: $0.int64(0)) })
    }

    /// Whether there is a task, a staged file or a stored response to which a content belongs, and
    /// which tells of no other one for good. A row that cannot be read may tell of it.
    ///
    /// - Parameters:
    ///   - content: which one.
    ///   - folder: the mark of a folder, for a part in it: no other one may have got the parts of
    ///     the owner's tenant since, and nobody needs that of what was put as a whole.
    /// - Returns: whether there is.
    /// - Throws: what is wrong with the database.
    func needs(
        _ content: ContentName, withPartsIn folder: [UInt8]?
    ) throws(StoreError) -> Bool {
        let (columns, row, number) =
            switch content.owner {
            case .task(let id):
                (
                    "id, state, status", "task AS owner WHERE id = $1 AND state <> 6", id.rawValue
                )
            case .file(let id):
                ("id, is_complete, series", "file AS owner WHERE id = $1", id.rawValue)
            case .entry(let id): ("id", "cache_entry AS owner WHERE id = $1", id.rawValue)
            }
        let rows = try connection.rows(
            """
            SELECT \(columns) FROM \(row) AND NOT EXISTS
                (SELECT 1 FROM tenant WHERE tenant.id = owner.tenant AND parts_at <> $2)
            """, [.number(number), .bytes(folder)])
        guard rows.count > 0 else { return false }
        let isPart = folder != nil
        let answers = try rows.mapReadable(of: "task") { row throws(StoreError) in
            switch content.owner {
            case .task:
                guard row.int64(1) == StoredState.completed.rawValue else { return true }
                let told = try TaskStatus.content(in: row.bytes(2))
                return isPart ? told?.series == nil : told != nil && told?.series == content.series
            case .file:
                guard row.bool(1) else { return true }
                return row.int64OrNil(2) == (isPart ? nil : content.series)
            case .entry: return true
            }
        }
        return answers.first ?? true
    }

    // MARK: Nodes

    /// Has a node hand over all that it has, or take part again.
    ///
    /// - Parameters:
    ///   - isDraining: whether it hands over.
    ///   - node: which one.
    ///   - own: the node that says so, whose row every transaction of it changes in the end.
    /// - Returns: Whether there is such a node.
    /// - Throws: what is wrong with the database.
    func setDraining(
        _ isDraining: Bool, of node: NodeID, by own: NodeID
    ) throws(StoreError) -> Bool {
        // In one order, so that two nodes that do so never wait for each other.
        try connection.send(
            "SELECT FROM node WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
            [.numbers([node.rawValue, own.rawValue])])
        let count = try connection.count(
            "UPDATE node SET is_draining = $2 WHERE id = $1 AND holder IS NOT NULL",
            [.number(node.rawValue), .flag(isDraining)])
        return count == 1
    }
}
