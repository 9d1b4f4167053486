/// The cookies of one session (RFC 6265bis §5.7, §5.8): a value, so that sessions share nothing.
///
/// Times come from outside. Of the cookies whose time is over none is ever given out; they leave
/// with the next change. Looking cookies up costs the length of the host's name and the cookies of
/// its domains, not the size of the jar.
public struct CookieJar: Sendable {
    /// How much it holds; never more, not even for a moment that can be seen.
    public let limits: CookieLimits
    /// How many cookies there are, those included whose time is over and that are still there.
    public private(set) var count = 0
    /// By the cookies' domains; no entry is empty, and none has two cookies of one identity.
    private var cookiesByDomain: [String: [Cookie]] = [:]
    private var nextSequence: Int64 = 1
    /// No cookie ends before this instant; nil when none ends at all.
    private var nextExpiry: Timestamp?
    /// How many are Secure: without one, nothing needs to be guarded from http.
    private var secureCount = 0

    /// An empty jar.
    public init(limits: CookieLimits = CookieLimits()) {
        precondition(limits.perDomain > 0 && limits.total > 0, "A jar holds at least one cookie.")
        self.limits = limits
    }

    /// A jar of cookies that were kept elsewhere, with their times, their sequences and their order
    /// of creation.
    ///
    /// What is over, what the limits do not allow and what would not be stored now is left out: a
    /// domain may have become a public suffix (§5.8.3).
    public init(
        restoring cookies: some Sequence<Cookie>, limits: CookieLimits = CookieLimits(),
        policy: CookiePolicy, at now: Timestamp
    ) {
        self.init(limits: limits)
        var newest: Int64 = 0
        for cookie in cookies.sorted(by: { $0.isOlder(than: $1) }) {
            nextSequence = cookie.sequence > 0 ? cookie.sequence : newest + 1
            newest = max(newest, nextSequence)
            guard (try? cookie.check(isPublicSuffix: policy.isPublicSuffix)) != nil else {
                continue
            }
            _ = insert(cookie, at: now)
        }
        nextSequence = newest + 1
        _ = evictExcess()
    }

    // MARK: Setting

    /// Takes the `Set-Cookie` fields of a response, in their order (§5.6, §5.7).
    ///
    /// - Parameters:
    ///   - fields: the values of the fields, not joined.
    ///   - url: what was fetched: of a redirect, the hop that answered.
    ///   - mainDocument: the task's original URL, for `onlyFromMainDocumentDomain` (S-21).
    ///   - policy: what the session accepts.
    ///   - now: when the response came.
    /// - Returns: what they changed, and those that were refused.
    public mutating func receive(
        _ fields: [String], from url: WebURL, mainDocument: WebURL, policy: CookiePolicy,
        at now: Timestamp
    ) -> CookieReception {
        var reception = CookieReception()
        reception.changes = evictExpired(at: now)
        for (place, field) in fields.enumerated() {
            do throws(CookieRejection) {
                let changes = try admit(
                    field, from: url, mainDocument: mainDocument, policy: policy, at: now)
                reception.changes.append(changes)
            } catch {
                reception.rejections[place] = error
            }
        }
        reception.changes.append(evictExcess())
        return reception
    }

    /// Puts a cookie in that a client or a file brings; `HttpOnly` ones may be overwritten so.
    ///
    /// Its life is cut to 400 days from now (§5.5). A cookie whose time is over deletes the one of
    /// its identity.
    ///
    /// - Throws: why no response could have set it. The accept policy is not asked.
    public mutating func store(
        _ cookie: Cookie, policy: CookiePolicy, at now: Timestamp
    ) throws(CookieRejection) -> CookieChanges {
        var changes = try insertChecked(cookie, policy: policy, at: now)
        changes.append(evictExcess())
        return changes
    }

    /// Stores the cookies of a file, in its order; those whose time is over delete.
    ///
    /// - Returns: the changes, and the faults of all lines that brought nothing, in their order.
    public mutating func store(
        _ file: NetscapeCookieFile, policy: CookiePolicy, at now: Timestamp
    ) -> (changes: CookieChanges, faults: [NetscapeCookieFile.Fault]) {
        var changes = CookieChanges()
        var faults = file.faults
        for entry in file.entries {
            do throws(CookieRejection) {
                changes.append(try insertChecked(entry.cookie, policy: policy, at: now))
            } catch {
                faults.append(.init(line: entry.line, reason: .cookie(error)))
            }
        }
        changes.append(evictExcess())
        return (changes, faults.sorted { $0.line < $1.line })
    }

