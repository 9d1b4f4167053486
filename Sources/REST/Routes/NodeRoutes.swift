internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// The nodes that share a database: for the gateway's admin.
extension Service {
    func listNodes(_ call: Call) async throws -> Response {
        let records = nodes?.nodes ?? []
        return .json { json in
            json.object { json in
                json.array("nodes") { json in
                    for record in records { write(record, to: &json) }
                }
            }
        }
    }

    func showNode(_ call: Call) async throws -> Response {
        let id = try call.node()
        guard let record = nodes?.nodes.first(where: { $0.id == id }) else {
            throw GatewayError.noSuchNode
        }
        return .json { write(record, to: &$0) }
    }

    /// Has a node give its tenants away, or take some again.
    func changeNode(_ call: Call) async throws -> Response {
        let id = try call.node()
        let isDraining = try await call.json { reader throws(JSONError) in
            var isDraining: Bool?
            try reader.object { reader, name throws(JSONError) in
                switch name {
                case "state": isDraining = try reader.choice(NodeState.self) == .draining
                default: throw reader.unknownMember(name)
                }
            }
            return isDraining
        }
        guard let nodes else { throw GatewayError.noSuchNode }
        guard let isDraining else {
            guard let record = nodes.nodes.first(where: { $0.id == id }) else {
                throw GatewayError.noSuchNode
            }
            return .json { write(record, to: &$0) }
        }
        let record = try await nodes.setDraining(isDraining, of: id)
        return .json { write(record, to: &$0) }
    }

    private func write(_ record: NodeRecord, to json: inout JSONWriter) {
        json.object { json in
            json.member("node", record.id.rawValue)
            json.member("address", record.address)
            json.member("state", NodeState(of: record).rawValue)
            json.member("tenants", nodes?.view.tenants(of: record.id).count ?? 0)
            json.member("isThis", record.id == nodes?.own)
            json.member("joinedAt", instant: record.joinedAt.milliseconds)
        }
    }

    /// How the node gets on with the others; nil for a gateway alone.
    var nodeFigures: MetricsPage.NodeFigures? {
        nodes.map { nodes in
            MetricsPage.NodeFigures(
                nodes: nodes.nodes.count, tenants: nodes.view.tenants(of: nodes.own).count,
                isPaused: gateway.nodes?.isPaused ?? false,
                losses: gateway.nodes?.lossCount ?? 0,
                leaseLeft: gateway.nodes?.leaseLeft ?? .zero,
                passedOn: forwarder?.figures)
        }
    }

    // MARK: Passing on

    /// Has a request answered by the node that has a tenant.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - caller: whom this node has let in.
    ///   - tenant: whom the request is about.
    /// - Returns: the answer; nil where this node has the tenant.
    /// - Throws: 503 where no node answers in time.
    func answer(
        _ request: Request, for caller: KnownCaller, about tenant: TenantID
    ) async throws -> Response? {
        guard let nodes else { return nil }
        // Its own request has come back: another one's address leads here.
        if caller.isPassedOn, request.header("ferry-node") == String(nodes.own.rawValue) {
            throw Problem.movedBeforehand
        }
        let place: TenantPlace
        do throws(GatewayError) {
            place = try await nodes.place(of: tenant, isPassedOn: caller.isPassedOn)
        } catch .tenantIsMoving where caller.isPassedOn {
            throw Problem.movedBeforehand
        }
        switch place {
        case .here: return nil
        case .at where caller.isPassedOn: throw Problem.movedBeforehand
        case .at(let node):
            guard let forwarder else { throw GatewayError.tenantIsMoving }
            return try await forwarder.answer(request, for: caller, about: tenant, at: node)
        }
    }

    /// What is under way with nodes that are gone, and for tenants that have left, ends.
    func placesHaveChanged() {
        forwarder?.placesHaveChanged()
        guard let nodes else { return }
        door.endRequests { $0.hasLeft(nodes) ? .movedMeanwhile(isTold: $0.isPassedOn) : nil }
    }
}

extension Problem {
    /// A node is told that it has asked the wrong one, or too early: nothing was done.
    static var movedBeforehand: Problem {
        var problem = Problem(GatewayError.tenantIsMoving)
        problem.headers.add(ForwardedFields.moved, ForwardedFields.nothingDone)
        return problem
    }

    /// The tenant has left while the request was under way.
    ///
    /// - Parameter isTold: whether a node has asked, which makes of it what it can.
    /// - Returns: 503, which says that it may have been done.
    fileprivate static func movedMeanwhile(isTold: Bool) -> Problem {
        var problem = Problem.unavailable(
            because: "The tenant has moved to another node. \(Readiness.unconfirmed)")
        if isTold { problem.headers.add(ForwardedFields.moved, ForwardedFields.interrupted) }
        return problem
    }
}

extension Call {
    /// The node that the path names.
    ///
    /// - Throws: `noSuchNode`.
    fileprivate func node() throws(GatewayError) -> NodeID {
        guard let text = request.parameters["node"], let number = Int64(text),
            String(number) == text, let id = NodeID(number)
        else { throw .noSuchNode }
        return id
    }
}

/// Whether a node takes part, or hands over what it has.
private enum NodeState: String, CaseIterable {
    case serving, draining

    init(of node: NodeRecord) { self = node.isDraining ? .draining : .serving }
}
