/// Shows one transfer on a screen: a bar that is redrawn at most ten times a second, or on a log a
/// line every five seconds.
public final class ProgressDisplay {
    private let screen: Screen
    private let isQuiet: Bool
    private let start = ContinuousClock.now
    private var meter = RateMeter()
    private var turn = 0
    private var lastDrawn: ContinuousClock.Instant?

    private var interval: Duration { screen.isLive ? .milliseconds(100) : .seconds(5) }

    /// A display; a quiet one shows nothing.
    public init(on screen: Screen, isQuiet: Bool = false) {
        self.screen = screen
        self.isQuiet = isQuiet
        // On a log the first line comes when there is something to tell.
        lastDrawn = screen.isLive ? nil : start
    }

    /// How long it has been shown.
    public var elapsed: Duration { start.duration(to: .now) }

    /// Takes the newest figures and shows them when it is time.
    public func update(name: String, received: Int64, total: Int64, note: String? = nil) {
        let now = ContinuousClock.now
        meter.note(received, at: start.duration(to: now))
        guard !isQuiet else { return }
        if let lastDrawn, lastDrawn.duration(to: now) < interval { return }
        lastDrawn = now
        turn += 1
        let state = ProgressBar.State(
            name: name, received: received, total: total, rate: meter.bytesPerSecond,
            timeLeft: total >= 0 ? meter.time(for: total - received) : nil, note: note, turn: turn)
        if screen.isLive {
            let line = ProgressBar.render(state, width: screen.lineWidth, style: screen.style)
            screen.draw([line])
        } else {
            screen.print(ProgressBar.sentence(state))
        }
    }

    /// Tells something in a line of its own, which stays.
    public func note(_ sentence: String) {
        guard !isQuiet else { return }
        screen.print(DisplayText.line(sentence))
    }

    /// Takes the bar away; with a sentence, that stays in its place.
    public func finish(_ sentence: String? = nil) {
        guard !isQuiet else { return }
        if let sentence { screen.print(DisplayText.line(sentence)) } else { screen.clear() }
    }
}
