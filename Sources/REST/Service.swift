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
        /// Whether the gateway itself speaks TLS, but for unix sockets: cookies are then for https
        /// only, too.
        public var speaksTLS = false
        /// The version of the program, as `GET /v1/gateway` tells it.
        public var version: String
        /// The commit that the program was built from; `unknown` where nobody has told.
        public var commit = "unknown"
        /// Knows the process; nil leaves what it tells at nothing.
        public var machine: (any Machine)?
        /// How many wrong tokens an address may send in a minute before it has to wait for one.
        public var failureLimits = FailureLimits()
        /// How many browsers may be signed in, of all tenants together.
        public var browserSessionLimit = 10_000
        /// Keeps what somebody may have to account for; nil keeps nothing.
        public var audit: (any AuditLog)?
        /// What goes between this gateway and others that share its database; nil for a gateway
        /// that has its own.
        public var nodes: NodeOptions?

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
    let authenticator: Authenticator
    let streams: EventStreams
    /// Who has which tenant; nil where this gateway has them all.
    let nodes: (any TenantPlaces)?
    /// Passes on what is for other nodes.
    let forwarder: Forwarder?
    private let pass: NodePass?
    let clock: any Clock
    let started: (at: Timestamp, uptime: Duration)
    /// The page for people.
    let page: PageFiles
    /// Completed tasks that were polled lately.
    var rendered = RenderedTasks()
    /// Who serves; set before it does. What it has done is among the metrics.
    public var server: Server? {
        get { door.server }
        set { door.server = newValue }
    }
    let door: Door
    let audit: AuditNotes?
    /// Set once the gateway has recovered, and taken back when it is about to end: what `/readyz`
    /// tells.
    public var isReady = false
    /// The names that requests over TCP may be for.
    public var hosts: HostRule {
        didSet { lastHost = nil }
    }
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
        started = (clock.now, clock.uptime)
        page = PageFiles(digest: options.tokens.digest)
        hosts = options.hosts
        let browsers = BrowserSessions(
            clock: clock, areForHTTPS: options.isBehindTLSProxy || options.speaksTLS,
            comeInClear: !options.speaksTLS, limit: options.browserSessionLimit,
            digest: options.tokens.digest)
        let door = Door()
        audit = options.audit.map { AuditNotes($0, clock: clock) }
        let nodes = options.nodes?.places ?? gateway.nodes
        self.nodes = nodes
        var pass: NodePass?
        if let nodes, let key = options.nodes?.key {
            pass = NodePass(
                places: nodes, code: options.tokens.authenticationCodes(with: key))
        }
        authenticator = Authenticator(
            files: options.tokens, tokens: gateway.tokens, browsers: browsers,
            failureLimits: options.failureLimits, pass: pass, places: nodes, audit: audit,
            clock: clock,
            endRequests: { isMeant in
                door.endRequests { isMeant($0) ? Authenticator.invalidToken : nil }
            })
        self.door = door
        self.pass = pass
        if let nodes, let pass, let client = options.nodes?.client {
            forwarder = Forwarder(
                nodes, client: client, pass: pass, authenticator: authenticator,
                clock: clock)
        } else {
            forwarder = nil
        }
        streams = EventStreams(gateway: gateway)
        // Made now: later the process may have no more threads.
        _ = Call.readingThread
        auditDenials()
        nodes?.onChange = { [weak self] in self?.placesHaveChanged() }
    }

    /// Reads a URL by the one parser of URLs.
    func parse(_ url: String) throws(URLRejection) -> WebURL {
        try transport.parse(url)
    }

    /// The tokens of files. Others than before end what was begun with these: the sessions of
    /// browsers, event streams, and what connections are remembered by.
    public var tokens: TokenTable {
        get { authenticator.files }
        set { authenticator.files = newValue }
    }

    /// Refuses what is for another host, before anything else is looked at. Probes come by any
    /// name, such as a container's address, and are told nothing worth hiding. What another node
    /// asks for gets an answer with a proof, whoever makes it.
    public func check(_ request: Request) -> Problem? {
        // Nodes know each other by whatever address leads there.
        if let pass, let proof = pass.proof(for: request) {
            request.addToAnswer(ForwardedFields.proof, proof)
            request.trust(askingFor: request.header("ferry-caller") ?? "")
            return nil
        }
        guard !request.isOverUnixSocket, !request.isFor(host: lastHost),
            !["/healthz", "/readyz"].contains(request.path)
        else { return nil }
        let problem = hosts.check(request)
        if problem == nil { lastHost = request.host }
        return problem
    }

    /// Answers whoever waits for another node: this one is about to end.
    public func endWaits() { forwarder?.endWaits() }

    /// Counts a request of a tenant, before anything is done for it.
    ///
    /// - Throws: 429 where it is one too many in a second.
    func count(_ principal: Principal) throws(Problem) {
        do throws(GatewayError) {
            try gateway.quotas.admitRequest(of: principal.tenant)
        } catch {
            throw Problem(error)
        }
    }

    /// Renders what a handler, or the front door, has thrown.
    public func answer(to error: any Error) -> Response { Response(problem(for: error)) }

    /// What a client is told of an error; what is the gateway's own fault is logged.
    func problem(for error: any Error) -> Problem {
        switch error {
        case let error as Problem: return error
        case let error as GatewayError:
            switch error {
            // That is logged where it begins.
            case .store(.away), .store(.lost): break
            case .store(let words):
                log.write(.error, "a request failed at the store", ["error": .words("\(words)")])
            default: break
            }
            return Problem(error)
        case let error as BodyError: return error.problem
        default:
            log.write(.error, "a request failed", ["error": .words("\(type(of: error))")])
            return ProblemCode.internal.problem()
        }
    }
}

