internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics
internal import Synchronization

/// A request and who sends it.
@LoopActor
struct Call {
    let request: Request
    let principal: Principal
    /// Tells whether the sender is still let in; nil where everybody is.
    private let authenticator: Authenticator?
    /// Tells whether this node still has the sender's tenant; nil where there are no others.
    private let places: (any TenantPlaces)?

    init(
        _ request: Request, _ principal: Principal, by authenticator: Authenticator? = nil,
        at places: (any TenantPlaces)? = nil
    ) {
        self.request = request
        self.principal = principal
        self.authenticator = authenticator
        self.places = places
    }

    var tenant: TenantID { principal.tenant }

    /// Whether the sender is still let in, and the tenant still here: who is let in no more has
    /// been told so, by cancelling the call. A client that has only left is let in.
    var isWanted: Bool { !tenantHasLeft && (!Task.isCancelled || isLetIn) }

    /// Whether the sender is let in at the moment.
    fileprivate var isLetIn: Bool {
        guard let authenticator else { return true }
        return (try? authenticator.caller(of: request)) != nil
    }

    /// Whether another node answers for the tenant by now, where this one did.
    fileprivate var tenantHasLeft: Bool {
        guard let places, let caller = request.caller as? KnownCaller else { return false }
        return caller.hasLeft(places)
    }

    /// Does work whose parts are tasks of their own: these are not cancelled with the call.
    ///
    /// - Parameter body: is given what its parts ask for whether they are still wanted.
    /// - Returns: What the body returns.
    func whileWanted<Value>(
        _ body: (_ isWanted: @escaping @LoopActor () -> Bool) async throws -> Value
    ) async rethrows -> Value {
        let end = CallEnd(of: self)
        return try await withTaskCancellationHandler {
            try await body { end.isWanted }
        } onCancel: {
            end.noteCancellation()
        }
    }

    /// The task that the path names.
    func task() throws(Problem) -> TaskID {
        guard let id = request.parameters.bytes(of: "task").flatMap(TaskID.init(bytes:)) else {
            throw Problem(GatewayError.noSuchTask)
        }
        return id
    }

    // MARK: Body

    /// Reads what takes more than the loop can spare.
    nonisolated static let readingThread = FileThreads(count: 1)
    /// How many tokens, or escapes, of a JSON text take about a millisecond to be read.
    private static let loopTokenLimit = 8192

    /// The bytes of a JSON body; nil when there is no body at all.
    func jsonBytes() async throws -> [UInt8]? {
        if request.body.isEmpty { return nil }
        guard bodyType?.mimeType == "application/json" else {
            throw ProblemCode.unsupportedMediaType.problem(
                "Send the body with \"Content-Type: application/json\".")
        }
        return try await collected()
    }

    /// The bytes of a body that is taken as a whole: 1 MiB at most.
    func collected() async throws -> [UInt8] {
        let bytes = try await request.body.collect(limit: 1 << 20)
        // A body may take a quarter of an hour: a token that was revoked meanwhile does nothing.
        _ = try authenticator?.caller(of: request)
        if tenantHasLeft { throw GatewayError.tenantIsMoving }
        return bytes
    }

    /// Refuses a body that says something: nobody is to believe in what is ignored.
    func refuseBody() async throws {
        guard let bytes = try await jsonBytes() else { return }
        try await Call.reading(bytes) { reader throws(JSONError) in
            try reader.object { reader, name throws(JSONError) in
                throw reader.unknownMember(name)
            }
        }
    }

    /// What the JSON body says.
    func json<Value: Sendable>(
        _ read: @escaping @Sendable (inout JSONReader) throws(JSONError) -> Value
    ) async throws -> Value {
        try await Call.reading(jsonBytes() ?? [], read)
    }

    /// What a JSON text says; the loop does other things while one of many tokens is read.
    static func reading<Value: Sendable>(
        _ bytes: [UInt8], _ read: @escaping @Sendable (inout JSONReader) throws(JSONError) -> Value
    ) async throws -> Value {
        try await offLoop(bytes) { bytes throws(Problem) in
            do throws(JSONError) {
                return try JSONReader.read(bytes, read)
            } catch {
                throw Problem(error)
            }
        }
    }

    /// What `read` makes of a text, made on the loop only if the text has few tokens: a long string
    /// costs next to nothing, and its memory is best had from the thread that will keep it.
    static func offLoop<Value: Sendable>(
        _ bytes: [UInt8], _ read: @escaping @Sendable ([UInt8]) throws(Problem) -> Value
    ) async throws -> Value {
        guard bytes.count > loopTokenLimit, tokenCount(of: bytes) > loopTokenLimit else {
            return try read(bytes)
        }
        return try await readingThread.run { try read(bytes) }
    }

