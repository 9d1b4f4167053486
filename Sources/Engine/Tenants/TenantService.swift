internal import Diagnostics
public import Loop
public import Semantics

/// What a new tenant is to be.
public struct TenantSpec: Sendable {
    /// See `TenantName`.
    public var name: String
    /// The operator's own words, at most 1,024 bytes of UTF-8; nil for none.
    public var description: String?
    /// How much of the gateway it may use.
    public var quotas = TenantQuotas.defaults
    /// Where its transfers may go.
    public var egress = EgressNarrowing()
    /// How long its completed tasks are kept; nil for as long as the gateway keeps any.
    public var taskRetention: Duration?

    /// A tenant that nothing else is said of.
    public init(name: String) { self.name = name }
}

/// What of a tenant is to change; nil leaves it as it is.
public struct TenantChange: Sendable {
    /// `.some(nil)` takes it away.
    public var description: String??
    /// The quotas that change; nil for none any more.
    public var quotas: [TenantQuotas.Quota: Int64?] = [:]
    /// Takes the place of what was there.
    public var egress: EgressNarrowing?
    /// `.some(nil)`: as long as the gateway keeps any.
    public var taskRetention: Duration??

    /// A change of nothing.
    public init() {}
}

/// Tenants: made, changed, and deleted with all that they have.
@LoopActor
public final class TenantService {
    /// Hears the quotas of a tenant whenever they are set; nil for one that is gone.
    var onQuotas: (@LoopActor (TenantID, TenantQuotas?) -> Void)? {
        didSet { for tenant in directory.all { onQuotas?(tenant.id, tenant.quotas) } }
    }

    let directory: TenantDirectory
    /// Who may call for them.
    public let tokens: TokenService
    private let removal: TenantRemoval
    private let queues: CommitQueues
    private let identifiers: IdentifierSource
    private let clock: KeptClock
    private let wall: any Clock
    /// Those whose work is done here.
    var served: ServedTenants { directory.served }
    private let log = Log("engine.tenants")

    init(
        _ directory: TenantDirectory, tokens: TokenService, removal: TenantRemoval,
        queues: CommitQueues, identifiers: IdentifierSource, clock: KeptClock, wall: any Clock
    ) {
        self.directory = directory
        self.tokens = tokens
        self.removal = removal
        self.queues = queues
        self.identifiers = identifiers
        self.clock = clock
        self.wall = wall
    }

    /// Makes a tenant, durable when it returns.
    ///
    /// - Throws: `tenantExists`, `tooManyTenants`, `diskFull`.
    public func create(_ spec: TenantSpec) async throws(GatewayError) -> TenantRecord {
        try queues.refuseWhenFull(isPersistent: true)
        guard directory.named(spec.name) == nil, directory.damaged(named: spec.name) == nil else {
            throw .tenantExists
        }
        try directory.requireRoom()
        let record = TenantRecord(
            id: TenantID(rawValue: identifiers.nextNumber()), name: spec.name,
            description: spec.description, quotas: spec.quotas, egress: spec.egress,
            taskRetention: spec.taskRetention, createdAt: wall.now)
        directory.admit(record)
        onQuotas?(record.id, record.quotas)
        try await queues.onDisk.acknowledged()
        return record
    }

    /// One tenant.
    ///
    /// - Throws: `noSuchTenant`, `damaged`.
    public func read(_ name: String) throws(GatewayError) -> TenantRecord {
        if let record = directory.shown(name) { return record }
        throw directory.damaged(named: name) == nil ? .noSuchTenant : .damaged
    }

    /// The tenants in the order of creation, behind one that need not be there any more.
    public func list(after id: TenantID?, limit: Int) -> TenantPage {
        directory.page(after: id, limit: limit)
    }

    /// The name of a tenant; nil where there is none of that number.
    public func name(of id: TenantID) -> String? { directory.name(of: id) }

