internal import JSON

/// A refusal of the gateway (RFC 9457, problem+json).
public struct ProblemDetails: Equatable, Sendable {
    /// The HTTP status, 400 to 599.
    public let status: Int
    /// The stable code of the contract, such as `unknown-task`; nil when the answer was no
    /// problem+json.
    public let code: String?
    /// The sentence for people; may be empty.
    public let detail: String
    /// Where in the request's JSON the fault is (RFC 6901).
    public let pointer: String?

    /// A problem of these parts.
    public init(status: Int, code: String?, detail: String, pointer: String? = nil) {
        self.status = status
        self.code = code
        self.detail = detail
        self.pointer = pointer
    }

    /// What a whole answer of 400 or more from that address says; whatever its body is.
    init(_ exchange: HTTPExchange, from gateway: GatewayAddress) {
        let status = exchange.status
        let problem = ProblemDetails(status: status, body: exchange.refusal)
        // So do servers answer, Ferry among them, that are asked in clear at a port for TLS.
        let isForTLS = status == 400 && problem.code == nil && gateway.isClearHTTP
        let isNoFerry = [404, 405, 501].contains(status) && problem.code == nil
        let detail: String? =
            if isForTLS {
                "this may be an https port: write https:// in place of http://"
            } else if isNoFerry {
                "what answers at \(gateway) is no Ferry gateway: is the port right?"
            } else {
                nil
            }
        self = detail.map { ProblemDetails(status: status, code: nil, detail: $0) } ?? problem
    }

    /// What an answer of 400 or more says; whatever its body is.
    init(status: Int, body: [UInt8]) {
        let json = try? JSONValue(parsing: body)
        self.init(
            status: status, code: json?["code"]?.string,
            detail: json?["detail"]?.string ?? json?["title"]?.string ?? "",
            pointer: json?["pointer"]?.string)
    }
}

extension ProblemDetails {
    /// Whether the same request may well be taken a little later: the gateway is overloaded, on its
    /// way down, or gave the request up.
    var isPassing: Bool { [408, 429, 502, 503, 504].contains(status) }

    /// Whether it is about who asks, or how much, and not about what is asked for.
    var isOfCaller: Bool { [401, 403, 408, 429].contains(status) }

    /// Whether it is the resume data that cannot be used: another gateway's, damaged, or too old
    /// (rule S-36).
    var refusesResumeData: Bool {
        status == 422 && (pointer ?? "/resumeData").hasPrefix("/resumeData")
    }
}

extension ProblemDetails: CustomStringConvertible {
    /// One line: the detail, the code and the status; of a value that is wrong what it is of,
    /// `request.url` for example.
    public var description: String {
        var text = detail.isEmpty ? "the gateway refused" : detail
        if text.hasSuffix(".") { text.removeLast() }
        if text.hasPrefix("The value"), let pointer, pointer.count > 1 {
            text += ": " + pointer.dropFirst().replacing("/", with: ".")
        }
        return text + " (\([code, String(status)].compactMap { $0 }.joined(separator: ", ")))"
    }
}

/// The error that a task ended with: an NSURLError or one of Ferry's own domain (rule S-61).
public struct TransferFailure: Equatable, Sendable {
    /// `NSURLErrorDomain` or `FerryErrorDomain`.
    public let domain: String
    /// The number in that domain, such as -1003.
    public let code: Int64
    /// The code's name, such as `cannotFindHost`.
    public let name: String
    /// The sentence for people; may be empty.
    public let message: String
    /// What a new download can go on with, opaque; nil where it cannot (rule S-35).
    public let resumeData: String?
    /// The URL that was being loaded; nil where that is not told.
    public let failingURL: String?
    /// What the layer below said, in its own words; nil where it said nothing.
    public let underlying: String?
    /// The proxy that the transfer was to go through; nil for none, and where that is not known.
    var proxy: WebPlace?
    /// Whether a user name and a password were shown, and not taken.
    var isLoginRefused = false

    /// A failure of these parts.
    public init(
        domain: String, code: Int64, name: String, message: String, resumeData: String? = nil,
        failingURL: String? = nil, underlying: String? = nil
    ) {
        self.failingURL = failingURL
        self.underlying = underlying
        self.domain = domain
        self.code = code
        self.name = name
        self.message = message
        self.resumeData = resumeData
    }

    /// The `error` member of a task or of `task.didComplete`; nil when it is null or missing.
    init?(_ json: JSONValue?) {
        guard let json, !json.isNull else { return nil }
        self.init(
            domain: json["domain"]?.string ?? "", code: json["code"]?.int64 ?? 0,
            name: json["name"]?.string ?? "unknown", message: json["message"]?.string ?? "",
            resumeData: json["userInfo"]?["NSURLSessionDownloadTaskResumeData"]?.string,
            failingURL: json["failingURL"]?.string,
            underlying: json["underlying"]?["message"]?.string)
    }

    /// Whether the task was cancelled (NSURLErrorCancelled, rule S-33).
    public var isCancellation: Bool { domain == "NSURLErrorDomain" && code == -999 }

    /// Whether the gateway was stopped or died while the task ran (rule S-56).
    var isOfStoppedGateway: Bool { domain == "NSURLErrorDomain" && code == -997 }
}

extension TransferFailure: CustomStringConvertible {
    /// `cannotFindHost (-1003): A server with the specified host name could not be found`, and in
    /// brackets what the layer below said.
    public var description: String {
        var words = message
        if words.hasSuffix(".") { words.removeLast() }
        let below = underlying.map { " [\($0)]" } ?? ""
        return "\(name) (\(code))" + (words.isEmpty ? "" : ": \(words)") + below
    }
}
