/// What an unsafe request makes of stored responses (RFC 9111 §4.4).
enum Invalidation {
    /// The keys of which nothing may be used any more, each once.
    ///
    /// The request's own, and those that `Location` and `Content-Location` name on the same origin;
    /// none after an error, or a request whose method is known to be safe.
    static func keys(after answer: OriginAnswer, to request: CacheRequest) -> [CacheKey] {
        guard (200...399).contains(answer.status), !safeMethods.contains(request.method) else {
            return []
        }
        let named = [answer.location, answer.contentLocation].compactMap { $0 }
            .filter { $0.origin == request.url.origin }.map { CacheKey($0) }
        return named.reduce(into: [request.key]) { keys, key in
            if !keys.contains(key) { keys.append(key) }
        }
    }

    /// Those that IANA's registry of methods has as safe; of any other method it must be thought
    /// that it changes something.
    private static let safeMethods: Set<String> = [
        "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY",
    ]
}
