public import JSON

/// One of several gateways that share a database, as the gateway that was asked shows it.
public struct RemoteNode: Equatable, Sendable {
    /// Names it among the nodes that there are: 1 and up.
    public let number: Int64
    /// Where the other nodes reach it.
    public let address: String
    /// `serving` or `draining`.
    public let state: String
    /// How many tenants are at it.
    public let tenants: Int64
    /// Whether it is the one that has answered.
    public let isThis: Bool
    /// When it joined, in RFC 3339.
    public let joinedAt: String

    /// A node from the gateway's JSON.
    ///
    /// - Throws: `unexpectedAnswer` without a number or a count of tenants.
    public init(_ json: JSONValue) throws(ClientError) {
        guard let number = json["node"]?.int64, let tenants = json["tenants"]?.int64 else {
            throw .unexpectedAnswer("a node without its number or its tenants")
        }
        self.number = number
        self.tenants = tenants
        address = json["address"]?.string ?? ""
        state = json["state"]?.string ?? ""
        isThis = json["isThis"]?.bool ?? false
        joinedAt = json["joinedAt"]?.string ?? ""
    }
}

/// Nodes as a table for people.
public enum NodeTable {
    /// The lines of the table, titles first; a star marks the node that has answered. With a
    /// `width`, lines are cut to it.
    public static func lines(_ nodes: [RemoteNode], width: Int? = nil) -> [String] {
        let rows = nodes.map { node in
            [
                "\(node.number)\(node.isThis ? "*" : "")", node.address, node.state,
                String(node.tenants), Figures.instant(node.joinedAt),
            ].map(DisplayText.line)
        }
        return TextTable.lines(
            ["NODE", "ADDRESS", "STATE", "TENANTS", "JOINED"], rows, figures: [3], width: width)
    }
}

/// The nodes that share a gateway's database.
public struct RemoteNodes {
    let client: GatewayClient

    /// Those of a gateway.
    public init(_ client: GatewayClient) { self.client = client }

    /// All of them, as the gateway shows them.
    ///
    /// - Parameter seconds: how long the answer may take.
    /// - Returns: the nodes.
    /// - Throws: `noNode` where it has its database for itself; as `GatewayClient.json`.
    public func list(seconds: Int = 70) throws(ClientError) -> [JSONValue] {
        let answer: JSONValue
        do throws(ClientError) {
            answer = try client.json("GET", "/v1/nodes", seconds: seconds)
        } catch .refused(let problem) where problem.status == 404 {
            throw .noNode(gateway: client.gateway.name)
        }
        guard let nodes = answer["nodes"]?.array else {
            throw .unexpectedAnswer("a list without nodes")
        }
        guard !nodes.isEmpty else { throw .noNode(gateway: client.gateway.name) }
        return nodes
    }

    /// Has a node hand over its tenants, or take part again, and gives it as the gateway shows it.
    ///
    /// - Throws: as `GatewayClient.json`.
    func setDraining(_ isDraining: Bool, of node: Int64) throws(ClientError) -> JSONValue {
        var json = JSONWriter()
        json.object { $0.member("state", isDraining ? "draining" : "serving") }
        let body = json.finish()
        // The tenant whose node answers for all may be on its way to another one.
        return try patiently { seconds throws(ClientError) in
            try client.json("PATCH", "/v1/nodes/\(node)", json: body, seconds: seconds)
        }
    }

    /// Does `work` again while its failures may pass: for 15 s where nobody answers, and as long as
    /// `persistently` where somebody does.
    ///
    /// - Parameter work: is told how many seconds an answer may take.
    /// - Returns: what it gives.
    /// - Throws: what `work` threw last; `interrupted`.
    func patiently<Value>(
        _ work: (_ seconds: Int) throws(ClientError) -> Value
    ) throws(ClientError) -> Value {
        var answered = ContinuousClock.now
        var (failures, refusals) = (0, 0)
        while true {
            let pause: Duration
            do throws(ClientError) {
                let left = client.persistence.absence - answered.duration(to: .now)
                return try work(max(1, Int(left.components.seconds)))
            } catch {
                guard client.wasReached, error.isPassing, !client.isGatewayGone() else {
                    throw error
                }
                if case .unreachable = error {
                    failures += 1
                    pause = min(client.persistence.pause(after: failures), .seconds(1))
                    let absence = answered.duration(to: .now) + pause
                    guard absence < client.persistence.absence else { throw error }
                } else {
                    (answered, failures, refusals) = (.now, 0, refusals + 1)
                    guard refusals < client.persistence.tries else { throw error }
                    pause = client.persistence.pause(after: refusals)
                }
            }
            try client.pause(for: pause)
        }
    }
}
