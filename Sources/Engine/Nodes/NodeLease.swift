internal import Diagnostics
internal import Loop
internal import Semantics

/// Watches for how long the other nodes certainly leave this one what it has. Once that is over its
/// attempts stand still, so that nothing is fetched twice, until the store has answered again.
@LoopActor
final class NodeLease {
    /// How late it is found out at most that it is over.
    private static let interval = Duration.seconds(1)
    /// The same of its coming back.
    private static let shortInterval = Duration.milliseconds(200)

    /// Whether attempts stand still.
    private(set) var isOver = false
    private let store: any NodeStore
    /// Has attempts stand still, or go on.
    private let setStandstill: @LoopActor (Bool) -> Void
    private lazy var timer = LoopTimer { [weak self] in self?.look() }
    private let log = Log("engine.nodes")

    init(of store: any NodeStore, setStandstill: @escaping @LoopActor (Bool) -> Void) {
        self.store = store
        self.setStandstill = setStandstill
    }

    /// Begins to watch.
    func start() { look() }

    /// Watches no more; what stands still does so.
    func stop() { timer.cancel() }

    private func look() {
        let left = store.leaseLeft
        if isOver != (left <= .zero) {
            isOver = left <= .zero
            if isOver {
                log.write(
                    .warning,
                    "the database has not answered for long: transfers stand still until it does")
            } else {
                log.write(.notice, "the database answers: transfers go on")
            }
            setStandstill(isOver)
        }
        timer.arm(after: isOver ? NodeLease.shortInterval : min(left, NodeLease.interval))
    }
}
