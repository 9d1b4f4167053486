internal import Diagnostics
internal import Engine
internal import HTTP
internal import Loop
internal import Metrics
internal import Semantics

/// Passes requests on to the nodes that have their tenants, and the answers back.
@LoopActor
final class Forwarder {
    /// How long a request is tried again that another node does not answer.
    private static let patience = Duration.seconds(10)
    /// How long it is tried again at least once its node is gone, which may have taken longer than
    /// that to be found out.
    private static let patienceAfterLoss = Duration.seconds(3)
    /// A body of at most so many bytes is sent as a whole, and again where that is called for.
    private static let wholeLimit: Int64 = 64 << 10
    /// How long a warning about a node stands for those that would follow.
    private static let warningPause = Duration.seconds(60)

    /// What was passed on, by what came of it.
    private(set) var figures = Figures()
    let places: any TenantPlaces
    private let client: HTTPClient
    private let pass: NodePass
    private let authenticator: Authenticator
    private let clock: any Clock
    /// By their identities.
    private var exchanges: [ObjectIdentifier: ForwardedExchange] = [:]
    /// When it was last warned that a node does not answer.
    private var warnings: [NodeID: Duration] = [:]
    /// The nodes that were asked, and where they are.
    private var origins: [NodeID: (node: NodeRecord, origin: ServerOrigin)] = [:]
    /// The process is about to end: nothing is tried again.
    private var isEnding = false
    private let log = Log("rest.nodes")

    /// How passing on gets on.
    struct Figures {
        /// What came of a request at another node.
        enum Outcome: String, CaseIterable {
            /// It was answered.
            case answered
            /// The node did not have the tenant.
            case moved
            /// The node could not be reached.
            case unreachable
            /// The exchange has ended before an answer.
            case lost
        }

        fileprivate(set) var outcomes: [Outcome: Counter] = [:]
        /// From the sending to the beginning of the answer.
        fileprivate(set) var times = Histogram(.answers)
        /// Exchanges that are under way.
        fileprivate(set) var running = 0
    }

    init(
        _ places: any TenantPlaces, client: HTTPClient, pass: NodePass,
        authenticator: Authenticator, clock: any Clock
    ) {
        self.places = places
        self.client = client
        self.pass = pass
        self.authenticator = authenticator
        self.clock = clock
    }

    /// Ends the exchanges whose node is gone. A node that is there and has a tenant no more ends
    /// what it has of it under way by itself.
    func placesHaveChanged() {
        warnings = warnings.filter { places.view.nodes[$0.key] != nil }
        // Who comes to be at such an address has connections of its own.
        for (id, known) in origins where places.view.nodes[id] != known.node {
            client.leave(known.origin)
            origins[id] = nil
        }
        for exchange in Array(exchanges.values) where isGone(exchange.node) {
            exchange.giveUp(because: "the node is gone")
        }
    }

    /// Ends the exchanges whose answer has not begun, and tries nothing again: whoever waits for
    /// one is answered before the process ends.
    func endWaits() {
        isEnding = true
        for exchange in Array(exchanges.values) where exchange.isWaiting {
            exchange.giveUp(because: "the gateway stops")
        }
    }

    private func isGone(_ node: NodeRecord) -> Bool {
        !places.nodes.contains { $0.id == node.id && $0.joinedAt == node.joinedAt }
    }