    /// Changes a tenant.
    ///
    /// - Throws: `noSuchTenant`, `tenantIsEnding`, `diskFull`.
    public func change(
        _ name: String, _ change: TenantChange
    ) async throws(GatewayError) -> TenantRecord {
        let record = try read(name)
        guard !record.isEnding else { throw .tenantIsEnding }
        try queues.onDisk.requireRoom()
        directory.change(record.id) { record in
            if let description = change.description { record.description = description }
            for (quota, limit) in change.quotas { record.quotas[quota] = limit }
            if let egress = change.egress { record.egress = egress }
            if let retention = change.taskRetention { record.taskRetention = retention }
        }
        if let quotas = directory[record.id]?.quotas { onQuotas?(record.id, quotas) }
        try await queues.onDisk.acknowledged()
        return try read(name)
    }

    /// Begins to delete a tenant: its tokens let nobody in any more, and that is durable when it
    /// returns. Then all that it has goes, over restarts too. One that is damaged is deleted, too.
    ///
    /// - Throws: `noSuchTenant`, `tenantStays` for the operator's own, `diskFull`.
    public func delete(_ name: String) async throws(GatewayError) -> TenantRecord {
        if let damaged = directory.damaged(named: name) {
            try queues.onDisk.requireRoom()
            directory.end(damaged, called: name)
            tokens.voidAll(of: damaged.id)
        }
        let record = try read(name)
        guard record.id != .operatorTenant else { throw .tenantStays }
        try queues.onDisk.requireRoom()
        if !record.isEnding, directory[record.id]?.isEnding == false {
            directory.change(record.id) { $0.isEnding = true }
            tokens.voidAll(of: record.id)
        }
        LoopActor.start { [self] in
            if await queues.onDisk.durable() { goOnRemoving(record.id) }
        }
        try await queues.onDisk.acknowledged()
        return directory[record.id] ?? record
    }

    // MARK: Upkeep

    /// Goes on with what a stop has interrupted.
    func removeEnding() {
        for tenant in directory.ending { goOnRemoving(tenant) }
    }

    /// Forgets what is stored of tenants that no record tells of.
    func remove(strays: Set<TenantID>) {
        for tenant in strays.sorted(by: { $0.rawValue < $1.rawValue }) {
            log.write(
                .warning, "what belongs to a tenant that does not exist is deleted",
                ["tenant": .number(Int(tenant.rawValue))])
            tokens.voidAll(of: tenant)
            goOnRemoving(tenant)
        }
    }

    private func goOnRemoving(_ tenant: TenantID) {
        guard served.contains(tenant) else { return }
        removal.begin(tenant) { [weak self] in
            self?.directory.drop(tenant)
            self?.onQuotas?(tenant, nil)
        }
    }

    /// Takes over what the store has: another node has changed it.
    func refresh(_ contents: StoreContents) {
        let (changed, gone) = directory.refresh(contents)
        for tenant in changed { onQuotas?(tenant.id, tenant.quotas) }
        for tenant in gone { onQuotas?(tenant, nil) }
        tokens.refresh(contents.tokens)
    }

    /// Drops tenants that were being deleted, and of which another node has left nothing.
    func dropRemoved(notAmong stored: Set<TenantID>) {
        for tenant in directory.ending where !stored.contains(tenant) && !served.contains(tenant) {
            directory.drop(tenant)
            onQuotas?(tenant, nil)
        }
    }

    /// Has the quotas of tenants told once more: their accounts are new.
    func tellQuotas(of tenants: Set<TenantID>) {
        for tenant in directory.all where tenants.contains(tenant.id) {
            onQuotas?(tenant.id, tenant.quotas)
        }
    }

    /// Forgets tokens that have expired long ago.
    func makeRound() { tokens.forgetExpired() }

    /// Up to where tasks are forgotten of tenants whose tasks are not kept as long as others'.
    func ends(at now: KeptTime) -> [TenantID: RetentionLimits.End] {
        var ends: [TenantID: RetentionLimits.End] = [:]
        for tenant in directory.all where served.contains(tenant.id) {
            guard let retention = tenant.taskRetention else { continue }
            let oldest = now.advanced(by: .zero - retention)
            ends[tenant.id] = RetentionLimits.End(
                completedBefore: oldest,
                createdBefore: TaskID(rawValue: clock.wall(at: oldest).milliseconds * 1000))
        }
        return ends
    }
}
