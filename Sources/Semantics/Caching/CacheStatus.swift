internal import Syntax

/// NSURLSessionTaskMetrics.ResourceFetchType: where what a transaction delivered came from.
///
/// A response that the origin confirmed is two transactions: `networkLoad` with the 304, then
/// `localCache`.
public enum ResourceFetchType: String, CaseIterable, Sendable {
    case networkLoad, localCache
}

/// The member that the gateway adds to `Cache-Status` (RFC 9211).
public struct CacheStatus: Hashable, Sendable {
    /// How the request was dealt with.
    public enum Handling: Hashable, Sendable {
        /// Answered by what is stored, the origin not asked (§2.1).
        case hit
        /// Sent on (§2.2), and what came back (§2.3); nil where nothing did.
        case forward(ForwardReason, status: Int?)
    }

    /// How the request was dealt with.
    public var handling: Handling
    /// Whether what came back is stored, or has brought up to date what was (§2.5).
    public var isStored: Bool
    /// Seconds that what was delivered stays fresh; negative when it is stale (§2.4); nil where
    /// nothing is told.
    public var ttl: Int64?
    /// A token for people, such as the reason why nothing is stored (§2.8).
    public var detail: String?

    /// A member from its parts.
    public init(
        _ handling: Handling, isStored: Bool = false, ttl: Int64? = nil, detail: String? = nil
    ) {
        self.handling = handling
        self.isStored = isStored
        self.ttl = ttl
        self.detail = detail
    }

    /// A request that was answered by a stored response.
    public init(hit entry: StoredResponse, at now: Timestamp) {
        self.init(.hit, ttl: entry.ttl(at: now))
    }

    /// A request that went to the origin, and what its answer, whose head is there, makes of the
    /// cache.
    ///
    /// - Parameters:
    ///   - forwarding: the request.
    ///   - answer: nil where none came.
    ///   - update: what `answer` does to the cache; nil where none came.
    public init(forwarded forwarding: Forwarding, answer: OriginAnswer?, update: CacheUpdate?) {
        self.init(.forward(forwarding.reason, status: answer?.status))
        guard let answer, let update else { return }
        switch update.storability {
        case .storable: break  // it is stored once its content is whole, and not before
        case .refused(let refusal): detail = refusal.rawValue
        case nil:
            let fresh = update.updated.first { $0.id == forwarding.selected?.id && !$0.isOutdated }
            isStored = fresh != nil
            ttl = fresh?.ttl(at: answer.responseTime)
        }
    }

    /// The header with this member at its end: caches nearer to the origin come first (§2).
    public func appended(to headers: HeaderList) -> HeaderList {
        var headers = headers
        headers.append("Cache-Status", description)
        return headers
    }

    /// The name that the gateway has in the field.
    private static let name = "Ferry"
}

extension CacheStatus: CustomStringConvertible {
    /// The member, as a structured field's item with parameters (RFC 9651), with the blanks that
    /// RFC 9211's examples have.
    public var description: String {
        var text = Self.name
        text.reserveCapacity(64)
        switch handling {
        case .hit: text += "; hit"
        case .forward(let reason, let status):
            text += "; fwd="
            text += reason.rawValue
            if let status {
                text += "; fwd-status="
                text += String(status)
            }
            if isStored { text += "; stored" }
        }
        if let ttl { text += "; ttl=\(ttl)" }
        if let detail { text += "; detail=\(Self.item(detail))" }
        return text
    }

    /// A token where it is one, else a string of its ASCII.
    private static func item(_ text: String) -> String {
        let startsToken =
            text.utf8.first.map { $0 == UInt8(ascii: "*") || Octets.isLetter($0) } ?? false
        if startsToken, FieldSyntax.isToken(text) { return text }
        let escaped = text.unicodeScalars.filter { (0x20...0x7e).contains($0.value) }.map {
            $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)"
        }
        return "\"" + escaped.joined() + "\""
    }
}

extension StoredResponse {
    /// Whole seconds that it stays fresh, rounded down; negative by how long it has been stale.
    public func ttl(at now: Timestamp) -> Int64 {
        let remaining = remainingLifetime(at: now)
        let (seconds, rest) = remaining.quotientAndRemainder(dividingBy: 1000)
        return rest < 0 ? seconds - 1 : seconds
    }
}
