internal import Diagnostics
internal import Glibc
public import Loop
internal import Metrics

/// A server of HTTP/1.1 and HTTP/2 on the event loop (RFC 9110, RFC 9112, RFC 9113).
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
    var date = DateLine()
    var numbers = RequestNumbers()
    /// What was done since the start.
    public internal(set) var figures: ServerFigures
    /// How TLS is spoken, where it is.
    public private(set) var tls: ServerTLS?
    private(set) var isDraining = false
    private var listeners: [Listener] = []
    private(set) var connections: [ObjectIdentifier: any ClientConnection] = [:]
    var load = ServerLoad()
    private var emptied: CheckedContinuation<Void, Never>?
    private static let searchPause = Duration.milliseconds(100)

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
    /// - Parameters:
    ///   - address: Where to listen.
    ///   - tls: How TLS is spoken there; nil for HTTP in clear.
    /// - Returns: Where it listens, the port resolved.
    /// - Throws: `ListenError`.
    @discardableResult
    public func listen(
        on address: ListenAddress, tls: ServerTLS? = nil
    ) throws(ListenError) -> ListenAddress {
        if let tls {
            tls.handshakeTime = limits.headerTime
            self.tls = tls
        }
        let listener = try Listener(
            ListeningSocket(address),
            room: { [unowned self] in room() }
        ) { [unowned self] socket, address in
            accept(socket, address, tls)
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

    /// A connection has turned into another.
    func replace(_ connection: NewConnection, by other: any ClientConnection) {
        connections[ObjectIdentifier(connection)] = nil
        connections[ObjectIdentifier(other)] = other
    }

    func remove(_ connection: any ClientConnection) {
        connections[ObjectIdentifier(connection)] = nil
        if connections.isEmpty { emptied.take()?.resume() }
    }

    /// Whether connections, and requests that share one with others, have all that is for them:
    /// each request of HTTP/2 may have a file open.
    var isShortOfDescriptors: Bool { connections.count + load.streamsRunning >= limits.descriptors }

    /// Whether one connection more has to take the place of another.
    private var isFull: Bool {
        isShortOfDescriptors || connections.count >= limits.connections
    }

    /// Whether there is room for one more connection, if need be that of one of those that wait for
    /// nothing: they are closed from the one that has rested longest, some at once, so that not
    /// every newcomer has all looked at. Where none rests, those go whose clients let what
    /// they have asked for wait.
    private func room() -> Listener.Room {
        guard isFull else { return .free }
        let now = Uptime.now
        if now >= load.nextSearch, !makeRoom(now) {
            load.nextSearch = now.advanced(by: Server.searchPause)
        }
        if isShortOfDescriptors { return .none }
        // Whoever comes to a full house without having been given room is told so.
        return isFull ? .free : .made
    }

    /// Closes what can make room.
    /// - Returns: whether there was any.
    private func makeRoom(_ now: Uptime) -> Bool {
        let most = min(limits.descriptors, limits.connections)
        let resting = connections.values.filter(\.isResting)
            .sorted { $0.restingSince < $1.restingSince }
        for connection in resting.prefix(max(1, most / 32)) { connection.close() }
        guard resting.isEmpty else { return true }
        let stalled = connections.values.filter {
            $0.hasStalled(for: limits.stalledUnderWant, at: now)
        }
        for connection in stalled { connection.close() }
        return !stalled.isEmpty
    }

    private func accept(_ socket: CInt, _ address: sockaddr_storage, _ tls: ServerTLS?) {
        figures.accepted.add()
        // Those above the limit are told so, but not any number of them.
        guard connections.count < limits.connections + 256 else {
            figures.refused.add()
            close(socket)
            return
        }
        let connection = NewConnection(
            server: self, context: ConnectionContext(address: address))
        connection.open(socket: socket, tls: tls)
        connections[ObjectIdentifier(connection)] = connection
        if connections.count > limits.connections {
            figures.refused.add()
            connection.refuse(.unavailable)
        }
    }
}
