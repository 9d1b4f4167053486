public import Semantics

/// What a store held when it was opened.
public struct StoreContents: Sendable {
    /// Every session that is still known.
    public var sessions: [SessionRecord] = []
    /// Tasks whose state is `running` or `canceling`, and suspended ones with a live attempt, in
    /// the order of creation.
    public var activeTasks: [TaskRecord] = []
    /// Decisions whose state is `pending`, in the order of creation.
    public var pendingDecisions: [DecisionRecord] = []
    /// The greatest number of any identifier.
    public var lastIdentifier: Int64 = 0
    /// The newest tenant sequence that was committed for each tenant that ever had an event.
    public var tenantSequences: [TenantID: Int64] = [:]
    /// Every staged file, in the order of creation.
    public var files: [StagedFile] = []
    /// The cookies of each session that has any, in no order.
    public var cookies: [SessionID: [Cookie]] = [:]
    /// The credentials that each session keeps for good, by their numbers.
    public var credentials: [SessionID: [Int64: StoredCredential]] = [:]
    /// Every webhook, in the order of creation.
    public var webhooks: [WebhookRecord] = []
    /// Every tenant that was ever changed or made, in the order of creation.
    public var tenants: [TenantRecord] = []
    /// Tenants whose records cannot be read, in the order of creation. What belongs to them stays
    /// as it is.
    public var damagedTenants: [DamagedTenant] = []
    /// Every token, in the order of creation.
    public var tokens: [TokenRecord] = []
    /// The gateway's own limit in bytes a second; nil for none.
    public var gatewayLimit: Int64?
    /// Whether work begins that may be put off (S-27).
    public var backgroundUpdates = true
    /// Sessions that cannot be read, and whose they are. What belongs to them stays as it is.
    public var damagedSessions: [SessionID: TenantID] = [:]
    /// Staged files whose rows cannot be read, and whose they are.
    public var damagedFiles: [FileID: TenantID] = [:]
    /// What kept time goes on from; nil where the store has never been told.
    public var clockMark: ClockMark?
    /// How many tasks each tenant has that have not completed; absent tenants have none.
    public var outstandingTasks: [TenantID: Int] = [:]

    /// What a new store holds: nothing.
    public init() {}
}
