internal import Engine
internal import HTTP
internal import Loop
internal import Semantics

/// Cookies that stand for a token in a browser, where an EventSource cannot send a header.
///
/// HttpOnly and SameSite=Strict, an hour at most, in memory only: a restart ends them all. What
/// changes something must come from a page of the same origin. A cookie's name has the port that
/// the browser asked for: browsers send a host's cookies to all its ports, and two gateways on one
/// host would otherwise overwrite each other's.
@LoopActor
final class BrowserSessions {
    private struct Session {
        let principal: Principal
        let end: Duration
        /// What its pages follow at the moment.
        var streams: [EventStreamHandle] = []
    }

    private static let lifetime = Duration.seconds(3600)
    private static let limit = 10_000
    /// How late a stream may end after its session.
    private static let expiryInterval = Duration.seconds(5)

    private let clock: any Clock
    private let isBehindTLSProxy: Bool
    private var sessions: [[UInt8]: Session] = [:]
    private let digest: ([UInt8]) -> [UInt8]
    private lazy var expiry = LoopTimer { [weak self] in self?.expire() }

    /// - Parameters:
    ///   - clock: its uptime ends sessions.
    ///   - isBehindTLSProxy: whether browsers come by https, but for those on this machine.
    ///   - digest: makes the key that a cookie is kept under, so that its text is kept nowhere.
    init(
        clock: any Clock, isBehindTLSProxy: Bool, digest: @escaping ([UInt8]) -> [UInt8]
    ) {
        self.clock = clock
        self.isBehindTLSProxy = isBehindTLSProxy
        self.digest = digest
    }

    /// A cookie for the principal: the value of Set-Cookie.
    /// - Throws: 403 for a page that was loaded by http where https is a must.
    func start(for principal: Principal, by request: Request) throws(Problem) -> String {
        var isSecure = isBehindTLSProxy
        if let origin = PageOrigin(of: request) {
            try requireAllowedScheme(of: origin)
            isSecure = origin.isSecure
        }
        expire()
        if sessions.count >= BrowserSessions.limit,
            let oldest = sessions.min(by: { $0.value.end < $1.value.end })
        {
            sessions[oldest.key] = nil
            for stream in oldest.value.streams { stream.end() }
        }
        let token = AccessToken.make().text
        sessions[digest(Array(token.utf8))] = Session(
            principal: principal, end: clock.uptime + BrowserSessions.lifetime)
        let lifetime = Int(BrowserSessions.lifetime.components.seconds)
        return cookie(token, isSecure: isSecure, for: request, maximumAge: lifetime)
    }

    /// Ends the sessions that the request's cookies stand for.
    /// - Returns: the values of Set-Cookie that make the browser forget them.
    func end(of request: Request) -> [String] {
        for value in values(in: request) {
            let session = sessions.removeValue(forKey: digest(Array(value.utf8)))
            for stream in session?.streams ?? [] { stream.end() }
        }
        return [true, false].map { cookie("", isSecure: $0, for: request, maximumAge: 0) }
    }

    /// Whose cookie came; nil without a valid one.
    /// - Throws: 403 for a change that does not come from a page of this very origin.
    func principal(of request: Request) throws(Problem) -> Principal? {
        guard let (_, session) = session(of: request) else { return nil }
        if !["GET", "HEAD", "OPTIONS"].contains(request.method) { try requireSameOrigin(request) }
        return session.principal
    }

    /// A handle for a stream that is followed by cookie: it ends with the session. Nil where none
    /// is needed.
    func handle(for request: Request) -> EventStreamHandle? {
        guard request.header("authorization") == nil, let (key, _) = session(of: request) else {
            return nil
        }
        let handle = EventStreamHandle()
        sessions[key]?.streams.append(handle)
        if !expiry.isArmed { expiry.arm(after: BrowserSessions.expiryInterval) }
        return handle
    }

