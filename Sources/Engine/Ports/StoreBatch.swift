public import Semantics

/// What has changed since the last batch: the newest form of every record, once.
public struct StoreBatch: Sendable {
    /// Sessions, new or changed. The counters of a session that has only new events or tasks come
    /// here too.
    public var sessions: [SessionRecord] = []
    /// Sessions to forget with all that belongs to them.
    public var removedSessions: [SessionID] = []
    /// Tasks that the store has never seen.
    public var createdTasks: [TaskRecord] = []
    /// Tasks that the store holds, in their newest form; one that it has forgotten meanwhile stays
    /// forgotten. The original request never changes, nor do
    /// response, metrics and error of a completed task: stored events are told from them.
    public var changedTasks: [TaskRecord] = []
    /// Tasks to forget. Their events stay until their time is over.
    public var removedTasks: [TaskID] = []
    /// Bodies of contents whose place is `.store`, and of held responses; a task has one at most.
    public var contents: [(task: TaskID, bytes: [UInt8])] = []
    /// Bodies to forget. Of a task that also has a new one in `contents`, the new one stays.
    public var removedContents: [TaskID] = []
    /// Decisions, new or changed. They are forgotten with their tasks.
    public var decisions: [DecisionRecord] = []
    /// The states that `decisions` must have in the store to be changed: the first answer wins
    /// (S-74). Where one has another state, or is not there, nothing is written of its task.
    public var expectedStates: [DecisionID: DecisionState] = [:]
    /// Tasks of `createdTasks` that go on with what another task of this batch has begun, by that
    /// one: where nothing is written of it, nothing is of them.
    public var successors: [TaskID: TaskID] = [:]
    /// Numbered events, ascending within each session and each tenant, from batch to batch too.
    public var events: [Event] = []
    /// The newest tenant sequence of each tenant that has new events.
    public var tenantSequences: [TenantID: Int64] = [:]
    /// Staged files, new or changed.
    public var files: [StagedFile] = []
    /// Staged files to forget.
    public var removedFiles: [FileID] = []
    /// Keys of requests whose creations are in this batch, each once. Where the store has a
    /// key already, it stays as it is, and nothing is written of what the request has created.
    public var creations: [IdempotencyRecord] = []
    /// What has changed in the jars of sessions, numbered by `Cookie.sequence`; in this order.
    public var cookies: [SessionChange<Cookie>] = []
    /// What has changed of the credentials that sessions keep for good; in this order.
    public var credentials: [SessionChange<StoredCredential>] = []
    /// Sessions whose caches are emptied, before anything else of this batch is done to them.
    public var emptiedCaches: [SessionID] = []
    /// Stored responses to forget. None of them is in `cacheEntries`.
    public var removedCacheEntries: [CacheEntryID] = []
    /// Stored responses of a place on disk, new or changed.
    public var cacheEntries: [KeptResponse] = []
    /// When stored responses were used last, of those that the store still has.
    public var cacheUses: [CacheEntryID: Timestamp] = [:]
    /// Webhooks, new or changed.
    public var webhooks: [WebhookRecord] = []
    /// Webhooks to forget, with their deliveries.
    public var removedWebhooks: [WebhookID] = []
    /// Webhooks that begin again behind a position: what is known of later events is forgotten,
    /// before `deliveries` come.
    public var replayedWebhooks: [WebhookID: Int64] = [:]
    /// How far webhooks have got that the store has: `WebhookRecord.cursor`.
    public var webhookCursors: [WebhookID: Int64] = [:]
    /// What has become of events, new or changed, of webhooks that the store has.
    public var deliveries: [DeliveryRecord] = []
    /// Tenants, new or changed.
    public var tenants: [TenantRecord] = []
    /// Tenants to forget, of whom the store has nothing else any more.
    public var removedTenants: [TenantID] = []
    /// Tokens that the store has never seen.
    public var tokens: [TokenRecord] = []
    /// Tokens to forget.
    public var removedTokens: [TokenID] = []
    /// When tokens were used last, of those that the store still has.
    public var tokenUses: [TokenID: Timestamp] = [:]
    /// When the batch was given to the store: from here on its events are kept.
    public var keptAt = KeptTime(milliseconds: 0)
    /// What the clock that stamps all this goes on from at the next start; nil leaves what the
    /// store has.
    public var clockMark: ClockMark?
    /// The gateway's own limit in bytes a second: `.some(nil)` takes it away, nil leaves it as it
    /// is.
    public var gatewayLimit: Int64??
    /// Whether work begins that may be put off (S-27); nil leaves it as it is.
    public var backgroundUpdates: Bool?

    /// A batch without changes.
    public init() {}

    /// How many changes the batch has, an event being one.
    public var changeCount: Int {
        sessions.count + removedSessions.count + createdTasks.count + changedTasks.count
            + removedTasks.count + contents.count + removedContents.count + decisions.count
            + files.count + removedFiles.count + creations.count + cookies.count
            + credentials.count + emptiedCaches.count + removedCacheEntries.count
            + cacheEntries.count + cacheUses.count + webhooks.count + removedWebhooks.count
            + replayedWebhooks.count + webhookCursors.count + deliveries.count + events.count
            + tenants.count + removedTenants.count + tokens.count + removedTokens.count
            + tokenUses.count
    }

    /// Whether there is nothing to commit.
    public var isEmpty: Bool {
        changeCount == 0 && tenantSequences.isEmpty && gatewayLimit == nil
            && backgroundUpdates == nil && clockMark == nil
    }
}

/// A change of what a session remembers: everything goes if `removesAll`, then `removed`, then
/// comes `stored`.
public struct SessionChange<Item: Sendable>: Sendable {
    /// Whose memory it is.
    public let session: SessionID
    /// Whose session that is.
    public let tenant: TenantID
    /// Whether nothing stays of what was there.
    public var removesAll = false
    /// The numbers of what goes.
    public var removed: [Int64] = []
    /// What comes, or takes the place of what has its number. Numbers are unique in the session.
    public var stored: [Int64: Item] = [:]

    /// A change of nothing.
    public init(session: SessionID, tenant: TenantID) {
        self.session = session
        self.tenant = tenant
    }
}

/// A stored response, and its content where that is kept with it.
public struct KeptResponse: Equatable, Sendable {
    /// All but the content.
    public var entry: CachedEntry
    /// What it is looked up by; see `CacheKey.fingerprint(in:of:by:)`.
    public let fingerprint: Int64
    /// The content where its place is `.store`; nil in a batch leaves it as it is.
    public var content: [UInt8]?

    /// A response from its parts.
    public init(_ entry: CachedEntry, under fingerprint: Int64, content: [UInt8]? = nil) {
        self.entry = entry
        self.fingerprint = fingerprint
        self.content = content
    }
}

/// What a cache knows of everything that it has on disk.
public struct CacheIndexRow: Equatable, Sendable {
    /// Its name.
    public let id: CacheEntryID
    /// What it is looked up by.
    public let fingerprint: Int64
    /// What it counts against the capacity, in bytes.
    public let size: Int64
    /// Whether its content lies in a file of its own.
    public let isFile: Bool

    /// A row from its parts.
    public init(id: CacheEntryID, fingerprint: Int64, size: Int64, isFile: Bool) {
        self.id = id
        self.fingerprint = fingerprint
        self.size = size
        self.isFile = isFile
    }
}
