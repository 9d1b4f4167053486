public import Loop
public import Semantics

/// What sessions remember: cookies, credentials, responses (S-24, S-25).
@LoopActor
public final class MemoryService {
    private let sessions: SessionDirectory
    private let transport: any Transport
    private let clock: any Clock

    init(sessions: SessionDirectory, transport: any Transport, clock: any Clock) {
        self.sessions = sessions
        self.transport = transport
        self.clock = clock
    }

    // MARK: Cookies

    /// The cookies of a session that are not over, in the order of their creation; none where it
    /// has no jar.
    public func cookies(
        in id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> [Cookie] {
        let session = try sessions.live(id, tenant)
        await session.commits.caughtUp()
        return session.cookies?.shown(at: clock.now) ?? []
    }

    /// Puts a cookie into a session's jar; durable when it returns. One whose time is over deletes
    /// the one of its identity.
    ///
    /// - Throws: `cookieRefused`, `noStorage`, `sessionInvalidated`, `noSuchSession`.
    public func setCookie(
        _ cookie: Cookie, in id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) {
        let (session, jar) = try jar(of: id, tenant)
        do throws(CookieRejection) {
            try jar.store(cookie, at: clock.now)
        } catch {
            throw .cookieRefused(error)
        }
        try await session.commits.acknowledged()
    }

    /// Puts the cookies of a file into a session's jar, as far as it takes them; durable when it
    /// returns.
    ///
    /// - Returns: how many lines were taken, and what is wrong with the others.
    /// - Throws: `noStorage`, `sessionInvalidated`, `noSuchSession`.
    public func importCookies(
        _ file: NetscapeCookieFile, in id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> (stored: Int, faults: [NetscapeCookieFile.Fault]) {
        let (session, jar) = try jar(of: id, tenant)
        let faults = jar.store(file, at: clock.now)
        try await session.commits.acknowledged()
        return (file.entries.count + file.faults.count - faults.count, faults)
    }

    /// Deletes cookies of a session; durable when it returns.
    ///
    /// - Returns: how many.
    /// - Throws: `noStorage`, `sessionInvalidated`, `noSuchSession`.
    public func deleteCookies(
        in id: SessionID, of tenant: TenantID, where isUnwanted: (Cookie) -> Bool
    ) async throws(GatewayError) -> Int {
        let (session, jar) = try jar(of: id, tenant)
        let count = jar.remove(where: isUnwanted)
        try await session.commits.acknowledged()
        return count
    }

    private func jar(
        of id: SessionID, _ tenant: TenantID
    ) throws(GatewayError) -> (LiveSession, CookieStorage) {
        let session = try sessions.active(id, tenant)
        guard let jar = session.cookies else { throw .noStorage }
        return (session, jar)
    }

    // MARK: Credentials

    /// The credentials that a session remembers, with their secrets, in the order in which they
    /// came.
    public func credentials(
        in id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> [StoredCredential] {
        let session = try sessions.live(id, tenant)
        await session.commits.caughtUp()
        return session.credentials?.shown ?? []
    }

    /// Has a session remember a credential, in place of another one of its user in the same space;
    /// durable when it returns.
    ///
    /// - Parameters:
    ///   - credential: `forSession`, or `permanent` where the session outlives the gateway.
    ///   - space: where it is valid.
    ///   - isDefault: whether it takes the place of the space's default credential.
    ///   - id: the session.
    ///   - tenant: whose it is.
    /// - Throws: `credentialNotUsable`, `noStorage`, `sessionInvalidated`, `noSuchSession`.
    public func putCredential(
        _ credential: Credential, for space: ProtectionSpace, asDefault isDefault: Bool,
        in id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) {
        var (session, storage) = try credentialStorage(of: id, tenant)
        guard credential.answers(space.method), space.method != .serverTrust else {
            throw .credentialNotUsable(
                "A credential of this kind does not answer \(space.method.name).")
        }
        guard credential.persistence != .none else {
            throw .credentialNotUsable("A credential of no persistence cannot be stored.")
        }
        try session.check(credential.persistence)
        let prepared = try await transport.prepared(credential)
        (session, storage) = try credentialStorage(of: id, tenant)  // it may have ended meanwhile
        storage.put(prepared, in: space, asDefault: isDefault)
        try await session.commits.acknowledged()
    }

    /// Has a session forget credentials; durable when it returns.
    ///
    /// - Returns: how many.
    /// - Throws: `noStorage`, `sessionInvalidated`, `noSuchSession`.
    public func deleteCredentials(
        in id: SessionID, of tenant: TenantID, where isUnwanted: (StoredCredential) -> Bool
    ) async throws(GatewayError) -> Int {
        let (session, storage) = try credentialStorage(of: id, tenant)
        let count = storage.remove(where: isUnwanted)
        try await session.commits.acknowledged()
        return count
    }

    private func credentialStorage(
        of id: SessionID, _ tenant: TenantID
    ) throws(GatewayError) -> (LiveSession, CredentialStorage) {
        let session = try sessions.active(id, tenant)
        guard let storage = session.credentials else { throw .noStorage }
        return (session, storage)
    }

    // MARK: Responses

    /// What a session's cache holds; nothing where it has none.
    public func cacheUsage(
        in id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> CacheUsage {
        let session = try sessions.live(id, tenant)
        await session.commits.caughtUp()
        return await session.cache?.usage()
            ?? CacheUsage(memoryUsage: 0, diskUsage: 0, entryCount: 0)
    }

    /// What a session's cache has of a URL, one for each variant; in no order.
    public func cachedResponses(
        to url: WebURL, in id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> [CachedEntry] {
        guard let cache = try sessions.live(id, tenant).cache else { return [] }
        return try await reading { () throws(StoreError) in
            try await cache.shownEntries(for: CacheKey(url))
        }
    }

    /// Empties a session's cache; durable when it returns.
    ///
    /// - Throws: `sessionInvalidated`, `noSuchSession`.
    public func emptyCache(
        in id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) {
        let session = try sessions.active(id, tenant)
        await session.cache?.removeAll()
        try await session.commits.acknowledged()
    }
}
