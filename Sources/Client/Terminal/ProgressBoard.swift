internal import Synchronization

/// The bars of a command's transfers on one screen, one below the other, and with several a line
/// for all of them. Any thread may use it.
public final class ProgressBoard: Sendable {
    /// Where it is.
    public let screen: Screen
    let isQuiet: Bool
    /// Whether contents come to the same terminal: nothing but notes may get in between.
    let isShared: Bool
    /// How many transfers the command has in all.
    private let count: Int
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    /// A board for so many transfers; a quiet one shows nothing, one that is shared with what they
    /// bring has no bars.
    public init(
        on screen: Screen, isQuiet: Bool = false, isShared: Bool = false, count: Int = 1
    ) {
        self.screen = screen
        self.isQuiet = isQuiet
        self.isShared = isShared
        self.count = count
    }

    fileprivate struct Row {
        let id: Int
        var bar: ProgressBar.State
        /// Bytes that this command has brought, without those that were there before.
        var fetched: Int64
    }

    fileprivate struct State {
        var rows: [Row] = []
        var nextID = 0
        var meter = RateMeter()
        var fetched: Int64 = 0
        var turn = 0
        var lastDrawn: ContinuousClock.Instant?
        /// Of transfers that have ended.
        var endedCount = 0
        var endedBytes: Int64 = 0
    }

    /// A number for a further transfer.
    func add() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    /// Takes the newest figures of a transfer, and draws all when it is time.
    func show(_ id: Int, _ bar: ProgressBar.State, fetched: Int64) {
        let now = ContinuousClock.now
        let drawn = state.withLock { state -> [String]? in
            state.take(id, bar, fetched, at: start.duration(to: now))
            guard screen.isLive, !isShared else { return nil }
            if let last = state.lastDrawn, last.duration(to: now) < .milliseconds(100) {
                return nil
            }
            state.lastDrawn = now
            state.turn += 1
            return lines(of: state)
        }
        if let drawn { screen.draw(drawn) }
    }

    /// Takes a transfer's bar away: it has ended, and came to so many bytes.
    func remove(_ id: Int, bytes: Int64) {
        state.withLock { state in
            state.rows.removeAll { $0.id == id }
            state.endedCount += 1
            state.endedBytes += bytes
            // Drawn again with the next figures of another one.
            state.lastDrawn = nil
        }
        screen.clear()
    }

    /// A transfer whose bar was taken away has not ended after all.
    func takeBack(bytes: Int64) {
        state.withLock { state in
            state.endedCount -= 1
            state.endedBytes -= bytes
        }
    }

    /// Tells something in a line of its own, which stays.
    public func note(_ sentence: String) {
        guard !isQuiet else { return }
        screen.print(DisplayText.line(sentence))
    }

    // MARK: Lines

    private func lines(of state: State) -> [String] {
        let (width, style) = (screen.lineWidth, screen.style)
        let rows = state.rows.map { row in
            var bar = row.bar
            bar.turn = state.turn
            return bar
        }
        guard count > 1 else {
            return rows.map { ProgressBar.render($0, width: width, style: style) }
        }
        let room = max(1, screen.size.rows - 2)
        let shown = rows.count <= room ? rows.count : room - 1
        let total = total(of: state)
        let longest = (rows.prefix(shown) + [total]).map { DisplayText.columns(of: $0.name) }.max()
        let nameColumns = min(longest ?? 0, ProgressBar.mostName)
        func line(_ bar: ProgressBar.State) -> String {
            ProgressBar.render(bar, width: width, style: style, nameColumns: nameColumns)
        }
        var lines = rows.prefix(shown).map(line)
        if shown < rows.count {
            lines.append(DisplayText.cut("and \(rows.count - shown) more", to: width))
        }
        return lines + [line(total)]
    }

    /// The line for all: of unknown length while one is unknown, or has not begun.
    private func total(of state: State) -> ProgressBar.State {
        let isKnown =
            state.endedCount + state.rows.count == count
            && state.rows.allSatisfy { $0.bar.total >= 0 }
        let received = state.rows.reduce(state.endedBytes) { $0 + max(0, $1.bar.received) }
        let total = isKnown ? state.rows.reduce(state.endedBytes) { $0 + $1.bar.total } : -1
        return ProgressBar.State(
            name: "\(state.endedCount) of \(count) done", received: received, total: total,
            rate: state.meter.bytesPerSecond,
            timeLeft: isKnown ? state.meter.time(for: total - received) : nil, turn: state.turn)
    }
}

extension ProgressBoard.State {
    fileprivate mutating func take(
        _ id: Int, _ bar: ProgressBar.State, _ bytes: Int64, at instant: Duration
    ) {
        if let index = rows.firstIndex(where: { $0.id == id }) {
            fetched += max(0, bytes - rows[index].fetched)
            rows[index].bar = bar
            rows[index].fetched = bytes
        } else {
            rows.append(ProgressBoard.Row(id: id, bar: bar, fetched: bytes))
        }
        meter.note(fetched, at: instant)
    }
}
