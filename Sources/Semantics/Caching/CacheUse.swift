/// Whether a stored response may answer a request that it matches, under the protocol's rules (RFC
/// 9111 §4, RFC 5861).
enum CacheUse: Equatable {
    case fresh
    /// The client's `max-stale` takes it.
    case stale
    /// `stale-while-revalidate`: used now, and validated for the next time.
    case staleWhileRevalidating
    /// Fresh, but the request or the response wants the origin asked.
    case refused
    /// Not fresh.
    case expired

    /// Judges a response at an instant.
    init(of entry: StoredResponse, for request: CacheRequest, at now: Timestamp) {
        let remaining = entry.remainingLifetime(at: now)
        let otherwise: CacheUse = remaining > 0 && !entry.isOutdated ? .refused : .expired
        guard !entry.requiresValidation, !request.asksForValidation,
            Self.clientTakes(entry, remaining, request.control, at: now)
        else {
            self = otherwise
            return
        }
        if remaining > 0 {
            self = .fresh
        } else if entry.forbidsStaleUse {
            self = .expired
        } else if Self.clientTakesStale(by: -remaining, request.control) {
            self = .stale
        } else if entry.permitsStaleness("stale-while-revalidate", at: now) {
            self = .staleWhileRevalidating
        } else {
            self = .expired
        }
    }

    /// §5.2.1.1 and §5.2.1.3: `max-age` and `min-fresh`. A value that cannot be read takes nothing.
    private static func clientTakes(
        _ entry: StoredResponse, _ remaining: Int64, _ control: CacheControl, at now: Timestamp
    ) -> Bool {
        switch control.seconds("max-age") {
        case .absent: break
        // No response is younger than 0, though one may have been made within the millisecond.
        case .invalid, .value(0): return false
        case .value(let seconds): if entry.currentAge(at: now) > seconds * 1000 { return false }
        }
        return switch control.seconds("min-fresh") {
        case .absent: true
        case .invalid: false
        case .value(let seconds): remaining >= seconds * 1000
        }
    }

    /// §5.2.1.2: `max-stale`, by so many seconds or by any.
    private static func clientTakesStale(by milliseconds: Int64, _ control: CacheControl) -> Bool {
        let bounds = control.directives.filter { $0.name == "max-stale" }
        guard !bounds.isEmpty else { return false }
        if bounds.allSatisfy({ $0.argument == nil && !$0.isMalformed }) { return true }
        return control.seconds("max-stale").number.map { milliseconds <= $0 * 1000 } ?? false
    }
}
