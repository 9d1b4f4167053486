internal import Diagnostics
internal import Loop
internal import Semantics

/// What every task runner needs of the gateway.
@LoopActor
final class TaskServices {
    let clock: any Clock
    let keptClock: KeptClock
    let files: FileThreads
    let room: DiskRoom
    let folder: ContentFolder
    /// What ephemeral sessions have on the disk.
    let unnamed: UnnamedFile
    let digests: any Digests
    let sealer: any Sealer
    let transport: any Transport
    let hub: EventHub
    let progress = ProgressTicker()
    let checkpoints = CheckpointTicker()
    let decisions = DecisionDesk()
    let routes: RouteBoard
    /// The hosts that are shown the operator's tickets (S-63), in lower case.
    let ticketHosts: Set<String>
    /// How long a suspended task keeps its connection (S-32).
    let suspensionGrace: Duration
    let log = Log("engine.task")
    private let identifiers: IdentifierSource
    private weak var bodyOpener: (any BodyOpener)?

    init(
        clock: any Clock, keptClock: KeptClock, files: FileThreads, room: DiskRoom,
        folder: ContentFolder, digests: any Digests, sealer: any Sealer, transport: any Transport,
        hub: EventHub, identifiers: IdentifierSource, ticketHosts: Set<String>,
        connectivity: (any Connectivity)?, routeWaits: ClosedRange<Duration>,
        suspensionGrace: Duration
    ) {
        self.identifiers = identifiers
        self.routes = RouteBoard(connectivity, waits: routeWaits)
        self.ticketHosts = ticketHosts
        self.clock = clock
        self.keptClock = keptClock
        self.files = files
        self.room = room
        self.folder = folder
        self.unnamed = UnnamedFile(in: folder, files: files)
        self.digests = digests
        self.sealer = sealer
        self.transport = transport
        self.hub = hub
        self.suspensionGrace = suspensionGrace
    }

    /// Tells who opens the bodies of tasks; it is not kept alive.
    func connect(to bodyOpener: any BodyOpener) { self.bodyOpener = bodyOpener }

    func openSource(
        _ body: BodyRecord, _ tenant: TenantID
    ) async throws(TransferError) -> BodyContent {
        guard let bodyOpener else { throw .cancelled }
        return try await bodyOpener.openSource(body, of: tenant)
    }

    func makeDecisionID() -> DecisionID { identifiers.next() }

    /// What another task goes on from; nil where it cannot be sealed, which is logged.
    func resumeData(_ checkpoint: DownloadCheckpoint, of record: TaskRecord) -> String? {
        do {
            return try ResumeData(request: record.originalRequest, checkpoint: checkpoint)
                .sealed(by: sealer, for: record.tenant)
        } catch {
            log.write(.error, "resume data cannot be sealed", ["error": .words("\(error)")])
            return nil
        }
    }
}

extension Bandwidth {
    /// Whether a limit applies.
    var isLimited: Bool { nearestLimit != nil }
}

/// What a request's body is read from.
enum BodyContent {
    case bytes([UInt8])
    case file(ContentFile)
}

/// A task, as those see it who ask all tasks at times.
@LoopActor
protocol TickedTask: AnyObject {
    /// Tells the task's figures to whoever listens.
    func showProgress()
    /// Notes what is on disk for good.
    func checkpoint() async
}

/// Lets running downloads note what is on disk for good, about once a second.
@LoopActor
final class CheckpointTicker {
    private static let interval = Duration.seconds(1)

    private var moved: [ObjectIdentifier: any TickedTask] = [:]
    private lazy var timer = LoopTimer { [weak self] in self?.tick() }

    /// The task will be asked for a checkpoint at the next tick, once.
    func note(_ task: any TickedTask) {
        moved[ObjectIdentifier(task)] = task
        if !timer.isArmed { timer.arm(after: CheckpointTicker.interval) }
    }

    func forget(_ task: any TickedTask) {
        moved[ObjectIdentifier(task)] = nil
    }

    private func tick() {
        let tasks = moved.values
        moved = [:]
        for task in tasks {
            LoopActor.start { await task.checkpoint() }
        }
    }
}

/// Lets running tasks tell their progress four times a second at most (S-59).
@LoopActor
final class ProgressTicker {
    /// A little more than a quarter of a second: a timer counts from the beginning of the loop's
    /// turn, so it may be early by as long as that takes.
    private static let interval = Duration.milliseconds(280)

    private var moved: [ObjectIdentifier: any TickedTask] = [:]
    private lazy var timer = LoopTimer { [weak self] in self?.tick() }

    /// The task will be asked for its figures at the next tick, once.
    func note(_ task: any TickedTask) {
        moved[ObjectIdentifier(task)] = task
        if !timer.isArmed { timer.arm(after: ProgressTicker.interval) }
    }

    func forget(_ task: any TickedTask) {
        moved[ObjectIdentifier(task)] = nil
    }

    private func tick() {
        let tasks = moved.values
        moved = [:]
        for task in tasks { task.showProgress() }
    }
}
