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
        let principal: Principal
        /// Tokens may have been changed since.
        private(set) weak var authenticator: Authenticator?

        init(header: [UInt8], principal: Principal, by authenticator: Authenticator) {
            self.authenticator = authenticator
            self.header = header
            self.principal = principal
        }
    }

    private static let log = Log("rest.access")
    private let tokens: TokenTable
    let browsers: BrowserSessions
    private var failures: FailureCounter

    init(tokens: TokenTable, browsers: BrowserSessions, clock: any Clock) {
        self.tokens = tokens
        self.browsers = browsers
        self.failures = FailureCounter(clock: clock)
    }

    /// Who sends the request.
    /// - Throws: 401 without a valid token or cookie; 429 after many wrong tokens from one address;
    ///   403 for a cookie that comes from another origin's page.
    func principal(of request: Request) throws(Problem) -> Principal {
        if let remembered = request.connection.attachment as? Remembered,
            remembered.authenticator === self,
            request.withHeaderBytes(
                "authorization", { Authenticator.isSame($0, remembered.header) })
        {
            return remembered.principal
        }
        guard let header = request.header("authorization") else {
            if let principal = try browsers.principal(of: request) { return principal }
            throw Authenticator.unauthenticated(
                """
                Send "Authorization: Bearer" and a token; the gateway's own is in the file "token" of \
                its data directory.
                """)
        }
        return try principal(ofHeader: header, request)
    }

    private func principal(
        ofHeader header: String, _ request: Request
    ) throws(Problem) -> Principal {
        let parts = header.split(separator: " ", maxSplits: 1)
        let token = parts.count == 2 ? parts[1].drop { $0 == " " } : ""
        if parts.first?.lowercased() == "bearer",
            let principal = tokens.principal(of: Array(token.utf8))
        {
            request.connection.attachment = Remembered(
                header: Array(header.utf8), principal: principal, by: self)
            return principal
        }
        Authenticator.log.write(
            .info, "a token was refused", ["peer": .name(request.peer.address)])
        if let wait = failures.note(request.peer.address) {
            throw ProblemCode.tooManyFailures.problem(headers: ["Retry-After": String(wait)])
        }
        throw Authenticator.unauthenticated(
            """
            The gateway does not know this token; its own is in the file "token" of its data \
            directory.
            """, error: "invalid_token")
    }

    /// RFC 6750 §3.
    private static func unauthenticated(_ detail: String, error: String? = nil) -> Problem {
        let challenge = "Bearer realm=\"ferry\"" + (error.map { ", error=\"\($0)\"" } ?? "")
        return ProblemCode.unauthenticated.problem(detail, headers: ["WWW-Authenticate": challenge])
    }

    /// Compares in a time that depends on the lengths only.
    private static func isSame(_ bytes: UnsafeRawBufferPointer?, _ other: [UInt8]) -> Bool {
        guard let bytes, bytes.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in other.indices { difference |= bytes[index] ^ other[index] }
        return difference == 0
    }
}

/// Counts wrong tokens by address, over a minute. A right token is always let in: where many
/// clients share an address, one of them cannot lock the others out, and 256 random bits cannot be
/// guessed.
private struct FailureCounter {
    private static let limit = 300
    private static let addressLimit = 10_000
    private static let window = Duration.seconds(60)

    private let clock: any Clock
    private var began: Duration
    private var counts: [String: Int] = [:]

    init(clock: any Clock) {
        self.clock = clock
        self.began = clock.uptime
    }

    /// Counts one more.
    /// - Returns: how many seconds the address must wait, if it has failed too often.
    mutating func note(_ address: String) -> Int? {
        let now = clock.uptime
        if now - began >= FailureCounter.window || counts.count >= FailureCounter.addressLimit {
            counts = [:]
            began = now
        }
        counts[address, default: 0] += 1
        guard counts[address, default: 0] > FailureCounter.limit else { return nil }
        return Int((FailureCounter.window - (now - began)).components.seconds) + 1
    }
}
