internal import Diagnostics
internal import Loop
internal import Semantics

/// The queue of the store on the disk, and that of what ephemeral sessions have in memory.
///
/// A session has one of the two for good. Who asks for something that may be in either goes through
/// `each`, and nobody else does.
@LoopActor
final class CommitQueues {
    let onDisk: CommitQueue
    let inMemory: CommitQueue
    /// Who searches in what they have committed.
    let searches = SearchQueue()
    private let memoryStore: MemoryStore
    private let clock: KeptClock
    private let room: DiskRoom
    /// Told whether new attempts may begin, when that may be another.
    var onChange: (@LoopActor (Bool) -> Void)?

    /// The queues of a store, and of a memory of so many bytes; the room is that of this machine's
    /// disk, on which the store may be or not.
    init(
        store: any Store, memoryLimit: Int, clock: KeptClock, room: DiskRoom,
        isOnThisDisk: Bool = true
    ) {
        self.room = room
        self.clock = clock
        memoryStore = MemoryStore(byteLimit: memoryLimit)
        onDisk = CommitQueue(store: store, clock: clock, room: isOnThisDisk ? room : nil)
        inMemory = CommitQueue(store: memoryStore, clock: clock)
        room.onChange = { [weak self] in self?.noteChange() }
    }

    /// The room, or whether the store can be written, has changed. What ends while it cannot takes
    /// room of the reserve, or stays in memory: no attempt is added to it.
    func noteChange() { onChange?(takesWork && !onDisk.isStalled) }

    /// A queue to a store that nobody reads, and that is gone with it.
    func makeNowhere() -> CommitQueue { CommitQueue(store: MemoryStore(), clock: clock) }

    /// Both, the durable one first.
    var each: [CommitQueue] { [onDisk, inMemory] }

    /// The one that a session has.
    func commits(of session: SessionRecord) -> CommitQueue {
        session.isPersistent ? onDisk : inMemory
    }

    /// The one with a change of the task which the store has not; nil where the stores have all.
    func owing(_ task: TaskID) -> CommitQueue? {
        onDisk.owes(task) ? onDisk : inMemory.owes(task) ? inMemory : nil
    }

    /// The newest form of a task that is on its way to a store.
    func pendingTask(_ id: TaskID) -> TaskRecord? {
        onDisk.pendingTask(id) ?? inMemory.pendingTask(id)
    }

    /// Returns once the stores have everything that has been recorded by now, unless the disk is
    /// full.
    func caughtUp() async {
        await onDisk.caughtUp()
        await inMemory.caughtUp()
    }

    /// Makes the reserve of the store's disk, before anything is written.
    func prepare() async { await room.prepare() }

    /// Whether the store's disk has room for new work.
    var takesWork: Bool { !room.isShort }

    /// New work is refused while the disk is full, or the store cannot be written, and for
    /// ephemeral sessions when they have all their memory.
    func refuseWhenFull(isPersistent: Bool) throws(GatewayError) {
        if !takesWork { throw .diskFull }
        if isPersistent {
            try onDisk.requireRoom()
        } else if memoryStore.isFull {
            throw .memoryFull
        }
    }
}

/// Asks a store; that it cannot be read is logged.
@LoopActor
func reading<T>(
    _ read: @LoopActor () async throws(StoreError) -> T
) async throws(GatewayError) -> T {
    do {
        return try await read()
    } catch {
        Log("engine").write(.error, "the store cannot be read", ["error": .words("\(error)")])
        throw .store(error)
    }
}