/// Who serves, for those that end what it has under way.
@LoopActor
final class Door {
    weak var server: Server?

    /// - Parameter problem: what whoever is let in no more is told; nil for all others.
    func endRequests(with problem: (KnownCaller) -> Problem?) {
        server?.endRequests { ($0 as? KnownCaller).flatMap(problem) }
    }
}

/// One route with what it takes to call it. There is no way to write a route without saying it
///
struct Endpoint {
    let method: String
    let pattern: String
    let access: Access
    /// Which node answers, where there are several.
    let seat: Seat
    /// The names of what it reads of the query: nothing else may stand there, and each once.
    let query: QueryNames
    /// Whether an `Idempotency-Key` has it done once, however often it is sent.
    let takesKey: Bool
    /// How fast the body has to come; nil for the server's own pace.
    let bodyPace: BodyPace?
    let handler: @LoopActor (Call) async throws -> Response
    /// Asked first where it is given; nil where an answer takes waiting.
    let immediateHandler: (@LoopActor (Call) throws -> Response?)?

    enum Seat {
        /// The one that has the caller's tenant.
        case ofTenant
        /// The one that has the tenant that the query names, where it does.
        case ofNamedTenant
        /// Whichever is asked.
        case any
    }

    enum Access: Equatable {
        /// For everyone.
        case open
        /// For every valid token, but for one that may only read the metrics.
        case anyToken
        case scope(Scope)
        /// For tokens that have one of the two.
        case eitherScope(Scope, Scope)

        /// One of these is needed; empty where none is.
        fileprivate var scopes: [Scope] {
            switch self {
            case .open, .anyToken: []
            case .scope(let scope): [scope]
            case .eitherScope(let first, let second): [first, second]
            }
        }
    }

    /// One of these is needed; empty where none is. `read` is enough for every GET of a tenant, not
    /// for those of the gateway as a whole.
    private let scopes: [Scope]
    /// Whether it is about all tenants together.
    private let isOfGateway: Bool

    /// The call, if whoever sends the request may make it.
    @LoopActor
    private func call(_ request: Request, _ service: Service) throws(Problem) -> Call {
        guard access != .open else {
            try query.check(request)
            return Call(request, .nobody)
        }
        return try call(request, from: service.authenticator.caller(of: request), service)
    }

    /// The call, if this one may make it; it is counted, unless it was before.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - caller: who sends it.
    ///   - service: what answers it.
    ///   - isCounted: whether this node counts the tenant's requests.
    /// - Returns: the call.
    /// - Throws: 403 without the scope, 422 for an unknown name in the query, 429 where it is one
    ///   too many in a second.
    @LoopActor
    private func call(
        _ request: Request, from caller: KnownCaller, _ service: Service, isCounted: Bool = true
    ) throws(Problem) -> Call {
        let wasCounted = request.caller.map { ($0 as? KnownCaller)?.isServedHere ?? false } ?? false
        request.caller = caller
        let principal = caller.principal
        // The operator can always manage the gateway, whatever its own programs ask for.
        let isOfOperator =
            isOfGateway && principal.tenant == .operatorTenant
        if isCounted, !wasCounted, !isOfOperator { try service.count(principal) }
        do throws(Problem) {
            return try call(request, from: principal, service)
        } catch {
            service.audit(self, request, from: principal, status: error.status)
            throw error
        }
    }

    // MARK: Several nodes

    /// Who answers a request.
    private enum Answerer {
        case here(Call)
        /// Another node has.
        case elsewhere(Response)
    }

    /// The call, or the answer of the node that has the tenant.
    @LoopActor
    private func resolve(
        _ request: Request, _ service: Service, _ nodes: any TenantPlaces
    ) async throws -> Answerer {
        guard access != .open else { return try .here(call(request, service)) }
        // Whoever was asked whether it can be answered at once has looked just now.
        var caller =
            try request.caller as? KnownCaller ?? caller(of: request, service, nodes)
        let tenant = caller.principal.tenant
        let isOfTenant = seat == .ofTenant || seat == .ofNamedTenant
        let meant = seat == .ofNamedTenant ? namedTenant(request, caller, service) : nil
        if isOfTenant, nodes.knownPlace(of: meant ?? tenant) != .here {
            request.caller = caller.served(here: false)
            let answer = try await service.answer(request, for: caller, about: meant ?? tenant)
            if let answer { return .elsewhere(answer) }
            // That may have taken a while.
            caller = try self.caller(of: request, service, nodes)
        }
        let isServedHere = isOfTenant && (meant ?? tenant) == tenant
        return try .here(
            call(
                request, from: caller.served(here: isServedHere), service,
                isCounted: nodes.knownPlace(of: tenant) == .here))
    }

