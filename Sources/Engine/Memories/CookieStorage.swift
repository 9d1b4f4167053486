internal import Loop
internal import Semantics

/// The cookie jar of a session (S-21, S-25), and what of it the store has.
///
/// A default session's cookies are all kept, those without an end too: they end with the session,
/// and a restart of the gateway does not end it. An ephemeral session's are in RAM alone (S-2).
@LoopActor
final class CookieStorage {
    private var jar: Acknowledged<CookieJar>
    private let policy: CookiePolicy
    /// Nil where nothing reaches the store.
    private let commits: CommitQueue?
    private let owner: (session: SessionID, tenant: TenantID)
    /// Cookies that were sent since the store heard of them last, by their sequences: that they
    /// were is written now and then, for it says only what is given up first.
    private var accessed: [Int64: Cookie] = [:]

    init(
        _ record: SessionRecord, restoring cookies: [Cookie], suffixes: any PublicSuffixes,
        commits: CommitQueue, at now: Timestamp
    ) {
        policy = CookiePolicy(
            accept: record.configuration.httpCookieAcceptPolicy,
            isPublicSuffix: suffixes.isPublicSuffix)
        self.commits = record.isPersistent ? commits : nil
        jar = Acknowledged(
            cookies.isEmpty
                ? CookieJar() : CookieJar(restoring: cookies, policy: policy, at: now),
            in: self.commits)
        owner = (record.id, record.tenant)
        dropRows(of: cookies, at: now)
    }

    /// Takes out of the store what the jar did not take again.
    private func dropRows(of restored: [Cookie], at now: Timestamp) {
        guard jar.newest.count < restored.count else { return }
        let kept = Set(jar.newest.all(at: now).map(\.sequence))
        var change = SessionChange<Cookie>(session: owner.session, tenant: owner.tenant)
        change.removed = restored.map(\.sequence).filter { !kept.contains($0) }
        write(change)
    }

    /// The value of the Cookie field of a request; nil where nothing is sent.
    func field(for url: WebURL, at now: Timestamp) -> String? {
        guard jar.newest.count > 0 else { return nil }
        let sent = jar.newest.send(to: url, at: now)
        if commits != nil {
            for cookie in sent { accessed[cookie.sequence] = cookie }
        }
        return sent.cookieField
    }

    /// Takes what the head of a response sets.
    ///
    /// - Parameters:
    ///   - headers: the response's.
    ///   - url: what was fetched.
    ///   - mainDocument: the task's original URL.
    ///   - now: when the head was there.
    func receive(
        _ headers: HeaderList, from url: WebURL, mainDocument: WebURL, at now: Timestamp
    ) {
        let fields = headers.values(of: "Set-Cookie")
        guard !fields.isEmpty else { return }
        let reception = jar.change {
            $0.receive(fields, from: url, mainDocument: mainDocument, policy: policy, at: now)
        }
        write(reception.changes)
    }

    /// All that are not over, in the order of creation.
    func all(at now: Timestamp) -> [Cookie] { jar.newest.all(at: now) }

    /// The same as the store has it.
    func shown(at now: Timestamp) -> [Cookie] { jar.shown?.all(at: now) ?? [] }

    /// Puts a client's cookie in; one whose time is over deletes.
    func store(_ cookie: Cookie, at now: Timestamp) throws(CookieRejection) {
        let changes = try jar.change { jar throws(CookieRejection) in
            try jar.store(cookie, policy: policy, at: now)
        }
        write(changes)
    }

    /// Puts the cookies of a file in.
    ///
    /// - Returns: the faults of the lines that brought nothing.
    func store(_ file: NetscapeCookieFile, at now: Timestamp) -> [NetscapeCookieFile.Fault] {
        let (changes, faults) = jar.change { $0.store(file, policy: policy, at: now) }
        write(changes)
        return faults
    }

    /// Deletes some.
    ///
    /// - Returns: how many.
    func remove(where isUnwanted: (Cookie) -> Bool) -> Int {
        let removed = jar.change { $0.remove(where: isUnwanted) }
        var change = SessionChange<Cookie>(session: owner.session, tenant: owner.tenant)
        change.removed = removed.map(\.sequence)
        write(change)
        return removed.count
    }

    /// Empties the jar (S-12).
    func removeAll() {
        jar.change { $0.removeAll() }
        accessed = [:]
        var change = SessionChange<Cookie>(session: owner.session, tenant: owner.tenant)
        change.removesAll = true
        write(change)
    }

    /// Brings to the store which cookies were sent, and takes out what is over.
    func tidy(at now: Timestamp) {
        write(jar.change { $0.evictExpired(at: now) })
        guard !accessed.isEmpty else { return }
        var change = SessionChange<Cookie>(session: owner.session, tenant: owner.tenant)
        change.stored = accessed
        accessed = [:]
        write(change)
    }

    private func write(_ changes: CookieChanges) {
        guard !changes.isEmpty else { return }
        var change = SessionChange<Cookie>(session: owner.session, tenant: owner.tenant)
        change.removed = changes.removed.map(\.sequence)
        for cookie in changes.stored { change.stored[cookie.sequence] = cookie }
        write(change)
    }

    private func write(_ change: SessionChange<Cookie>) {
        for sequence in change.removed { accessed[sequence] = nil }
        for sequence in change.stored.keys { accessed[sequence] = nil }
        commits?.record(.cookies(change))
    }
}