    /// Ends the streams of sessions that are over, and forgets those that have ended by themselves.
    private func expire() {
        let now = clock.uptime
        for (key, session) in sessions {
            if session.end <= now {
                sessions[key] = nil
                for stream in session.streams { stream.end() }
            } else {
                sessions[key]?.streams.removeAll { !$0.isOpen }
            }
        }
        if sessions.values.contains(where: { !$0.streams.isEmpty }) {
            expiry.arm(after: BrowserSessions.expiryInterval)
        }
    }

    // MARK: Origins

    /// Browsers name the origin of a page with whatever may change something, and no page can
    /// forge that, nor `Sec-Fetch-Site`, which newer ones send beside it.
    private func requireSameOrigin(_ request: Request) throws(Problem) {
        guard let text = request.header("origin") else {
            throw ProblemCode.originMismatch.problem(
                "A request with a cookie must have the Origin field of Ferry's own page.")
        }
        guard request.header("sec-fetch-site").map({ $0 == "same-origin" }) ?? true else {
            throw ProblemCode.originMismatch.problem("The request comes from the page of another.")
        }
        guard let origin = PageOrigin(of: request) else {
            throw ProblemCode.originMismatch.problem(
                "The page is at \(text), but the request came for \(request.host ?? "no host")."
                    + " A proxy in front of the gateway must hand on the Host field as it came.")
        }
        try requireAllowedScheme(of: origin)
    }

    /// Behind a TLS proxy a page may be loaded by http on this machine only: nobody listens there.
    private func requireAllowedScheme(of origin: PageOrigin) throws(Problem) {
        guard isBehindTLSProxy, !origin.isSecure, !HostRule.isLoopback(origin.host) else { return }
        throw ProblemCode.originMismatch.problem(
            "The gateway was started with --behind-tls-proxy, so this page must be opened by"
                + " https, or by http on the gateway's own machine only.")
    }

    // MARK: Cookies

    /// The session that the request's cookie stands for, and its key.
    private func session(of request: Request) -> (key: [UInt8], session: Session)? {
        for value in values(in: request) {
            let key = digest(Array(value.utf8))
            if let session = sessions[key], session.end > clock.uptime { return (key, session) }
        }
        return nil
    }

    private func values(in request: Request) -> [String] {
        var names = [name(isSecure: true, for: request)]
        // Anybody on the way could have set a cookie that is not for https alone.
        if !isBehindTLSProxy || request.host.map(HostRule.isLoopback) ?? false {
            names.append(name(isSecure: false, for: request))
        }
        var values: [String] = []
        for header in request.headers.values(of: "cookie") {
            for pair in header.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                guard let name = names.first(where: { pair.hasPrefix($0 + "=") }) else { continue }
                values.append(String(pair.dropFirst(name.count + 1)))
            }
        }
        return values
    }

    private func name(isSecure: Bool, for request: Request) -> String {
        let port = request.host.flatMap(HostRule.port(of:)).map { "-\($0)" } ?? ""
        return (isSecure ? "__Host-ferry" : "ferry") + port
    }

    private func cookie(
        _ value: String, isSecure: Bool, for request: Request, maximumAge: Int
    ) -> String {
        name(isSecure: isSecure, for: request)
            + "=\(value); Path=/; Max-Age=\(maximumAge); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }
}

/// Where the page that sends a request was loaded from: the very host and port that the request is
/// for, by one of the two schemes.
///
/// Many proxies hand on a Host without its port. The browser's own word, that the page is of the
/// same origin as the address that it asks, then stands for the port.
private struct PageOrigin {
    let isSecure: Bool
    let host: String

    /// Nil without an Origin, and for a page of another host or port.
    @LoopActor
    init?(of request: Request) {
        guard let origin = request.header("origin")?.lowercased(),
            let host = request.host?.lowercased()
        else { return nil }
        let place: Substring
        if origin.hasPrefix("https://") {
            (isSecure, place) = (true, origin.dropFirst(8))
        } else if origin.hasPrefix("http://") {
            (isSecure, place) = (false, origin.dropFirst(7))
        } else {
            return nil
        }
        let isWithoutPort =
            request.header("sec-fetch-site") == "same-origin" && HostRule.port(of: host) == nil
            && HostRule.name(in: String(place)) == host
        guard place == host || isWithoutPort else { return nil }
        self.host = host
    }
}
