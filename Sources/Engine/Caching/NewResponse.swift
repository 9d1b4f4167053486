internal import Semantics

/// A response that may be stored, once its content is whole.
struct NewResponse {
    /// What it answers: the client's, without conditions that the cache has added.
    let request: CacheRequest
    /// The head as it came from the origin.
    let head: ResponseHead
    /// When the request was sent.
    let requestTime: Timestamp
    /// When the head was there.
    let responseTime: Timestamp
    /// Bytes of the content, as it is delivered.
    let length: Int64
    /// When the fetch began (`ResponseCache.beginFetch`).
    let fetch: Int64
    /// Where it may be kept (S-71).
    var policy = CacheStoragePolicy.allowed
    /// What the client puts beside it (S-71).
    var userInfo: [String: String] = [:]

    /// What is stored; nil where nothing may be.
    func response(id: Int64) -> StoredResponse? {
        guard policy != .notAllowed else { return nil }
        return StoredResponse(
            id: id, answering: request, status: head.status, httpVersion: head.httpVersion,
            headers: head.headers, requestTime: requestTime, responseTime: responseTime,
            length: length)
    }
}

/// What was invalidated, and when: what was asked for earlier is not stored (RFC 9111 §4.4).
struct Invalidations {
    /// Beyond this many keys, everything that is under way counts as invalidated.
    private static let limit = 10_000

    private var time: Int64 = 0
    private var all: Int64 = 0
    private var keys: [CacheKey: Int64] = [:]

    /// An instant after everything that has happened.
    mutating func now() -> Int64 {
        time += 1
        return time
    }

    mutating func note(_ key: CacheKey) {
        guard keys.count < Invalidations.limit || keys[key] != nil else { return noteAll() }
        keys[key] = now()
    }

    mutating func noteAll() {
        all = now()
        keys = [:]
    }

    func hasHappened(to key: CacheKey, after instant: Int64) -> Bool {
        all > instant || (keys[key] ?? 0) > instant
    }
}
