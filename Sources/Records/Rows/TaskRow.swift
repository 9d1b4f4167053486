package import Engine
package import Semantics

extension TaskRecord {
    /// The task in a row of these columns, unless it is removed: id, tenant, session, number, type,
    /// state, hasLiveAttempt, createdAt, startedAt, request and its secret, completedAt, status and
    /// its secret, keptSince.
    package init(row: some StoredRow, sealer: any Sealer) throws(StoreError) {
        let id = TaskID(rawValue: row.int64(0))
        let tenant = TenantID(rawValue: row.int64(1))
        guard let state = StoredState(rawValue: row.int64(5))?.shown else { throw .damagedRecord }
        let secret = try sealer.openIfPresent(
            row.bytesOrNil(10), for: .request(of: id, tenant: tenant))
        self.init(
            id: id, tenant: tenant, session: SessionID(rawValue: row.int64(2)),
            number: Int(row.int64(3)), type: try TaskType(stored: row.int64(4)),
            options: TaskOptions(),
            request: try RequestRecord(
                clear: RecordReader(row.bytes(9)), secret: secret.map { RecordReader($0) }),
            createdAt: Timestamp(milliseconds: row.int64(7)))
        try readCreator(RecordReader(row.bytes(9)))
        self.state = state
        self.suspendCount = usualSuspendCount
        self.hasLiveAttempt = row.bool(6)
        self.startedAt = row.int64OrNil(8).map(Timestamp.init(milliseconds:))
        self.completedAt = row.int64OrNil(11).map(Timestamp.init(milliseconds:))
        self.keptSince =
            (row.int64OrNil(14) ?? self.completedAt?.milliseconds).map(KeptTime.init(milliseconds:))
        if let status = row.bytesOrNil(12) {
            try TaskStatus.read(
                clear: status,
                secret: try sealer.openIfPresent(
                    row.bytesOrNil(13), for: .status(of: id, tenant: tenant)),
                into: &self)
        }
    }
}

extension TaskOutcome {
    /// How a task has ended, also one that has been removed, from a row of its request, its status
    /// and the status's secret.
    package init(
        row: some StoredRow, of task: TaskID, tenant: TenantID, sealer: any Sealer
    ) throws(StoreError) {
        self = try TaskStatus.outcome(
            clear: row.bytes(1),
            secret: try sealer.openIfPresent(
                row.bytesOrNil(2), for: .status(of: task, tenant: tenant)),
            base: try RequestRecord.url(in: row.bytes(0)))
    }
}

extension TaskQuery {
    /// Whether the query is about the task of a row that has tenant, session, state, type,
    /// createdAt, request and status: by what lies in clear, without a record being made of it.
    ///
    /// - Throws: `damaged` for one that it may be about, and that cannot be read.
    package func finds(_ row: some StoredRow) throws(StoreError) -> Bool {
        guard row.int64(0) == tenant.rawValue,
            session.map({ $0.rawValue == row.int64(1) }) ?? true,
            states.contains(where: { StoredState($0).rawValue == row.int64(2) }),
            types?.contains(where: { $0.stored == row.int64(3) }) ?? true
        else { return false }
        var task = SearchedTask(createdAt: Timestamp(milliseconds: row.int64(4)))
        (task.url, task.host) = try RequestRecord.place(in: row.bytes(5))
        try TaskStatus.readSearched(in: row.bytes(6), into: &task)
        return filter.fits(task)
    }

    /// What the numbers of all tasks that the query is about are greater than: a number is the
    /// microsecond of the creation, or a later one.
    package var oldestNumber: Int64 {
        guard let instant = filter.createdAfter else { return 0 }
        let (microseconds, isTooMuch) = instant.milliseconds.multipliedReportingOverflow(by: 1000)
        return isTooMuch ? (instant.milliseconds < 0 ? 0 : .max) : microseconds
    }

    /// What a page begins behind.
    package var start: Int64 {
        switch order {
        case .oldestFirst: max(after?.rawValue ?? 0, oldestNumber)
        case .newestFirst: after?.rawValue ?? .max
        }
    }

    /// Whether no task behind this one can be what the query is about.
    package func isOver(at id: TaskID) -> Bool {
        order == .newestFirst && id.rawValue <= oldestNumber
    }
}
