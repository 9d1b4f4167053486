internal import Loop
internal import Syntax

/// A connection whose client has not said yet which version of HTTP it speaks: by ALPN, or by the
/// preface of HTTP/2 (RFC 9113 §3.4), or else by a request of HTTP/1.
@LoopActor
final class NewConnection: ClientConnection {
    private static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    private let server: Server
    private let context: ConnectionContext
    private let wire = Wire()
    let restingSince = Uptime.now
    /// What a client is told that is one too many.
    private var refusal: Problem?
    private lazy var timer = LoopTimer { [weak self] in self?.timeIsUp() }

    init(server: Server, context: ConnectionContext) {
        self.server = server
        self.context = context
    }

    /// Begins to read, behind a handshake where there is `tls`.
    func open(socket: CInt, tls: ServerTLS?) {
        wire.open(socket: socket, owner: self, tls: tls)
        timer.arm(by: restingSince.advanced(by: server.limits.headerTime))
    }

    var queued: Int { wire.queued }

    var runners: [RequestRunner] { [] }

    var isResting: Bool { wire.isSilent }

    func hasStalled(for limit: Duration, at now: Uptime) -> Bool { false }

    /// Answers one connection too many, and closes; one of TLS when it has asked something.
    func refuse(_ problem: Problem) {
        if wire.isInHandshake { refusal = problem } else { becomeHTTP1().refuse(problem) }
    }

    func close() {
        timer.cancel()
        wire.close()
        server.remove(self)
    }

    func drain() { close() }

    // MARK: What happens on the wire

    func bytesHaveArrived() {
        switch beginning {
        case .http1:
            if let refusal { return becomeHTTP1().refuse(refusal) }
            becomeHTTP1().bytesHaveArrived()
        case .http2:
            // No stream is there that an answer could be for.
            if refusal != nil { return close() }
            becomeHTTP2().bytesHaveArrived()
        case .either: break
        }
    }

    func outputHasDrained() {}

    func clientHasEnded() { close() }

    func clientHasGone() { close() }

    // MARK: Becoming

    private enum Beginning { case http1, http2, either }

    /// What was agreed on in the handshake holds (RFC 9113 §3.3); the preface has to come in time
    /// all the same.
    private var beginning: Beginning {
        let seen = wire.withInput(NewConnection.begin)
        return switch wire.applicationProtocol {
        case "h2": seen == .either ? .either : .http2
        case "http/1.1": .http1
        default: seen
        }
    }

    private static func begin(_ input: UnsafeRawBufferPointer) -> Beginning {
        let length = preface.utf8CodeUnitCount
        for (index, byte) in input.prefix(length).enumerated()
        where byte != preface.utf8Start[index] {
            return .http1
        }
        return input.count < length ? .either : .http2
    }

    private func becomeHTTP1() -> HTTP1Connection {
        timer.cancel()
        let connection = HTTP1Connection(
            server: server, context: context, wire: wire, since: restingSince)
        server.replace(self, by: connection)
        return connection
    }

    private func becomeHTTP2() -> HTTP2Connection {
        timer.cancel()
        let connection = HTTP2Connection(server: server, context: context, wire: wire)
        server.replace(self, by: connection)
        return connection
    }

    /// Whoever has asked nothing gets no answer (RFC 9110 §15.5.9).
    private func timeIsUp() {
        if wire.hasInput { refuse(.requestTimeout) } else { close() }
    }
}
