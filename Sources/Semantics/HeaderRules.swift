/// What a client may put into a request's method and headers.
///
/// libcurl passes line breaks of methods and values straight to the wire, so nothing that fails here may reach it.
public enum HeaderRules {
    /// Names whose values are never shown, beside those that a request marks itself.
    public static let alwaysSensitive = ["Authorization", "Proxy-Authorization", "Cookie"]

    /// The most fields of a request.
    public static let fieldLimit = 100
    /// The most bytes of a request's names and values together.
    public static let byteLimit = 32 * 1024

    /// Checks a method: a token (RFC 9110 §9.1) other than CONNECT and TRACE in any case.
    ///
    /// - Throws: the first violation.
    public static func check(method: String) throws(HeaderViolation) {
        guard FieldSyntax.isToken(method) else { throw HeaderViolation(.method, .notAToken) }
        guard !method.equalsIgnoringCase("CONNECT"), !method.equalsIgnoringCase("TRACE") else {
            throw HeaderViolation(.method, .forbidden)
        }
    }

    /// Checks the headers of a request or a session.
    ///
    /// - Throws: the first violation, in the order of the fields; the limits first.
    public static func check(_ headers: HeaderList) throws(HeaderViolation) {
        guard headers.count <= fieldLimit else {
            throw HeaderViolation(.headers, .tooMany(limit: fieldLimit))
        }
        guard headers.byteCount <= byteLimit else {
            throw HeaderViolation(.headers, .tooLong(byteLimit: byteLimit))
        }
        for field in headers.fields {
            try check(name: field.name)
            try check(value: field.value, of: field.name)
        }
    }

    /// Checks a name: a token (RFC 9110 §5.1) that is not the gateway's own to set.
    ///
    /// - Throws: what is wrong with it.
    public static func check(name: String) throws(HeaderViolation) {
        guard FieldSyntax.isToken(name) else { throw HeaderViolation(.header(name), .notAToken) }
        let lower = name.asciiLowercased
        guard !ownNames.contains(lower), !lower.hasPrefix("proxy-") else {
            throw HeaderViolation(.header(name), .forbidden)
        }
    }

    /// Checks a value: no control character but the tab (RFC 9110 §5.5); beyond ASCII it is sent as UTF-8.
    ///
    /// - Throws: `controlCharacter`.
    public static func check(value: String, of name: String) throws(HeaderViolation) {
        guard !containsControl(value) else {
            throw HeaderViolation(.header(name), .controlCharacter)
        }
    }

    /// Whether a text has a control character other than the tab, of ASCII or of Latin-1 (U+0080…U+009F).
    public static func containsControl(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x09: false
            case 0x00...0x1f, 0x7f...0x9f: true
            default: false
            }
        }
    }

    /// Whether the value of this header is shown as `"<redacted>"`.
    ///
    /// - Parameters:
    ///   - name: the header's name.
    ///   - marked: the request's own `sensitiveHeaders`.
    /// - Returns: true for the always sensitive ones and those that are marked, in any case of letters.
    public static func isSensitive(_ name: String, marked: [String]) -> Bool {
        alwaysSensitive.contains { $0.equalsIgnoringCase(name) }
            || marked.contains { $0.equalsIgnoringCase(name) }
    }

    /// Names that frame the message or belong to the connection; `Proxy-*` besides.
    private static let ownNames: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade",
        "expect", "keep-alive",
    ]
}

/// What is wrong with a client's method or headers.
public struct HeaderViolation: Error, Hashable, Sendable {
    /// Which part of the request it is about.
    public enum Subject: Hashable, Sendable {
        case method
        /// One header, by the name that the client wrote.
        case header(String)
        /// All headers together.
        case headers
    }

    /// What is wrong.
    public enum Reason: Hashable, Sendable {
        /// Empty, or with bytes that RFC 9110 §5.6.2 does not allow.
        case notAToken
        /// Only the gateway may set or use it.
        case forbidden
        /// CR, LF, NUL or another control character.
        case controlCharacter
        /// More fields than `limit`.
        case tooMany(limit: Int)
        /// More bytes than `byteLimit`.
        case tooLong(byteLimit: Int)
    }

    /// Which part of the request it is about.
    public let subject: Subject
    /// What is wrong with it.
    public let reason: Reason

    init(_ subject: Subject, _ reason: Reason) {
        self.subject = subject
        self.reason = reason
    }

    /// One sentence for the client. The header's name, not its value, is in it, and only where it is a token.
    public var sentence: String {
        let what =
            switch subject {
            case .method: "The method"
            case .header(let name):
                FieldSyntax.isToken(name) ? "The header \(name)" : "The header's name"
            case .headers: "The headers"
            }
        return switch reason {
        case .notAToken: "\(what) is not a token (RFC 9110, section 5.6.2)."
        case .forbidden: "\(what) is not for clients to set."
        case .controlCharacter: "\(what) has a control character in its value."
        case .tooMany(let limit): "\(what) are more than \(limit)."
        case .tooLong(let limit): "\(what) are longer than \(limit) bytes."
        }
    }
}

/// Counts an origin's header fields against X-9's limits, as they arrive.
public struct ResponseHeaderBudget: Equatable, Sendable {
    /// The most fields of one response.
    public static let fieldLimit = 256
    /// The most bytes of one response's fields, as they arrive, with their line ends.
    public static let byteLimit = 64 * 1024

    private var fieldCount = 0
    private var byteCount = 0

    /// Nothing has arrived yet.
    public init() {}

    /// Counts one line of a header; false once a limit is passed.
    public mutating func take(lineByteCount: Int) -> Bool {
        fieldCount += 1
        byteCount += lineByteCount
        return fieldCount <= Self.fieldLimit && byteCount <= Self.byteLimit
    }
}
