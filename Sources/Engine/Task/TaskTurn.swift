internal import Loop
internal import Semantics

/// How a task comes to its turn: the cache may answer it, or it waits for a slot of its
/// host (S-19, S-24), one that may be put off until the gateway is quiet (S-27).
@LoopActor
final class TaskTurn {
    private let task: LiveTask
    private let caching: CacheFlow
    private let download: ResumableDownload
    private let transfer: TaskTransfer
    private let timers: TaskTimers
    /// The slot of the host that the task has.
    private var slot: Slot?
    /// Comes when the task has been put off for long enough.
    private var patience: LoopTimer?

    init(
        of task: LiveTask, _ caching: CacheFlow, _ download: ResumableDownload,
        _ transfer: TaskTransfer, _ timers: TaskTimers
    ) {
        self.task = task
        self.timers = timers
        self.caching = caching
        self.download = download
        self.transfer = transfer
    }

    private var control: (any TaskControl)? { task.control }
    private var queue: SlotQueue { task.session.queue }

    /// The next attempt waits for its turn.
    func enter() { caching.prepare(mayConsult: !download.asksForPart) }

    /// The task does not wait any more.
    func leave() {
        patience?.cancel()
        queue.leave(self)
        free()
    }

    /// The process is about to end: nothing of the task changes any more.
    func stop() { patience?.cancel() }

    /// Gives the slot to the next task.
    func free() {
        caching.attemptEnded()
        guard let slot else { return }
        patience?.cancel()
        self.slot = nil
        queue.free(slot)
    }

    /// Another task's attempt goes on as this one's, in the same slot (S-70).
    func takeOver(_ other: TaskTurn) {
        caching.inherit(other.caching)
        (slot, other.slot) = (other.slot, nil)
        if isDiscretionary { armPatience(patienceLeft) }
    }

    /// S-43.
    func setPriority(_ priority: Double) {
        task.record.options.priority = priority
        placeHasChanged()
    }

    private func placeHasChanged() {
        queue.reorder(self)
        download.segments?.placeHasChanged()
    }

    // MARK: Quiet time (S-27)

    /// Whether the task would have its turn, were the gateway quiet.
    var isPutOff: Bool { isDiscretionary && slot == nil && queue.putsOff }

    /// How much longer the task may be put off.
    private var patienceLeft: Duration {
        let interval = task.session.record.configuration.timeoutIntervalForResource
        return Discretion.timeLeft(timers.timeLeft, of: .seconds(interval))
    }

    private func armPatience(_ left: Duration) {
        let timer = patience ?? LoopTimer { [weak self] in self?.checkPatience() }
        patience = timer
        timer.arm(after: left)
    }

    /// A task that was put off for long enough is one as any other, whether it waits or runs.
    private func checkPatience() {
        guard isDiscretionary else { return }
        let left = patienceLeft
        guard left <= .zero else { return armPatience(max(left, .seconds(1))) }
        task.endDiscretion()
        placeHasChanged()
    }
}

extension TaskTurn: SlotHolder {
    var destination: WebURL.Origin { task.record.currentRequest.url.origin }
    var priority: Double { task.record.options.priority }
    var age: TaskID { task.record.id }

    var isDiscretionary: Bool { task.record.isDiscretionary }
    var breaksQuiet: Bool { !isDiscretionary }

    func slotGranted(_ slot: Slot) {
        self.slot = slot
        caching.slotGranted(mayConsult: !download.asksForPart)
    }
}

extension TaskTurn: CacheFlowOwner {
    var record: TaskRecord { task.record }
    var hasSlot: Bool { slot != nil }
    var isBeforeAttempt: Bool { control?.machine.phase == .waitingForSlot }

    func enterQueue() {
        if isDiscretionary {
            let left = patienceLeft
            if left > .zero { armPatience(left) } else { task.endDiscretion() }
        }
        queue.enter(self)
    }

    func cacheLetsBegin() { control?.send(.slotGranted) }

    func cacheRefuses(with code: URLErrorCode) { control?.fail(.url(code)) }

    func cacheIsDone(_ stored: CacheStatus?) {
        if let stored, let headers = task.record.response?.headers.fields {
            // The cache has put its status behind all others when the response was shown.
            task.record.response?.headers = stored.appended(to: HeaderList(headers.dropLast()))
        }
        control?.send(.contentKept)
    }

    func revalidationRequest(_ forwarding: Forwarding) -> AttemptRequest? {
        transfer.revalidationRequest(forwarding)
    }
}
