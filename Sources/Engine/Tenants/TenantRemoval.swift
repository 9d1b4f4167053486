internal import Diagnostics
internal import Loop
internal import Semantics

/// Forgets tenants with all that they have: what runs ends, then nothing is left of it, neither in
/// memory nor in the store nor among the files. What a stop interrupts the next start goes on with.
@LoopActor
final class TenantRemoval {
    private let sessions: SessionDirectory
    private let tasks: TaskDirectory
    private let files: FileService
    private let webhooks: WebhookDirectory
    private let closer: SessionCloser
    private let queues: CommitQueues
    private let hub: EventHub
    private let contents: any ContentStore
    private var underWay: Set<TenantID> = []
    private let log = Log("engine.tenants")

    init(
        sessions: SessionDirectory, tasks: TaskDirectory, files: FileService,
        webhooks: WebhookDirectory, closer: SessionCloser, queues: CommitQueues, hub: EventHub,
        contents: any ContentStore
    ) {
        self.sessions = sessions
        self.tasks = tasks
        self.files = files
        self.webhooks = webhooks
        self.closer = closer
        self.queues = queues
        self.hub = hub
        self.contents = contents
    }

    /// Begins, unless it has already; nobody may call for the tenant any more.
    ///
    /// - Parameters:
    ///   - tenant: whose record says that it ends.
    ///   - completion: called when the store has forgotten its record, too.
    func begin(_ tenant: TenantID, then completion: @escaping @LoopActor () -> Void) {
        guard underWay.insert(tenant).inserted else { return }
        LoopActor.start { [self] in
            await endWork(of: tenant)
            await files.forgetAll(of: tenant)
            let isForgotten = await forgetStored(tenant)
            if isForgotten { queues.onDisk.record(.removedTenant(tenant)) }
            let isDone = await queues.onDisk.durable()
            underWay.remove(tenant)
            guard isForgotten, isDone else { return }
            completion()
            log.write(
                .notice, "a tenant was deleted", ["tenant": .number(Int(tenant.rawValue))])
        }
    }

    /// Ends what runs, and takes the sessions out of memory.
    private func endWork(of tenant: TenantID) async {
        for webhook in webhooks.all(of: tenant) { webhooks.remove(webhook.record.id) }
        while true {
            let runners = tasks.runners(of: tenant)
            if runners.isEmpty { break }
            await Slices.of(runners) { slice in
                for runner in slice { runner.cancel() }
            }
            await runners.completions(within: .seconds(60))
        }
        // In one turn with the last look: no request that is still under way begins anything now.
        let ending = sessions.all(of: tenant)
        for session in ending { hub.forget(session.record.id) }
        for session in ending where !session.record.isPersistent { closer.forget(session) }
        sessions.remove(ending.lazy.map(\.record.id))
        tasks.dropRecords { $0.tenant == tenant }
        tasks.noteForgotten()
        for session in ending {
            await session.forgetEverything()
            session.closeConnections()
        }
    }

    /// As often as it takes: a disk that is full has room again some time.
    ///
    /// - Returns: false where another node goes on with it.
    private func forgetStored(_ tenant: TenantID) async -> Bool {
        var forgotten = Forgotten()
        while true {
            guard await queues.onDisk.durable() else { return false }
            await queues.inMemory.durable()
            do {
                for commits in queues.each {
                    try await commits.forget(tenant, into: &forgotten)
                }
                try await removeFiles(forgotten.files)
                for part in try await contents.list([.kept]) where part.tenant == tenant {
                    contents.discard(part)
                }
                return true
            } catch StoreError.lost {
                return false
            } catch {
                log.write(
                    .error, "what a deleted tenant had cannot be forgotten yet",
                    ["tenant": .number(Int(tenant.rawValue)), "error": .words("\(error)")])
                await LoopActor.nextTurn(after: .seconds(60))
            }
        }
    }

    private func removeFiles(_ files: [ContentName]) async throws {
        for start in stride(from: 0, to: files.count, by: Slices.size) {
            let slice = files[start..<min(files.count, start + Slices.size)]
            try await contents.remove(Array(slice))
        }
    }
}
