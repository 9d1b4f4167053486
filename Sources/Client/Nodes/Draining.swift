public import JSON

/// What `ferry drain` does: it has a node hand over its tenants, and waits until none is left.
public struct Draining {
    /// How often the node is looked at.
    private static let pause = Duration.milliseconds(500)
    /// How many looks may find that it serves before it is taken for called back: 10 s.
    private static let patience = 20

    private let nodes: RemoteNodes
    private let report: (String) -> Void

    /// Asks a gateway that is a node.
    ///
    /// - Parameters:
    ///   - client: of any of the nodes.
    ///   - report: called with a line for people whenever there is something new to say.
    public init(_ client: GatewayClient, report: @escaping (String) -> Void) {
        nodes = RemoteNodes(client)
        self.report = report
    }

    /// Has a node hand over what it has, and comes back when it has no tenant any more.
    ///
    /// - Parameter number: nil for the node that answers.
    /// - Returns: the node as the gateway shows it.
    /// - Throws: `noNode`; `cannotDrain` where nobody would take the tenants; as
    ///   `GatewayClient.json`.
    public func run(_ number: Int64?) throws(ClientError) -> JSONValue {
        let (node, others) = try look(number)
        guard others.contains(where: Draining.serves) else {
            throw .cannotDrain("node \(node.number) has no other beside it that takes tenants")
        }
        _ = try nodes.setDraining(true, of: node.number)
        var (looks, said) = (0, nil as Int64?)
        while true {
            let found = try nodes.client.persistently { () throws(ClientError) in
                try nodes.list()
            }
            looks += 1
            let (node, others) = try Draining.split(found, node.number)
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
                return found.first { $0["node"]?.int64 == node.number } ?? .null
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
