/// What a client may cost the server. The defaults are the contract.
public struct ServerLimits: Sendable {
    /// Bytes of the request line without its line end.
    public var requestLine = 8 << 10
    /// Bytes of all header field lines with their line ends; of trailer fields as well.
    public var header = 32 << 10
    /// The number of header fields.
    public var headerFields = 100
    /// From the connection's or the request's first moment to the end of its header, absolute.
    public var headerTime = Duration.seconds(10)
    /// How long a connection may rest between two requests.
    public var idleTime = Duration.seconds(75)
    /// How fast a request body has to come, unless its route says otherwise.
    public var bodyPace = BodyPace.rate(bytesPerSecond: 1000, over: .seconds(20))
    /// Connections at once; one more takes the place of one that rests between two requests, and is
    /// answered 503 and closed where none does.
    public var connections = 16_384
    /// Connections at once for want of descriptors: at so many, those that rest between two
    /// requests make room for new ones, and where there are none the listeners rest. The other
    /// descriptors are left to files and to transfers, which must not fail for visitors.
    public var descriptors = Int.max
    /// Bytes of a streamed answer that wait in memory before its source is asked for no more.
    public var answerAhead = 512 << 10
    /// Bytes of whole answers that wait in memory for clients of HTTP/2, of whom each may ask for
    /// many at a time and take none: beyond it, clients for whom something waits get no more.
    public var heldAnswers = 256 << 20
    /// How long a client may take nothing of an answer that is held in memory, or of events.
    public var stalledAnswer = Duration.seconds(60)
    /// How long a client may take nothing of a streamed answer; a pause is the client's right.
    public var stalledSource = Duration.seconds(900)
    /// How long a client may take nothing of what waits for it while others wait for a connection
    /// (`descriptors`).
    public var stalledUnderWant = Duration.seconds(10)
    /// After the last answer of a connection, the silence of its client after which it is closed.
    /// What the client still sends is thrown away: a close on top of it would reset the connection,
    /// and destroy the answer (RFC 9112 §9.6).
    public var lingerTime = Duration.seconds(2)
    /// How long the client may go on sending after its last answer, absolute.
    public var lingerLimit = Duration.seconds(30)
    /// The silence after which an event stream sends a comment line.
    public var eventHeartbeat = Duration.seconds(15)

    /// The limits of the contract.
    public init() {}
}

/// How fast a request body has to come. Only the time in which the handler waits for bytes counts.
public struct BodyPace: Sendable, Equatable {
    /// The time that is looked at.
    let window: Duration
    /// The bytes that have to come within it.
    let bytes: Int
    /// Whether any byte begins a new window.
    let restarts: Bool

    /// At least `bytesPerSecond` on the average of each `window` of waiting.
    public static func rate(bytesPerSecond: Int, over window: Duration) -> BodyPace {
        let seconds =
            Double(window.components.seconds) + Double(window.components.attoseconds) / 1e18
        return BodyPace(
            window: window, bytes: max(1, Int(Double(bytesPerSecond) * seconds)), restarts: false)
    }

    /// No longer than `limit` without a byte.
    public static func idle(_ limit: Duration) -> BodyPace {
        BodyPace(window: limit, bytes: 1, restarts: true)
    }
}
