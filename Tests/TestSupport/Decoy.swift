import Synchronization

/// A loopback listener that nobody should ever reach: it counts who does, and closes on them, or
/// says nothing.
public final class Decoy: Sendable {
    /// Where it listens.
    public let endpoint: Endpoint
    private let listener: Socket
    private let state = DecoyState()

    /// Starts to listen at a numeric address of this machine; visitors are closed on, or kept in
    /// silence.
    public init(
        host: String = "127.0.0.1", port: UInt16 = 0, keepsVisitors: Bool = false
    ) throws {
        (listener, endpoint) = try Endpoint.tcp(host: host, port: port).listen()
        let (listener, state) = (listener, state)
        startThread("decoy") {
            var kept: [Socket] = []
            while let visitor = listener.accept() {
                state.accepts.add(1, ordering: .sequentiallyConsistent)
                if keepsVisitors { kept.append(visitor) } else { visitor.close() }
            }
            for visitor in kept { visitor.close() }
            listener.close()
        }
    }

    deinit {
        listener.interrupt()
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

    /// How many connections it has accepted.
    public var acceptCount: Int { state.accepts.load(ordering: .sequentiallyConsistent) }
}

private final class DecoyState: Sendable {
    let accepts = Atomic(0)
}
