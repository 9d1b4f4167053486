/// The line that shows how far a transfer has got.
public enum ProgressBar {
    /// What there is to show.
    public struct State: Equatable, Sendable {
        /// What is transferred: a file's name or a URL, as it came.
        public var name: String
        /// Bytes so far.
        public var received: Int64
        /// Bytes in all, or -1 where that is not known (rule S-42).
        public var total: Int64
        /// Bytes a second; nil before there is a rate.
        public var rate: Double?
        /// The time left; nil where that is not known.
        public var timeLeft: Duration?
        /// What the transfer does while no bytes arrive: `waiting for connectivity`; nil while they
        /// do.
        public var note: String?
        /// Grows with every redraw: the position of the moving mark of an unknown size.
        public var turn: Int

        /// A state of these parts.
        public init(
            name: String, received: Int64 = 0, total: Int64 = -1, rate: Double? = nil,
            timeLeft: Duration? = nil, note: String? = nil, turn: Int = 0
        ) {
            self.name = name
            self.received = received
            self.total = total
            self.rate = rate
            self.timeLeft = timeLeft
            self.note = note
            self.turn = turn
        }

        /// 0 to 100, rounded down so that 100 means all; nil where the size is not known.
        public var percent: Int? {
            guard total >= 0 else { return nil }
            guard received < total else { return 100 }
            return Int(Double(max(0, received)) / Double(total) * 100)
        }
    }

    /// How it may look.
    public struct Style: Equatable, Sendable {
        /// With colours of ANSI X3.64.
        public var usesColor: Bool
        /// With characters beyond ASCII.
        public var usesUnicode: Bool

        /// A style; plain by default.
        public init(usesColor: Bool = false, usesUnicode: Bool = false) {
            self.usesColor = usesColor
            self.usesUnicode = usesUnicode
        }
    }

    private static let leastBar = 10
    private static let mostBar = 40
    private static let leastName = 8
    /// The most that a name takes of a line that stands alone.
    static let mostName = 32

    /// The line, of at most `width` columns.
    ///
    /// `big.iso  42% [=======>         ] 294 MiB/700 MiB  58.1 MiB/s  0:07`. Where it is narrow,
    /// first the bar, then the time left, the rate, the sizes and the name go; the percentage
    /// stays. With `nameColumns` the name takes so many where there is room, so that several lines
    /// stand below each other.
    public static func render(
        _ state: State, width: Int, style: Style = Style(), nameColumns: Int = 0
    ) -> String {
        let head =
            state.percent.map { DisplayText.padded("\($0)%", to: 4, before: true) }
            ?? DisplayText.padded(spinner(state, style), to: nameColumns > 0 ? 4 : 1)
        var fields = tail(of: state)
        func used() -> Int {
            (fields + [head]).reduce(0) { $0 + DisplayText.columns(of: $1) + 2 } - 2
        }
        while !fields.isEmpty, used() + 2 + leastName > width { fields.removeLast() }
        let room = min(max(mostName, nameColumns), max(0, width - used() - 2))
        let name = DisplayText.padded(
            DisplayText.shortened(DisplayText.line(state.name), to: room),
            to: min(nameColumns, room))
        var parts = [name, head]
        let used = used() + DisplayText.columns(of: name) + (name.isEmpty ? 0 : 2)
        let left = width - used - 2
        if left >= leastBar {
            let columns = min(left, mostBar)
            if let percent = state.percent {
                parts.append(bar(percent, columns: columns, style))
            } else if nameColumns > 0 {
                parts.append(String(repeating: " ", count: columns))
            }
        }
        let line = (parts + fields).filter { !$0.isEmpty }.joined(separator: "  ")
        // The percentage alone may still be too much.
        return DisplayText.columns(of: head) > width ? "" : line
    }

    /// The same for a log: no bar, one sentence.
    public static func sentence(_ state: State) -> String {
        var parts: [String] = []
        if let note = state.note { parts.append(note) }
        if state.total >= 0 {
            parts.append(
                "\(state.percent ?? 0)%, \(Figures.size(state.received)) of \(Figures.size(state.total))"
            )
        } else if state.received > 0 || state.note == nil {
            parts.append(Figures.size(state.received))
        }
        if state.note == nil {
            if let rate = state.rate { parts.append(Figures.rate(rate)) }
            if let left = state.timeLeft { parts.append("\(Figures.time(left)) left") }
        }
        return "\(DisplayText.line(state.name)): \(parts.joined(separator: ", "))"
    }

    /// The fields behind the bar, the one that goes first at the end. Their widths hardly change,
    /// so that the line does not jump.
    private static func tail(of state: State) -> [String] {
        let received = Figures.size(state.received)
        let sizes =
            state.total >= 0
            ? DisplayText.padded("\(received)/\(Figures.size(state.total))", to: 17, before: true)
            : DisplayText.padded(received, to: 8, before: true)
        if let note = state.note { return [sizes, DisplayText.line(note)] }
        let rate = DisplayText.padded(state.rate.map(Figures.rate) ?? "--", to: 10, before: true)
        guard state.total >= 0 else { return [sizes, rate] }
        return [sizes, rate, DisplayText.padded(Figures.time(state.timeLeft), to: 5, before: true)]
    }

    private static func spinner(_ state: State, _ style: Style) -> String {
        let marks = Array(style.usesUnicode ? "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" : "|/-\\")
        return String(marks[abs(state.turn % marks.count)])
    }

    private static func bar(_ percent: Int, columns: Int, _ style: Style) -> String {
        let inner = style.usesUnicode ? columns : columns - 2
        let filled = inner * min(max(percent, 0), 100) / 100
        let (full, empty) = style.usesUnicode ? ("━", "─") : ("=", " ")
        var done = String(repeating: full, count: filled)
        if !style.usesUnicode, filled > 0, filled < inner { done = done.dropLast() + ">" }
        let rest = String(repeating: empty, count: inner - filled)
        if style.usesColor, !done.isEmpty { done = "\u{1B}[32m\(done)\u{1B}[0m" }
        return style.usesUnicode ? done + rest : "[\(done)\(rest)]"
    }
}
