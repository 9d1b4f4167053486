internal import Diagnostics
internal import Loop
internal import Semantics

/// For how long the other nodes leave this one what it has. While that is not certain its attempts
/// stand still, so that nothing is fetched twice; once they have taken it for lost it joins them
/// again.
@LoopActor
final class NodeLease {
    /// How late it is found out at most that it is over.
    private static let interval = Duration.seconds(1)
    /// The same of its coming back.
    private static let shortInterval = Duration.milliseconds(200)
    /// How often in a row the node is refused, or lost anew at once, before it gives up.
    private static let patience = 3
    /// A node that was lost again before was lost at once.
    private static let shortLife = Duration.seconds(60)

    /// Whether attempts stand still.
    private(set) var isOver = false
    /// Whether the others have taken this node for lost, and it has not joined again.
    private(set) var isLost = false
    /// How often they have.
    private(set) var lossCount = 0
    private let store: any NodeStore
    private let clock: any Clock
    /// Has attempts stand still, or go on.
    private let setStandstill: @LoopActor (Bool) -> Void
    /// When the node has joined again.
    private var joinedAt: Duration?
    /// How often in a row it was of no use to join.
    private var failureCount = 0
    /// A node that wakes up looks before it takes what its origins have sent meanwhile.
    private lazy var timer = LoopTimer(countsStandstill: true) { [weak self] in self?.look() }
    private let log = Log("engine.nodes")

    init(
        of store: any NodeStore, clock: any Clock,
        setStandstill: @escaping @LoopActor (Bool) -> Void
    ) {
        self.store = store
        self.clock = clock
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

    // MARK: Loss

    /// The others have taken this node for lost.
    ///
    /// - Returns: false where that is known already.
    func lose() -> Bool {
        guard !isLost else { return false }
        isLost = true
        lossCount += 1
        let isShort = joinedAt.map { clock.uptime - $0 < NodeLease.shortLife } ?? false
        failureCount = isShort ? failureCount + 1 : 0
        log.write(
            .error, "the other nodes have taken this one for lost: its work ends here",
            ["node": .number(Int(store.node.rawValue))])
        return true
    }

    /// Joins the others again, as soon as the database can be reached.
    ///
    /// - Parameter prepare: makes memory ready for it.
    /// - Throws: `StoreError` where the node is refused, or lost at once, again and again.
    func renew(_ prepare: @LoopActor () async throws(StoreError) -> Void) async throws(StoreError) {
        while true {
            do throws(StoreError) {
                guard failureCount < NodeLease.patience else { throw .lost }
                try await store.rejoin()
                try await prepare()
                joinedAt = clock.uptime
                isLost = false
                log.write(
                    .notice, "this node has joined the others again",
                    ["node": .number(Int(store.node.rawValue))])
                return
            } catch {
                switch error {
                case .away, .full: break
                case .lost, .failed, .damaged:
                    failureCount += 1
                    log.write(
                        .error, "this node cannot join the others again",
                        ["error": .words("\(error)")])
                    guard failureCount < NodeLease.patience else { throw error }
                }
            }
            await LoopActor.nextTurn(after: .seconds(1))
        }
    }
}
