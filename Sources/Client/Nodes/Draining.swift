public import JSON

/// What `ferry drain` does: it has a node hand over its tenants, and waits until none is left.
public struct Draining {
    /// How often the node is looked at.
    private static let pause = Duration.milliseconds(500)
    /// How many looks may find that it serves before it is taken for called back: 10 s.
    private static let patience = 20

    private let nodes: RemoteNodes
    private let report: (String) -> Void
    private let conclude: (String) -> Void

    /// Asks a gateway that is a node.
    ///
    /// - Parameters:
    ///   - client: of any of the nodes.
    ///   - report: called with a line for people whenever there is something new to say.
    ///   - conclude: called with a line that is to stay; nil where `report` is called with it, too.
    public init(
        _ client: GatewayClient, report: @escaping (String) -> Void,
        conclude: ((String) -> Void)? = nil
    ) {
        nodes = RemoteNodes(client)
        self.report = report
        self.conclude = conclude ?? report
    }

    /// Has a node hand over what it has, and comes back when it has no tenant any more, or has
    /// ended.
    ///
    /// - Parameter number: nil for the node that answers.
    /// - Returns: the node as the gateway has shown it last.
    /// - Throws: `noNode`; `cannotDrain` where nobody would take the tenants, or the node has ended
    ///   with some; `unreachable` where nobody answers for 15 s; as `GatewayClient.json`.
    public func run(_ number: Int64?) throws(ClientError) -> JSONValue {
        let list = try nodes.list()
        let (node, others) = try Draining.split(list, number)
        guard others.contains(where: Draining.serves) else {
            throw .cannotDrain("node \(node.number) has no other beside it that takes tenants")
        }
        _ = try nodes.setDraining(true, of: node.number)
        var (looks, said) = (0, nil as Int64?)
        var last = (node: node, json: Draining.json(of: node, in: list))
        while true {
            let found = try nodes.patiently { seconds throws(ClientError) in
                try nodes.list(seconds: seconds)
            }
            looks += 1
            guard try Draining.has(found, last.node) else { return try end(last.node, last.json) }
            let (node, others) = try Draining.split(found, node.number)
            last = (node, Draining.json(of: node, in: found))
            guard others.contains(where: Draining.serves) || node.tenants == 0 else {
                throw .cannotDrain(
                    """
                    node \(node.number) still has \(Draining.count(node.tenants)), and no other node \
                    takes any
                    """)
            }
            if Draining.serves(node) {
                // The gateway that answers may know of it a little later.
                guard said == nil, looks < Draining.patience else {
                    throw .cannotDrain(
                        "node \(node.number) serves again: somebody has called it back")
                }
            } else if node.tenants == 0 {
                return last.json
            } else if said != node.tenants {
                report("node \(node.number): \(Draining.count(node.tenants)) left")
                said = node.tenants
            }
            try nodes.client.pause(for: Draining.pause)
        }
    }

    /// Has a node take part again.
    ///
    /// - Parameter number: nil for the node that answers.
    /// - Returns: the node as the gateway shows it.
    /// - Throws: `noNode`; as `GatewayClient.json`.
    public func cancel(_ number: Int64?) throws(ClientError) -> JSONValue {
        try nodes.setDraining(false, of: try look(number).node.number)
    }

    private func look(
        _ number: Int64?
    ) throws(ClientError) -> (node: RemoteNode, others: [RemoteNode]) {
        try Draining.split(try nodes.list(), number)
    }

    /// Tells that a node is gone that was to be drained.
    ///
    /// - Parameters:
    ///   - node: the node, at the last look that has found it.
    ///   - json: the same, as the gateway has shown it.
    /// - Returns: the JSON.
    /// - Throws: `cannotDrain` where it had tenants then.
    private func end(_ node: RemoteNode, _ json: JSONValue) throws(ClientError) -> JSONValue {
        guard node.tenants == 0 else {
            throw .cannotDrain(
                """
                node \(node.number) has ended before it had handed over all: at the last look it \
                still had \(Draining.count(node.tenants)), which the other nodes take over
                """)
        }
        conclude("node \(node.number) has ended")
        return json
    }

    /// Whether a node is still there: another one may have got its number.
    private static func has(
        _ nodes: [JSONValue], _ node: RemoteNode
    ) throws(ClientError) -> Bool {
        for other in nodes {
            let other = try RemoteNode(other)
            if other.number == node.number { return other.joinedAt == node.joinedAt }
        }
        return false
    }

    private static func json(of node: RemoteNode, in nodes: [JSONValue]) -> JSONValue {
        nodes.first { $0["node"]?.int64 == node.number } ?? .null
    }

    /// A node, and those beside it.
    private static func split(
        _ nodes: [JSONValue], _ number: Int64?
    ) throws(ClientError) -> (node: RemoteNode, others: [RemoteNode]) {
        var all: [RemoteNode] = []
        for node in nodes { all.append(try RemoteNode(node)) }
        guard let node = all.first(where: { number == nil ? $0.isThis : $0.number == number })
        else {
            throw number.map { .cannotDrain("there is no node \($0), or none any more") }
                ?? .unexpectedAnswer("no node says that it is this one")
        }
        return (node, all.filter { $0.number != node.number })
    }

    private static func serves(_ node: RemoteNode) -> Bool { node.state == "serving" }

    private static func count(_ tenants: Int64) -> String {
        tenants == 1 ? "1 tenant" : "\(tenants) tenants"
    }
}
