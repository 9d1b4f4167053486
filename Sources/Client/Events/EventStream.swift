internal import JSON

/// An event stream of the gateway that outlives its connections.
///
/// After a cut it connects again with `Last-Event-ID`, first after the stream's `retry` time, then
/// after twice that and so on, so that no numbered event is missed and none comes twice. It moves
/// while its client takes turns; ask `next()` after each of them.
public final class EventStream {
    /// How patient a stream is.
    public struct Patience: Sendable {
        /// Without a byte for so long a connection counts as cut: three of the gateway's
        /// heartbeats.
        public var silence = Duration.seconds(45)
        /// The longest pause between two attempts to connect.
        public var longestPause = Duration.seconds(15)
        /// How long a gateway may be away before the stream gives up.
        public var absence = Duration.seconds(60)
        /// The defaults.
        public init() {}

        /// For people who watch: a gateway that is started anew, or put off to, is waited for.
        static var long: Patience {
            var patience = Patience()
            patience.longestPause = .seconds(5)
            patience.absence = .seconds(3600)
            return patience
        }
    }

    /// Whether nothing more will come: the gateway answered 204, or the reader has seen the last
    /// event.
    public private(set) var isEnded = false
    /// Whether the present connection has been answered.
    public var isConnected: Bool { exchange?.isAccepted == true }

    /// The number of the newest event when the present connection was answered; nil before, and
    /// where the gateway does not tell.
    var newestNumber: Int64? {
        guard isConnected else { return nil }
        return exchange?.header("Ferry-Last-Event-ID").flatMap(EventStream.number)
    }

    /// The number in an event's id, which is behind its last full stop.
    static func number(of id: String) -> Int64? {
        id.split(separator: ".").last.flatMap { Int64($0) }
    }

    /// Whether the connection was lost, and there is no other one yet.
    var isAway: Bool { absentSince != nil && !isConnected }

    private let client: GatewayClient
    private let path: String
    private let replaysAll: Bool
    private let patience: Patience
    private var exchange: HTTPExchange?
    private var intake = Intake(lastEventID: "")
    private var lastEventID = ""
    private var retry = Duration.milliseconds(2000)
    private var reconnectAt: ContinuousClock.Instant?
    private var failures = 0
    /// Since when there is no connection; nil while there is one.
    private var absentSince: ContinuousClock.Instant?
    /// Whether the gateway is known to be there: then it is waited for.
    private var hasConnected: Bool

    /// What the present connection has brought.
    private final class Intake {
        var parser: EventStreamParser
        var events: [ServerSentEvent] = []
        var consumed = 0
        var lastByte = ContinuousClock.now
        var isSpoilt = false

        init(lastEventID: String) {
            parser = EventStreamParser(lastEventID: lastEventID)
        }

        func take(_ piece: UnsafeRawBufferPointer) -> Bool {
            lastByte = .now
            guard let more = try? parser.feed(piece) else {
                isSpoilt = true
                return false
            }
            events += more
            return true
        }

        func next() -> ServerSentEvent? {
            guard consumed < events.count else {
                events.removeAll(keepingCapacity: true)
                consumed = 0
                return nil
            }
            consumed += 1
            return events[consumed - 1]
        }
    }

    /// A stream that begins to connect at once.
    ///
    /// `path` is that of a session's, a task's or the tenant's events. With `replaysAll` it begins
    /// with the oldest event that is kept; without, with what happens from now on.
    /// - Throws: `badArgument`.
    public init(
        _ client: GatewayClient, path: String, replaysAll: Bool, patience: Patience = Patience()
    ) throws(ClientError) {
        self.client = client
        self.path = path
        self.replaysAll = replaysAll
        self.patience = patience
        hasConnected = client.wasReached
        try connect()
    }

    deinit {
        close()
    }

    /// Ends the stream.
    public func close() {
        if let exchange { client.connections.stop(exchange) }
        exchange = nil
        reconnectAt = nil
        isEnded = true
    }

