internal import Syntax

/// How old a stored response is, and how long it may be used (RFC 9111 §4.2).
extension StoredResponse {
    /// The age at an instant, in milliseconds, at least 0 (§4.2.3).
    ///
    /// Finer than the seconds that fields are written in, so that a lifetime of one second is not
    /// two.
    public func currentAge(at now: Timestamp) -> Int64 {
        let apparentAge = max(0, responseTime.httpDate.secondsSince1970 - date.secondsSince1970)
        let responseDelay = responseTime.milliseconds(since: requestTime)
        let correctedAge = ageValue * 1000 + responseDelay
        // A clock that was set back does not tell how long it has been here: it may be as old as
        // the clock is wrong.
        let residentTime = max(
            now.milliseconds(since: responseTime), responseTime.milliseconds(since: now))
        return max(apparentAge * 1000, correctedAge) + residentTime
    }

    /// The value to deliver in `Age`: whole seconds, at most 2³¹ (§5.1).
    public func age(at now: Timestamp) -> Int64 {
        min(currentAge(at: now) / 1000, DeltaSeconds.most)
    }

    /// How long it stays fresh, in milliseconds; negative by how long it has been stale (§4.2).
    public func remainingLifetime(at now: Timestamp) -> Int64 {
        freshnessLifetime * 1000 - currentAge(at: now)
    }

    /// Whether it must be validated before each use, fresh or not: `no-cache` without names
    /// (§5.2.2.4).
    public var requiresValidation: Bool {
        isOutdated || control.isUnqualified("no-cache")
    }

    /// Whether it must not be used while it is stale, whatever the client accepts (§4.2.4).
    ///
    /// `proxy-revalidate` and `s-maxage` are for shared caches.
    public var forbidsStaleUse: Bool {
        requiresValidation || control.has("must-revalidate")
    }

    /// Whether it may be used for so many milliseconds after it went stale, by an extension of its
    /// own (RFC 5861).
    ///
    /// - Parameters:
    ///   - directive: `stale-while-revalidate` or `stale-if-error`.
    ///   - now: the instant of the use.
    /// - Returns: whether it may; true also while it is fresh, if there is such a directive.
    func permitsStaleness(_ directive: String, at now: Timestamp) -> Bool {
        guard !forbidsStaleUse,
            let seconds = control.seconds(directive).number
        else { return false }
        return -remainingLifetime(at: now) <= seconds * 1000
    }
}

/// What the fields of a response say about its age and its lifetime.
enum Freshness {
    /// §5.1: the first member of `Age` counts; a value that is no number of seconds does not, and
    /// is 0.
    static func age(of headers: HeaderList) -> Int64 {
        guard let member = headers.first("Age")?.split(separator: ",").first else { return 0 }
        return DeltaSeconds.parse(member.trimmingFieldSpace) ?? 0
    }

    /// Seconds from `made` on, at least 0 (§4.2.1, for a private cache).
    ///
    /// `max-age`, else `Expires`, else by heuristics; a value that cannot be read, or that another
    /// of its kind contradicts, is 0. `s-maxage` is for shared caches.
    static func lifetime(
        of status: Int, _ headers: HeaderList, _ control: CacheControl, made: HTTPDate,
        received: HTTPDate
    ) -> Int64 {
        switch control.seconds("max-age") {
        case .value(let seconds): return seconds
        case .invalid: return 0
        case .absent: break
        }
        guard headers.contains("Expires") else {
            return heuristicLifetime(of: status, headers, control, made: made, received: received)
        }
        guard let text = headers.only("Expires"),
            let expires = HTTPDate(cacheField: text, now: received)
        else { return 0 }
        return max(0, expires.secondsSince1970 - made.secondsSince1970)
    }

    /// §4.2.2: a tenth of the time since the last change, at most a day.
    private static func heuristicLifetime(
        of status: Int, _ headers: HeaderList, _ control: CacheControl, made: HTTPDate,
        received: HTTPDate
    ) -> Int64 {
        guard
            Storability.isHeuristicallyCacheable(status) || control.has("public")
                || control.has("private"),
            let text = headers.only("Last-Modified"),
            let modified = HTTPDate(cacheField: text, now: received)
        else { return 0 }
        let unchangedFor = made.secondsSince1970 - modified.secondsSince1970
        return min(max(0, unchangedFor / 10), longestHeuristicLifetime)
    }

    /// Seconds. RFC 7234 §4.2.2 wanted a warning beyond a day; nobody would see one here.
    private static let longestHeuristicLifetime: Int64 = 86_400
}