    /// Has a request answered by the node that has a tenant.
    ///
    /// - Parameters:
    ///   - request: the request; its body may have been read where this node is to answer, and can
    ///     be read again.
    ///   - caller: whom this node has let in.
    ///   - tenant: whom the request is about.
    ///   - node: who has the tenant, as far as is known.
    /// - Returns: the answer; nil where this node has the tenant by now.
    /// - Throws: 503 where no node answers, `BodyError`.
    func answer(
        _ request: Request, for caller: KnownCaller, about tenant: TenantID, at node: NodeRecord
    ) async throws -> Response? {
        let passage = try await Passage(
            request, caller, pass: pass, wholeLimit: Forwarder.wholeLimit)
        // A body takes its time: a token that was revoked meanwhile does nothing.
        if passage.hasBody { _ = try authenticator.caller(of: request) }
        var end = clock.uptime + Forwarder.patience
        var lost: Set<NodeID> = []
        var rest = Duration.milliseconds(50)
        var node = node
        while true {
            let problem: Problem
            switch try await send(passage, about: tenant, to: node) {
            case .answer(let response):
                // A token that was made there is soon sent here.
                if tenant == .operatorTenant, passage.mayChangeSomething,
                    200..<300 ~= response.status
                {
                    await places.caughtUp()
                }
                return response
            case .bodyFailed(let error): throw error
            case .notDone where passage.canBeSentAgain, .unknown where passage.isSafe:
                problem = .unavailable(
                    because: "The node that has the tenant does not answer.")
            case .notDone:
                throw Problem.unavailable(because: "The tenant is moving to another node.")
            case .unknown:
                throw Problem.unavailable(
                    because: "The node that has the tenant has not answered to the end. "
                        + Readiness.unconfirmed)
            }
            places.lookSoon()
            if isGone(node), lost.insert(node.id).inserted {
                end = max(end, clock.uptime + Forwarder.patienceAfterLoss)
            }
            guard clock.uptime + rest < end, !Task.isCancelled else { throw problem }
            await LoopActor.nextTurn(after: rest)
            rest = min(rest * 2, .seconds(1))
            switch try await places.place(of: tenant, isPassedOn: false) {
            case .at(let other):
                if isEnding { throw problem }
                node = other
            case .here:
                passage.giveBack()
                return nil
            }
        }
    }

    /// What came of one try.
    private enum Result {
        case answer(Response)
        /// Nothing was done for the request.
        case notDone
        /// It may have been done.
        case unknown
        /// The client has not sent the body to its end.
        case bodyFailed(BodyError)
    }

    private func send(
        _ passage: Passage, about tenant: TenantID, to node: NodeRecord
    ) async throws -> Result {
        let origin = try origin(of: node)
        let (outgoing, proof) = passage.outgoing(to: node, at: origin)
        let exchange = ForwardedExchange(
            with: node, proof: proof, body: passage.source, isHEAD: passage.isHEAD)
        let id = ObjectIdentifier(exchange)
        exchanges[id] = exchange
        figures.running += 1
        exchange.onEnd = { [weak self] in
            self?.exchanges[id] = nil
            self?.figures.running -= 1
        }
        let began = clock.uptime
        let outcome = await exchange.run(outgoing, to: origin, by: client)
        if let error = passage.source?.failure {
            exchange.cancel()
            return .bodyFailed(error)
        }
        switch outcome {
        case .begins(let head):
            if let result = note(began, head) {
                exchange.cancel()
                return result
            }
            return .answer(
                Response(
                    status: head.status, headers: ForwardedFields.ofAnswer(head),
                    body: .source(exchange, length: head.length)))
        case .whole(let head, let bytes):
            return note(began, head) ?? .answer(passage.response(head, bytes))
        case .failed(let mayHaveBegun, let words):
            noteSilence(of: node, about: tenant, because: words)
            figures.outcomes[mayHaveBegun ? .lost : .unreachable, default: Counter()].add()
            return mayHaveBegun ? .unknown : .notDone
        case .unproven(let status):
            exchange.cancel()
            let words = "what answers at its address has not proved to be the node"
            noteSilence(
                of: node, about: tenant,
                because: status == 401 ? "\(words), or it is of another version" : words)
            figures.outcomes[.unreachable, default: Counter()].add()
            return .unknown
        case .left:
            let words = passage.mayChangeSomething ? " \(Readiness.unconfirmed)" : ""
            throw Problem.unavailable(because: "The client has left.\(words)")
        }
    }

    /// - Throws: 503 where the node's address cannot be used.
    private func origin(of node: NodeRecord) throws -> ServerOrigin {
        if let known = origins[node.id], known.node == node { return known.origin }
        guard let origin = ServerOrigin(node.address) else {
            throw Problem.unavailable(because: "The address of node \(node.id.rawValue) is no URL.")
        }
        origins[node.id] = (node, origin)
        return origin
    }

