internal import Syntax

/// Which pages of other origins may read the answers, and what they may send (the Fetch standard,
/// "CORS protocol"). Credentials are what such a page has of its own: no browser is told that it
/// may send or keep cookies.
public struct CrossOrigin: Sendable {
    /// The fields that a page may read beside those that every page may.
    private static let exposed = [
        "Accept-Ranges", "Allow", "Cache-Status", "Content-Disposition", "Content-Length",
        "Content-Range", "ETag", "Ferry-Last-Event-ID", "Ferry-Request-Id",
        "Ferry-Response-Status", "Ferry-Task", "Idempotency-Replayed", "Link", "Location",
        "Preference-Applied", "Repr-Digest", "Retry-After", "Upload-Complete", "Upload-Length",
        "Upload-Limit", "Upload-Offset", "WWW-Authenticate",
    ].joined(separator: ", ")

    /// The fields that a page may send beside those that every page may.
    private static let accepted = [
        "Authorization", "Cache-Control", "Content-Type", "Idempotency-Key", "If-Match",
        "If-None-Match", "If-Range", "Last-Event-ID", "Prefer", "Range", "Repr-Digest",
        "Traceparent", "Tracestate", "Upload-Complete", "Upload-Length", "Upload-Offset",
        "X-Request-Id",
    ].joined(separator: ", ")

    /// How long a browser may remember a preflight, in seconds: two hours, the most that Chromium
    /// takes.
    private static let preflightLifetime = "7200"

    private let origins: Set<String>

    /// A rule for the pages of some origins.
    ///
    /// - Parameter origins: as `origin(parsing:)` gives them; none for no page of another origin.
    public init(allowing origins: [String] = []) {
        self.origins = Set(origins)
    }

    /// An origin as browsers send it (RFC 6454 §6.1): in lower case and without the port that its
    /// scheme has anyway.
    ///
    /// - Returns: nil for what is no origin of one place: a path behind it, `null`, a star.
    public static func origin(parsing text: String) -> String? {
        let text = text.lowercased()
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let (scheme, rest) = (text[..<colon], text[colon...].dropFirst())
        guard let first = scheme.utf8.first, Octets.isLetter(first),
            scheme.utf8.allSatisfy(isOfScheme), rest.hasPrefix("//")
        else { return nil }
        let authority = rest.dropFirst(2)
        let bytes = Array(authority.utf8)
        guard !bytes.isEmpty, bytes.allSatisfy(isOfAuthority) else { return nil }
        let usual = ["http": ":80", "https": ":443"][String(scheme)]
        guard let usual, authority.hasSuffix(usual) else { return text }
        return String(text.dropLast(usual.count))
    }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        Octets.isLetter(byte) || Octets.isDigit(byte) || "+-.".utf8.contains(byte)
    }

    private static func isOfAuthority(_ byte: UInt8) -> Bool {
        Octets.isLetter(byte) || Octets.isDigit(byte) || "-._:[]".utf8.contains(byte)
    }

    /// Adds to an answer what a browser has to know.
    ///
    /// - Parameters:
    ///   - fields: the answer's; the methods that a preflight is told are those of `Allow`.
    ///   - head: the request's.
    func complete(_ fields: inout HeaderFields, to head: RequestHead) {
        guard !origins.isEmpty else { return }
        // An answer for one origin must not be taken out of a cache for another.
        fields.add("Vary", "Origin")
        guard let origin = head.field("origin").map(head.text), origins.contains(origin) else {
            return
        }
        fields.add("Access-Control-Allow-Origin", origin)
        let isPreflight =
            head.withBytes(of: head.method) { Octets.equal($0, "options") }
            && head.field("access-control-request-method") != nil
        guard isPreflight else {
            return fields.add("Access-Control-Expose-Headers", CrossOrigin.exposed)
        }
        fields.add("Access-Control-Allow-Methods", fields[first: "Allow"] ?? "")
        fields.add("Access-Control-Allow-Headers", CrossOrigin.accepted)
        fields.add("Access-Control-Max-Age", CrossOrigin.preflightLifetime)
        // A gateway on this machine or in this network, asked by a page of the public one.
        if head.field("access-control-request-private-network") != nil {
            fields.add("Access-Control-Allow-Private-Network", "true")
        }
    }
}
