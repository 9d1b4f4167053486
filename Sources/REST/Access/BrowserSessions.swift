internal import Engine
internal import HTTP
internal import Loop
internal import Semantics

/// Cookies that stand for a token in a browser, where an EventSource cannot send a header.
///
/// HttpOnly and SameSite=Strict, an hour at most, in memory only: a restart ends them all. What
/// changes something must come from a page of the same origin.
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
    private let isSecure: Bool
    private var sessions: [[UInt8]: Session] = [:]
    private let digest: ([UInt8]) -> [UInt8]
    private lazy var expiry = LoopTimer { [weak self] in self?.expire() }

    /// - Parameters:
    ///   - clock: its uptime ends sessions.
    ///   - isSecure: whether browsers come by https, as behind a TLS proxy.
    ///   - digest: makes the key that a cookie is kept under, so that its text is kept nowhere.
    init(clock: any Clock, isSecure: Bool, digest: @escaping ([UInt8]) -> [UInt8]) {
        self.clock = clock
        self.isSecure = isSecure
        self.digest = digest
    }

    private var name: String { isSecure ? "__Host-ferry" : "ferry" }

    /// A cookie for the principal: the value of Set-Cookie.
    func start(for principal: Principal) -> String {
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
        return cookie(token, maximumAge: Int(BrowserSessions.lifetime.components.seconds))
    }

    /// Ends the session that the request's cookie stands for.
    /// - Returns: the value of Set-Cookie that makes the browser forget it.
    func end(of request: Request) -> String {
        if let value = value(in: request) {
            let session = sessions.removeValue(forKey: digest(Array(value.utf8)))
            for stream in session?.streams ?? [] { stream.end() }
        }
        return cookie("", maximumAge: 0)
    }

    /// Whose cookie came; nil without a valid one.
    func principal(of request: Request) throws(Problem) -> Principal? {
        guard let value = value(in: request),
            let session = sessions[digest(Array(value.utf8))], session.end > clock.uptime
        else { return nil }
        if !["GET", "HEAD", "OPTIONS"].contains(request.method) { try requireSameOrigin(request) }
        return session.principal
    }

    /// A handle for a stream that is followed by cookie: it ends with the session. Nil where none
    /// is needed.
    func handle(for request: Request) -> EventStreamHandle? {
        guard request.header("authorization") == nil, let value = value(in: request) else {
            return nil
        }
        let key = digest(Array(value.utf8))
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

    private func requireSameOrigin(_ request: Request) throws(Problem) {
        let scheme = isSecure ? "https" : "http"
        guard let origin = request.header("origin"), let host = request.host,
            origin.lowercased() == "\(scheme)://\(host.lowercased())"
        else { throw ProblemCode.originMismatch.problem() }
    }

    private func value(in request: Request) -> String? {
        for header in request.headers.values(of: "cookie") {
            for pair in header.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                if pair.hasPrefix(name + "=") { return String(pair.dropFirst(name.count + 1)) }
            }
        }
        return nil
    }

    private func cookie(_ value: String, maximumAge: Int) -> String {
        "\(name)=\(value); Path=/; Max-Age=\(maximumAge); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }
}
