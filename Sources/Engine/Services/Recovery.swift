internal import Loop
internal import Semantics

/// What was under way when the last process ended, or when another node let it go, and what becomes
/// of it (S-56).
@LoopActor
final class Recovery {
    private let tasks: TaskDirectory
    private let decisions: DecisionService
    private let services: TaskServices
    /// The tasks that were under way, in the order of their creation, until `run()`.
    private var runners: [TaskRunner] = []
    /// What waited for an answer, until `run()`.
    private var waitingDecisions: [DecisionRecord]
    /// Whose tasks have been settled, and go on whatever their sessions are.
    private let handedOver: Set<TenantID>

    /// Takes in what the store holds of tasks, in sessions that are there. Nothing runs yet.
    init(
        _ contents: StoreContents, sessions: SessionDirectory, tasks: TaskDirectory,
        decisions: DecisionService, services: TaskServices, handedOver: Set<TenantID> = []
    ) {
        self.handedOver = handedOver
        self.tasks = tasks
        self.decisions = decisions
        self.services = services
        waitingDecisions = contents.pendingDecisions
        for record in contents.activeTasks {
            guard let session = sessions[record.session] else { continue }
            runners.append(tasks.runner(for: record, in: session))
        }
    }

    /// Ends what a stop has interrupted, and starts what waits.
    ///
    /// - Returns: what ends, and takes a while for it.
    func run() async -> [TaskRunner] {
        await decisions.recall(waitingDecisions)
        waitingDecisions = []
        var ending: [TaskRunner] = []
        // The most urgent first, among equals the oldest: the first ones get their slots at once
        // (S-43).
        let inOrder = runners.sorted { left, right in
            left.record.options.priority != right.record.options.priority
                ? left.record.options.priority > right.record.options.priority
                : left.record.id < right.record.id
        }
        runners = []
        // What was interrupted first, before a client can have its say about it.
        var waiting: [TaskRunner] = []
        for runner in inOrder {
            if runner.record.isContentKept, runner.record.state != .canceling {
                if runner.record.state == .running { waiting.append(runner) } else { runner.rest() }
            } else if runner.record.hasLiveAttempt, runner.record.state != .canceling,
                runner.recover(inOrder: handedOver.contains(runner.record.tenant))
            {
                if runner.record.state == .running { waiting.append(runner) } else { runner.rest() }
            } else if runner.record.state == .running, !runner.record.hasLiveAttempt {
                waiting.append(runner)
            } else if runner.record.hasLiveAttempt, runner.waitOn() {
                runner.rest()
            } else if end(runner) {
                ending.append(runner)
            }
        }
        tasks.begin(starting: waiting.map(\.record.id))
        // The store takes a slice while the next one is on its way.
        await Slices.of(waiting) { for runner in $0 { tasks.letGoOn(runner) } }
        return ending
    }

    /// Ends a task that the end of the last process has interrupted; a suspended one that is here
    /// for its decision is kept as it is.
    ///
    /// - Returns: whether its end takes a while, since a part of it is brought to safety first.
    private func end(_ runner: TaskRunner) -> Bool {
        if runner.record.state == .canceling {
            runner.interrupt(.cancelled(because: runner.record.cancellation))
            return true
        }
        guard runner.record.hasLiveAttempt else { return false }
        // In a background session it is the request's own fault: it may have been sent.
        let error =
            runner.session.record.isBackground
            ? TransferError.url(.networkConnectionLost) : .disconnected
        guard let point = runner.record.checkpoint?.point else {
            services.discardContent(runner.record.contentName)
            runner.send(.interrupted(error))
            return false
        }
        runner.task.record.countOfBytesReceived = point.receivedCount
        runner.interrupt(error)
        return true
    }
}

extension TaskServices {
    /// Removes what a task has left on the disk.
    func discardContent(_ content: ContentName) {
        contents.discard(content, behind: nil) { [room] in room.look() }
    }
}
