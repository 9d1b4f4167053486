public import Loop
public import Semantics

/// What a new token is to be.
public struct TokenSpec: Sendable {
    /// The name of its tenant.
    public var tenant: String
    /// What it may do; not empty.
    public var scopes: Set<Scope>
    /// SHA-256 of its text: the text itself does not come here.
    public var digest: [UInt8]
    /// From when on it lets nobody in; nil for never.
    public var expiresAt: Timestamp?
    /// A client's own words, at most 1,024 bytes of UTF-8; nil for none.
    public var description: String?

    /// A token that does not expire.
    public init(tenant: String, scopes: Set<Scope>, digest: [UInt8]) {
        self.tenant = tenant
        self.scopes = scopes
        self.digest = digest
    }
}

/// A token as it is shown.
public struct TokenView: Sendable {
    /// The store's form of it.
    public let record: TokenRecord
    /// What its tenant is called.
    public let tenant: String
}

/// The tokens that were made by calls: who they let in, and for how long. The gateway's own, which
/// are in files, are not among them.
@LoopActor
public final class TokenService {
    /// How many there may be.
    public static let limit = 10_000
    /// How long an expired one is still shown.
    private static let remembrance = Duration.seconds(7 * 86_400)
    /// How late somebody is told at most that one has expired.
    private static let expiryInterval = Duration.seconds(4)

    /// Grows with every change of who is let in: what was found out before does not hold any more.
    public private(set) var generation: Int64 = 0
    /// Called when tokens let nobody in any more, before anybody is told so; of those that expire,
    /// within some seconds.
    public var onVoid: (@LoopActor (Set<TokenID>) -> Void)?

    private var tokens: [TokenID: Acknowledged<TokenRecord>] = [:]
    /// Those that let somebody in, unless they have expired.
    private var byDigest: [[UInt8]: TokenID] = [:]
    /// Those that will expire, and nobody has been told of yet.
    private var expiring: Set<TokenID> = []
    private lazy var expiry = LoopTimer { [weak self] in self?.voidExpired() }
    private let tenants: TenantDirectory
    private let queues: CommitQueues
    private let identifiers: IdentifierSource
    private let clock: any Clock

    init(
        _ records: [TokenRecord], tenants: TenantDirectory, queues: CommitQueues,
        identifiers: IdentifierSource, clock: any Clock
    ) {
        self.tenants = tenants
        self.queues = queues
        self.identifiers = identifiers
        self.clock = clock
        for record in records { insert(record) }
        watchExpiry()
    }

    private func insert(_ record: TokenRecord) {
        tokens[record.id] = Acknowledged(record, in: queues.onDisk)
        // A tenant that cannot be read has no rules that could be kept.
        if tenants[record.tenant]?.isEnding == false { byDigest[record.digest] = record.id }
        if record.expiresAt != nil { expiring.insert(record.id) }
    }

    /// Takes over what the store has: another node has changed it. What tokens that are gone have
    /// begun ends.
    func refresh(_ records: [TokenRecord]) {
        let stored = Set(records.map(\.id))
        let void = Set(
            tokens.values.map(\.newest).filter { token in
                !stored.contains(token.id) || tenants[token.tenant]?.isEnding != false
            }.map(\.id))
        for id in void {
            if let digest = tokens.removeValue(forKey: id)?.newest.digest { byDigest[digest] = nil }
            expiring.remove(id)
        }
        for record in records where tokens[record.id] == nil { insert(record) }
        generation += 1
        if !void.isEmpty { onVoid?(void) }
        watchExpiry()
    }

    // MARK: Who is let in

    /// The token with this digest, if it lets anybody in at the moment; it is used by that.
    public func use(_ digest: [UInt8]) -> TokenRecord? {
        guard let id = byDigest[digest], use(id) else { return nil }
        return tokens[id]?.newest
    }

    /// Uses a token that was found before.
    ///
    /// - Returns: whether it lets anybody in at the moment.
    public func use(_ id: TokenID) -> Bool {
        guard let record = tokens[id]?.newest, byDigest[record.digest] == id else { return false }
        let now = clock.now
        guard !record.isExpired(at: now) else { return false }
        let minute = Timestamp(milliseconds: now.milliseconds / 60_000 * 60_000)
        if record.lastUsedAt != minute {
            tokens[id]?.newest.lastUsedAt = minute
            queues.onDisk.record(.tokenUse(id, at: minute))
        }
        return true
    }

    // MARK: Expiry