    /// The next event that has arrived; nil when there is none yet, or no more.
    ///
    /// - Throws: `refused` when the gateway does not let it connect; `unreachable` when the first
    ///   attempt fails and nothing was ever heard of the gateway, or when it has been away for too
    ///   long.
    public func next() throws(ClientError) -> ServerSentEvent? {
        if let event = intake.next() {
            lastEventID = event.id
            return event
        }
        if let exchange {
            try look(at: exchange)
        } else if let reconnectAt, ContinuousClock.now >= reconnectAt {
            try connect()
        }
        return nil
    }

    // MARK: Connections

    private func connect() throws(ClientError) {
        var request = HTTPExchange.Request(path: path)
        request.headers = [("Accept", "text/event-stream"), ("Cache-Control", "no-store")]
        if !lastEventID.isEmpty {
            request.headers.append(("Last-Event-ID", lastEventID))
        } else if replaysAll {
            request.path += "?replay=all"
        }
        let intake = Intake(lastEventID: lastEventID)
        let exchange = try HTTPExchange(request, to: client.gateway) { intake.take($0) }
        self.intake = intake
        self.exchange = exchange
        reconnectAt = nil
        client.connections.start(exchange)
    }

    private func look(at exchange: HTTPExchange) throws(ClientError) {
        if exchange.isAccepted {
            hasConnected = true
            failures = 0
            absentSince = nil
            // Until an event comes, this is where a later connection goes on.
            if !replaysAll, lastEventID.isEmpty, let id = exchange.header("Ferry-Last-Event-ID") {
                lastEventID = id
            }
        }
        if let milliseconds = intake.parser.retryMilliseconds {
            retry = .milliseconds(min(milliseconds, 60_000))
        }
        guard let ending = exchange.ending else {
            if intake.lastByte.duration(to: .now) > patience.silence {
                try lose(exchange, unreachable("the event stream fell silent"))
            }
            return
        }
        // An id may stand without an event; then the intake has it and no event does.
        if !intake.parser.lastEventID.isEmpty { lastEventID = intake.parser.lastEventID }
        switch (ending, exchange.status) {
        case (.whole, 204): close()
        case (.whole, 200): try lose(exchange, unreachable("the event stream was cut"))
        // Overloaded, on its way down, or asked for more than a quota has: the stream will be
        // there again.
        case (.whole, _) where hasConnected && exchange.problem?.isPassing == true:
            try lose(exchange, refusal(of: exchange), pausing: exchange.retryAfter ?? .zero)
        case (.whole, _): try client.requireAccepted(exchange)
        case (.broken, _) where intake.isSpoilt:
            throw .unexpectedAnswer("an event that does not end")
        case (.untrusted, _): try client.requireWhole(exchange)
        case (.broken(let words), _):
            guard hasConnected else { try client.requireWhole(exchange); return }
            try lose(exchange, unreachable(words))
        }
    }

    private func unreachable(_ why: String) -> ClientError {
        .unreachable(gateway: client.gateway.name, detail: why)
    }

    /// What a refusal that may pass is told as, should it last.
    private func refusal(of exchange: HTTPExchange) -> ClientError {
        // A gateway that is overloaded or ends is as good as away.
        guard exchange.status < 500, let problem = exchange.problem else {
            return unreachable("status \(exchange.status)")
        }
        return .refused(problem)
    }

    /// Connects again after a while, and no sooner than the gateway asks for by `pausing`; gives up
    /// with `error` where it has been away for too long.
    private func lose(
        _ exchange: HTTPExchange, _ error: ClientError, pausing: Duration = .zero
    ) throws(ClientError) {
        client.connections.stop(exchange)
        self.exchange = nil
        let now = ContinuousClock.now
        let since = absentSince ?? now
        absentSince = since
        guard since.duration(to: now) < patience.absence, !client.isGatewayGone() else {
            throw error
        }
        let pause = min(retry * (1 << min(failures, 10)), max(retry, patience.longestPause))
        failures += 1
        reconnectAt = now.advanced(by: max(pause, pausing))
    }
}
