/// What becomes of the cache, and of the client, once the head of an origin's answer is there (RFC
/// 9111 §3, §4.3, §4.4).
///
/// What was stored may have been evicted while the request was on its way; whoever carries this out
/// keeps the content of `Forwarding.selected` until then.
public struct CacheUpdate: Equatable, Sendable {
    /// What the client is given.
    public enum Delivery: Equatable, Sendable {
        /// The origin's answer.
        case origin
        /// What is stored, confirmed by the origin: with the fields of its 304.
        case validated(CachedAnswer)
        /// What is stored, in place of the origin's error (RFC 5861 §4).
        case stale(CachedAnswer)
        /// Nothing yet: the origin's 304 is not about what is stored, and it is asked again without
        /// a condition.
        case again(Forwarding)
    }

    /// What the client is given.
    public private(set) var delivery = Delivery.origin
    /// Whether the origin's answer is stored when its content has come to its end; nil where it was
    /// none to store: a 304, the answer to HEAD, an error that was hidden.
    public private(set) var storability: Storability?
    /// Stored responses, by their `id`, with new metadata.
    public private(set) var updated: [StoredResponse] = []
    /// Ids of stored responses that go at once.
    public private(set) var removed: [Int64] = []
    /// Keys of which everything goes at once (§4.4).
    public private(set) var invalidated: [CacheKey] = []

    /// Judges an answer.
    ///
    /// - Parameters:
    ///   - answer: the final one; 1xx are not for the cache.
    ///   - forwarding: what it answers.
    ///   - candidates: all that is stored for the request's key by now.
    public init(_ answer: OriginAnswer, to forwarding: Forwarding, candidates: [StoredResponse]) {
        let request = forwarding.request
        if answer.status == 304 {
            takeNotModified(answer, forwarding, candidates)
        } else if Self.serverErrors.contains(answer.status),
            let stale = forwarding.answerInPlaceOfError(at: answer.responseTime)
        {
            delivery = .stale(stale)
        } else if request.method == "HEAD" {
            takeHead(answer, request, candidates)
        } else {
            takeResponse(answer, request, candidates)
        }
        invalidated = Invalidation.keys(after: answer, to: request)
    }

    /// RFC 5861 §4.
    private static let serverErrors: Set<Int> = [500, 502, 503, 504]

    private mutating func takeNotModified(
        _ answer: OriginAnswer, _ forwarding: Forwarding, _ candidates: [StoredResponse]
    ) {
        let request = forwarding.request
        let asked = forwarding.isConditional ? forwarding.selected : nil
        let isConfirmed = asked?.isConfirmed(by: answer.headers, wasAsked: true) ?? false
        if let asked {
            let confirmed = isConfirmed ? asked.merged(with: answer) : nil
            delivery =
                confirmed.flatMap { CachedAnswer($0, to: request, at: nil) }
                .map(Delivery.validated) ?? .again(forwarding.unconditional)
        }
        guard !request.control.has("no-store"), request.isAnswerable else { return }
        for entry in candidates {
            guard
                entry.id == asked?.id
                    ? isConfirmed : entry.isConfirmed(by: answer.headers, wasAsked: false)
            else { continue }
            // The others stay the answers to the requests that they were stored for.
            var fresh = entry.freshened(by: answer, to: request)
            if entry.id != asked?.id { fresh?.selecting = entry.selecting }
            keep(fresh, for: entry)
        }
    }

    private mutating func takeHead(
        _ answer: OriginAnswer, _ request: CacheRequest, _ candidates: [StoredResponse]
    ) {
        guard answer.status == 200, !request.control.has("no-store") else { return }
        for entry in candidates where entry.status == 200 && entry.answers(request) {
            if entry.isSame(as: answer.headers) {
                keep(entry.freshened(by: answer, to: request), for: entry)
            } else {
                var outdated = entry
                outdated.isOutdated = true
                updated.append(outdated)
            }
        }
    }

    private mutating func takeResponse(
        _ answer: OriginAnswer, _ request: CacheRequest, _ candidates: [StoredResponse]
    ) {
        let storability = Storability(
            request, status: answer.status, headers: answer.headers,
            contentLocation: answer.contentLocation)
        self.storability = storability
        // What is stored takes the place of others when it is: see `StoredResponse.predecessors`.
        if storability != .storable, request.method == "GET", Self.supersedes(answer.status) {
            removed = candidates.filter { $0.answers(request) }.map(\.id)
        }
    }

    /// Whether an answer that is not stored shows that what is stored is no longer the one. What
    /// refuses this one request, or gives a part, does not.
    private static func supersedes(_ status: Int) -> Bool {
        switch status {
        case 206: false
        case 200...399, 404, 410: true
        default: false
        }
    }

    private mutating func keep(_ fresh: StoredResponse?, for entry: StoredResponse) {
        if let fresh { updated.append(fresh) } else { removed.append(entry.id) }
    }
}

extension Forwarding {
    /// What is stored, where `stale-if-error` of the response or of the client lets it stand in for
    /// an error: a 500, 502, 503 or 504, or no answer at all (RFC 5861 §4).
    ///
    /// - Returns: nil where the error is what the client gets; always so where it wanted the origin
    ///   asked.
    public func answerInPlaceOfError(at now: Timestamp) -> CachedAnswer? {
        guard request.policy == .useProtocolCachePolicy, !request.asksForValidation, let selected,
            !selected.forbidsStaleUse,
            selected.permitsStaleness("stale-if-error", at: now) || clientPermits(selected, now)
        else { return nil }
        return CachedAnswer(selected, to: request, at: now)
    }

    private func clientPermits(_ entry: StoredResponse, _ now: Timestamp) -> Bool {
        guard let seconds = request.control.seconds("stale-if-error").number else { return false }
        return -entry.remainingLifetime(at: now) <= seconds * 1000
    }
}
