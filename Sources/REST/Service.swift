internal import Diagnostics
public import Engine
public import HTTP
internal import JSON
public import Loop
internal import Semantics

/// The wire of a gateway: its routes, its JSON, and who may call what.
@LoopActor
public final class Service {
    /// What differs from one installation to another.
    public struct Options: Sendable {
        /// Who may call, to begin with.
        public var tokens: TokenTable
        /// The names that requests over TCP may be for: any other gets 421.
        public var hosts: HostRule
        /// Whether clients come through a proxy that speaks TLS: cookies are then for https only.
        public var isBehindTLSProxy: Bool
        /// The version of the program, as `GET /v1/gateway` tells it.
        public var version: String
        /// The commit that the program was built from; `unknown` where nobody has told.
        public var commit = "unknown"
        /// Knows the process; nil leaves what it tells at nothing.
        public var machine: (any Machine)?

        /// Options from their parts.
        public init(tokens: TokenTable, hosts: HostRule, isBehindTLSProxy: Bool, version: String) {
            self.tokens = tokens
            self.hosts = hosts
            self.isBehindTLSProxy = isBehindTLSProxy
            self.version = version
        }
    }

    let gateway: Gateway
    let transport: any Transport
    let options: Options
    private(set) var authenticator: Authenticator
    let streams: EventStreams
    let clock: any Clock
    let startedAt: Timestamp
    /// The same by the clock that is not set.
    let startedUptime: Duration
    /// The page for people.
    let page: PageFiles
    /// Completed tasks that were polled lately.
    var rendered = RenderedTasks()
    /// Who serves; set before it does. What it has done is among the metrics.
    public weak var server: Server?
    /// Set once the gateway has recovered, and taken back when it is about to end: what `/readyz`
    /// tells.
    public var isReady = false
    /// The Host that was allowed last: nearly every request has it.
    private var lastHost: String?
    let log = Log("rest")

    /// The wire of one gateway; not ready until `isReady` is set.
    ///
    /// - Parameters:
    ///   - gateway: what performs every call.
    ///   - transport: the one parser of URLs, the same that the gateway fetches with.
    ///   - options: what differs from one installation to another.
    ///   - clock: ends browser sessions, counts wrong tokens, and tells when a cookie was made.
    public init(
        gateway: Gateway, transport: any Transport, options: Options,
        clock: any Clock = SystemClock()
    ) {
        self.gateway = gateway
        self.transport = transport
        self.options = options
        self.clock = clock
        startedAt = clock.now
        startedUptime = clock.uptime
        page = PageFiles(digest: options.tokens.digest)
        tokens = options.tokens
        authenticator = Service.authenticator(options.tokens, options, clock)
        streams = EventStreams(gateway: gateway)
    }

    /// Who may call. Others than before end the sessions of browsers, and what connections are
    /// remembered by.
    public var tokens: TokenTable {
        didSet {
            guard !tokens.isSame(as: oldValue) else { return }
            authenticator = Service.authenticator(tokens, options, clock)
        }
    }

    private static func authenticator(
        _ tokens: TokenTable, _ options: Options, _ clock: any Clock
    ) -> Authenticator {
        let browsers = BrowserSessions(
            clock: clock, isBehindTLSProxy: options.isBehindTLSProxy, digest: tokens.digest)
        return Authenticator(tokens: tokens, browsers: browsers, clock: clock)
    }

    /// Refuses what is for another host, before anything else is looked at. Probes come by any
    /// name, such as a container's address, and are told nothing worth hiding.
    public func check(_ request: Request) -> Problem? {
        guard !request.isOverUnixSocket, let host = request.host, host != lastHost,
            !["/healthz", "/readyz"].contains(request.path)
        else { return nil }
        let problem = options.hosts.check(request)
        if problem == nil { lastHost = host }
        return problem
    }

    /// Renders what a handler, or the front door, has thrown.
    public func answer(to error: any Error) -> Response { Response(problem(for: error)) }

    /// What a client is told of an error; what is the gateway's own fault is logged.
    func problem(for error: any Error) -> Problem {
        switch error {
        case let error as Problem: return error
        case let error as GatewayError:
            if case .store(let words) = error {
                log.write(.error, "a request failed at the store", ["error": .words("\(words)")])
            }
            return Problem(error)
        case let error as BodyError: return error.problem
        default:
            log.write(.error, "a request failed", ["error": .words("\(type(of: error))")])
            return ProblemCode.internal.problem()
        }
    }
}

/// One route with what it takes to call it. There is no way to write a route without saying it
///
struct Endpoint {
    let method: String
    let pattern: String
    let access: Access
    /// The names of what it reads of the query: nothing else may stand there, and each once.
    let query: QueryNames
    /// How fast the body has to come; nil for the server's own pace.
    let bodyPace: BodyPace?
    let handler: @LoopActor (Call) async throws -> Response
    /// Asked first where it is given; nil where an answer takes waiting.
    let immediateHandler: (@LoopActor (Call) throws -> Response?)?

    enum Access: Equatable {
        /// For everyone.
        case open
        /// For every valid token.
        case anyToken
        case scope(Scope)
        /// For tokens that have one of the two.
        case eitherScope(Scope, Scope)

        /// One of these is needed; empty where none is.
        private var scopes: [Scope] {
            switch self {
            case .open, .anyToken: []
            case .scope(let scope): [scope]
            case .eitherScope(let first, let second): [first, second]
            }
        }

        /// The call, if whoever sends the request may make it.
        @LoopActor
        func call(_ request: Request, _ service: Service) throws(Problem) -> Call {
            guard self != .open else { return Call(request, .nobody) }
            let principal = try service.authenticator.principal(of: request)
            request.connection.tenant = principal.tenant.rawValue
            guard scopes.isEmpty || !principal.scopes.isDisjoint(with: scopes) else {
                let names = scopes.map(\.rawValue).joined(separator: " or ")
                throw ProblemCode.forbidden.problem("The token needs the scope \(names).")
            }
            return Call(request, principal)
        }
    }

    init(
        _ method: String, _ pattern: String, _ access: Access, query: QueryNames = [],
        bodyPace: BodyPace? = nil,
        immediately immediateHandler: (@LoopActor (Call) throws -> Response?)? = nil,
        _ handler: @escaping @LoopActor (Call) async throws -> Response
    ) {
        self.method = method
        self.pattern = pattern
        self.access = access
        self.query = query
        self.bodyPace = bodyPace
        self.immediateHandler = immediateHandler
        self.handler = handler
    }

    /// The route, behind the checks of who calls and of what the query names.
    @LoopActor
    func route(of service: Service) -> Route {
        let (access, query, handler) = (access, query, handler)
        let call = { @LoopActor (request: Request) throws -> Call in
            let call = try access.call(request, service)
            try query.check(request)
            return call
        }
        let immediately = immediateHandler.map { handler -> ImmediateHandler in
            { request in try handler(call(request)) }
        }
        return Route(
            method, pattern, bodyPace: bodyPace, immediateHandler: immediately
        ) { request in
            try await handler(call(request))
        }
    }
}

extension Principal {
    /// Who calls an open route: no tenant has the number 0.
    fileprivate static let nobody = Principal(tenant: TenantID(rawValue: 0), scopes: [])
}
