internal import Loop
internal import Semantics

/// How a task's current request is dealt with by the cache of its session.
@LoopActor
final class TaskCaching {
    /// An answer of the cache's that the next attempt replays.
    struct Planned {
        let answer: CachedAnswer
        let content: CachedContent
        /// What `Cache-Status` says of it; nil for an answer that nothing was stored for.
        let status: CacheStatus?
        /// How its content came.
        let httpVersion: String
        /// What lets the content be open where the task has no slot.
        var permit: SharedPermit?
    }

    /// As it would be sent without a cache.
    var request: CacheRequest
    /// When the look-up, or what invalidated the key last by this request itself, was.
    var fetch: Int64
    /// What was found for the request.
    var candidates: [CacheCandidate] = []
    /// The request on its way to the origin; nil before that is decided, and for an answer of the
    /// cache's.
    var forwarding: Forwarding?
    /// The content of what the forwarding is about, held until the answer.
    var held: CachedContent?
    /// Whether the next attempt sends what `forwarding` says, and does not look anything up again.
    var isDecided = false
    var planned: Planned?
    /// Whether the attempt is the cache's own answer: no slot is held for it.
    var isServing = false
    /// When the attempt began.
    var requestTime = Timestamp(milliseconds: 0)
    /// The head of the origin's answer, and what it does to the cache.
    var answered: (head: ResponseHead, time: Timestamp, update: CacheUpdate)?
    /// What is added to the head that the client is given.
    var status: CacheStatus?
    /// Whether the content has not come in one piece from this one answer.
    var isPatched = false

    init(_ request: CacheRequest, fetch: Int64) {
        self.request = request
        self.fetch = fetch
    }

    /// The same request goes out once more, as another one: with a credential.
    func keepDecision() { isDecided = forwarding != nil }
}

extension TaskCaching {
    /// What was found under a name.
    func candidate(_ id: Int64?) -> CacheCandidate? {
        id.flatMap { id in candidates.first { $0.entry.response.id == id } }
    }
}