    /// Logs that a node has not answered: as a warning once a minute, unless that is no wonder.
    private func noteSilence(
        of node: NodeRecord, about tenant: TenantID, because words: String
    ) {
        let now = clock.uptime
        let isRecent = warnings[node.id].map { now - $0 < Forwarder.warningPause } ?? false
        let isWarning = !isRecent && !isEnding && !isGone(node)
        if isWarning { warnings[node.id] = now }
        log.write(
            isWarning ? .warning : .info, "another node has not answered a request",
            [
                "node": .number(Int(node.id.rawValue)), "tenant": .number(Int(tenant.rawValue)),
                "reason": .words(words),
            ])
    }

    /// Notes an answer.
    ///
    /// - Returns: nil where it is for the client.
    private func note(_ began: Duration, _ head: IncomingHead) -> Result? {
        guard head.status == 503, let moved = head.fields[first: ForwardedFields.moved] else {
            figures.times.observe(clock.uptime - began)
            figures.outcomes[.answered, default: Counter()].add()
            return nil
        }
        figures.outcomes[.moved, default: Counter()].add()
        return moved == ForwardedFields.nothingDone ? .notDone : .unknown
    }
}

/// A request that is passed on: what is sent of it, to whichever node.
@LoopActor
private struct Passage {
    /// A body that is pulled.
    let source: ForwardedBody?
    let isHEAD: Bool
    /// Whether it changes nothing, so that sending it twice does no harm.
    let isSafe: Bool
    /// Whether its method says that it may change something.
    let mayChangeSomething: Bool
    private let request: Request
    private let pass: NodePass
    /// What `ferry-caller` says.
    private let caller: String
    /// A short body; nil where it is pulled.
    private let bytes: [UInt8]?

    init(
        _ request: Request, _ caller: KnownCaller, pass: NodePass, wholeLimit: Int64
    ) async throws {
        self.request = request
        self.pass = pass
        (isHEAD, mayChangeSomething) = request.withMethod { method in
            let isHEAD = method.elementsEqual("HEAD".utf8)
            return (isHEAD, !isHEAD && !method.elementsEqual("GET".utf8))
        }
        isSafe = request.body.isEmpty && !mayChangeSomething
        self.caller = caller.passText(at: caller.peer ?? request.peer.address)
        if let length = request.body.declaredLength, length <= wholeLimit {
            source = nil
            bytes = length == 0 ? [] : try await request.body.collect(limit: Int(length))
        } else {
            source = isHEAD ? nil : ForwardedBody(request.body)
            bytes = isHEAD ? [] : nil
        }
    }

    /// Whether the client has sent a body.
    var hasBody: Bool { bytes?.isEmpty != true }

    /// Whether all of it is still here.
    var canBeSentAgain: Bool { source?.isBegun != true }

    /// Whoever answers the request here finds its body as if nobody had read it.
    func giveBack() {
        if let bytes, !bytes.isEmpty { request.body.putBack(bytes) }
    }

    /// The request to a node, signed for it alone.
    ///
    /// - Returns: the request, and the proof that the node's answer has.
    func outgoing(
        to node: NodeRecord, at origin: ServerOrigin
    ) -> (OutgoingRequest, proof: String) {
        let sent = isHEAD ? [] : bytes
        let length = isHEAD ? nil : request.body.declaredLength
        var outgoing = OutgoingRequest(like: request, to: origin, body: sent, length: length)
        let signature = pass.sign(request, caller, to: node)
        // The first field: whoever reads it knows that others are more than a client's.
        outgoing.add("ferry-node", signature.sender)
        outgoing.add("ferry-caller", caller)
        outgoing.add("authorization", signature.authorization, isUnique: true)
        outgoing.add("x-request-id", request.id, isUnique: true)
        outgoing.addFields(of: request, except: ForwardedFields.isOfThisNode)
        return (outgoing, signature.proof)
    }

    /// An answer that is here as a whole.
    func response(_ head: IncomingHead, _ bytes: [UInt8]) -> Response {
        let body: ResponseBody =
            isHEAD && head.length != 0
            ? .source(NoBytes(), length: head.length) : .bytes(bytes)
        return Response(
            status: head.status, headers: ForwardedFields.ofAnswer(head), body: body)
    }
}
