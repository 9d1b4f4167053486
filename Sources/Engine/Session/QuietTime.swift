internal import DequeModule
internal import Loop
internal import Semantics

/// Whether the gateway is quiet, and attempts of tasks that may be put off may begin (S-27): inside
/// the operator's hours, while no other task waits for a slot or is held back by a limit that it
/// shares, and no more than so many of them at a time.
///
/// Sessions that wait have their turns, an attempt each.
@LoopActor
final class QuietTime {
    /// The wall clock may be set, and its zone's rules may change: a wait for the hours looks
    /// again.
    private static let longestWait = Duration.seconds(60)

    private let hours: QuietHours
    private let limit: Int
    private let clock: any Clock
    /// Attempts that have begun in the quiet.
    private var runningCount = 0
    /// Other tasks that wait for slots.
    private var othersWaiting = 0
    private var waiting = Deque<SlotQueue>()
    private var isWakeDue = false
    /// What the clock on the wall has told of the hours, and when it was asked.
    private var lastLook: (isInside: Bool, at: Duration)?
    private lazy var timer = LoopTimer { [weak self] in self?.look() }
    /// Whether other tasks are held back by a limit that they share.
    var othersAreHeldBack = false {
        didSet { wakeSoon() }
    }
    /// Whether the operator has all that may be put off wait.
    var isHeld: Bool {
        didSet { wakeSoon() }
    }

    /// - Parameters:
    ///   - hours: of the operator's choice.
    ///   - limit: of attempts at a time.
    ///   - clock: its wall clock tells the hours.
    ///   - isHeld: whether all waits for the operator.
    init(hours: QuietHours, limit: Int, clock: any Clock, isHeld: Bool) {
        self.hours = hours
        self.limit = limit
        self.clock = clock
        self.isHeld = isHeld
    }

    /// Whether another attempt may begin.
    var isNow: Bool {
        !isHeld && othersWaiting == 0 && !othersAreHeldBack && runningCount < limit && isInHours
    }

    // MARK: What sessions tell

    /// So many more tasks that are not put off wait for slots, or so many fewer.
    func noteOthersWaiting(_ change: Int) {
        othersWaiting += change
        if othersWaiting == 0 { wakeSoon() }
    }

    /// An attempt begins in the quiet.
    func take() { runningCount += 1 }

    /// One of them is over.
    func giveBack() {
        runningCount -= 1
        wakeSoon()
    }

    /// A session waits for its turn; once at a time.
    func wait(_ queue: SlotQueue) {
        waiting.append(queue)
        wakeSoon()
    }

    // MARK: Turns

    /// Looks at the clock on the wall: it is time, or the clock was set.
    func look() {
        lastLook = nil
        wakeSoon()
    }

    /// At the end of this turn of the loop, when everybody has told what has changed.
    private func wakeSoon() {
        guard !isWakeDue, !waiting.isEmpty else { return }
        isWakeDue = true
        LoopActor.later { [weak self] in
            self?.isWakeDue = false
            self?.wake()
        }
    }

    private func wake() {
        while isNow, let queue = waiting.popFirst() { queue.takeQuietTurn() }
        guard !waiting.isEmpty, !isInHours,
            let wait = hours.untilChange(from: clock.secondOfDay)
        else { return }
        timer.arm(after: min(wait, QuietTime.longestWait))
    }

    /// Asks the clock once a second at most.
    private var isInHours: Bool {
        guard hours != .always else { return true }
        let now = clock.uptime
        if let lastLook, now - lastLook.at < .seconds(1) { return lastLook.isInside }
        let isInside = hours.contains(clock.secondOfDay)
        lastLook = (isInside, now)
        return isInside
    }
}
