/// What a response with a 3xx status leads to, before anybody is asked (S-62, S-69; RFC 9110
/// §15.4).
public enum Redirection: Equatable, Sendable {
    /// The response itself is the result.
    case result
    /// This request would be sent next, if the obstacle does not forbid it; a delegate may allow
    /// what can be fetched, and stop or change everything (S-81).
    case follow(RedirectedRequest, obstacle: URLErrorCode?)
    /// The task fails, and nobody is asked.
    case refuse(TransferError)

    /// The most redirects of one task (S-62).
    public static let limit = 20

    /// The request that was answered.
    public struct Source: Equatable, Sendable {
        /// What was fetched.
        public var url: WebURL
        /// As it was sent.
        public var method: String
        /// The request's own and the session's.
        public var headers: HeaderList
        /// Names that the client marked, beyond the always sensitive ones.
        public var sensitiveHeaders: [String]

        /// A request from its parts.
        public init(
            url: WebURL, method: String, headers: HeaderList, sensitiveHeaders: [String] = []
        ) {
            self.url = url
            self.method = method
            self.headers = headers
            self.sensitiveHeaders = sensitiveHeaders
        }
    }

    /// Decides about one response.
    ///
    /// - Parameters:
    ///   - status: the response's; one other than 301, 302, 303, 307 and 308 is always a result.
    ///   - target: where its `Location` points to, read by the one parser against the URL that was
    ///     fetched; nil without one.
    ///   - source: the request that it answers.
    ///   - count: how many redirects the task has followed before.
    /// - Returns: what the response leads to by the default rule; a decision may still stop or
    ///   change it.
    public static func decide(
        status: Int, target: WebURL?, source: Source, count: Int
    ) -> Redirection {
        guard isRedirect(status), let target else { return .result }
        guard count < limit else {
            return .refuse(.url(.httpTooManyRedirects, at: source.url.string))
        }
        return .follow(
            request(to: target, from: source, status: status),
            obstacle: obstacle(from: source.url, to: target))
    }

    /// Why a redirect is not followed unasked: its target cannot be fetched, or is less secure
    /// (S-69).
    public static func obstacle(from source: WebURL, to target: WebURL) -> URLErrorCode? {
        if let obstacle = target.obstacle { return obstacle }
        return source.isSecure && !target.isSecure
            ? .appTransportSecurityRequiresSecureConnection : nil
    }

    /// Whether a status asks to go elsewhere; 300 and 304 do not.
    public static func isRedirect(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    private static func request(
        to url: WebURL, from source: Source, status: Int
    ) -> RedirectedRequest {
        let becomesGet = becomesGet(source.method, status: status)
        let isCrossOrigin = url.origin != source.url.origin
        var headers = source.headers
        if becomesGet { headers = headers.removing(contentHeaders) }
        if isCrossOrigin {
            headers = headers.forAnotherOrigin(sensitive: source.sensitiveHeaders)
        }
        return RedirectedRequest(
            url: url, method: becomesGet ? "GET" : source.method, headers: headers,
            dropsBody: becomesGet, isCrossOrigin: isCrossOrigin)
    }

    /// RFC 9110 §15.4.2–4; methods are case-sensitive (§9.1).
    private static func becomesGet(_ method: String, status: Int) -> Bool {
        switch status {
        case 301, 302: method == "POST"
        case 303: method != "GET" && method != "HEAD"
        default: false
        }
    }

    /// What describes a body, and goes with it (RFC 9110 §15.4, fifth item; RFC 9530).
    private static let contentHeaders = [
        "Content-Type", "Content-Length", "Content-Encoding", "Content-Language",
        "Content-Location",
        "Transfer-Encoding", "Last-Modified", "Digest", "Content-Digest", "Repr-Digest",
    ]
}

/// The request that a redirect proposes.
public struct RedirectedRequest: Equatable, Sendable {
    /// Where it goes.
    public let url: WebURL
    /// The method, after the change that the status demands.
    public let method: String
    /// The headers that may go there.
    public let headers: HeaderList
    /// Whether the body stays behind; else it is sent again.
    public let dropsBody: Bool
    /// Whether it leaves the origin: cookies and credentials are found anew.
    public let isCrossOrigin: Bool
}