    /// The call, where it is known at once that this node answers; else nil.
    @LoopActor
    private func immediateCall(_ request: Request, _ service: Service) throws(Problem) -> Call? {
        guard let nodes = service.nodes, access != .open else { return try call(request, service) }
        let caller = try caller(of: request, service, nodes)
        guard seat == .ofTenant, nodes.knownPlace(of: caller.principal.tenant) == .here else {
            request.caller = caller.served(here: false)
            return nil
        }
        return try call(request, from: caller.served(here: true), service)
    }

    /// Who sends the request, if this node can tell: one that is cut off from the database does not
    /// know of tokens that were revoked meanwhile, nor whether it still has the tenant. How it
    /// stands itself it always tells.
    ///
    /// - Throws: 401, 403 and 429 as `Authenticator` does, 503 where it cannot tell.
    @LoopActor
    private func caller(
        of request: Request, _ service: Service, _ nodes: any TenantPlaces
    ) throws(Problem) -> KnownCaller {
        guard seat != .any || method != "GET", nodes.isCutOff else {
            return try service.authenticator.caller(of: request)
        }
        let isPassedOn = (try? service.authenticator.caller(of: request))?.isPassedOn ?? false
        throw isPassedOn ? .movedBeforehand : .unavailable(because: Readiness.away)
    }

    /// The tenant that the query names, where the caller may ask for it.
    @LoopActor
    private func namedTenant(
        _ request: Request, _ caller: KnownCaller, _ service: Service
    ) -> TenantID? {
        let principal = caller.principal
        guard principal.tenant == .operatorTenant, principal.scopes.contains(.admin),
            let name = request.queryValue("tenant")
        else { return nil }
        return try? service.gateway.tenants.read(name).id
    }

    // MARK: Calls

    /// The call, if this one may make it.
    @LoopActor
    private func call(
        _ request: Request, from principal: Principal, _ service: Service
    ) throws(Problem) -> Call {
        guard scopes.isEmpty || scopes.contains(where: principal.scopes.contains) else {
            let names = scopes.map(\.rawValue).joined(separator: " or ")
            throw ProblemCode.forbidden.problem("The token needs the scope \(names).")
        }
        guard !isOfGateway || principal.tenant == .operatorTenant else {
            throw ProblemCode.forbidden.problem(
                "What is about all tenants is for tokens of the tenant \(TenantName.ofOperator).")
        }
        guard access != .anyToken || principal.scopes != [.metrics] else {
            throw ProblemCode.forbidden.problem(
                "A token whose only scope is metrics may read /metrics, and nothing else.")
        }
        try query.check(request)
        // Who sends a key counts on it: sent again, the call is done again.
        if method == "POST", !takesKey { try Call.refuseIdempotencyKey(of: request) }
        return Call(request, principal, by: service.authenticator, at: service.nodes)
    }

    init(
        _ method: String, _ pattern: String, _ access: Access, query: QueryNames = [],
        at seat: Seat = .ofTenant, takesBody: Bool = true, takesKey: Bool = false,
        bodyPace: BodyPace? = nil,
        immediately immediateHandler: (@LoopActor (Call) throws -> Response?)? = nil,
        _ handler: @escaping @LoopActor (Call) async throws -> Response
    ) {
        self.method = method
        self.pattern = pattern
        self.access = access
        let scopes = access.scopes
        isOfGateway = scopes.contains(where: \.isOfGateway)
        let isReadable = method == "GET" && !scopes.isEmpty && !isOfGateway
        self.scopes = isReadable ? scopes + [.read] : scopes
        self.query = query
        self.seat = seat
        self.takesKey = takesKey
        self.bodyPace = bodyPace
        self.immediateHandler = immediateHandler
        if takesBody, method != "DELETE" {
            self.handler = handler
        } else {
            self.handler = { call in
                try await call.refuseBody()
                return try await handler(call)
            }
        }
    }

    /// The route, behind the checks of who calls and of what the query names.
    @LoopActor
    func route(of service: Service) -> Route {
        let (endpoint, handler) = (self, handler)
        let immediately = immediateHandler.map { handler -> ImmediateHandler in
            { request in
                guard let call = try endpoint.immediateCall(request, service) else { return nil }
                return try handler(call)
            }
        }
        return Route(
            method, pattern, bodyPace: bodyPace, immediateHandler: immediately
        ) { request in
            let call: Call
            if let nodes = service.nodes {
                switch try await endpoint.resolve(request, service, nodes) {
                case .elsewhere(let answer): return answer
                case .here(let resolved): call = resolved
                }
            } else {
                call = try endpoint.call(request, service)
            }
            return try await service.audited(endpoint, call, handler)
        }
    }
}

extension Principal {
    /// Who calls an open route: no tenant has the number 0.
    fileprivate static let nobody = Principal(tenant: TenantID(rawValue: 0), scopes: [])
}
