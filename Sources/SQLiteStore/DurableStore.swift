internal import Diagnostics
public import Engine
internal import GRDB
internal import Records
public import Semantics
internal import Synchronization

/// A store on SQLite: what is acknowledged survives kill -9 and power loss.
///
/// One connection writes, on a queue of its own: a batch is one transaction and one sync of the
/// write-ahead log. Reads have connections of their own and wait for no writer. Sensitive headers,
/// request bodies and contents are sealed. All files have mode 0600.
public final class DurableStore: Store {
    /// The database's name in its folder; SQLite adds `-wal` and `-shm`.
    public static let fileName = "ferry.sqlite"

    /// All that reads and writes the database goes through these.
    private let connections: DatabaseConnections
    let sealer: any Sealer
    /// Stored responses that could not be read: they go with the next commit.
    let damagedEntries = Mutex<Set<CacheEntryID>>([])
    /// The same of cookies and credentials.
    let damagedItems = Mutex<Set<DamagedItem>>([])

    /// Opens the database in a folder, and makes both where they are missing. Blocks.
    ///
    /// - Parameters:
    ///   - folder: is given mode 0700.
    ///   - sealer: must have the key that the database was made with.
    /// - Throws: `damaged` when the key is another one (nothing is changed then) or the file is not
    ///   a database, `full`, or `failed`.
    public init(folder: String, sealer: any Sealer) throws(StoreError) {
        let path = try DatabaseFile.prepare(in: folder)
        do {
            LogMark.check(database: path)
            try KeyCheck.verify(path, sealer: sealer)
            connections = try DatabaseConnections(path: path)
            self.sealer = sealer
            try Schema.migrate(connections.pool)
            try connections.pool.write { try KeyCheck.make($0, sealer: sealer) }
        } catch {
            throw StoreError(error)
        }
    }

    /// Waits for what is running, copies the log into the database and closes the files. Blocks.
    ///
    /// Without it nothing is lost: the next start reads the log.
    public func close() throws(StoreError) { try connections.close() }

    /// For who looks at the rows themselves.
    var pool: DatabasePool { connections.pool }

    // MARK: Store

