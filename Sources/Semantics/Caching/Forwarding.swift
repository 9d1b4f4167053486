/// Why a request goes to the origin, in the words of RFC 9211 §2.2.
public enum ForwardReason: String, Hashable, CaseIterable, Sendable {
    /// The policy, or a condition that only the origin can judge, leaves the cache out.
    case bypass
    /// The method is never answered from a cache.
    case method
    /// Nothing is stored for the URL.
    case uriMiss = "uri-miss"
    /// Something is, but for other values of the fields that `Vary` names, or in another content
    /// coding.
    case varyMiss = "vary-miss"
    /// What is stored is fresh, but the request, or the response's `no-cache`, wants the origin
    /// asked.
    case request
    /// What is stored is not fresh.
    case stale
    /// What is stored cannot make the ranges that are asked for.
    case partial
}

/// A request on its way to the origin, and what its answer will be judged by.
public struct Forwarding: Equatable, Sendable {
    /// With the client's own fields, whatever is added.
    public let request: CacheRequest
    /// For `Cache-Status`.
    public let reason: ForwardReason
    /// The stored response that was selected, to be confirmed, replaced, or used in an error's
    /// place; nil without one.
    @BoxedIfAny public private(set) var selected: StoredResponse?
    /// All fields to send: the request's, and the conditions of `selected` where `isConditional`.
    public let headers: HeaderList
    /// Whether the conditions are the cache's own, so that a 304 is for the cache and not for the
    /// client.
    public let isConditional: Bool

    /// A request that is sent as it is.
    init(_ request: CacheRequest, _ reason: ForwardReason) {
        self.init(request, reason, nil, conditions: [])
    }

    /// A request for what is stored but may not be used as it is (RFC 9111 §4.3.1).
    ///
    /// It goes out as it is where the client has conditions of its own: their answer is the
    /// client's. So does HEAD, whose answer confirms what is stored without a condition (§4.3.5),
    /// and a request for which nothing stored has a validator.
    init(validating entry: StoredResponse, for request: CacheRequest, _ reason: ForwardReason) {
        let tag = entry.headers.only("ETag")
        let date = entry.headers.only("Last-Modified")
        let isOwn = request.method == "GET" && !request.hasClientCondition
        let conditions = [
            tag.map { HeaderField("If-None-Match", $0) },
            date.map { HeaderField("If-Modified-Since", $0) },
        ].compactMap { $0 }
        self.init(request, reason, entry, conditions: isOwn ? conditions : [])
    }

    private init(
        _ request: CacheRequest, _ reason: ForwardReason, _ selected: StoredResponse?,
        conditions: [HeaderField]
    ) {
        self.request = request
        self.reason = reason
        self.selected = selected
        self.headers =
            conditions.isEmpty ? request.headers : HeaderList(request.headers.fields + conditions)
        self.isConditional = !conditions.isEmpty
    }

    /// What the gateway sends by itself while the client has its stale answer already: a GET of the
    /// whole.
    init(revalidating entry: StoredResponse, for request: CacheRequest) {
        var whole = request
        whole.method = "GET"
        whole.headers = request.headers.removing([
            "If-None-Match", "If-Modified-Since", "If-Range", "Range",
        ])
        self.init(validating: entry, for: whole, .stale)
    }

    /// The same without the cache's conditions, for where their answer was of no use: a 304 about
    /// something else.
    public var unconditional: Forwarding { Forwarding(request, reason) }
}

extension CacheRequest {
    /// The request with what makes caches on the way ask the origin, those of HTTP/1.0 too (RFC
    /// 9111 §5.2.1.4, §5.4).
    var reloadingThroughCaches: CacheRequest {
        var request = self
        if !control.has("no-cache") { request.headers.append("Cache-Control", "no-cache") }
        if !headers.contains("Pragma") { request.headers.append("Pragma", "no-cache") }
        return request
    }

    /// The request with what makes caches on the way confirm what they have (RFC 9111 §5.2.1.1): a
    /// proxy's 304 of its own would be no word of the origin's.
    var validatingThroughCaches: CacheRequest {
        guard !control.has("no-cache"), !control.has("max-age") else { return self }
        var request = self
        request.headers.append("Cache-Control", "max-age=0")
        return request
    }
}

extension TransferError {
    /// Whether a stale response may stand in for it (RFC 5861 §4): a gateway would answer 502 or
    /// 504, since the server cannot be reached, or says nothing.
    public var mayBeHidden: Bool {
        switch kind {
        case .url(.timedOut), .url(.cannotFindHost), .url(.cannotConnectToHost),
            .url(.networkConnectionLost), .url(.dnsLookupFailed), .url(.notConnectedToInternet),
            .url(.badServerResponse):
            true
        default: false
        }
    }
}
