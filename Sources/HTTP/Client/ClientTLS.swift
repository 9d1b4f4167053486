internal import Loop
internal import TLS

/// How one connection of a client speaks TLS.
@LoopActor
final class ClientTLS: TLSEnd {
    private let context: TLSClientContext
    private let host: HostName
    let handshakeTime: Duration
    /// Why there is no connection; nil while there may be one.
    private(set) var failure: String?
    /// Called once the handshake is over, and before anything arrives behind it.
    var onSuccess: (@LoopActor () -> Void)?

    init(_ context: TLSClientContext, host: HostName, handshakeTime: Duration) {
        self.context = context
        self.host = host
        self.handshakeTime = handshakeTime
    }

    /// To give up at once is to tell.
    var listensToRefused: Bool { false }

    func makeConnection(on socket: CInt) -> TLSConnection? {
        TLSConnection(context, host: host, socket: socket)
    }

    func step(of connection: TLSConnection) -> TLSConnection.Step? {
        let step = connection.handshake()
        guard step == .done, connection.applicationProtocol != "h2" else { return step }
        failure = "it does not speak HTTP/2"
        return .failed(.protocols)
    }

    func noteSuccess(isResumed: Bool) { onSuccess.take()?() }

    func note(_ failure: HandshakeFailure, of connection: TLSConnection) {
        let words =
            switch failure {
            case .timedOut: "it took too long"
            case .disconnected: "the connection was lost"
            case .notTLS, .plainHTTP: "what answers does not speak it"
            default: connection.failureWords ?? failure.rawValue
            }
        self.failure = self.failure ?? "TLS: \(words)"
    }
}
