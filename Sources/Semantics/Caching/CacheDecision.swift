/// What becomes of a request, before anything is sent (RFC 9111 §4; S-15).
public enum CacheDecision: Equatable, Sendable {
    /// This is the answer; nothing is sent.
    case serve(CachedAnswer)
    /// This is the answer, and the stored response is validated beside it, for the next time (RFC
    /// 5861 §3).
    case serveWhileRevalidating(CachedAnswer, Forwarding)
    /// The origin is asked, by a condition where a stored response has a validator.
    case forward(Forwarding)
    /// `returnCacheDataDontLoad` and nothing is stored: the task fails with this (-1008).
    case fail(URLErrorCode)

    /// Decides about a request.
    ///
    /// The policies, as NSURLRequest has them:
    /// - `useProtocolCachePolicy`: RFC 9111, RFC 5861 and the client's own directives;
    /// - `reloadIgnoringLocalCacheData`: what is stored is not used, and is replaced by what comes;
    /// - `reloadIgnoringLocalAndRemoteCacheData`: the same, and `no-cache` tells caches on the way;
    /// - `returnCacheDataElseLoad`: what is stored, of any age, whatever it says about validation;
    ///   else the origin;
    /// - `returnCacheDataDontLoad`: the same, else the task fails;
    /// - `reloadRevalidatingCacheData`: what is stored, only after the origin has confirmed it;
    ///   `max-age=0` has caches on the way ask it too.
    ///
    /// - Parameters:
    ///   - request: as it would be sent.
    ///   - candidates: all stored responses of the request's key; their order means nothing.
    ///   - now: the wall clock, whose seconds origins write.
    public init(_ request: CacheRequest, candidates: [StoredResponse], at now: Timestamp) {
        let lookup = CacheLookup(request, candidates, now)
        switch request.policy {
        case .useProtocolCachePolicy: self = lookup.byProtocol()
        case .reloadIgnoringLocalCacheData:
            self = .forward(Forwarding(request, .bypass))
        case .reloadIgnoringLocalAndRemoteCacheData:
            self = .forward(Forwarding(request.reloadingThroughCaches, .bypass))
        case .returnCacheDataElseLoad: self = lookup.anyStored() ?? lookup.unserved()
        case .returnCacheDataDontLoad: self = lookup.anyStored() ?? .fail(.resourceUnavailable)
        case .reloadRevalidatingCacheData: self = lookup.revalidated()
        }
    }
}

/// RFC 9111 §4, step by step.
private struct CacheLookup {
    let request: CacheRequest
    /// What goes to the origin, if anything does.
    let outgoing: CacheRequest
    let now: Timestamp
    /// Whether there is anything for the URL.
    let hasCandidates: Bool
    /// The one to use; nil where none answers the request.
    let selected: StoredResponse?

    init(_ request: CacheRequest, _ candidates: [StoredResponse], _ now: Timestamp) {
        self.request = request
        self.outgoing =
            request.policy == .reloadRevalidatingCacheData
            ? request.validatingThroughCaches : request
        self.now = now
        self.hasCandidates = !candidates.isEmpty
        self.selected = request.isAnswerable ? candidates.newest(answering: request) : nil
    }

    func byProtocol() -> CacheDecision {
        guard !request.hasOriginCondition, let selected else { return unserved() }
        let use = CacheUse(of: selected, for: request, at: now)
        let reason: ForwardReason = use == .expired ? .stale : .request
        guard use.isUse else {
            return isOnlyIfCached ? .serve(.gatewayTimeout) : validation(reason)
        }
        guard let answer = CachedAnswer(selected, to: request, at: now) else { return unserved() }
        return use == .staleWhileRevalidating
            ? .serveWhileRevalidating(answer, Forwarding(revalidating: selected, for: request))
            : .serve(answer)
    }

    func anyStored() -> CacheDecision? {
        guard !request.hasOriginCondition, let selected else { return nil }
        return CachedAnswer(selected, to: request, at: now).map(CacheDecision.serve)
    }

    func revalidated() -> CacheDecision {
        guard !request.hasOriginCondition, let selected else { return forwarded() }
        return validation(selected.remainingLifetime(at: now) > 0 ? .request : .stale)
    }

    /// Nothing of what is stored can be used, whatever its age, and the client may want nothing
    /// else.
    func unserved() -> CacheDecision { isOnlyIfCached ? .serve(.gatewayTimeout) : forwarded() }

    private var isOnlyIfCached: Bool {
        request.isAnswerable && request.control.has("only-if-cached")
    }

    private func forwarded() -> CacheDecision {
        let reason: ForwardReason =
            if !request.isAnswerable {
                .method
            } else if request.hasOriginCondition {
                .bypass
            } else if selected != nil {
                .partial
            } else {
                hasCandidates ? .varyMiss : .uriMiss
            }
        return .forward(Forwarding(outgoing, reason))
    }

    /// No condition is sent about a content that could not answer the request even if it were
    /// confirmed.
    private func validation(_ reason: ForwardReason) -> CacheDecision {
        guard let selected, CachedAnswer(selected, to: request, at: now) != nil else {
            return forwarded()
        }
        return .forward(Forwarding(validating: selected, for: outgoing, reason))
    }
}

extension CacheUse {
    /// Whether the response is used without asking first.
    fileprivate var isUse: Bool {
        switch self {
        case .fresh, .stale, .staleWhileRevalidating: true
        case .refused, .expired: false
        }
    }
}

extension [StoredResponse] {
    /// The newest by `Date` of those that answer a request (RFC 9111 §4), the last to arrive of
    /// several from one second.
    func newest(answering request: CacheRequest) -> StoredResponse? {
        filter { $0.answers(request) }.max {
            ($0.date, $0.responseTime, $0.id) < ($1.date, $1.responseTime, $1.id)
        }
    }
}
