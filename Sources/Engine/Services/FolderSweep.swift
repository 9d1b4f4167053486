internal import Loop
internal import Semantics

/// Removes files that belong to nobody, once an hour: a crash between a file and its row leaves the
/// file behind. Parts that resume data speaks of have no row, and a life of their own (S-34). What
/// a node has sent ahead of a task that has ended, or has not put to its end, is another's to
/// remove where that node is lost.
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
            switch entry.owner {
            case .task(let task) where entry.kind == .kept:
                guard now.since(entry.modified) > partRetention else { continue }
                if let tenant = entry.tenant { accounts.dropPart(of: task, in: tenant) }
            case .task(let task):
                guard isDue(entry), !tasks.holds(task), durable.pendingTask(task) == nil
                else { continue }
                if try await needs(entry) { continue }
            case .file(let file):
                guard isDue(entry), !staged.holds(file) else { continue }
                if try await needs(entry) { continue }
            case .entry(let response):
                guard sweptAt == nil, try await !durable.store.knows(response),
                    !sessions.values.contains(where: { $0.cache?.contains(response) == true })
                else { continue }
            }
            parts.contents.discard(entry)  // or the next round does
        }
        sweptAt = uptime
    }

    /// Whether a content is looked for in the store: in the first run all that memory does not
    /// know, later only a part that a node may have lost with its tenant.
    private func isDue(_ entry: ContentEntry) -> Bool {
        sweptAt == nil || (parts.sharedStore != nil && entry.kind == .part)
    }

    /// Whether the store tells of a content that memory does not know. It has no staged files that
    /// memory has not, but for those of other nodes' tenants.
    private func needs(_ entry: ContentEntry) async throws(StoreError) -> Bool {
        if let shared = parts.sharedStore {
            return try await shared.needs(entry.kind, of: entry.owner)
        }
        guard case .task(let task) = entry.owner else { return false }
        return try await durable.store.knows(task)
    }

    /// Whether nobody needs what was sent ahead. What has no task is being put, in less than a day;
    /// and so is, for a while, the part of one that has ended, where its node hands it over.
    private func isLeftOver(_ entry: ContentEntry, at now: KeptTime) async throws -> Bool {
        let age = now.since(entry.modified)
        guard case .task(let task) = entry.owner else { return age > .seconds(24 * 3600) }
        guard age > .seconds(3600) else { return false }
        guard !tasks.holds(task), durable.pendingTask(task) == nil else { return false }
        return try await !(parts.sharedStore?.hasOutstanding(task) ?? false)
    }
}
