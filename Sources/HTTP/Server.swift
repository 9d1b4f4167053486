internal import Diagnostics
internal import Glibc
public import Loop
internal import Metrics

/// An HTTP/1.1 server on the event loop (RFC 9110, RFC 9112).
///
/// Every handler runs on the loop: what blocks or computes for long belongs elsewhere.
@LoopActor
public final class Server {
    let router: Router
    let limits: ServerLimits
    let checks: @LoopActor (Request) -> Problem?
    let crossOrigin: CrossOrigin
    let failure: @LoopActor (any Error, Request?) -> Response
    var writer = ResponseWriter()
    var numbers = RequestNumbers()
    /// What was done since the start.
    public internal(set) var figures: ServerFigures
    private(set) var isDraining = false
    private var listeners: [Listener] = []
    private(set) var connections: [ObjectIdentifier: Connection] = [:]
    private var emptied: CheckedContinuation<Void, Never>?

    /// Makes a server that does not listen yet.
    ///
    /// - Parameters:
    ///   - router: Who answers what.
    ///   - limits: What a client may cost.
    ///   - checks: Looks at every request before its handler, also at those that no route matches;
    ///     a problem is the answer.
    ///   - crossOrigin: Which pages of other origins may read the answers.
    ///   - failure: Renders a `Problem`, or whatever else a handler has thrown. The request is nil
    ///     when the bytes were none.
    public init(
        router: Router, limits: ServerLimits = ServerLimits(),
        checks: @escaping @LoopActor (Request) -> Problem? = { _ in nil },
        crossOrigin: CrossOrigin = CrossOrigin(),
        failure: @escaping @LoopActor (any Error, Request?) -> Response
    ) {
        self.router = router
        figures = ServerFigures(router)
        self.limits = limits
        self.checks = checks
        self.crossOrigin = crossOrigin
        self.failure = failure
    }

    /// Where it listens at the moment.
    public var addresses: [ListenAddress] { listeners.map(\.socket.address) }

    /// Open connections at this moment.
    public var connectionCount: Int { connections.count }

    /// Listens at one more address.
    ///
    /// A socket file that nobody answers at is replaced; the new one has mode 0600 and is removed
    /// by `drain`.
    ///
    /// - Returns: Where it listens, the port resolved.
    /// - Throws: `ListenError`.
    @discardableResult
    public func listen(on address: ListenAddress) throws(ListenError) -> ListenAddress {
        let listener = try Listener(
            ListeningSocket(address),
            room: { [unowned self] in room() }
        ) { [unowned self] socket, address in
            accept(socket, address)
        }
        listeners.append(listener)
        return listener.socket.address
    }

    /// Stops for good: accepts nothing more, ends event streams, lets running requests end, and
    /// closes every connection.
    ///
    /// - Parameter limit: After that, requests that still run are cancelled and cut.
    public func drain(within limit: Duration) async {
        isDraining = true
        for listener in listeners { listener.stop() }
        listeners = []
        for connection in connections.values { connection.drain() }
        if !connections.isEmpty {
            let timer = LoopTimer { [weak self] in self?.emptied.take()?.resume() }
            timer.arm(after: limit)
            await withCheckedContinuation { emptied = $0 }
            timer.cancel()
        }
        for connection in connections.values { connection.close() }
    }

    func remove(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
        if connections.isEmpty { emptied.take()?.resume() }
    }

    /// Whether there is a descriptor for one more connection, if need be one of those that wait for
    /// nothing: they are closed from the one that has rested longest, some at once, so that not
    /// every newcomer has all looked at.
    private func room() -> Listener.Room {
        guard connections.count >= limits.descriptors else { return .free }
        let resting = connections.values.filter(\.isResting)
            .sorted { $0.deadlines.since < $1.deadlines.since }
        for connection in resting.prefix(max(1, limits.descriptors / 32)) { connection.close() }
        return connections.count < limits.descriptors ? .made : .none
    }

    private func accept(_ socket: CInt, _ address: sockaddr_storage) {
        figures.accepted.add()
        // Those above the limit are told so, but not any number of them.
        guard connections.count < limits.connections + 256 else {
            figures.refused.add()
            close(socket)
            return
        }
        let connection = Connection(server: self, context: ConnectionContext(address: address))
        guard connection.open(socket: socket) else {
            close(socket)
            return
        }
        connections[ObjectIdentifier(connection)] = connection
        if connections.count > limits.connections {
            figures.refused.add()
            connection.refuse(.unavailable)
        }
    }
}
