/// The head of an origin's answer, as far as the cache needs it, and when it was had.
public struct OriginAnswer: Equatable, Sendable {
    /// 200…999.
    public let status: Int
    /// As they came.
    public let headers: HeaderList
    /// When the request was sent.
    public let requestTime: Timestamp
    /// When the head was there.
    public let responseTime: Timestamp
    /// `Location`, resolved against the request's URL by the one parser of URLs; nil without
    /// a usable one.
    public var location: WebURL?
    /// `Content-Location`, resolved likewise.
    public var contentLocation: WebURL?

    /// An answer from its parts.
    public init(
        status: Int, headers: HeaderList, requestTime: Timestamp, responseTime: Timestamp,
        location: WebURL? = nil, contentLocation: WebURL? = nil
    ) {
        self.status = status
        self.headers = headers
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.location = location
        self.contentLocation = contentLocation
    }
}

/// How an answer that says "not modified" brings stored responses up to date (RFC 9111 §3.2,
/// §4.3.4, §4.3.5).
extension StoredResponse {
    /// The stored response with the fields of an answer that confirms it; fresh from that answer
    /// on.
    ///
    /// - Returns: nil where the answer must not be stored, and nor can the response then:
    ///   `no-store`, `Vary: *`.
    func freshened(by answer: OriginAnswer, to request: CacheRequest) -> StoredResponse? {
        let control = CacheControl(of: answer.headers)
        guard !control.has("no-store") || control.has("must-understand") else { return nil }
        var fresh = merged(with: answer)
        if answer.headers.contains("Vary") {
            guard let fields = SelectingFields(vary: fresh.headers, of: request.headers) else {
                return nil
            }
            fresh.selecting = fields
        }
        return fresh
    }

    /// The same without asking whether it may be kept: what is delivered.
    func merged(with answer: OriginAnswer) -> StoredResponse {
        var merged = self
        merged.headers = StoredFields.updated(
            headers, with: answer.headers, receivedAt: answer.responseTime)
        merged.requestTime = answer.requestTime
        merged.responseTime = answer.responseTime
        merged.isOutdated = false
        return merged
    }

    /// Whether a 304 is about this response and no other (§4.3.4).
    ///
    /// - Parameters:
    ///   - headers: those of the 304.
    ///   - wasAsked: whether the condition was about this one: then a 304 that names no validator
    ///     confirms it.
    /// - Returns: whether it is.
    func isConfirmed(by headers: HeaderList, wasAsked: Bool) -> Bool {
        if let tag = headers.first("ETag"), let stored = self.headers.only("ETag") {
            guard let new = EntityTag(tag), let old = EntityTag(stored) else {
                return tag == stored
            }
            return wasAsked ? new.matchesWeakly(old) : new.matchesStrongly(old)
        }
        if let date = headers.first("Last-Modified"), self.headers.contains("Last-Modified") {
            return wasAsked && date == self.headers.only("Last-Modified")
        }
        return wasAsked
    }

    /// Whether a 200 to HEAD shows no difference to this response (§4.3.5): in the validators and
    /// the length that it has.
    func isSame(as head: HeaderList) -> Bool {
        let sameValidators = ["ETag", "Last-Modified"].allSatisfy { name in
            head.first(name) == nil || head.only(name) == headers.only(name)
        }
        guard sameValidators, let length = head.only("Content-Length") else {
            return sameValidators && !head.contains("Content-Length")
        }
        // Without a field of its own, what is kept has its length, unless it has lost its coding.
        let own = headers.only("Content-Length") ?? (isDecoded ? nil : String(self.length))
        return own.map { $0 == length } ?? true
    }
}
