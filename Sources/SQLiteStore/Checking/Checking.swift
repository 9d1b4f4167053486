internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Looks through one state of a database, and, where it may, sets aside what is damaged.
///
/// Sessions go before tasks, and these before events: what needs something that was set aside is
/// found damaged in its turn.
final class Checking {
    let database: Database
    let sealer: any Sealer
    let contents: ContentFolder
    /// Nil where nothing may be changed.
    let aside: Aside?
    private let report: (StoreDamage) -> Void

    init(
        database: Database, sealer: any Sealer, contents: ContentFolder, asideFolder: String? = nil,
        report: @escaping (StoreDamage) -> Void
    ) {
        self.database = database
        self.sealer = sealer
        self.contents = contents
        self.report = report
        aside = asideFolder.map { Aside(database: database, contents: contents, folder: $0) }
    }

    func run() throws {
        try aside?.prepare()
        try checkStructure()
        try checkCounters()
        try checkSessions()
        try checkTasks()
        try checkRemnants()
        try checkDecisions()
        try checkCreations()
        try checkStagedFiles()
        try checkWebhooks()
        try checkAccess()
        try checkItems(Cookie.self)
        try checkItems(StoredCredential.self)
        try checkResponses()
        try checkPacks()
        try checkStrays()
        try checkCounts()
    }

    func tell(_ name: String, _ words: String) {
        report(StoreDamage(name: name, words: words))
    }

    /// Tells of a thing, and sets it aside.
    func take(_ thing: StoredThing, _ words: String) throws {
        tell(thing.name, words)
        try aside?.take(thing, words)
    }

    /// Reads every row of a statement. What the body finds damaged is told, and set aside when all
    /// are read: a table must not change while it is.
    func look(
        at sql: String, as thing: (PreparedRow) -> StoredThing,
        _ body: (PreparedRow) throws -> Void
    ) throws {
        var damaged: [(StoredThing, String)] = []
        try PreparedStatement(database, sql).forEachRow { row throws(StoreError) in
            do {
                try body(row)
            } catch {
                let error = StoreError(error)
                guard case .damaged(let words) = error else { throw error }
                damaged.append((thing(row), words))
            }
            return true
        }
        for (thing, words) in damaged { try take(thing, words) }
    }

    // MARK: The file

    private func checkStructure() throws {
        var faults = try structuralFaults()
        if !faults.isEmpty, aside != nil {
            // An index can be made anew from its table.
            for fault in faults { tell("the database", fault) }
            try database.execute(sql: "REINDEX")
            faults = try structuralFaults()
            guard faults.isEmpty else {
                throw StoreError.damaged(
                    """
                    It is damaged in such a way that its rows cannot be told: restore a backup, or see \
                    https://www.sqlite.org/recovery.html.
                    """)
            }
        }
        for fault in faults { tell("the database", fault) }
    }