    /// One transaction and one sync: about 10 µs of the writer's time for each task that is created
    /// and completed with five events, in batches of hundreds.
    ///
    /// - Throws: `full` when nothing was written for want of room, and the batch may come again;
    ///   `failed` for good: it is told to every later commit.
    @discardableResult
    public func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        guard !batch.isEmpty else { return CommitReceipt() }
        let sealer = sealer
        let entries = damagedEntries.withLock { $0 }
        let items = damagedItems.withLock { $0 }
        let receipt = try await connections.writing { database in
            // Before what may come under the same number.
            for item in items { try item.remove(from: database) }
            return try BatchWriter(database, sealer: sealer).write(batch, damaged: Array(entries))
        }
        damagedEntries.withLock { $0.subtract(entries) }
        damagedItems.withLock { $0.subtract(items) }
        return receipt
    }

    /// Reads sessions with their cookies and credentials, active tasks, pending decisions and
    /// staged files only, so that a start does not wait for history. Rows that are damaged
    /// are left out; of cookies and credentials they are removed with the next commit.
    public func load() async throws(StoreError) -> StoreContents {
        let sealer = sealer
        let (contents, damaged) = try await reading {
            try Loading(database: $0, sealer: sealer).contents()
        }
        damagedItems.withLock { $0.formUnion(damaged) }
        return contents
    }

    /// About 10 µs.
    public func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord? {
        let sealer = sealer
        return try await reading { try TaskReader($0, sealer: sealer).task(id, of: tenant) }
    }

    /// One look at the primary key for each.
    public func tenants(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TenantID] {
        try await reading { try TaskIndex(database: $0).tenants(of: tasks) }
    }

    /// Reads as many index entries as the page has for each state and type. A search looks at about
    /// 4,000 tasks, 3 µs each, in the order of an index. A task that is damaged is logged, too.
    public func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        let sealer = sealer
        return try await reading { database in
            try TaskPageReader(database: database, sealer: sealer).page(query)
        }
    }

    /// One look-up for each session: they are counted as tasks change.
    public func taskCounts(
        of sessions: [SessionID]
    ) async throws(StoreError) -> [SessionID: [TaskState: Int]] {
        try await reading { try TaskIndex(database: $0).counts(of: sessions) }
    }

    /// A walk through the index of outstanding tasks, and the counts of each session.
    public func census() async throws(StoreError) -> TaskCensus {
        try await reading { try TaskIndex(database: $0).census() }
    }

    /// Reads the status of every completed task, and the index of all caches, beside commits: about
    /// a second for half a million, whosever they are.
    public func storedBytes(
        of tenants: Set<TenantID>?, _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64] {
        let start = CallOnce(begun)
        defer { start.call() }
        return try await reading {
            try StoredBytes(database: $0, tenants: tenants).ofTenants(start.call)
        }
    }

    /// The bytes, opened.
    public func content(of task: TaskID) async throws(StoreError) -> [UInt8]? {
        let sealer = sealer
        return try await reading { try TaskReader($0, sealer: sealer).content(of: task) }
    }

    /// One look at the primary key, and one value to open.
    public func creation(
        of key: String, of tenant: TenantID
    ) async throws(StoreError) -> IdempotencyRecord? {
        let sealer = sealer
        return try await reading {
            try CreationTable(database: $0, sealer: sealer).creation(of: key, of: tenant)
        }
    }

    /// One look at the primary key, and one value to open.
    public func decision(
        _ id: DecisionID, of tenant: TenantID
    ) async throws(StoreError) -> DecisionRecord? {
        let sealer = sealer
        return try await reading {
            try DecisionTable(database: $0, sealer: sealer).decision(id, of: tenant)
        }
    }

    /// A range of an index for each state, and a value to open for each decision.
    public func decisions(
        _ query: DecisionQuery
    ) async throws(StoreError) -> DecisionPage {
        let sealer = sealer
        return try await reading {
            try DecisionTable(database: $0, sealer: sealer).page(query)
        }
    }

    /// Reads whole packs: the events of a session in one commit, of a tenant in one commit. A
    /// task's stream reads its session's packs between its first event and its last.
    ///
    /// - Throws: `damaged` where a pack cannot be read. That one, and what is older of its session,
    ///   is then forgotten, so that whoever comes again is told of it by a reset.
    public func events(_ query: EventQuery) async throws(StoreError) -> [Event] {
        let sealer = sealer
        let page = try await reading { try StoredEventReader($0, sealer: sealer).events(query) }
        guard let damage = page.damage else { return page.events }
        Log.damage(of: "event_pack", damage.pack, damage.words)
        try await Purge(connections, sealer: sealer).forgetEvents(through: damage.pack)
        throw .damaged(damage.words)
    }

    /// One look at an index.
    public func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64? {
        let sealer = sealer
        return try await reading { try StoredEventReader($0, sealer: sealer).oldest(of: stream) }
    }

    /// A range of an index.
    public func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> DeliveryPage {
        let sealer = sealer
        return try await reading {
            try WebhookTable(database: $0, sealer: sealer).deliveries(query)
        }
    }

    /// In steps of 500 tasks, packs, keys or sessions, between which commits go on.
    ///
    /// A removed task leaves a row that nobody sees for as long as stored events are told from it.
    /// A session goes when nothing is left of its tasks and events. Sessions of which nothing has
    /// outlived its time cost two looks at an index each.
    public func purge(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await Purge(connections, sealer: sealer).run(limits, into: &forgotten)
    }

    /// In steps of 500 tasks, packs, keys, webhooks or files.
    public func forget(
        _ tenant: TenantID, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await TenantPurge(connections, sealer: sealer).run(tenant, into: &forgotten)
    }

    /// Empties SQLite's page cache, and closes the connections that read: the next one opens anew.
    public func releaseMemory() async { connections.releaseMemory() }

    /// Runs a read of one state of the database.
    func reading<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        try await connections.reading(body)
    }
}
