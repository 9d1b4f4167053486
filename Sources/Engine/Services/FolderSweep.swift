internal import Diagnostics
internal import Loop
internal import Semantics

/// Removes files that belong to nobody, once an hour: a crash between a file and its row leaves the
/// file behind. Parts that resume data speaks of have no row, and a life of their own (S-34). What
/// a node has sent ahead of a task that has ended, or has not put to its end, is another's to
/// remove where that node is lost; and so is what it has put in a series of which no record tells.
/// What could not be removed when it was to be is removed now.
@LoopActor
final class FolderSweep {
    private let sessions: SessionDirectory
    private let tasks: TaskDirectory
    private let staged: StagedFiles
    private let durable: CommitQueue
    private let clock: KeptClock
    private let parts: GatewayParts
    private let accounts: TenantAccounts
    private let partRetention: Duration
    /// When the content folder was last looked through; nil before the first time.
    private var sweptAt: Duration?
    /// Contents of which the last run could not tell whether they are needed.
    private var undecided: Set<ContentName> = []
    private let log = Log("engine")

    init(
        sessions: SessionDirectory, tasks: TaskDirectory, staged: StagedFiles, durable: CommitQueue,
        clock: KeptClock, parts: GatewayParts, accounts: TenantAccounts, partRetention: Duration
    ) {
        self.sessions = sessions
        self.tasks = tasks
        self.staged = staged
        self.durable = durable
        self.clock = clock
        self.parts = parts
        self.accounts = accounts
        self.partRetention = partRetention
    }

    /// Looks through the content folder, if that was not done lately.
    func run() async throws {
        let uptime = parts.clock.uptime
        guard sweptAt.map({ uptime - $0 >= .seconds(3600) }) ?? true else { return }
        let now = clock.now
        let found = try await parts.contents.list(Set(ContentKind.allCases))
        var waiting: Set<ContentName> = []
        for (number, entry) in found.enumerated() {
            if number % Slices.size == 0 { await LoopActor.nextTurn() }
            // What another node has put there may have no row yet.
            if parts.sharedStore != nil, entry.kind == .whole,
                now.since(entry.modified) < .seconds(3600)
            {
                continue
            }
            if entry.kind == .ahead {
                guard try await isLeftOver(entry, at: now) else { continue }
                parts.contents.discard(entry)
                continue
            }
            let isOwed = entry.kind == .whole && parts.contents.owesRemoval(of: entry.name)
            if isOwed, parts.sharedStore == nil {
                // Nobody else puts anything, and this process has not put it again.
                parts.contents.discard(entry)
                continue
            }
            switch entry.owner {
            case .task(let task) where entry.kind == .kept:
                guard now.since(entry.modified) > partRetention else { continue }
                if let tenant = entry.tenant { accounts.dropPart(of: task, in: tenant) }
            case .task(let task):
                guard isDue(entry, at: now), !knows(task, entry) else { continue }
                if try await needs(entry) {
                    if try await isOfTaskUnderWay(task, entry) { waiting.insert(entry.name) }
                    continue
                }
            case .file(let file):
                guard isDue(entry, at: now), entry.series != nil || !staged.holds(file)
                else { continue }
                if try await needs(entry) { continue }
            case .entry(let response):
                guard sweptAt == nil || isOwed, try await !needs(entry),
                    !sessions.values.contains(where: { $0.cache?.contains(response) == true })
                else { continue }
            }
            parts.contents.discard(entry)  // or the next round does
        }
        (sweptAt, undecided) = (uptime, waiting)
    }

    /// Whether a content is looked for in the store: in the first run all that memory does not
    /// know, later only a part that a node may have lost with its tenant, what was put in a series,
    /// which may be that of a node that was lost, and what was kept for another download for long
    /// enough. Of the last two each is looked for once; and again while its task is under way, or
    /// its removal is owed.
    private func isDue(_ entry: ContentEntry, at now: KeptTime) -> Bool {
        let isKept = mayBeKept(entry)
        let age = now.since(entry.modified) - (isKept ? partRetention : .zero)
        if isKept, age <= .zero { return false }
        guard let sweptAt else { return true }
        guard parts.sharedStore != nil else { return false }
        if entry.kind == .part || undecided.contains(entry.name) { return true }
        if entry.kind == .whole, parts.contents.owesRemoval(of: entry.name) { return true }
        let lookedAtBefore = parts.clock.uptime - sweptAt + .seconds(2 * 3600)
        return (entry.series != nil || isKept) && age < lookedAtBefore
    }

    /// Whether a content may be the part of a download that has ended, which a node has handed over
    /// for another download to go on with (S-34).
    private func mayBeKept(_ entry: ContentEntry) -> Bool {
        guard case .task = entry.owner else { return false }
        return parts.sharedStore != nil && entry.kind == .whole && entry.series == nil
    }

    /// Whether a content was put for a task that is under way: by that task, or by a node that is
    /// lost. The record does not tell before the task has ended.
    private func isOfTaskUnderWay(
        _ task: TaskID, _ entry: ContentEntry
    ) async throws(StoreError) -> Bool {
        guard let shared = parts.sharedStore, entry.series != nil else { return false }
        return try await unlessUnreadable(entry) { () throws(StoreError) in
            try await shared.hasOutstanding(task)
        }
    }

    /// Whether memory knows a task: that it tells of another series is known to the store alone.
    private func knows(_ task: TaskID, _ entry: ContentEntry) -> Bool {
        durable.pendingTask(task) != nil || (entry.series == nil && tasks.holds(task))
    }

    /// Whether the store tells of a content that memory does not know. It has no staged files that
    /// memory has not, but for those of other nodes' tenants.
    private func needs(_ entry: ContentEntry) async throws(StoreError) -> Bool {
        try await unlessUnreadable(entry) { [self] () throws(StoreError) in
            if let shared = parts.sharedStore {
                return try await shared.needs(entry.kind, of: entry.name)
            }
            switch entry.owner {
            case .task(let task): return try await durable.store.knows(task)
            case .file(let file): return staged.holds(file)
            case .entry(let response): return try await durable.store.knows(response)
            }
        }
    }

    /// Asks the store whether a content is needed. One of which it cannot tell stays, and the sweep
    /// goes on behind it, unless there is no store to ask.
    private func unlessUnreadable(
        _ entry: ContentEntry, _ ask: @LoopActor () async throws(StoreError) -> Bool
    ) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try await ask()
        } catch {
            switch error {
            case .away, .lost: throw error
            case .full, .failed, .damaged:
                log.write(
                    .warning, "a content stays, as it cannot be told whether anybody needs it",
                    ["content": .name("\(entry.owner.id)"), "error": .words("\(error)")])
                return true
            }
        }
    }

    /// Whether nobody needs what was sent ahead. What has no task is being put, in less than a day;
    /// and so is, for a while, the part of one that has ended, where its node hands it over.
    private func isLeftOver(_ entry: ContentEntry, at now: KeptTime) async throws -> Bool {
        let age = now.since(entry.modified)
        guard case .task(let task) = entry.owner else { return age > .seconds(24 * 3600) }
        guard age > .seconds(3600) else { return false }
        guard !tasks.holds(task), durable.pendingTask(task) == nil else { return false }
        return try await !unlessUnreadable(entry) { [self] () throws(StoreError) in
            try await parts.sharedStore?.hasOutstanding(task) ?? false
        }
    }
}