    private func structuralFaults() throws -> [String] {
        try String.fetchAll(database, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
    }

    /// A counter that is behind what it has counted would give numbers twice (S-8).
    private func checkCounters() throws {
        let newest = """
            coalesce((SELECT max(tenantThrough) FROM event_pack WHERE event_pack.tenant = tenant.id), 0)
            """
        let wrong = """
            typeof(lastSequence) <> 'integer' OR typeof(forgottenSequence) <> 'integer'
                OR lastSequence < \(newest)
            """
        let sql = "SELECT id FROM tenant WHERE \(wrong)"
        for id in try Int64.fetchAll(database, sql: sql) {
            tell("tenant \(id)", "Its counters of events are damaged.")
        }
        guard aside != nil else { return }
        // Nobody can tell what has been forgotten: whoever comes is told to begin anew.
        try database.execute(
            sql: """
                UPDATE tenant SET lastSequence = max(CAST(lastSequence AS INTEGER), \(newest)),
                    forgottenSequence = max(CAST(lastSequence AS INTEGER), \(newest))
                WHERE \(wrong)
                """)
    }

    /// Last of all, because what is set aside is not counted any more.
    private func checkCounts() throws {
        let right = "SELECT session, state, count(*) FROM task GROUP BY session, state"
        let kept = "SELECT session, state, count FROM task_count WHERE count <> 0"
        let wrong = """
            SELECT session FROM (SELECT * FROM (\(right)) EXCEPT \(kept))
            UNION SELECT session FROM (\(kept) EXCEPT SELECT * FROM (\(right)))
            """
        let sessions = try Int64.fetchAll(database, sql: wrong)
        for id in sessions {
            tell("session \(SessionID(rawValue: id))", "The counts of its tasks are wrong.")
        }
        guard aside != nil, !sessions.isEmpty else { return }
        try database.execute(sql: "DELETE FROM task_count")
        try database.execute(sql: "INSERT INTO task_count (session, state, count) \(right)")
    }

    // MARK: What is in no table of tasks

    private func checkSessions() throws {
        try look(
            at: Loading.sessionColumns, as: { .session(SessionID(rawValue: $0.int64(0))) }
        ) { row in
            _ = try SessionRecord(row: row, sealer: sealer)
        }
    }

    private func checkDecisions() throws {
        try look(
            at: DecisionTable.columns, as: { .decision(DecisionID(rawValue: $0.int64(0))) }
        ) { row in _ = try DecisionRecord(row: row, sealer: sealer) }
    }

    private func checkCreations() throws {
        let table = CreationTable(database: database, sealer: sealer)
        try look(
            at: "SELECT tenant, key FROM creation",
            as: { .creation($0.stringOrNil(1) ?? "", of: TenantID(rawValue: $0.int64(0))) }
        ) { row in
            _ = try table.creation(of: row.string(1), of: TenantID(rawValue: row.int64(0)))
        }
    }

    private func checkStagedFiles() throws {
        try look(
            at: FileTable.columns, as: { .file(FileID(rawValue: $0.int64(0))) }
        ) { row in
            let file = try StagedFile(row: row)
            let whole = try contents.length(of: file.id, .whole)
            let length = try file.isComplete ? whole : whole ?? contents.length(of: file.id, .part)
            guard file.length > 0 || file.isComplete else { return }
            guard let length else { throw StoreError.damaged("Its bytes are missing.") }
            guard file.isComplete ? length == file.length : length >= file.length else {
                throw StoreError.damaged("It should have \(file.length) bytes, and has \(length).")
            }
        }
    }

    private func checkWebhooks() throws {
        try look(
            at: WebhookTable.columns, as: { .webhook(WebhookID(rawValue: $0.int64(0))) }
        ) { row in _ = try WebhookRecord(row: row, sealer: sealer) }
    }

    private func checkAccess() throws {
        try checkTenants()
        try look(
            at: AccessTokenTable.columns, as: { .token(TokenID(rawValue: $0.int64(0))) }
        ) { row in _ = try TokenRecord(row: row) }
    }

    /// A tenant is not set aside: what it has would belong to nobody, and go at the next start. Its
    /// record is copied, and made anew.
    private func checkTenants() throws {
        let table = TenantTable(database: database)
        var damaged: [DamagedTenant] = []
        _ = try table.all(damaged: &damaged)
        for tenant in damaged {
            let thing = StoredThing.tenant(tenant.id)
            let words = "Its record cannot be read."
            tell(thing.name, words)
            guard let aside else { continue }
            try aside.copy(thing, words)
            try table.mend(tenant)
        }
    }

    private func checkItems<Item: RememberedItem>(_: Item.Type) throws {
        let table = RememberedTable<Item>(database: database, sealer: sealer)
        for (item, words) in try table.all().damaged { try take(.item(item), words) }
    }

    private func checkResponses() throws {
        try look(
            at: CacheReader.allColumns, as: { .response(CacheEntryID(rawValue: $0.int64(0))) }
        ) { row in
            let (entry, _) = try CachedEntry.read(row, sealer: sealer)
            // Its file may go before its row.
            guard entry.place == .file, try contents.length(of: entry.id, .whole) != nil else {
                return
            }
            try requireFile(of: entry.id, length: entry.response.length)
        }
    }

    private func checkPacks() throws {
        let reader = try StoredEventReader(database, sealer: sealer)
        try look(
            at: "SELECT id, tenant, session, lastSequence, events FROM event_pack ORDER BY id",
            as: { .packs(through: $0.int64(3), of: SessionID(rawValue: $0.int64(2))) }
        ) { row in
            try reader.readAll(
                row.bytes(4), of: SessionID(rawValue: row.int64(2)),
                tenant: TenantID(rawValue: row.int64(1)))
        }
    }

    /// Refuses a content whose file is not there, or not whole.
    func requireFile(of id: any Identifier, length: Int64) throws {
        guard let found = try contents.length(of: id, .whole) else {
            throw StoreError.damaged("Its content is missing.")
        }
        guard found == length else {
            throw StoreError.damaged("Its content should have \(length) bytes, and has \(found).")
        }
    }

    // MARK: Files

    /// Files that nobody would ask for. Parts that resume data speaks of have no row (S-34).
    private func checkStrays() throws {
        let tables = try [
            ("task", "AND state <> \(StoredState.removed.rawValue)"), ("file", ""),
            ("cache_entry", ""),
        ]
        .map { try PreparedStatement(database, "SELECT 1 FROM \($0.0) WHERE id = ?1 \($0.1)") }
        try contents.forEachEntry { entry in
            guard entry.kind != .kept else { return }
            let table =
                switch entry.owner {
                case .task: tables[0]
                case .file: tables[1]
                case .entry: tables[2]
                }
            table.bind(1, entry.owner.id.rawValue)
            guard try table.first({ _ in true }) == nil else { return }
            tell(
                "\(entry.owner.id)\(entry.kind.rawValue)",
                "No row tells of this file: a crash leaves such ones, and so does a lost row.")
            if let aside { try contents.move(entry.owner.id, to: aside.folder) }
        }
    }
}