    /// About how many values, names and escapes a JSON text has: what stands in strings is counted,
    /// too.
    private static func tokenCount(of bytes: [UInt8]) -> Int {
        var count = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "{"),
                UInt8(ascii: "\\"):
                count += 1
            default: break
            }
        }
        return count
    }

    /// What the body is declared as; nil where it is not.
    var bodyType: MediaType? { request.header("content-type").flatMap { MediaType(parsing: $0) } }

    // MARK: Preferences (RFC 7240)

    /// `Prefer: wait=N`: at most a minute.
    var wait: Duration? {
        for preference in request.headers.values(of: "prefer").items() {
            let parts = preference.split(separator: "=").map { $0.filter { $0 != " " } }
            guard parts.count == 2, parts[0].lowercased() == "wait",
                let seconds = Int(parts[1].filter { $0 != "\"" }), seconds >= 0
            else { continue }
            return .seconds(min(seconds, 60))
        }
        return nil
    }

    /// Names the wait that was applied.
    func applied(_ wait: Duration?) -> HeaderFields {
        guard let wait else { return [:] }
        return ["Preference-Applied": "wait=\(wait.components.seconds)", "Vary": "Prefer"]
    }

    // MARK: Tracing

    /// The trace that the request belongs to: nil for none, and for one that is malformed.
    var traceContext: TraceContext? {
        guard let parent = request.header("traceparent") else { return nil }
        // Two of them are as good as none.
        guard request.headers.values(of: "traceparent").count == 1 else { return nil }
        return TraceContext(parent: parent, states: request.headers.values(of: "tracestate"))
    }

    // MARK: Query

    /// A whole number of the query.
    func number(_ name: String, in range: ClosedRange<Int>, default: Int) throws(Problem) -> Int {
        guard let text = request.queryValue(name) else { return `default` }
        guard let number = Int(text), range.contains(number) else {
            throw Call.invalid(name, "must be \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// An identifier of the query, as `nextCursor` gave it.
    func cursor<ID: Identifier>(_: ID.Type) throws(Problem) -> ID? {
        guard let text = request.queryValue("cursor") else { return nil }
        guard let id = ID(text) else { throw Call.invalid("cursor", "must be a nextCursor") }
        return id
    }

    nonisolated static func invalid(_ parameter: String, _ rule: String) -> Problem {
        ProblemCode.invalidValue.problem("The query parameter \(parameter) \(rule).")
            .with(parameter: parameter)
    }
}

/// Whether a call is still wanted, for work that its cancelling does not reach.
@LoopActor
private final class CallEnd {
    private let call: Call
    private nonisolated let isCancelled = Atomic(false)
    /// A wrong token counts each time that it is looked at.
    private var isRefused = false

    init(of call: Call) { self.call = call }

    nonisolated func noteCancellation() { isCancelled.store(true, ordering: .releasing) }

    var isWanted: Bool {
        if !isRefused, isCancelled.load(ordering: .acquiring) { isRefused = !call.isLetIn }
        return !isRefused && !call.tenantHasLeft
    }
}

extension Response {
    /// A JSON answer.
    static func json(
        _ status: Int = 200, headers: HeaderFields = [:], capacity: Int = 512,
        _ write: (inout JSONWriter) -> Void
    ) -> Response {
        var json = JSONWriter(capacity: capacity)
        write(&json)
        return .json(status, headers: headers, json.finish())
    }

    /// A JSON answer that is written already.
    static func json(_ status: Int, headers: HeaderFields, _ bytes: [UInt8]) -> Response {
        var headers = headers
        headers.add("Content-Type", "application/json")
        headers.add("Cache-Control", "no-store")
        return Response(status: status, headers: headers, body: .bytes(bytes))
    }

    /// A problem (RFC 9457).
    init(_ problem: Problem) {
        var json = JSONWriter()
        json.object { problem.writeMembers(to: &$0) }
        var headers = problem.headers
        headers.add("Content-Type", "application/problem+json")
        headers.add("Cache-Control", "no-store")
        self.init(status: problem.status, headers: headers, body: .bytes(json.finish()))
    }
}

extension Problem {
    func writeMembers(to json: inout JSONWriter) {
        json.member("type", "/problems/\(code)")
        json.member("title", title)
        json.member("status", status)
        json.member("code", code)
        if let detail { json.member("detail", detail) }
        if let pointer { json.member("pointer", pointer) }
        for member in extensions {
            json.name(named: member.name)
            json.raw(member.json)
        }
    }

    /// The problem, with the NSURLError that it stands for.
    func with(_ error: TransferError) -> Problem {
        var json = JSONWriter()
        error.write(to: &json)
        var problem = self
        problem.extensions.append((name: "nsurlError", json: json.finish()))
        return problem
    }

    /// The problem, with the name of the query parameter that is wrong.
    func with(parameter: String) -> Problem { with("parameter", parameter) }

    /// The problem with one more member.
    func with(_ name: String, _ value: some JSONWritable) -> Problem {
        var json = JSONWriter()
        json.value(value)
        var problem = self
        problem.extensions.append((name: name, json: json.finish()))
        return problem
    }
}
