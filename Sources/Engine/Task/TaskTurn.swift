internal import Loop
internal import Semantics

/// How a task comes to its turn: the cache may answer it, or it stands in line for a slot of its
/// host (S-19, S-24).
@LoopActor
final class TaskTurn {
    weak var control: (any TaskControl)?
    private let task: LiveTask
    private let caching: CacheFlow
    private let download: ResumableDownload
    private let transfer: TaskTransfer
    /// The host whose slot the task has.
    private var slot: WebURL.Origin?

    init(
        of task: LiveTask, _ caching: CacheFlow, _ download: ResumableDownload,
        _ transfer: TaskTransfer
    ) {
        self.task = task
        self.caching = caching
        self.download = download
        self.transfer = transfer
        caching.owner = self
    }

    private var queue: SlotQueue { task.session.queue }

    /// The next attempt waits for its turn.
    func enter() { caching.prepare(mayConsult: !download.asksForPart) }

    /// The task does not wait any more.
    func leave() {
        queue.leave(self)
        free()
    }

    /// Gives the slot to the next task.
    func free() {
        caching.attemptEnded()
        guard let origin = slot else { return }
        slot = nil
        queue.free(origin)
    }

    /// Another task's attempt goes on as this one's, in the same slot (S-70).
    func takeOver(_ other: TaskTurn) {
        caching.inherit(other.caching)
        (slot, other.slot) = (other.slot, nil)
    }

    /// S-43.
    func setPriority(_ priority: Double) {
        task.record.options.priority = priority
        if isBeforeAttempt { queue.reorder(self) }
    }
}

extension TaskTurn: SlotHolder {
    var destination: WebURL.Origin { task.record.currentRequest.url.origin }
    var priority: Double { task.record.options.priority }
    var age: TaskID { task.record.id }

    func slotGranted() {
        slot = destination
        caching.slotGranted(mayConsult: !download.asksForPart)
    }
}

extension TaskTurn: CacheFlowOwner {
    var record: TaskRecord { task.record }
    var hasSlot: Bool { slot != nil }
    var isBeforeAttempt: Bool { control?.machine.phase == .waitingForSlot }

    func enterLine() { queue.enter(self) }

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
