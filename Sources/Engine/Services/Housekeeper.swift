internal import Diagnostics
internal import Loop
internal import Semantics

/// Forgets what has outlived its time, and gives room and memory back, about once a minute.
@LoopActor
final class Housekeeper {
    private let sessions: SessionDirectory
    private let tasks: TaskDirectory
    private let files: FileService
    private let queues: CommitQueues
    private let hub: EventHub
    private let sweep: FolderSweep
    private let webhooks: WebhookDirectory
    private let tenants: TenantService
    private let room: DiskRoom
    let clock: KeptClock
    private let parts: GatewayParts
    private let limits: GatewayLimits
    private var timer: LoopTimer?
    /// What the queues had got to at the last round.
    private var generationsAtRound: [Int64] = []
    private let log = Log("engine")

    init(
        sessions: SessionDirectory, tasks: TaskDirectory, files: FileService, queues: CommitQueues,
        hub: EventHub, sweep: FolderSweep, webhooks: WebhookDirectory,
        tenants: TenantService, room: DiskRoom, clock: KeptClock, parts: GatewayParts,
        limits: GatewayLimits
    ) {
        self.sessions = sessions
        self.tasks = tasks
        self.files = files
        self.queues = queues
        self.hub = hub
        self.sweep = sweep
        self.webhooks = webhooks
        self.tenants = tenants
        self.room = room
        self.clock = clock
        self.parts = parts
        self.limits = limits
    }

    /// Makes its first round soon, and others after it.
    func start() { schedule(after: .seconds(5)) }

    /// Makes no round any more; one that is under way comes to its end.
    func stop() { timer = nil }

    private func schedule(after delay: Duration) {
        let timer = LoopTimer { [weak self] in
            guard let self else { return }
            // Held until it is done: the gateway may be let go of meanwhile.
            LoopActor.start { [self] in
                await makeRound()
                if self.timer != nil { schedule(after: .seconds(60)) }
            }
        }
        timer.arm(after: delay)
        self.timer = timer
    }

    /// Forgets what has outlived its time; removes files that belong to nobody.
    ///
    /// In slices, whatever there is to forget: the loop serves everybody in between.
    func makeRound() async {
        await Slices.of(Array(sessions.values)) { slice in
            for session in slice { session.tidy(at: parts.clock.now) }
        }
        queues.onDisk.noteClock()
        await webhooks.makeRound()
        tenants.makeRound()
        do {
            var limits = limits.retention(at: clock.now)
            limits.tenants = tenants.served.tenants
            limits.ends = tenants.ends(at: clock.now)
            for commits in queues.each {
                // Events of ephemeral sessions are not posted.
                limits.heldEvents = commits === queues.onDisk ? webhooks.heldEvents : [:]
                tasks.notesDeleted = true
                defer { tasks.notesDeleted = false }
                try await purge(commits, limits)
            }
            tasks.dropRecords { task in
                guard let session = sessions[task.session]?.record else { return true }
                let oldest = limits.tasksCompletedBefore(
                    of: task.tenant, inBackground: session.isBackground)
                return task.keptSince.map { $0 < oldest } ?? false
            }
            await files.purge()
            try await sweep.run()
        } catch {
            log.write(.warning, "housekeeping was not finished", ["error": .words("\(error)")])
        }
        await giveMemoryBack()
    }

    /// What a store has forgotten is left also where it did not come to its end: it tells of it
    /// once only.
    private func purge(_ commits: CommitQueue, _ limits: RetentionLimits) async throws(StoreError) {
        var forgotten = Forgotten()
        do throws(StoreError) {
            try await commits.purge(limits, into: &forgotten)
        } catch {
            await leave(forgotten)
            throw error
        }
        await leave(forgotten)
    }

    /// After a peak; and where nothing has changed since the last round, also what is kept to be
    /// quick.
    private func giveMemoryBack() async {
        let generations = queues.each.map(\.generation)
        let isIdle = generations == generationsAtRound
        generationsAtRound = generations
        if isIdle {
            tasks.dropRecords()
            for commits in queues.each { await commits.releaseMemory() }
        }
        parts.files.submit {
            if isIdle || Heap.isMostlyFree { Heap.trim() }
        }
    }

    /// Lets go of what a store has forgotten, and removes its files: the rows have named them, and
    /// are gone.
    private func leave(_ forgotten: Forgotten) async {
        tasks.noteForgotten()
        // What a client has deleted at the same time is counted there.
        for result in forgotten.results where !tasks.countsDeletion(of: result.task) {
            sessions[result.session]?.account.changeStored(by: -result.byteCount)
        }
        await Slices.of(forgotten.sessions) { slice in
            sessions.remove(slice)
            for session in slice { hub.forget(session) }
        }
        for start in stride(from: 0, to: forgotten.files.count, by: Slices.size) {
            let files = forgotten.files[start..<min(forgotten.files.count, start + Slices.size)]
            // Awaited, so that what is left of a thousand others does not wait at once.
            do {
                try await parts.contents.remove(Array(files))
            } catch {
                // The sweep takes what stays.
                log.write(
                    .warning, "contents of what was forgotten cannot be removed yet",
                    ["error": .words("\(error)")])
            }
        }
        if !forgotten.files.isEmpty { room.look() }
        // Only ephemeral sessions have any: few, and with few tasks that are so old.
        let owners = Set(forgotten.files.map(\.owner))
        await Slices.of(sessions.values.filter { !$0.unnamedFiles.isEmpty }) { slice in
            for session in slice {
                session.unnamedFiles = session.unnamedFiles.filter {
                    !owners.contains(.task($0.key))
                }
            }
        }
    }
}

extension GatewayLimits {
    /// What has outlived its time at an instant.
    fileprivate func retention(at now: KeptTime) -> RetentionLimits {
        let oldestEvent = now.advanced(by: .zero - eventRetention)
        return RetentionLimits(
            tasksCompletedBefore: now.advanced(by: .zero - taskRetention),
            backgroundTasksCompletedBefore: now.advanced(by: .zero - backgroundTaskRetention),
            eventsBefore: oldestEvent,
            backgroundEventsBefore: now.advanced(by: .zero - backgroundEventRetention),
            eventsPerSession: eventsPerSession, sessionsInvalidBefore: oldestEvent,
            creationsBefore: now.advanced(by: .zero - creationRetention),
            deliveriesBefore: now.advanced(by: .zero - DeliverySchedule.backlog.age))
    }
}
