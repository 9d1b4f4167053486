/// What a client puts up with of servers.
public struct ClientLimits: Sendable {
    /// From the look-up of a server's name to the end of the handshake, each.
    public var connectTime = Duration.seconds(5)
    /// The silence of a server that has requests to answer, after which it is asked for a sign of
    /// life.
    public var pingAfter = Duration.seconds(5)
    /// The silence after which such a server is given up.
    public var silence = Duration.seconds(15)
    /// How long a connection is kept that has no requests.
    public var idleTime = Duration.seconds(60)
    /// Bytes of an answer's header: names and values, each field with 32 more (RFC 9113 §6.5.2).
    public var header = 48 << 10
    /// The number of an answer's header fields.
    public var headerFields = 200
    /// Interim answers (RFC 9110 §15.2) before the one that a request gets.
    public var interimAnswers = 16
    /// Bytes of a request's body that wait in memory before no more are asked for.
    public var bodyAhead = 128 << 10
    /// Connections to all servers at a time.
    public var connections = Int.max

    /// The usual limits.
    public init() {}
}
