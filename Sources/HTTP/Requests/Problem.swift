/// Why a request was not served, as RFC 9457 wants it said; thrown by handlers, rendered by the
/// server's `failure` closure.
public struct Problem: Error, Sendable {
    /// The HTTP status, 400…599.
    public var status: Int
    /// A stable name from the closed list in the contract.
    public var code: String
    /// A short summary that is the same for every problem of this code.
    public var title: String
    /// What is wrong with this very request.
    public var detail: String?
    /// A JSON pointer to the member that is wrong.
    public var pointer: String?
    /// Members beyond the RFC's own (RFC 9457 §3.2), their values as JSON.
    public var extensions: [(name: String, json: [UInt8])] = []
    /// Header fields that the answer needs, such as `Allow` or `WWW-Authenticate`.
    public var headers: HeaderFields

    /// Makes a problem.
    public init(
        status: Int, code: String, title: String, detail: String? = nil, pointer: String? = nil,
        headers: HeaderFields = HeaderFields()
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.pointer = pointer
        self.headers = headers
    }
}

/// The problems that this target finds by itself: the whole list.
extension Problem {
    /// 400: the bytes are not a request, or leave doubt about where it ends.
    public static func malformedRequest(_ detail: String) -> Problem {
        Problem(
            status: 400, code: "malformed-request", title: "The request is malformed",
            detail: detail)
    }

    /// 404: no route has this path.
    public static let notFound = Problem(
        status: 404, code: "not-found", title: "There is no such resource",
        detail: "No operation has this path: /openapi.yaml lists all that there are.")

    /// 405: the path has routes, none with this method.
    public static func methodNotAllowed(allow: String) -> Problem {
        Problem(
            status: 405, code: "method-not-allowed", title: "The resource has no such method",
            detail: "The methods of this path are \(allow).", headers: ["Allow": allow])
    }

    /// 408: the header or the body came too slowly.
    public static let requestTimeout = Problem(
        status: 408, code: "request-timeout", title: "The request took too long to arrive")

    /// 413: the body is larger than the handler takes.
    public static let bodyTooLarge = Problem(
        status: 413, code: "body-too-large", title: "The request body is too large")

    /// 414: the request line is longer than its limit.
    public static let uriTooLong = Problem(
        status: 414, code: "uri-too-long", title: "The request line is too long")

    /// 417: an expectation other than `100-continue`.
    public static let expectationFailed = Problem(
        status: 417, code: "expectation-failed", title: "The expectation cannot be met")

    /// 431: the header has too many bytes or fields.
    public static let headerTooLarge = Problem(
        status: 431, code: "header-too-large", title: "The request header is too large")

    /// 501: a method that this server does not know.
    public static let notImplemented = Problem(
        status: 501, code: "not-implemented", title: "The method is not implemented")

    /// 503: more connections than the server takes.
    public static let unavailable = Problem(
        status: 503, code: "unavailable", title: "The service is not available",
        detail: "There are too many connections.", headers: ["Retry-After": "1"])

    /// 505: a version other than 1.0 and 1.1.
    public static let versionNotSupported = Problem(
        status: 505, code: "http-version-not-supported",
        title: "The HTTP version is not supported")
}
