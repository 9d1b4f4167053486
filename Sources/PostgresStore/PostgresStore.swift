internal import Diagnostics
public import Engine
internal import Records
public import Semantics
internal import Synchronization

/// A store on PostgreSQL, from version 15 on: what is acknowledged survives kill -9 and power loss
/// of the gateway's machine, and of the server's as far as the server is set up for it.
///
/// One connection writes, a transaction for each batch; reads have connections of their own and
/// wait for no writer. A lost connection is no damage: what was asked for is tried again, and then
/// told to be `away`. What is sensitive is sealed as on a disk of the gateway's own, so that the
/// server never has it in clear. One gateway has the tables at a time, or several nodes share them,
/// each with tenants of its own.
public final class PostgresStore: Store {
    /// What a transaction has made of a batch.
    private struct Written: Sendable {
        let receipt: CommitReceipt
        /// Tenants of whose work nothing was written: other nodes have them.
        let foreign: Set<TenantID>
    }

    private let connections: DatabaseConnections
    private let sealer: any Sealer
    private let signsOfLife: Task<Void, Never>?
    /// Nil where this gateway has the tables alone.
    let membership: NodeMembership?
    /// Where the database is, without the password.
    public let place: String
    /// Sessions of which it is known that their rows are there.
    private let knownSessions = Mutex<Set<SessionID>>([])
    /// A batch of which it is not known whether it was committed; it comes before any other one.
    private let uncertain = Mutex<DatabaseConnections.UncertainCommit<Written>?>(nil)
    /// Stored responses that could not be read: they go with the next commit.
    private let damagedEntries = Mutex<Set<CacheEntryID>>([])
    /// The same of cookies and credentials.
    private let damagedItems = Mutex<Set<DamagedItem>>([])

    /// Opens a database, and makes the tables where they are missing. Blocks: up to ten seconds for
    /// a server, and as long where a gateway that has been killed still has the database.
    ///
    /// - Parameters:
    ///   - url: as libpq takes it: `postgres://user:password@host:port/database?…`. What is not in
    ///     it comes from libpq's environment variables, such as PGPASSFILE.
    ///   - sealer: must have the key that the tables were made with.
    /// - Throws: `away` where there is no connection, also for a wrong password; `damaged` when the
    ///   key is another one (nothing is changed then); `full`; or `failed`, also where another
    ///   gateway has the tables.
    public convenience init(url: String, sealer: any Sealer) throws(StoreError) {
        try self.init(url: url, sealer: sealer, patience: .seconds(10))
    }

    /// The same, with other times to wait: for a gateway that still has the database, and for the
    /// server; and perhaps without signs of life, which are transactions.
    convenience init(
        url: String, sealer: any Sealer, patience: Duration, waiting: Patience = Patience(),
        givesSignsOfLife: Bool = true
    ) throws(StoreError) {
        try self.init(
            url: url, sealer: sealer, turn: .now(patience: patience), waiting: waiting,
            givesSignsOfLife: givesSignsOfLife)
    }

    /// Opens a database as soon as no other gateway has it: at once when that one has ended; when
    /// it has given no sign of life for 6 s and has no connection any more, as after kill -9; and
    /// for 15 s where it has one, in which case it can write nothing any more. Blocks for as long
    /// as that takes, also while the server is away, but not for a server that cannot be reached
    /// to begin with.
    ///
    /// - Parameters:
    ///   - url: as above.
    ///   - sealer: must have the key that the tables were made with, which is looked at at once.
    ///   - wait: what ends the wait.
    ///   - whileWaiting: called when another gateway has the database, again and again.
    /// - Throws: as above; `failed` where the wait was ended.
    public convenience init(
        url: String, sealer: any Sealer, inTurn wait: DatabaseWait,
        whileWaiting: @escaping @Sendable () -> Void
    ) throws(StoreError) {
        try self.init(
            url: url, sealer: sealer, inTurn: wait, DatabaseLock.Silence(),
            whileWaiting: whileWaiting)
    }