    // MARK: Removing

    /// Removes all cookies of which the predicate is true, and tells which, in the order of their
    /// creation.
    ///
    /// The predicate is asked twice about some.
    public mutating func remove(where isUnwanted: (Cookie) -> Bool) -> [Cookie] {
        var removed: [Cookie] = []
        for (domain, cookies) in cookiesByDomain where cookies.contains(where: isUnwanted) {
            var kept: [Cookie] = []
            for cookie in cookies {
                if isUnwanted(cookie) { removed.append(cookie) } else { kept.append(cookie) }
            }
            cookiesByDomain[domain] = kept.isEmpty ? nil : kept
        }
        count -= removed.count
        secureCount -= removed.count(where: \.isSecure)
        return removed.sorted { $0.isOlder(than: $1) }
    }

    /// Empties the jar (S-12).
    public mutating func removeAll() {
        self = CookieJar(limits: limits)
    }

    /// Removes what is over; costs nothing while nothing is.
    public mutating func evictExpired(at now: Timestamp) -> CookieChanges {
        guard let expiry = nextExpiry, expiry <= now else { return CookieChanges() }
        let removed = remove { $0.isExpired(at: now) }
        nextExpiry = cookiesByDomain.values.joined().compactMap(\.expires).min()
        return CookieChanges(removed: removed)
    }

    /// Removes what ends with the session (§5.7, the persistent-flag).
    public mutating func endSession() -> CookieChanges {
        CookieChanges(removed: remove { !$0.isPersistent })
    }

    // MARK: Looking up

    /// What goes with a request, in the order of sending (§5.8.3).
    ///
    /// Everything that is not over, whose domain and path the URL is in; `Secure` ones for https
    /// only.
    public func cookies(for url: WebURL, at now: Timestamp) -> [Cookie] {
        let host = CookieHost(url)
        var found: [Cookie] = []
        for domain in host.domains {
            guard let cookies = cookiesByDomain[domain] else { continue }
            let isHost = domain.utf8.count == host.name.utf8.count
            for cookie in cookies where isHost || !cookie.isHostOnly {
                if cookie.goes(to: url, at: now) { found.append(cookie) }
            }
        }
        return found.sorted { $0.goesBefore($1) }
    }

    /// What goes with a request, noted as accessed: what was not sent for the longest time is given
    /// up first.
    public mutating func send(to url: WebURL, at now: Timestamp) -> [Cookie] {
        let sent = cookies(for: url, at: now)
        guard !sent.isEmpty else { return sent }
        let sequences = Set(sent.map(\.sequence))
        for domain in Set(sent.map(\.domain)) {
            guard let entry = cookiesByDomain.index(forKey: domain) else { continue }
            for place in cookiesByDomain.values[entry].indices
            where sequences.contains(cookiesByDomain.values[entry][place].sequence) {
                cookiesByDomain.values[entry][place].lastAccessTime = now
            }
        }
        return sent.map { cookie in
            var cookie = cookie
            cookie.lastAccessTime = now
            return cookie
        }
    }

    /// All cookies that are not over, in the order of their creation.
    public func all(at now: Timestamp) -> [Cookie] {
        cookiesByDomain.values.joined().filter { !$0.isExpired(at: now) }
            .sorted { $0.isOlder(than: $1) }
    }

    // MARK: The store

    private func place(of cookie: Cookie) -> Int? {
        cookiesByDomain[cookie.domain]?.firstIndex { $0.hasIdentity(of: cookie) }
    }

    /// §5.7 for one field; the jar may be too full afterwards.
    private mutating func admit(
        _ field: String, from url: WebURL, mainDocument: WebURL, policy: CookiePolicy,
        at now: Timestamp
    ) throws(CookieRejection) -> CookieChanges {
        if let refusal = policy.refusal(of: url, mainDocument: mainDocument) { throw refusal }
        let cookie = try Cookie(
            SetCookie(parsing: field), from: url, isPublicSuffix: policy.isPublicSuffix, at: now)
        guard cookie.isSecure || url.isSecure || !coversSecure(cookie, at: now) else {
            throw .coversSecure
        }
        return insert(cookie, at: now)
    }

    /// A client's cookie; the jar may be too full afterwards.
    private mutating func insertChecked(
        _ cookie: Cookie, policy: CookiePolicy, at now: Timestamp
    ) throws(CookieRejection) -> CookieChanges {
        try cookie.check(isPublicSuffix: policy.isPublicSuffix)
        return insert(cookie, at: now)
    }

