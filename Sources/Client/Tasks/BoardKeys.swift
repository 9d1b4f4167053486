/// What keys do on the board: a pure value, so that the same keys give the same state.
struct BoardKeys: Equatable {
    /// What is to be done.
    enum Action: Equatable {
        case pause(String), resume(String), cancel(String)
        case quit
    }

    /// Only tasks that have this in them are shown.
    private(set) var filter = ""
    /// The task that keys are about.
    private(set) var selected: String?
    private var mode = Mode.rows

    private enum Mode: Equatable {
        case rows
        /// A filter is being typed.
        case filter
        /// Whether this task is to be cancelled is being asked.
        case cancelling(String)
    }

    /// What is asked at the moment; nil for nothing.
    var question: String? {
        switch mode {
        case .rows: filter.isEmpty ? nil : "filter: \(filter)  (/ changes it)"
        case .filter: "/\(filter)_  Enter takes it, Esc leaves it"
        case .cancelling(let id): "cancel \(id)? y or n"
        }
    }

    /// Takes a key while these tasks are shown.
    mutating func take(_ key: Key, _ shown: [String]) -> Action? {
        switch mode {
        case .filter:
            type(key)
            return nil
        case .cancelling(let id):
            mode = .rows
            return key == .character("y") ? .cancel(id) : nil
        case .rows: break
        }
        settle(shown)
        switch key {
        case .up, .character("k"): move(by: -1, shown)
        case .down, .character("j"): move(by: 1, shown)
        case .character("/"): mode = .filter
        case .escape: filter = ""
        case .character("q"): return .quit
        case .character("p"): return selected.map(Action.pause)
        case .character("r"): return selected.map(Action.resume)
        case .character("c"): if let selected { mode = .cancelling(selected) }
        default: break
        }
        return nil
    }

    /// Selects the first task where the selected one is not shown any more.
    mutating func settle(_ shown: [String]) {
        if let selected, shown.contains(selected) { return }
        selected = shown.first
    }

    private mutating func move(by step: Int, _ shown: [String]) {
        guard let selected, let index = shown.firstIndex(of: selected) else { return }
        self.selected = shown[min(max(0, index + step), shown.count - 1)]
    }

    private mutating func type(_ key: Key) {
        switch key {
        case .enter: mode = .rows
        case .escape:
            mode = .rows
            filter = ""
        case .backspace: if !filter.isEmpty { filter.removeLast() }
        case .character(let character): filter.append(character)
        case .up, .down: break
        }
    }
}
