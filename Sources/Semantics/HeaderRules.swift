/// What a client may put into a request's method and headers.
///
/// libcurl passes line breaks of methods and values straight to the wire, so nothing that fails
/// here may reach it.
public enum HeaderRules {
    /// Names whose values are never shown, beside those that a request marks itself.
    public static let alwaysSensitive = ["Authorization", "Proxy-Authorization", "Cookie"]

    /// The most fields of a request.
    public static let fieldLimit = 100
    /// The most bytes of a request's names and values together.
    public static let byteLimit = 32 * 1024
    /// The most bytes of a method.
    public static let methodByteLimit = 64

    /// Checks a method: a token (RFC 9110 §9.1) other than CONNECT and TRACE in any case.
    ///
    /// - Throws: the first violation.
    public static func check(method: String) throws(HeaderViolation) {
        guard method.utf8.count <= methodByteLimit else {
            throw HeaderViolation(.method, .tooLong(byteLimit: methodByteLimit))
        }
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

    /// Checks a value: no control character but the tab (RFC 9110 §5.5); beyond ASCII it is sent as
    /// UTF-8.
    ///
    /// - Throws: `controlCharacter`.
    public static func check(value: String, of name: String) throws(HeaderViolation) {
        guard !containsControl(value) else {
            throw HeaderViolation(.header(name), .controlCharacter)
        }
    }

    /// Whether a text has a control character other than the tab, of ASCII or of Latin-1
    /// (U+0080…U+009F).
    public static func containsControl(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x09: false
            case 0x00...0x1f, 0x7f...0x9f: true
            default: false
            }
        }
    }

    /// Checks the names that a request marks as sensitive: each names a header that there is, and
    /// no two the same.
    ///
    /// - Parameters:
    ///   - marked: the request's `sensitiveHeaders`.
    ///   - known: the names that may be marked beside the always sensitive ones: of the request's
    ///     own headers, and of those that join them.
    /// - Throws: the first violation, and where in `marked` it stands; the limit first, at the
    ///   first name beyond it.
    public static func check(
        sensitive marked: [String], known: some Sequence<String>
    ) throws(SensitiveNameViolation) {
        guard marked.count <= fieldLimit else {
            throw SensitiveNameViolation(index: fieldLimit, reason: .tooMany(limit: fieldLimit))
        }
        let known = SensitiveNames(marking: known)
        var seen: Set<String> = []
        for (index, name) in marked.enumerated() {
            guard FieldSyntax.isToken(name) else {
                throw SensitiveNameViolation(index: index, reason: .notAToken)
            }
            guard known.contains(name) else {
                throw SensitiveNameViolation(index: index, reason: .unknown)
            }
            guard seen.insert(name.asciiLowercased).inserted else {
                throw SensitiveNameViolation(index: index, reason: .repeated)
            }
        }
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

    /// One sentence for the client. The header's name, not its value, is in it, and only where it
    /// is a token.
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

/// What is wrong with a name among `sensitiveHeaders`.
public struct SensitiveNameViolation: Error, Hashable, Sendable {
    /// What is wrong.
    public enum Reason: Hashable, Sendable {
        /// Empty, or with bytes that RFC 9110 §5.6.2 does not allow.
        case notAToken
        /// It stands behind the last that is taken.
        case tooMany(limit: Int)
        /// The request has no such header.
        case unknown
        /// It stands there already, in whatever case of letters.
        case repeated
    }

    /// Where in the list it stands.
    public let index: Int
    /// What is wrong with it.
    public let reason: Reason

    /// One sentence for the client.
    public var sentence: String {
        switch reason {
        case .notAToken: "The header's name is not a token (RFC 9110, section 5.6.2)."
        case .tooMany(let limit): "The names are more than \(limit)."
        case .unknown: "The request has no header of this name."
        case .repeated: "The name stands twice."
        }
    }
}

/// The names of headers whose values are not shown: of the always sensitive ones, and of those that
/// a request marks.
///
/// Made once for all headers of a request: each look-up then costs the length of the name.
public struct SensitiveNames: Sendable {
    /// In lower case.
    private let names: Set<String>

    /// Marked names and the always sensitive ones, in any case of letters.
    public init(marking marked: some Sequence<String> = EmptyCollection<String>()) {
        // Most requests mark none, and then the set is shared.
        var names = Self.always
        for name in marked { names.insert(name.asciiLowercased) }
        self.names = names
    }

    /// Whether the value of a header of this name is shown as `"<redacted>"`, in any case of
    /// letters.
    public func contains(_ name: String) -> Bool { names.contains(name.asciiLowercased) }

    private static let always = Set(HeaderRules.alwaysSensitive.map(\.asciiLowercased))
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

extension HeaderList {
    /// Without what is for one origin alone: what always is, and what a client has named (S-69).
    public func forAnotherOrigin(sensitive names: [String]) -> HeaderList {
        removing(HeaderRules.alwaysSensitive + names)
    }
}