    /// Looks again when the next one expires, and before, as clocks are set and machines sleep.
    private func watchExpiry() {
        guard let next = expiring.compactMap({ tokens[$0]?.newest.expiresAt }).min() else { return }
        let left = Duration.milliseconds(next.milliseconds - clock.now.milliseconds)
        expiry.arm(after: min(max(left, .milliseconds(1)), TokenService.expiryInterval))
    }

    /// What was begun with tokens ends when these expire.
    private func voidExpired() {
        let now = clock.now
        let expired = expiring.filter { tokens[$0]?.newest.isExpired(at: now) ?? true }
        expiring.subtract(expired)
        if !expired.isEmpty {
            generation += 1
            onVoid?(expired)
        }
        watchExpiry()
    }

    // MARK: Making, showing, revoking

    /// Makes a token, durable when it returns.
    ///
    /// - Throws: `noSuchTenant`, `tenantIsEnding`, `tooManyTokens`, `diskFull`.
    public func create(_ spec: TokenSpec) async throws(GatewayError) -> TokenView {
        try queues.refuseWhenFull(isPersistent: true)
        guard let tenant = tenants.named(spec.tenant) else {
            throw tenants.damaged(named: spec.tenant) == nil ? .noSuchTenant : .damaged
        }
        guard !tenant.isEnding else { throw .tenantIsEnding }
        guard tokens.count < TokenService.limit else {
            throw .tooManyTokens(limit: TokenService.limit)
        }
        let record = TokenRecord(
            id: identifiers.next(), tenant: tenant.id, digest: spec.digest, scopes: spec.scopes,
            createdAt: clock.now, expiresAt: spec.expiresAt, description: spec.description)
        tokens[record.id] = Acknowledged(new: record, in: queues.onDisk)
        byDigest[record.digest] = record.id
        generation += 1
        if record.expiresAt != nil {
            expiring.insert(record.id)
            watchExpiry()
        }
        queues.onDisk.record(.newToken(record))
        try await queues.onDisk.acknowledged()
        return TokenView(record: record, tenant: tenant.name)
    }

    /// One token.
    ///
    /// - Throws: `noSuchToken`.
    public func read(_ id: TokenID) throws(GatewayError) -> TokenView {
        guard let view = tokens[id]?.shown.flatMap(view) else { throw .noSuchToken }
        return view
    }

    /// The tokens in the order of creation; those of one tenant where it is given.
    public func list(of tenant: TenantID?, after: TokenID?, limit: Int) -> [TokenView] {
        let found = tokens.values.compactMap(\.shown).filter { record in
            (tenant == nil || record.tenant == tenant) && after.map { record.id > $0 } ?? true
        }
        // Not fewer than there are: who asks takes a short page for the last.
        return found.sorted { $0.id < $1.id }.lazy.compactMap(view).prefix(limit).map { $0 }
    }

    private func view(_ record: TokenRecord) -> TokenView? {
        tenants.name(of: record.tenant).map { TokenView(record: record, tenant: $0) }
    }

    /// Ends a token: it lets nobody in from now on, for good when it returns.
    ///
    /// - Throws: `noSuchToken`, `diskFull`.
    public func delete(_ id: TokenID) async throws(GatewayError) {
        guard let record = tokens[id]?.shown, view(record) != nil else { throw .noSuchToken }
        try queues.onDisk.requireRoom()
        void([id])
        try await queues.onDisk.acknowledged()
    }

    /// Ends the tokens of a tenant, which the store hears of with what is recorded in this turn.
    func voidAll(of tenant: TenantID) {
        void(tokens.values.map(\.newest).filter { $0.tenant == tenant }.map(\.id))
    }

    /// Forgets tokens that have expired long ago.
    func forgetExpired() {
        let oldest = clock.now.advanced(by: .zero - TokenService.remembrance)
        let expired = tokens.values.map(\.newest).filter { $0.isExpired(at: oldest) }
        if !expired.isEmpty { void(expired.map(\.id)) }
    }

    /// They are shown until the store has forgotten them.
    private func void(_ ids: [TokenID]) {
        for id in ids {
            guard let record = tokens[id]?.newest else { continue }
            if byDigest[record.digest] == id { byDigest[record.digest] = nil }
            queues.onDisk.record(.removedToken(id))
        }
        generation += 1
        onVoid?(Set(ids))
        LoopActor.start { [self] in
            await queues.onDisk.durable()
            for id in ids { tokens[id] = nil }
        }
    }
}
