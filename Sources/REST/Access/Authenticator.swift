internal import Diagnostics
internal import Engine
internal import HTTP
internal import Loop
internal import Semantics

/// Tells who sends a request: by a bearer token, or by the cookie of a browser session.
@LoopActor
final class Authenticator {
    /// Remembers, for a connection, the token that it sent last: comparing is cheaper than hashing.
    private final class Remembered {
        let header: [UInt8]
        let caller: KnownCaller
        /// Tokens may have been changed since.
        let generation: Int64

        init(header: [UInt8], caller: KnownCaller, generation: Int64) {
            self.generation = generation
            self.header = header
            self.caller = caller
        }
    }

    private static let log = Log("rest.access")
    /// The tokens of files. Others than before end what was begun with these.
    var files: TokenTable {
        didSet {
            guard !files.isSame(as: oldValue) else { return }
            fileGeneration += 1
            endAll { $0.token == nil }
        }
    }
    let browsers: BrowserSessions
    /// Lets other nodes in; nil where there are none.
    private let pass: NodePass?
    /// Looks again where another node knows more; nil where there are none.
    private let places: (any TenantPlaces)?
    private let tokens: TokenService
    private let failures: FailureCounter
    private var fileGeneration: Int64 = 0
    /// Ends the requests that are under way for callers who are let in no more.
    private let endRequests: @LoopActor (_ isMeant: (KnownCaller) -> Bool) -> Void

    init(
        files: TokenTable, tokens: TokenService, browsers: BrowserSessions,
        failureLimits: FailureLimits,
        pass: NodePass?, places: (any TenantPlaces)?, audit: AuditNotes?, clock: any Clock,
        endRequests: @escaping @LoopActor (_ isMeant: (KnownCaller) -> Bool) -> Void
    ) {
        self.files = files
        self.tokens = tokens
        self.browsers = browsers
        self.pass = pass
        self.places = places
        self.endRequests = endRequests
        failures = FailureCounter(limits: failureLimits, audit: audit, clock: clock)
        browsers.onEnd = { ended in
            endRequests { $0.browserSession.map(ended.contains) ?? false }
        }
        tokens.onVoid = { [weak self] void in
            self?.endAll { $0.token.map(void.contains) ?? false }
        }
    }

    /// Ends what was begun with some tokens: browser sessions, and every request that is under way.
    private func endAll(where isVoid: (Principal) -> Bool) {
        browsers.endAll(where: isVoid)
        endRequests { caller in
            guard isVoid(caller.principal) else { return false }
            if caller.isPassedOn { caller.isVoid = true }
            return true
        }
    }

    /// Grows with every change of who is let in.
    private var generation: Int64 { fileGeneration + tokens.generation }

    /// Who sends the request.
    /// - Throws: 401 without a valid token or cookie; 429 after many wrong tokens from one address;
    ///   403 for a cookie that comes from another origin's page.
    func caller(of request: Request) throws(Problem) -> KnownCaller {
        if let remembered = request.connection.attachment as? Remembered,
            remembered.generation == generation,
            request.withHeaderBytes(
                "authorization",
                { bytes in
                    remembered.header.withUnsafeBytes { header in
                        bytes.map { SecretBytes.areSame($0, header) } ?? false
                    }
                }),
            remembered.caller.principal.token.map(tokens.use) ?? true
        {
            return remembered.caller
        }
        guard let header = request.header("authorization") else {
            if let caller = try browsers.caller(of: request),
                caller.principal.token.map(tokens.use) ?? true
            {
                return caller
            }
            throw Authenticator.unauthenticated(
                """
                Send "Authorization: Bearer" and a token; the gateway's own is in the file "token" of \
                its data directory.
                """)
        }
        // What it says does not change; the token may have been revoked meanwhile.
        if let known = request.caller as? KnownCaller, known.isPassedOn {
            if known.isVoid { throw Authenticator.invalidToken }
            return known
        }
        if let pass, pass.opens(request), let caller = try passedOnCaller(of: request, by: pass) {
            return caller
        }
        return try caller(ofHeader: header, request)
    }

    /// Whom another node has let in; nil where it does not say so as it should.
    ///
    /// - Throws: 503 for a token that is not known here, or not any more: one of the two nodes has
    ///   to look again, and the other one asks again.
    private func passedOnCaller(
        of request: Request, by pass: NodePass
    ) throws(Problem) -> KnownCaller? {
        guard request.headers.values(of: "ferry-caller").count == 1 else { return nil }
        guard let caller = request.header("ferry-caller").flatMap(pass.caller(parsing:))
        else { return nil }
        guard caller.principal.token.map(tokens.use) ?? true else {
            places?.lookSoon()
            throw Problem.movedBeforehand
        }
        return caller
    }

    private func caller(
        ofHeader header: String, _ request: Request
    ) throws(Problem) -> KnownCaller {
        let parts = header.split(separator: " ", maxSplits: 1)
        let token = parts.count == 2 ? parts[1].drop { $0 == " " } : ""
        if parts.first?.lowercased() == "bearer", let principal = principal(ofToken: token) {
            let caller = KnownCaller(principal)
            request.connection.attachment = Remembered(
                header: Array(header.utf8), caller: caller, generation: generation)
            return caller
        }
        request.connection.attachment = nil
        Authenticator.log.write(
            .info, "a token was refused", ["peer": .name(request.peer.address)])
        // A node that has come back is asked with signatures for what it was before.
        if pass != nil, parts.first == NodePass.scheme.dropLast() {
            throw Authenticator.unknownNode
        }
        if let wait = failures.note(header, from: request.peer.address) {
            throw ProblemCode.tooManyFailures.problem(headers: ["Retry-After": String(wait)])
        }
        throw Authenticator.invalidToken
    }

    /// What is told whoever sends a token that lets nobody in, or in no more.
    nonisolated static let invalidToken = Authenticator.unauthenticated(
        """
        The gateway does not know this token, or it has expired or was revoked; the gateway's own is \
        in the file "token" of its data directory.
        """, error: "invalid_token")

    /// What is told whoever sends a signature that no node of this version has made for this one.
    private nonisolated static let unknownNode = Authenticator.unauthenticated(
        """
        The signature is not one that a node of this gateway makes for this node: the key is another \
        one, or the node is of another version, or this node has joined anew.
        """)

    /// What is looked up is a digest of what came, so that the time it takes tells nothing about a
    /// token.
    private func principal(ofToken text: Substring) -> Principal? {
        let digest = files.digest(Array(text.utf8))
        if let principal = files.principal(ofDigest: digest) { return principal }
        guard let token = tokens.use(digest) else { return nil }
        return Principal(tenant: token.tenant, scopes: token.scopes, token: token.id)
    }

    /// RFC 6750 §3.
    private nonisolated static func unauthenticated(
        _ detail: String, error: String? = nil
    ) -> Problem {
        let challenge = "Bearer realm=\"ferry\"" + (error.map { ", error=\"\($0)\"" } ?? "")
        return ProblemCode.unauthenticated.problem(detail, headers: ["WWW-Authenticate": challenge])
    }
}