    /// The same, with other times for a gateway to be silent.
    convenience init(
        url: String, sealer: any Sealer, inTurn wait: DatabaseWait, _ silence: DatabaseLock.Silence,
        whileWaiting: @escaping @Sendable () -> Void
    ) throws(StoreError) {
        let turn = DatabaseTurn.next(silence, whileWaiting: whileWaiting) {
            connection throws(StoreError) in
            do {
                try GatewayRow.check(sealer, by: connection)
                try connection.settle()
            } catch {
                throw StoreError(any: error)
            }
        }
        try self.init(url: url, sealer: sealer, turn: turn, waiting: wait.patience)
    }

    private init(
        url: String, sealer: any Sealer, turn: DatabaseTurn, waiting: Patience,
        givesSignsOfLife: Bool = true
    ) throws(StoreError) {
        let address = try DatabaseAddress(url)
        place = address.place
        self.sealer = sealer
        let connections = try DatabaseConnections(address, waiting, turn) {
            connection throws(StoreError) in
            do {
                // With another key nothing is changed.
                try GatewayRow.check(sealer, by: connection)
                try Schema.migrate(connection)
                try GatewayRow.make(sealer, by: connection)
            } catch {
                throw StoreError(any: error)
            }
        }
        self.connections = connections
        membership = nil
        signsOfLife = givesSignsOfLife ? Task { await connections.giveSignsOfLife() } : nil
    }

    /// Opens a database as one of several nodes that share it: see `PostgresNode`.
    ///
    /// - Parameters:
    ///   - url: as above.
    ///   - sealer: as above.
    ///   - newcomer: who joins.
    ///   - silence: after which another node counts as lost.
    ///   - patience: how long it waits for a gateway that still has the database, or the folder.
    ///   - waiting: for the server.
    ///   - givesSignsOfLife: whether it does so while nothing is written.
    /// - Throws: as above.
    init(
        url: String, sealer: any Sealer, joining newcomer: Newcomer,
        _ silence: DatabaseLock.Silence, patience: Duration, waiting: Patience,
        givesSignsOfLife: Bool
    ) throws(StoreError) {
        let database = try DatabaseAddress(url)
        place = database.place
        self.sealer = sealer
        let connections = try DatabaseConnections(
            database, waiting, joining: newcomer, within: patience
        ) { connection throws(StoreError) in
            do {
                try GatewayRow.check(sealer, by: connection)
                try Schema.migrate(connection)
                try GatewayRow.make(sealer, by: connection)
                // Another node with another key may have been quicker.
                try GatewayRow.check(sealer, by: connection)
                try connection.settle()
            } catch {
                throw StoreError(any: error)
            }
        }
        guard case .node(let node) = connections.lock.place else {
            throw .failed("This gateway has the database alone.")
        }
        self.connections = connections
        membership = try NodeMembership(node, in: newcomer.folder, connections, silence)
        signsOfLife = givesSignsOfLife ? Task { await connections.giveSignsOfLife() } : nil
    }

    deinit { signsOfLife?.cancel() }

    /// Tells, once, of what has ended the store before anybody has asked it for something: that
    /// another gateway has taken the database over.
    public func tellFailure(to listener: @escaping @Sendable (StoreError) -> Void) {
        connections.tellFailure(to: listener)
    }

    /// Where the database of a URL is, without the password; of no use for what is no such URL.
    public static func place(of url: String) -> String {
        (try? DatabaseAddress(url))?.place ?? "of --store"
    }

    /// Waits for what is running, but a second at most where the server says nothing, and closes
    /// the connections. Without it nothing is lost.
    public func close() async {
        signsOfLife?.cancel()
        await connections.close()
        await membership?.close()
    }

    // MARK: Store

