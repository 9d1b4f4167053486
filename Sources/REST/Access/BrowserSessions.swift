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
        let caller: KnownCaller
        let end: Duration
    }

    private static let lifetime = Duration.seconds(3600)
    /// How many cookies of a request are looked at: browsers send about 200 of a host at most.
    private static let pairLimit = 1000

    /// Hears the keys of sessions that have ended, but for those whose token ends everything.
    var onEnd: (@LoopActor (Set<[UInt8]>) -> Void)?
    private let clock: any Clock
    private let areForHTTPS: Bool
    private let comeInClear: Bool
    private let limit: Int
    private var sessions: [[UInt8]: Session] = [:]
    /// The keys of each tenant's sessions, which end in the order in which they have begun.
    private var lines: [TenantID: [[UInt8]]] = [:]
    private let digest: ([UInt8]) -> [UInt8]
    private lazy var expiry = LoopTimer { [weak self] in self?.expire() }

    /// - Parameters:
    ///   - clock: its uptime ends sessions.
    ///   - areForHTTPS: whether browsers come by https, but for those on this machine.
    ///   - comeInClear: whether requests over TCP come in clear, at least from a proxy.
    ///   - limit: how many there may be, of all tenants together. Beyond it the oldest one ends of
    ///     the tenant that has most: nobody's many sessions end another's few.
    ///   - digest: makes the key that a cookie is kept under, so that its text is kept nowhere.
    init(
        clock: any Clock, areForHTTPS: Bool, comeInClear: Bool, limit: Int,
        digest: @escaping ([UInt8]) -> [UInt8]
    ) {
        self.clock = clock
        self.areForHTTPS = areForHTTPS
        self.comeInClear = comeInClear
        self.limit = limit
        self.digest = digest
    }

    /// A cookie for the principal: the value of Set-Cookie.
    /// - Throws: 403 for a page that was loaded by http where https is a must.
    func start(for principal: Principal, by request: Request) throws(Problem) -> String {
        var isSecure = areForHTTPS
        if let origin = PageOrigin(of: request) {
            try requireAllowedScheme(of: origin, request)
            isSecure = origin.isSecure
        }
        if sessions.count >= limit { endOldest() }
        let token = AccessToken.make().text
        let key = digest(Array(token.utf8))
        sessions[key] = Session(
            caller: KnownCaller(principal, in: key), end: clock.uptime + BrowserSessions.lifetime)
        lines[principal.tenant, default: []].append(key)
        if !expiry.isArmed { expiry.arm(after: BrowserSessions.lifetime) }
        let lifetime = Int(BrowserSessions.lifetime.components.seconds)
        return cookie(token, isSecure: isSecure, for: request, maximumAge: lifetime)
    }

    /// Ends the sessions that the request's cookies stand for.
    /// - Returns: the values of Set-Cookie that make the browser forget them.
    func end(of request: Request) -> [String] {
        end(Set(values(in: request).map { digest(Array($0.utf8)) }))
        return [true, false].map { cookie("", isSecure: $0, for: request, maximumAge: 0) }
    }

    /// Ends the sessions that were begun with some tokens. What they have under way ends with what
    /// these have.
    func endAll(where isVoid: (Principal) -> Bool) {
        remove(Set(sessions.filter { isVoid($0.value.caller.principal) }.keys))
    }

    /// Who has sent the request, by a cookie; nil without a valid one.
    /// - Throws: 403 for a change that does not come from a page of this very origin.
    func caller(of request: Request) throws(Problem) -> KnownCaller? {
        guard let session = session(of: request) else { return nil }
        switch request.method {
        case "GET", "OPTIONS": break
        // It may end an upload, and browsers send no Origin with it.
        case "HEAD": try requireOwnSite(request)
        default: try requireSameOrigin(request)
        }
        return session.caller
    }

    private func end(_ keys: Set<[UInt8]>) {
        let known = keys.filter { sessions[$0] != nil }
        guard !known.isEmpty else { return }
        remove(known)
        onEnd?(known)
    }

    private func remove(_ keys: Set<[UInt8]>) {
        var tenants: Set<TenantID> = []
        for key in keys {
            guard let session = sessions.removeValue(forKey: key) else { continue }
            tenants.insert(session.caller.principal.tenant)
        }
        for tenant in tenants {
            if keys.count == 1, let index = lines[tenant]?.firstIndex(where: keys.contains) {
                lines[tenant]?.remove(at: index)
            } else {
                lines[tenant]?.removeAll(where: keys.contains)
            }
            if lines[tenant]?.isEmpty == true { lines[tenant] = nil }
        }
    }

    private func endOldest() {
        let longest = lines.max { $0.value.count < $1.value.count }
        if let oldest = longest?.value.first { end([oldest]) }
    }

    /// Ends those whose time is over; looks again when the next one's is.
    private func expire() {
        let now = clock.uptime
        let ending = lines.values.flatMap { line in
            line.prefix { sessions[$0].map { $0.end <= now } ?? true }
        }
        end(Set(ending))
        let next = lines.values.compactMap { $0.first.flatMap { sessions[$0]?.end } }.min()
        if let next { expiry.arm(after: max(next - now, .milliseconds(1))) }
    }

    // MARK: Origins

    /// Browsers name the origin of a page with whatever may change something, and no page can
    /// forge that, nor `Sec-Fetch-Site`, which newer ones send beside it.
    private func requireSameOrigin(_ request: Request) throws(Problem) {
        guard let text = request.header("origin") else {
            throw ProblemCode.originMismatch.problem(
                "A request with a cookie must have the Origin field of Ferry's own page.")
        }
        try requireOwnSite(request)
        guard let origin = PageOrigin(of: request) else {
            throw ProblemCode.originMismatch.problem(
                "The page is at \(text), but the request came for \(request.host ?? "no host")."
                    + " A proxy in front of the gateway must hand on the Host field as it came.")
        }
        try requireAllowedScheme(of: origin, request)
    }

    private func requireOwnSite(_ request: Request) throws(Problem) {
        guard request.header("sec-fetch-site").map({ $0 == "same-origin" }) ?? true else {
            throw ProblemCode.originMismatch.problem("The request comes from the page of another.")
        }
    }

    /// Behind a TLS proxy a page may be loaded by http on this machine only: nobody listens there.
    /// Where the gateway itself speaks TLS, that is by a unix socket.
    private func requireAllowedScheme(
        of origin: PageOrigin, _ request: Request
    ) throws(Problem) {
        guard areForHTTPS, !origin.isSecure, !mayBeInClear(request, origin.host) else { return }
        throw ProblemCode.originMismatch.problem(
            "This gateway is used by https, so its page must be opened by https, or by http on the"
                + " gateway's own machine only.")
    }

    private func mayBeInClear(_ request: Request, _ host: String) -> Bool {
        HostRule.isLoopback(host) && (comeInClear || request.isOverUnixSocket)
    }

    // MARK: Cookies

    /// The session that the request's cookie stands for, and its key.
    private func session(of request: Request) -> Session? {
        for value in values(in: request) {
            if let session = sessions[digest(Array(value.utf8))], session.end > clock.uptime {
                return session
            }
        }
        return nil
    }

    private func values(in request: Request) -> [String] {
        var names = [name(isSecure: true, for: request)]
        // Anybody on the way could have set a cookie that is not for https alone.
        if !areForHTTPS || request.host.map({ mayBeInClear(request, $0) }) ?? false {
            names.append(name(isSecure: false, for: request))
        }
        let prefixes = names.map { "\($0)=" }
        let pairs = request.headers.values(of: "cookie").items(
            separatedBy: UInt8(ascii: ";"), limit: BrowserSessions.pairLimit)
        return pairs.compactMap { pair in
            let pair = pair.utf8.drop { $0 == UInt8(ascii: " ") }
            let prefix = prefixes.first { pair.starts(with: $0.utf8) }
            return prefix.map { String(Substring(pair.dropFirst($0.utf8.count))) }
        }
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
