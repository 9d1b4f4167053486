import Glibc
import Synchronization

/// An HTTP/1.1 origin that behaves, or misbehaves, as its test says.
///
/// It shares no code with the gateway: plain sockets on loopback, one thread a connection. It stops
/// when it is released.
///
/// ```swift
/// let origin = try ScriptedOrigin()
/// origin.on("/cut") { exchange in
///     try exchange.head(200, ["Content-Length": "100"])
///     try exchange.body("too short")
///     exchange.reset()
/// }
/// ```
public final class ScriptedOrigin: Sendable {
    /// Where it listens.
    public let endpoint: Endpoint
    private let listener: Socket
    private let ledger = Ledger()

    /// Starts to listen.
    ///
    /// `host` is a numeric loopback address, any of 127.0.0.0/8 or `::1`; port 0 takes a free one.
    /// `sendBuffer` is SO_SNDBUF of each connection in bytes: make it small where a test counts how
    /// much a stalled reader lets the origin send.
    public init(host: String = "127.0.0.1", port: UInt16 = 0, sendBuffer: Int? = nil) throws {
        (listener, endpoint) = try Endpoint.tcp(host: host, port: port).listen()
        if let sendBuffer { listener.set(SO_SNDBUF, to: Int32(sendBuffer)) }
        let listener = listener
        let ledger = ledger
        startThread("origin accept") { Self.accept(on: listener, ledger) }
    }

    deinit {
        stop()
    }

    /// The port it listens at.
    public var port: UInt16 {
        guard case .tcp(_, let port) = endpoint else { return 0 }
        return port
    }

    /// The http URL of a path on it.
    public func url(_ path: String = "/") -> String {
        "http://\(endpoint)\(path)"
    }

    // MARK: Behaviour

    /// Answers requests for a path, with any query, by a behaviour; the newest one counts.
    public func on(_ path: String, _ behaviour: Behaviour) {
        ledger.entries.withLock {
            $0.routes[path] = behaviour
            $0.attempts[path] = 0
        }
    }

    /// Answers requests for a path, with any query, by a closure on the connection's thread.
    public func on(_ path: String, _ handler: @escaping Behaviour.Handler) {
        on(path, Behaviour(handler))
    }

    /// Answers every path that has no behaviour of its own; without it that is 404.
    public func otherwise(_ behaviour: Behaviour) {
        ledger.entries.withLock { $0.fallback = behaviour }
    }

    /// Runs first on every new connection, before a request is read.
    public func onConnection(_ handler: @escaping @Sendable (Wire) throws -> Void) {
        ledger.entries.withLock { $0.connectionHandler = handler }
    }

    /// Closes the listener and all connections; called by `deinit` too.
    public func stop() {
        listener.interrupt()
        ledger.stop()
    }

    /// Shuts every open connection down but goes on listening.
    public func dropConnections() {
        for socket in ledger.entries.withLock({ Array($0.open.values) }) { socket.interrupt() }
    }

    // MARK: Records

    /// Every request whose header has arrived, oldest first.
    public var requests: [RecordedRequest] { ledger.entries.withLock(\.requests) }

    /// The requests for one path.
    public func requests(for path: String) -> [RecordedRequest] {
        requests.filter { $0.path == path }
    }

    /// Waits until `count` requests have arrived, and gives them all.
    ///
    /// With a path, only requests for it count.
    /// - Throws: `DeadlinePassed`.
    @discardableResult
    public func waitForRequests(
        _ count: Int, for path: String? = nil, within limit: Duration = .patience
    ) async throws -> [RecordedRequest] {
        try await eventually(within: limit, "\(count) requests at the origin") {
            (path.map { requests(for: $0) } ?? requests).count >= count
        }
        return path.map { requests(for: $0) } ?? requests
    }

    /// Waits until no behaviour is running, so that every record is whole.
    public func waitUntilIdle(within limit: Duration = .patience) async throws {
        try await eventually(within: limit, "the origin's behaviours to end") {
            activeRequests == 0
        }
    }

    /// The connections accepted so far.
    public var connectionCount: Int { ledger.entries.withLock(\.connectionCount) }

    /// The connections open now.
    public var openConnections: Int { ledger.entries.withLock(\.open.count) }

    /// The most connections that were open at once.
    public var mostOpenConnections: Int { ledger.entries.withLock(\.mostOpenConnections) }

    /// The requests being answered now.
    public var activeRequests: Int { ledger.entries.withLock(\.activeRequests) }

    /// The most requests that were being answered at once.
    public var mostActiveRequests: Int { ledger.entries.withLock(\.mostActiveRequests) }

    /// The bytes that the kernel has taken from this origin: how far a peer let it go.
    public var bytesSent: UInt64 { ledger.bytesSent.load(ordering: .relaxed) }

    // MARK: Threads

    private static func accept(on listener: Socket, _ ledger: Ledger) {
        while true {
            guard let socket = listener.accept() else { break }
            guard let number = ledger.opened(socket) else { break }
            startThread("origin connection") {
                serve(Wire(socket, connection: number, ledger: ledger), ledger)
                ledger.closed(number)
            }
        }
        listener.close()
    }

    private static func serve(_ wire: Wire, _ ledger: Ledger) {
        // A thrown error is the peer going away, or the origin stopping: the end of the connection.
        do {
            if let handler = ledger.entries.withLock({ $0.connectionHandler }) {
                try handler(wire)
            }
            while !wire.isClosed, try serveOne(wire, ledger) {}
        } catch {}
        wire.close()
    }

    private static func serveOne(_ wire: Wire, _ ledger: Ledger) throws -> Bool {
        guard let line = try wire.reader.line() else { return false }
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else {
            try wire.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            return false
        }
        let headers = try wire.reader.headerLines()
        let (index, request, behaviour) = ledger.began(
            method: String(words[0]), target: String(words[1]), headers: headers,
            connection: wire.connection)
        var record = request
        defer { ledger.ended(index, record) }
        let exchange = try Exchange(request, wire: wire) { ledger.update(index, $0) }
        defer { record = exchange.request }
        try behaviour.run(exchange)
        return exchange.finish()
    }
}
