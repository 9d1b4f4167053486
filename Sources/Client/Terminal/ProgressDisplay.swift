/// Shows one transfer: a bar on a board that is redrawn at most ten times a second, or on a log a
/// line every five seconds.
public final class ProgressDisplay {
    /// Where its bar is.
    public let board: ProgressBoard
    private let start = ContinuousClock.now
    private var meter = RateMeter()
    private var lastLine: ContinuousClock.Instant
    private var received: Int64 = 0
    /// The number of its bar; nil while it has none.
    private var bar: Int?
    private var hasEnded = false

    /// How often a log gets a line.
    private static let interval = Duration.seconds(5)

    /// A display on a board that others may be on, too.
    public init(on board: ProgressBoard) {
        self.board = board
        // On a log the first line comes when there is something to tell.
        lastLine = start
    }

    /// A display that has a screen to itself; a quiet one shows nothing.
    public convenience init(on screen: Screen, isQuiet: Bool = false) {
        self.init(on: ProgressBoard(on: screen, isQuiet: isQuiet))
    }

    /// How long it has been shown.
    public var elapsed: Duration { start.duration(to: .now) }

    /// Takes the newest figures and shows them when it is time.
    ///
    /// `base` is how much of `received` was there before: it counts for the percentage, and not for
    /// the rate.
    public func update(
        name: String, received: Int64, total: Int64, base: Int64 = 0, note: String? = nil
    ) {
        guard !board.isQuiet else { return }
        let now = ContinuousClock.now
        let fetched = max(0, received - base)
        meter.note(fetched, at: start.duration(to: now))
        self.received = received
        let state = ProgressBar.State(
            name: name, received: received, total: total, rate: meter.bytesPerSecond,
            timeLeft: total >= 0 ? meter.time(for: total - received) : nil, note: note)
        let id = bar ?? board.add()
        bar = id
        board.show(id, state, fetched: fetched)
        guard !board.screen.isLive, lastLine.duration(to: now) >= ProgressDisplay.interval else {
            return
        }
        lastLine = now
        board.screen.print(ProgressBar.sentence(state))
    }

    /// Tells something in a line of its own, which stays.
    public func note(_ sentence: String) {
        board.note(sentence)
    }

    /// Gives a transfer that goes on after all its bar again, and tells why.
    func resume(_ sentence: String) {
        if hasEnded { board.takeBack(bytes: received) }
        hasEnded = false
        bar = nil
        note(sentence)
    }

    /// Takes the bar away; with a sentence, that stays in its place.
    public func finish(_ sentence: String? = nil) {
        if !hasEnded { board.remove(bar ?? board.add(), bytes: received) }
        hasEnded = true
        if let sentence, !board.isShared { board.note(sentence) }
    }
}
