internal import Syntax

/// A response that the cache gives: its head, and which of the kept bytes are its content.
public struct CachedAnswer: Equatable, Sendable {
    /// Whose content it is; nil for an answer that has none and is the cache's own.
    public let entry: Int64?
    /// 200…599: what was stored, or 206, 304 or 504.
    public let status: Int
    /// As they are delivered, without `Cache-Status`.
    public let headers: HeaderList
    /// Offsets in the kept content; empty for HEAD and 304.
    public let content: Range<Int64>

    /// RFC 9111 §5.2.1.7: what `only-if-cached` gets where nothing that is stored may be used.
    ///
    /// An answer, not an error: the client's own field asked for it, and HTTP has the status for it
    /// (S-49).
    public static let gatewayTimeout = CachedAnswer(
        entry: nil, status: 504, headers: ["Content-Length": "0"], content: 0..<0)

    /// The answer of a stored response to a request: whole, a part of it, or 304 where the client
    /// has it already; nil where the request asks for ranges that only the origin can make.
    ///
    /// - Parameters:
    ///   - entry: one that answers the request (`StoredResponse.answers`).
    ///   - request: the client's.
    ///   - now: for `Age`; nil right after a validation, whose answer is the origin's own of this
    ///     moment.
    init?(_ entry: StoredResponse, to request: CacheRequest, at now: Timestamp?) {
        var headers = entry.headers
        if let now {
            if headers.contains("Age") { headers = headers.removing(["Age"]) }
            headers.append("Age", String(entry.age(at: now)))
        }
        self.entry = entry.id
        if Self.isUnmodified(entry, for: request) {
            self.status = 304
            // RFC 9110 §15.4.5: what is left guides the update of what the client has.
            self.headers = headers.removing(Self.representationFields)
            self.content = 0..<0
            return
        }
        switch RangeDemand(of: request, from: entry) {
        case .whole:
            self.status = entry.status
            self.headers = headers
            self.content = 0..<(request.method == "HEAD" ? 0 : max(0, entry.length))
        case .part(let part):
            headers = headers.removing(["Content-Length", "Content-Range"])
            let range = ContentRange.satisfied(part, total: entry.length)
            headers.append("Content-Range", range.description)
            headers.append("Content-Length", String(part.count))
            self.status = 206
            self.headers = headers
            self.content = part.first..<part.last + 1
        case .notFromHere: return nil
        }
    }

    private init(entry: Int64?, status: Int, headers: HeaderList, content: Range<Int64>) {
        self.entry = entry
        self.status = status
        self.headers = headers
        self.content = content
    }

    private static let representationFields = [
        "Content-Length", "Content-Type", "Content-Encoding", "Content-Language", "Content-Range",
    ]

    /// RFC 9111 §4.3.2, for a response of 200: `If-None-Match`, and only without it
    /// `If-Modified-Since`.
    private static func isUnmodified(_ entry: StoredResponse, for request: CacheRequest) -> Bool {
        guard entry.status == 200 else { return false }
        if request.headers.contains("If-None-Match") {
            return matches(request.headers.values(of: "If-None-Match"), entry.headers.only("ETag"))
        }
        guard let text = request.headers.only("If-Modified-Since"),
            let since = HTTPDate(cacheField: text, now: entry.responseTime.httpDate)
        else { return false }
        guard let modified = entry.headers.only("Last-Modified") else { return entry.date <= since }
        guard let date = HTTPDate(cacheField: modified, now: entry.responseTime.httpDate) else {
            return modified == text
        }
        return date <= since
    }

    /// Weakly (RFC 9110 §13.1.2); a tag without quotes matches the very same text only.
    private static func matches(_ values: [String], _ tag: String?) -> Bool {
        let condition = values.joined(separator: ", ")
        if condition.trimmingFieldSpace == "*" { return true }
        guard let tag else { return false }
        guard let stored = EntityTag(tag) else {
            return FieldList.members(condition).contains { $0 == tag }
        }
        return FieldList.tags(condition).contains { stored.matchesWeakly($0) }
    }
}

extension FieldList {
    /// The entity tags of a list; what is none among them is left out.
    fileprivate static func tags(_ text: String) -> [EntityTag] {
        if case .tags(let tags)? = EntityTagCondition(parsing: text) { return tags }
        return members(text).compactMap { EntityTag(String($0)) }
    }
}

/// What a request's `Range` asks of a stored response (RFC 9110 §14.2).
private enum RangeDemand {
    case whole
    case part(ByteRange)
    /// Several parts, none that is there, another unit, or bytes in a coding that are not kept: for
    /// the origin to answer.
    case notFromHere

    init(of request: CacheRequest, from entry: StoredResponse) {
        guard request.method == "GET", entry.status == 200,
            let range = request.headers.first("Range"), Self.applies(request, entry)
        else {
            self = .whole
            return
        }
        // Ranges count the bytes of the representation, which a content that was decoded no longer
        // has.
        guard !entry.isDecoded,
            range.trimmingFieldSpace.prefix(6).equalsIgnoringCase("bytes="), !range.contains(","),
            request.headers.values(of: "Range").count == 1,
            case .partial(let part) = ByteRange.select(range, length: entry.length)
        else {
            self = .notFromHere
            return
        }
        self = .part(part)
    }

    /// RFC 9110 §13.1.5: `If-Range` with another validator makes the range void.
    private static func applies(_ request: CacheRequest, _ entry: StoredResponse) -> Bool {
        guard let condition = request.headers.first("If-Range") else { return true }
        let validators = EntityValidators(of: entry.headers)
        if let tag = EntityTag(condition) {
            return validators.tag.map { $0.matchesStrongly(tag) } ?? false
        }
        return validators.date == condition
    }
}
