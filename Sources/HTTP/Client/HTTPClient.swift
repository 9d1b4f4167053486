public import Loop
internal import TLS

/// A client of HTTP/2 (RFC 9113) on the event loop: requests to a server share its connections,
/// which are kept. In clear it takes for granted that the server speaks HTTP/2 (§3.3), with TLS it
/// agrees on that.
@LoopActor
public final class HTTPClient {
    let limits: ClientLimits
    private let trustedCertificates: String?
    /// Whom it trusts, and when that was read.
    private var context: (value: TLSClientContext, readAt: Uptime)?
    private var connections: [ServerOrigin: [OutgoingConnection]] = [:]
    private var count = 0
    private let names = NameLookups()

    /// How long the authorities count as read.
    private static let contextLifetime = Duration.seconds(24 * 3600)

    /// A client without a connection.
    ///
    /// - Parameters:
    ///   - limits: What it puts up with.
    ///   - trustedCertificates: A file of PEM certificates that it trusts; nil trusts the system's.
    public init(limits: ClientLimits = ClientLimits(), trustedCertificates: String? = nil) {
        self.limits = limits
        self.trustedCertificates = trustedCertificates
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - origin: The server.
    ///   - observer: Told of whatever happens, never within this call.
    /// - Returns: what becomes of it.
    public func send(
        _ request: OutgoingRequest, to origin: ServerOrigin, observer: any OutgoingObserver
    ) -> OutgoingStream {
        let stream = OutgoingStream(request, limits, observer)
        if let connection = connections[origin]?.first(where: \.hasRoom) {
            connection.add(stream)
        } else if count < limits.connections {
            connect(to: origin, for: stream)
        } else {
            stream.fail("there are too many connections", mayHaveBegun: false)
            LoopActor.later { stream.tell() }
        }
        return stream
    }

    /// Connections that are open, or are being made.
    public var connectionCount: Int { count }

    /// No later request goes to a server by the connections that there are; those that are under
    /// way go on.
    public func leave(_ origin: ServerOrigin) {
        for connection in connections[origin] ?? [] { connection.leave() }
    }

    private func connect(to origin: ServerOrigin, for stream: OutgoingStream) {
        do {
            let tls = try origin.isSecure ? tls(to: origin.host) : nil
            let connection = OutgoingConnection(of: self, to: origin, tls: tls)
            connections[origin, default: []].append(connection)
            count += 1
            connection.add(stream)
            connection.connect(by: names)
        } catch {
            stream.fail("\(error)", mayHaveBegun: false)
            LoopActor.later { stream.tell() }
        }
    }

    private func tls(to host: HostName) throws(TLSFileError) -> ClientTLS {
        let now = Uptime.now
        if let context, now < context.readAt.advanced(by: HTTPClient.contextLifetime) {
            return ClientTLS(context.value, host: host, handshakeTime: limits.connectTime)
        }
        let context = try TLSClientContext(trusting: trustedCertificates, protocols: ["h2"])
        self.context = (context, now)
        return ClientTLS(context, host: host, handshakeTime: limits.connectTime)
    }

    /// No new request goes to a connection.
    func retire(_ connection: OutgoingConnection) {
        connections[connection.origin]?.removeAll { $0 === connection }
        if connections[connection.origin]?.isEmpty == true { connections[connection.origin] = nil }
    }

    /// A connection is closed.
    func remove(_ connection: OutgoingConnection) {
        retire(connection)
        count -= 1
    }
}
