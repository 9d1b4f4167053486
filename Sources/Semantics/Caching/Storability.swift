/// Whether a private cache stores a response (RFC 9111 §3).
public enum Storability: Hashable, Sendable {
    case storable
    case refused(Refusal)

    /// Why a response is not stored.
    public enum Refusal: String, Hashable, Sendable {
        /// Neither GET nor a POST whose response says that it answers GET too.
        case method
        /// Not final, partial, or the answer to one request alone and not the URL's.
        case status
        /// `no-store` of the request.
        case requestNoStore = "request-no-store"
        /// `no-store` of the response.
        case responseNoStore = "response-no-store"
        /// `must-understand` with a status that is not known here.
        case notUnderstood = "not-understood"
        /// `Vary: *`.
        case varyAny = "vary-any"
        /// A status that is not cacheable by itself, without a word that it is.
        case notCacheable = "not-cacheable"
        /// A content that replaces itself as long as it lasts (S-46).
        case endless
    }

    /// Judges a response once its head is there; the content must then come whole.
    ///
    /// `Authorization` of the request and `private` of the response bind shared caches only. A
    /// `Range` that was answered by 200 is as good as none.
    ///
    /// - Parameters:
    ///   - request: as it was sent.
    ///   - status: the response's.
    ///   - headers: the response's, as they came.
    ///   - contentLocation: the `Content-Location`, resolved by the one parser of URLs; nil without
    ///     one.
    public init(
        _ request: CacheRequest, status: Int, headers: HeaderList, contentLocation: WebURL? = nil
    ) {
        if let refusal = Self.refusal(request, status, headers, contentLocation) {
            self = .refused(refusal)
        } else {
            self = .storable
        }
    }

    /// Whether a response may be stored and be fresh without saying so (RFC 9110 §15.1, RFC 7725
    /// §3).
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 451, 501].contains(status)
    }

    /// RFC 6585 forbids to store 428, 429, 431 and 511. A 401 or 407 asks for a proof, and would be
    /// the answer to it too. A 412 or 416 judges the conditions or the ranges of its request, which
    /// are no part of the key.
    private static func isAboutTheURL(_ status: Int) -> Bool {
        (200...599).contains(status)
            && ![206, 304, 401, 407, 412, 416, 428, 429, 431, 511].contains(status)
    }

    private static func refusal(
        _ request: CacheRequest, _ status: Int, _ headers: HeaderList, _ contentLocation: WebURL?
    ) -> Refusal? {
        guard isAboutTheURL(status) else { return .status }
        let control = CacheControl(of: headers)
        if let refusal = refusal(method: request, status, headers, control, contentLocation) {
            return refusal
        }
        guard !request.control.has("no-store") else { return .requestNoStore }
        // §5.2.2.3: who understands the status does not need the `no-store` that stands beside for
        // all others.
        if control.has("must-understand") {
            guard understood.contains(status) else { return .notUnderstood }
        } else if control.has("no-store") {
            return .responseNoStore
        }
        guard SelectingFields(vary: headers, of: request.headers) != nil else { return .varyAny }
        guard isHeuristicallyCacheable(status) || isMarkedCacheable(control, headers) else {
            return .notCacheable
        }
        let isEndless = headers.first("Content-Type").map(MixedReplaceReader.reads) ?? false
        return isEndless ? .endless : nil
    }

    /// RFC 9110 §9.3.3: the answer to a POST is stored if it says how long it is fresh, and that it
    /// is what a GET of the same URL would have.
    private static func refusal(
        method request: CacheRequest, _ status: Int, _ headers: HeaderList,
        _ control: CacheControl, _ contentLocation: WebURL?
    ) -> Refusal? {
        if request.method == "GET" { return nil }
        let isGETsAnswer =
            request.method == "POST" && (200...299).contains(status)
            && contentLocation?.string == request.url.string
            && (control.has("max-age") || headers.contains("Expires"))
        return isGETsAnswer ? nil : .method
    }

    private static func isMarkedCacheable(_ control: CacheControl, _ headers: HeaderList) -> Bool {
        control.has("public") || control.has("private") || control.has("max-age")
            || headers.contains("Expires")
    }

    /// The final statuses of RFC 9110 §15, and 451: none asks anything of a cache that this one
    /// does not do.
    private static let understood: Set<Int> = Set(200...205).union(300...303).union([305, 307, 308])
        .union(400...417).union([421, 422, 426, 451]).union(500...505)
}
