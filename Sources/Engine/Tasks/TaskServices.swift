internal import Loop
internal import Semantics

/// What every task runner needs of the gateway.
@LoopActor
final class TaskServices {
    let clock: any Clock
    let files: FileThreads
    let folder: ContentFolder
    let digests: any Digests
    let transport: any Transport
    let hub: EventHub
    let progress: ProgressTicker
    /// How long a suspended task keeps its connection (S-32).
    let suspensionGrace: Duration
    /// Called with every task that has completed, after its last event.
    var onCompletion: (@LoopActor (TaskRunner) -> Void)?
    /// Called with a task that has nothing to do any more, but was suspended before its attempt ended.
    var onRest: (@LoopActor (TaskRunner) -> Void)?

    init(
        clock: any Clock, files: FileThreads, folder: ContentFolder, digests: any Digests,
        transport: any Transport, hub: EventHub, suspensionGrace: Duration
    ) {
        self.clock = clock
        self.files = files
        self.folder = folder
        self.digests = digests
        self.transport = transport
        self.hub = hub
        self.progress = ProgressTicker()
        self.suspensionGrace = suspensionGrace
    }
}

/// Lets running tasks tell their progress four times a second at most (S-59).
@LoopActor
final class ProgressTicker {
    /// A little more than a quarter of a second: a timer counts from the beginning of the loop's turn, so it may be
    /// early by as long as that takes.
    private static let interval = Duration.milliseconds(280)

    private var moved: [ObjectIdentifier: TaskRunner] = [:]
    private lazy var timer = LoopTimer { [unowned self] in tick() }

    /// The task will be asked for its figures at the next tick, once.
    func note(_ runner: TaskRunner) {
        moved[ObjectIdentifier(runner)] = runner
        if !timer.isArmed { timer.arm(after: ProgressTicker.interval) }
    }

    func forget(_ runner: TaskRunner) {
        moved[ObjectIdentifier(runner)] = nil
    }

    private func tick() {
        let runners = moved.values
        moved = [:]
        for runner in runners { runner.showProgress() }
    }
}
