public import JSON

/// Talks to one gateway, from one thread, by calls that wait.
///
/// While a call waits, everything else that was started on this client moves too: event streams and
/// downloads. Each wait ends with `interrupted` within 0.1 s of an interrupt.
public final class GatewayClient {
    /// A whole answer.
    public struct Answer: Sendable {
        /// The status, 200 to 299.
        public let status: Int
        /// The body.
        public let body: [UInt8]
    }

    /// The gateway.
    public let gateway: RemoteGateway
    let connections = Connections()
    /// How hard it tries where a failure may pass.
    var persistence = Persistence()
    /// Whether a request has ever got through to the gateway: only then is it worth waiting for.
    private(set) var wasReached = false
    /// Whether a gateway that does not answer has ended for good: then nothing is tried again.
    var isGatewayGone: () -> Bool = { false }
    private let interrupts: Interrupts
    /// How many interrupts have been heeded already; the next one counts.
    private var heededInterrupts = 0

    /// The longest that a wait goes without looking at the interrupts.
    private static let glance = Duration.milliseconds(100)
    /// More than the largest page of a list.
    private static let answerLimit = 64 << 20

    /// A client that has not connected yet.
    public init(_ gateway: RemoteGateway, interrupts: Interrupts = .none) {
        self.gateway = gateway
        self.interrupts = interrupts
    }

    // MARK: Requests

    /// Sends a request and waits for its whole answer, for at most `seconds`.
    ///
    /// `path` begins with `/v1/…` and carries its query. `json` or `text` (UTF-8) is the body, if
    /// any. A request that must not be left half done is not `interruptible`.
    /// - Throws: `refused` for an answer of 300 or more; `unreachable`, `interrupted`.
    @discardableResult
    public func send(
        _ method: String, _ path: String, json: [UInt8]? = nil, text: [UInt8]? = nil,
        headers: [(name: String, value: String)] = [], seconds: Int = 70,
        interruptible: Bool = true
    ) throws(ClientError) -> Answer {
        var body: [UInt8] = []
        let sent =
            json.map { HTTPExchange.Body(bytes: $0) }
            ?? text.map { HTTPExchange.Body(type: "text/plain; charset=utf-8", bytes: $0) }
        let request = HTTPExchange.Request(
            method: method, path: path, headers: headers, body: sent, timeLimit: seconds)
        let exchange = try HTTPExchange(request, to: gateway) { piece in
            guard body.count + piece.count <= GatewayClient.answerLimit else { return false }
            body += piece
            return true
        }
        try finish(exchange, interruptible: interruptible)
        try requireWhole(exchange)
        return Answer(status: exchange.status, body: body)
    }

    /// Sends a request and reads its answer as JSON.
    ///
    /// - Throws: as `send`; `unexpectedAnswer` when it is none.
    public func json(
        _ method: String, _ path: String, json: [UInt8]? = nil, text: [UInt8]? = nil,
        headers: [(name: String, value: String)] = [], seconds: Int = 70,
        interruptible: Bool = true
    ) throws(ClientError) -> JSONValue {
        let answer = try send(
            method, path, json: json, text: text, headers: headers, seconds: seconds,
            interruptible: interruptible)
        do {
            return try JSONValue(parsing: answer.body, limits: GatewayClient.limits)
        } catch {
            throw .unexpectedAnswer("\(method) \(path): \(error)")
        }
    }

    /// Runs an exchange to its end, whatever that is; `each` is called after every turn.
    ///
    /// - Throws: `interrupted`, and what `each` throws; the exchange is stopped then.
    func finish(
        _ exchange: HTTPExchange, interruptible: Bool = true,
        each: () throws(ClientError) -> Void = {}
    ) throws(ClientError) {
        connections.start(exchange)
        defer {
            connections.stop(exchange)
            wasReached = wasReached || exchange.wasConnected
        }
        while exchange.ending == nil {
            if interruptible { try turn() } else { connections.turn(within: GatewayClient.glance) }
            try each()
        }
    }

    /// The gateway is trusted with more than a stranger: a page of tasks may be long.
    static let limits = JSONReader.Limits(byteLimit: answerLimit, depthLimit: 64)

    /// Throws what an ended exchange did wrong.
    func requireWhole(_ exchange: HTTPExchange) throws(ClientError) {
        switch exchange.ending {
        case .broken(let words): throw .unreachable(gateway: gateway.name, detail: words)
        case .untrusted(let why): throw .untrusted(gateway: gateway.name, why)
        case .whole, nil: break
        }
        try requireAccepted(exchange)
    }

    /// Throws the problem that an exchange was answered with.
    func requireAccepted(_ exchange: HTTPExchange) throws(ClientError) {
        guard !exchange.isAccepted else { return }
        throw .refused(ProblemDetails(exchange, from: gateway.address))
    }

    // MARK: Turns

    /// Waits at most `limit`, but no longer than 0.1 s, for anything to move, and lets it.
    ///
    /// - Throws: `interrupted`.
    public func turn(within limit: Duration = .seconds(1)) throws(ClientError) {
        guard interrupts.count <= heededInterrupts else { throw .interrupted }
        connections.turn(within: min(limit, GatewayClient.glance))
    }

    /// Waits, while everything else moves.
    ///
    /// - Throws: `interrupted`.
    func pause(for duration: Duration) throws(ClientError) {
        let end = ContinuousClock.now.advanced(by: duration)
        while ContinuousClock.now < end { try turn(within: ContinuousClock.now.duration(to: end)) }
    }

    /// Lets calls work again after an interrupt, for what has to be put in order; a further one
    /// interrupts that as well.
    func heedInterrupts() {
        heededInterrupts = interrupts.count
    }
}
