internal import Diagnostics
internal import Loop
public import Metrics

/// What is remembered of a request until it is answered: for its answer's header, the log and the
/// metrics.
struct ServedRequest {
    /// What the server calls it.
    let id: RequestID
    /// The place of its route among all; nil where it has none.
    let route: Int?
    /// When its header was there, in nanoseconds of the monotonic clock.
    let began: Int64
    /// Bytes that the connection had sent by then.
    let sentBefore: Int64
    /// The answer's; 0 before there is one.
    var status = 0
    /// Whether the metrics have it.
    var isCounted = false

    init(_ id: RequestID, route: Int?, began: Int64, sentBefore: Int64) {
        self.id = id
        self.route = route
        self.began = began
        self.sentBefore = sentBefore
    }
}

/// What came of the requests of one route.
public struct RouteFigures: Sendable {
    /// The method, empty for requests that no route has got.
    public let method: String
    /// The pattern of the path, such as `/v1/tasks/{task}`; `none` for requests that no route has
    /// got.
    public let pattern: String
    /// How many were answered with each status; 0 stands for those whose client did not wait for an
    /// answer.
    public private(set) var statuses: [(status: Int, count: Int)] = []
    /// From the end of the request's header to the end of the answer, but of event streams to their
    /// beginning.
    public private(set) var times = Histogram(.answers)

    init(_ route: Route?) {
        method = route?.method ?? ""
        pattern = route?.pattern ?? "none"
    }

    mutating func note(status: Int, nanoseconds: Int64) {
        times.observe(nanoseconds)
        // One or two statuses are nearly all of a route's.
        if let index = statuses.firstIndex(where: { $0.status == status }) {
            statuses[index].count += 1
        } else {
            statuses.append((status, 1))
        }
    }
}

/// What the front door has done since the start.
public struct ServerFigures: Sendable {
    /// By route, those that no route has got last.
    public internal(set) var routes: [RouteFigures]
    /// Connections that were accepted.
    public internal(set) var accepted = Counter()
    /// Those of `accepted` that were one too many, and were told so or closed.
    public internal(set) var refused = Counter()
    /// Bytes of answers, with their headers.
    public internal(set) var sentBytes = Counter()

    init(_ router: Router) {
        routes = router.routes.map { RouteFigures($0) } + [RouteFigures(nil)]
    }
}

/// A request comes to its end.
extension RequestRunner {
    private static let log = Log("http")

    /// A header is there, or bytes that are none.
    func noteRequest(route: Int?) {
        caller = nil
        client = nil
        answerFields = HeaderFields()
        outlivesCaller = false
        served = ServedRequest(
            server.numbers.next(), route: route, began: LoopClock.reading, sentBefore: stream.handed
        )
    }

    /// An event stream begins: it is counted now, and may last for days.
    func noteEventStream() { count(at: LoopClock.reading) }

    /// The answer is handed over, or will never be whole.
    func noteEnd(isWhole: Bool) {
        let sent = Int(stream.handed - served.sentBefore)
        server.figures.sentBytes.add(sent)
        guard !served.isCounted || Log.isWriting(.debug) else { return }
        let now = LoopClock.reading
        count(at: now)
        if Log.isWriting(.debug) { tell(sent: sent, at: now, isWhole: isWhole) }
    }

    private func count(at now: Int64) {
        guard !served.isCounted else { return }
        served.isCounted = true
        let route = served.route ?? server.figures.routes.count - 1
        server.figures.routes[route].note(
            status: served.status, nanoseconds: now - served.began)
    }

    private func tell(sent: Int, at now: Int64, isWhole: Bool) {
        let route = server.figures.routes[served.route ?? server.figures.routes.count - 1]
        let id = head.map { $0.name(else: served.id) } ?? served.id.text
        var fields: [(String, Log.Field)] = [("request", .name(id))]
        if !route.method.isEmpty { fields.append(("method", .name(route.method))) }
        fields += [
            ("route", .name(route.pattern)), ("status", .number(served.status)),
            ("bytes", .number(sent)), ("duration", .duration(.nanoseconds(now - served.began))),
        ]
        if let caller { fields.append(("tenant", .number(Int(caller.tenantNumber)))) }
        let sentence: StaticString =
            isWhole ? "a request was answered" : "a request was not answered to the end"
        RequestRunner.log.write(.debug, sentence, fields)
    }
}