    /// §5.7 steps 23 and 24, and the limit of the domain; the jar may be too full afterwards.
    private mutating func insert(_ new: Cookie, at now: Timestamp) -> CookieChanges {
        var changes = evictExpired(at: now)
        var cookie = new
        if let expires = cookie.expires { cookie.expires = min(expires, now.latestCookieExpiry) }
        if let index = place(of: cookie), let old = cookiesByDomain[cookie.domain]?[index] {
            guard !cookie.isExpired(at: now) else {
                changes.append(evict(index, of: cookie.domain))
                return changes
            }
            cookie.creationTime = old.creationTime
            cookie.sequence = old.sequence
            cookiesByDomain[cookie.domain]?[index] = cookie
            secureCount += (cookie.isSecure ? 1 : 0) - (old.isSecure ? 1 : 0)
        } else {
            guard !cookie.isExpired(at: now) else { return changes }
            cookie.sequence = nextSequence
            nextSequence += 1
            cookiesByDomain[cookie.domain, default: []].append(cookie)
            count += 1
            secureCount += cookie.isSecure ? 1 : 0
        }
        if let expires = cookie.expires { nextExpiry = min(nextExpiry ?? expires, expires) }
        changes.append(CookieChanges(stored: cookie))
        changes.append(evictExcess(of: cookie.domain))
        return changes
    }

    /// §5.7 step 16: whether a Secure cookie of that name would be hidden at its path or below.
    private func coversSecure(_ cookie: Cookie, at now: Timestamp) -> Bool {
        guard secureCount > 0 else { return false }
        let host = CookieHost(cookie.domain)
        return cookiesByDomain.contains { domain, cookies in
            let isCovered = cookies.contains {
                $0.isSecure && !$0.isExpired(at: now) && $0.name.hasBytes(of: cookie.name)
                    && CookiePath.isPath(cookie.path, in: $0.path)
            }
            return isCovered && (host.isIn(domain) || domain.isBelow(cookie.domain))
        }
    }

    /// Gives up what is too much in a domain after one insertion (§5.7): what is not Secure first,
    /// and of that what was accessed the longest ago.
    private mutating func evictExcess(of domain: String) -> CookieChanges {
        guard let cookies = cookiesByDomain[domain], cookies.count > limits.perDomain,
            let place = cookies.leastRecent(where: { !$0.isSecure })
                ?? cookies.leastRecent(where: { _ in true })
        else { return CookieChanges() }
        return evict(place, of: domain)
    }

    /// Gives up what is too much in the jar (§5.7): what was accessed the longest ago, wherever it
    /// is.
    ///
    /// Nothing has ended and no domain is too full when this is called. Once for many insertions,
    /// since it looks at all.
    private mutating func evictExcess() -> CookieChanges {
        let excess = count - limits.total
        guard excess > 0 else { return CookieChanges() }
        let accesses = cookiesByDomain.values.joined().lazy.map(\.access)
        let oldest = excess == 1 ? accesses.min(by: <) : accesses.sorted(by: <)[excess - 1]
        guard let last = oldest else { return CookieChanges() }
        return CookieChanges(removed: remove { $0.access <= last })
    }

    private mutating func evict(_ place: Int, of domain: String) -> CookieChanges {
        guard let victim = cookiesByDomain[domain]?.remove(at: place) else {
            return CookieChanges()
        }
        if cookiesByDomain[domain]?.isEmpty == true { cookiesByDomain[domain] = nil }
        count -= 1
        secureCount -= victim.isSecure ? 1 : 0
        return CookieChanges(removed: [victim])
    }
}

extension Cookie {
    /// Whether it goes with a request to a host of its domain (§5.8.3 step 1, without the domain).
    fileprivate func goes(to url: WebURL, at now: Timestamp) -> Bool {
        !isExpired(at: now) && (!isSecure || url.isSecure) && CookiePath.isPath(url.path, in: path)
    }

    /// When it was accessed; different for every cookie of a jar.
    fileprivate var access: (Int64, Int64) { (lastAccessTime.milliseconds, sequence) }
}

extension [Cookie] {
    /// Where the one is that was accessed the longest ago; among equals the first created.
    fileprivate func leastRecent(where isEligible: (Cookie) -> Bool) -> Int? {
        var found: Int?
        for place in indices where isEligible(self[place]) {
            if found.map({ self[place].access < self[$0].access }) ?? true { found = place }
        }
        return found
    }
}
