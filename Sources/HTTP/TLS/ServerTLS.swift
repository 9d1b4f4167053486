public import Loop
public import Metrics
public import TLS

/// How listeners of a server speak TLS, and what came of it.
@LoopActor
public final class ServerTLS: TLSEnd {
    /// What connections are made with from now on; those that are open keep what they have.
    public var context: TLSContext {
        didSet { ticketTimer.arm(after: ServerTLS.ticketKeyLifetime) }
    }
    /// What the handshakes have come to.
    public private(set) var figures = HandshakeFigures()
    /// From a connection's first moment to the end of its handshake.
    var handshakeTime: Duration

    private let turn = HandshakeTurn()
    private lazy var ticketTimer = LoopTimer { [weak self] in self?.renewTicketKey() }

    /// How long a ticket's key is used.
    private static let ticketKeyLifetime = Duration.seconds(12 * 3600)

    /// Speaks TLS by `context`.
    public init(_ context: TLSContext) {
        self.context = context
        handshakeTime = ServerLimits().headerTime
        ticketTimer.arm(after: ServerTLS.ticketKeyLifetime)
    }

    private func renewTicketKey() {
        context.renewTicketKey()
        ticketTimer.arm(after: ServerTLS.ticketKeyLifetime)
    }

    func noteSuccess(isResumed: Bool) {
        isResumed ? figures.resumed.add() : figures.full.add()
    }

    func makeConnection(on socket: CInt) -> TLSConnection? {
        TLSConnection(context, socket: socket)
    }

    var listensToRefused: Bool { true }

    func note(_ failure: HandshakeFailure, of connection: TLSConnection) {
        figures.failures[failure, default: Counter()].add()
    }

    func step(of connection: TLSConnection) -> TLSConnection.Step? {
        turn.take { connection.handshake() }
    }
}

/// What handshakes have come to.
public struct HandshakeFigures: Sendable {
    /// Those that have made a new session.
    public internal(set) var full = Counter()
    /// Those that have taken up a former one.
    public internal(set) var resumed = Counter()
    /// Those that have failed; reasons that have never been are missing.
    public internal(set) var failures: [HandshakeFailure: Counter] = [:]
}

/// Time for handshakes in each turn of the loop: a signature takes up to milliseconds, and a
/// thousand clients may come at once. Whoever does not get any is ready again in the next turn, in
/// the same order.
@LoopActor
private final class HandshakeTurn {
    private static let share: Int64 = 3_000_000
    private var began: Int64?

    func take<Result>(_ step: () -> Result) -> Result? {
        if let began {
            guard LoopClock.reading - began < HandshakeTurn.share else { return nil }
        } else {
            began = LoopClock.reading
            // Behind everything that is ready in this turn.
            LoopActor.later { [weak self] in self?.began = nil }
        }
        return step()
    }
}
