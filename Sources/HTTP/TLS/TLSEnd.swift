internal import Loop
internal import TLS

/// How connections of one end, the server's or the client's, speak TLS.
@LoopActor
protocol TLSEnd: AnyObject {
    /// From a connection's first moment to the end of its handshake.
    var handshakeTime: Duration { get }

    /// Whether a peer with which no agreement was found is listened to for a while, so that it
    /// learns why.
    var listensToRefused: Bool { get }

    /// The end of a connection on a socket; nil without memory.
    func makeConnection(on socket: CInt) -> TLSConnection?

    /// Does a step of a handshake; nil where this turn of the loop has done its share of them, and
    /// the next one has to.
    func step(of connection: TLSConnection) -> TLSConnection.Step?

    func noteSuccess(isResumed: Bool)

    func note(_ failure: HandshakeFailure, of connection: TLSConnection)
}