    /// One transaction, and mostly one exchange with the server: a statement for all rows of a
    /// kind.
    ///
    /// - Throws: `full` when nothing was written for want of room; `away` when the database could
    ///   not be reached for two seconds, or has not answered for fifteen: the same batch is to come
    ///   again; `failed` for good: it is told to every later commit.
    @discardableResult
    public func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        guard !batch.isEmpty else { return CommitReceipt() }
        let (sealer, fence) = (sealer, membership?.fence)
        let entries = damagedEntries.withLock { $0 }
        let items = damagedItems.withLock { $0 }
        let known = knownSessions.withLock { $0 }
        let uncertain = uncertain.withLock { $0.take() }
        let outcome = await connections.transaction(settling: uncertain) { connection in
            // Before what may come under the same number.
            for item in items { try item.remove(by: connection) }
            let foreign = try fence?.foreign(among: batch.tenantsOfWork, by: connection) ?? []
            fence?.forget(batch.removedTenants)
            let receipt = try BatchWriter(
                connection: connection, sealer: sealer, knownSessions: known
            ).write(
                foreign.isEmpty ? batch : batch.without(workOf: foreign), damaged: Array(entries))
            return Written(receipt: receipt, foreign: foreign)
        }
        switch outcome {
        case .committed(let written):
            damagedEntries.withLock { $0.subtract(entries) }
            damagedItems.withLock { $0.subtract(items) }
            noteSessions(of: batch, written)
            if batch.changesAccess { membership?.announce() }
            if !written.foreign.isEmpty {
                Log("store.postgres").write(
                    .error, "work of tenants that other nodes have is not written",
                    ["tenants": .number(written.foreign.count)])
            }
            return written.receipt
        case .refused(let error): throw error
        case .unknown(let unknown, let error):
            self.uncertain.withLock { $0 = unknown }
            throw error
        }
    }

    private func noteSessions(of batch: StoreBatch, _ written: Written) {
        knownSessions.withLock { known in
            // Of what was refused nothing is known.
            if written.receipt.conflicts.isEmpty {
                known.formUnion(
                    batch.sessions.lazy.filter { !written.foreign.contains($0.tenant) }.map(\.id))
            }
            known.subtract(batch.removedSessions)
        }
    }

    /// Reads sessions with their cookies and credentials, active tasks, pending decisions and
    /// staged files only, so that a start does not wait for history. Rows that are damaged
    /// are left out; of cookies and credentials they are removed with the next commit. A node reads
    /// nothing that belongs to a tenant.
    public func load() async throws(StoreError) -> StoreContents {
        let sealer = sealer
        guard membership == nil else {
            return try await connections.reading {
                try Loading(connection: $0, sealer: sealer).commonContents()
            }
        }
        let (contents, damaged) = try await connections.reading {
            try Loading(connection: $0, sealer: sealer).contents()
        }
        damagedItems.withLock { $0.formUnion(damaged) }
        return contents
    }

    /// Reads what there is of some tenants of this node; those that another one has are left out.
    func load(_ tenants: Set<TenantID>) async throws(StoreError) -> TenantContents {
        guard let membership else { throw .failed("This gateway has the database alone.") }
        let sealer = sealer
        let (legacies, contents, damaged) = try await connections.reading { connection in
            let legacies = try membership.legacies(tenants, by: connection)
            let (contents, damaged) = try Loading(connection: connection, sealer: sealer)
                .contents(TenantFilter(tenants: Set(legacies.map(\.tenant))))
            return (legacies, contents, damaged)
        }
        damagedItems.withLock { $0.formUnion(damaged) }
        return TenantContents(
            contents, of: Set(legacies.map(\.tenant)),
            handedOver: Set(legacies.filter(\.isHandedOver).map(\.tenant)),
            withPartsHere: Set(legacies.filter(\.hasPartsHere).map(\.tenant)))
    }

    /// Whether there is a task of that id that has not ended, by one look at the primary key.
    func hasOutstanding(_ id: TaskID) async throws(StoreError) -> Bool {
        try await connections.reading { try TaskIndex(connection: $0).hasOutstanding(id) }
    }

    /// One look at the primary key.
    public func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord? {
        let sealer = sealer
        return try await connections.reading {
            try TaskReader(connection: $0, sealer: sealer).task(id, of: tenant)
        }
    }

    /// One statement, which looks at the primary key for each.
    public func tenants(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TenantID] {
        try await connections.reading { try TaskIndex(connection: $0).tenants(of: tasks) }
    }

    /// Reads as many index entries as the page has for each state and type. A search looks at about
    /// 4,000 tasks, in the order of an index. A task that is damaged is logged, too.
    public func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        let sealer = sealer
        return try await connections.reading {
            try TaskReader(connection: $0, sealer: sealer).page(query)
        }
    }

    /// One look-up for each session: they are counted as tasks change.
    public func taskCounts(
        of sessions: [SessionID]
    ) async throws(StoreError) -> [SessionID: [TaskState: Int]] {
        try await connections.reading { try TaskIndex(connection: $0).counts(of: sessions) }
    }

    /// A walk through the index of outstanding tasks, and the counts of each session.
    public func census() async throws(StoreError) -> TaskCensus {
        try await connections.reading { try TaskIndex(connection: $0).census() }
    }

    /// A walk by the server through what an index has of these tenants' tasks that have anything,
    /// and through their stored responses. It is not done again once it has begun.
    public func storedBytes(
        of tenants: Set<TenantID>?, _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64] {
        let start = CallOnce(begun)
        defer { start.call() }
        let filter = TenantFilter(tenants: tenants)
        return try await connections.reading(mayRepeat: { !start.wasCalled }) {
            try StoredBytes(connection: $0, filter: filter).ofTenants(start.call)
        }
    }

    /// The bytes, opened.
    public func content(of task: TaskID) async throws(StoreError) -> [UInt8]? {
        let sealer = sealer
        return try await connections.reading {
            try TaskReader(connection: $0, sealer: sealer).content(of: task)
        }
    }

    /// One look at the primary key, and one value to open.
    public func creation(
        of key: String, of tenant: TenantID
    ) async throws(StoreError) -> IdempotencyRecord? {
        let sealer = sealer
        return try await connections.reading {
            try CreationRows(connection: $0, sealer: sealer).creation(of: key, of: tenant)
        }
    }

    /// One look at the primary key, and one value to open.
    public func decision(
        _ id: DecisionID, of tenant: TenantID
    ) async throws(StoreError) -> DecisionRecord? {
        let sealer = sealer
        return try await connections.reading {
            try DecisionRows(connection: $0, sealer: sealer).decision(id, of: tenant)
        }
    }

    /// A range of an index for each state, and a value to open for each decision.
    public func decisions(_ query: DecisionQuery) async throws(StoreError) -> DecisionPage {
        let sealer = sealer
        return try await connections.reading {
            try DecisionRows(connection: $0, sealer: sealer).page(query)
        }
    }

    /// One look at an index, and two values to open for each. What is damaged is left out, and
    /// removed with the next commit.
    public func cacheEntries(
        of session: SessionID, under fingerprint: Int64
    ) async throws(StoreError) -> [KeptResponse] {
        let sealer = sealer
        let found = try await connections.reading {
            try CacheRows(connection: $0, sealer: sealer)
                .responses(of: session, under: fingerprint)
        }
        damagedEntries.withLock { $0.formUnion(found.damaged) }
        return found.responses
    }

    /// Opens nothing, and sorts.
    public func cacheIndex(of session: SessionID) async throws(StoreError) -> [CacheIndexRow] {
        let sealer = sealer
        return try await connections.reading {
            try CacheRows(connection: $0, sealer: sealer).index(of: session)
        }
    }

    /// One look at the primary key.
    public func knows(_ id: CacheEntryID) async throws(StoreError) -> Bool {
        let sealer = sealer
        return try await connections.reading {
            try CacheRows(connection: $0, sealer: sealer).knows(id)
        }
    }

    /// Reads whole packs: the events of a session in one commit, of a tenant in one commit. A
    /// task's stream reads its session's packs between its first event and its last.
    ///
    /// - Throws: `damaged` where a pack cannot be read. That one, and what is older of its session,
    ///   is then forgotten, so that whoever comes again is told of it by a reset.
    public func events(_ query: EventQuery) async throws(StoreError) -> [Event] {
        let sealer = sealer
        let page = try await connections.reading { connection in
            let packs = EventPacks(connection: connection, sealer: sealer)
            return try StoredEvents(in: packs, sealer: sealer).events(query)
        }
        guard let damage = page.damage else { return page.events }
        Log.damage(of: "event_pack", damage.pack.lastSequence, damage.words)
        try await Purge(connections, sealer: sealer).forgetEvents(through: damage.pack)
        throw .damaged(damage.words)
    }

    /// One look at an index.
    public func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64? {
        let sealer = sealer
        return try await connections.reading {
            try EventPacks(connection: $0, sealer: sealer).oldest(of: stream)
        }
    }

    /// A range of an index.
    public func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> DeliveryPage {
        let sealer = sealer
        return try await connections.reading {
            try WebhookRows(connection: $0, sealer: sealer).deliveries(query)
        }
    }

    /// In steps of 500 tasks, packs, keys or sessions, between which commits go on.
    ///
    /// A removed task leaves a row that nobody sees for as long as stored events are told from it.
    /// A session goes when nothing is left of its tasks and events.
    public func purge(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        defer { knownSessions.withLock { $0.subtract(forgotten.sessions) } }
        try await Purge(connections, sealer: sealer).run(limits, into: &forgotten)
    }

    /// In steps of 500 tasks, packs, keys, deliveries, webhooks or files.
    public func forget(
        _ tenant: TenantID, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        defer { knownSessions.withLock { $0.subtract(forgotten.sessions) } }
        try await TenantPurge(connections, sealer: sealer).run(tenant, into: &forgotten)
    }

    /// Closes the connections that read: the next read opens one anew.
    public func releaseMemory() async { connections.releaseMemory() }

    /// What marks the place where nodes have their contents.
    ///
    /// - Parameter mark: what it is from now on, where there is none; nil only asks.
    /// - Returns: the mark; nil where there is none.
    /// - Throws: `away`, `failed`.
    public func contentsMark(proposing mark: String? = nil) async throws(StoreError) -> String? {
        try await connections.writing { connection in
            if let mark {
                try connection.send(
                    "UPDATE gateway SET contents_mark = $1 WHERE contents_mark IS NULL",
                    [.text(mark)])
            }
            return try connection.rows("SELECT contents_mark FROM gateway").first?
                .stringOrNil(0)
        }
    }

    /// Whether a row tells of a file in the folder of the contents: a staged file, a stored
    /// response, or the content of a task that has completed.
    public func namesFiles() async throws(StoreError) -> Bool {
        try await connections.reading { connection in
            let rows = try connection.rows(
                """
                SELECT EXISTS (SELECT 1 FROM file WHERE length > 0)
                    OR EXISTS (SELECT 1 FROM cache_entry WHERE is_file)
                    OR EXISTS (SELECT 1 FROM task WHERE has_file)
                """)
            return rows.first?.bool(0) ?? false
        }
    }
}

/// A wait for a database that another gateway has.
public struct DatabaseWait: Sendable {
    let patience = Patience()

    /// A wait that nobody has ended yet.
    public init() {}

    /// Whether it was ended.
    public var isOver: Bool { patience.closing.hasBegun }

    /// Ends it, within a second.
    public func end() { patience.closing.begin() }
}
