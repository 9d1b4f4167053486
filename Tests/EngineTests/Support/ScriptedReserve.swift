import Engine
import Synchronization

/// A reserve of some parts on a disk that its test fills.
final class ScriptedReserve: Reserve {
    private struct State {
        var count: Int
        var isDiskFull: Bool
        var refillCount = 0
    }

    private let whole: Int
    private let state: Mutex<State>

    init(parts: Int, isDiskFull: Bool = false) {
        whole = parts
        state = Mutex(State(count: isDiskFull ? 0 : parts, isDiskFull: isDiskFull))
    }

    /// Parts that are left.
    var count: Int { state.withLock { $0.count } }
    /// How often room was looked for.
    var refillCount: Int { state.withLock { $0.refillCount } }
    /// Whether there is no room to make the reserve whole.
    var isDiskFull: Bool {
        get { state.withLock { $0.isDiskFull } }
        set { state.withLock { $0.isDiskFull = newValue } }
    }

    func release() async -> Bool {
        state.withLock { state in
            guard state.count > 0 else { return false }
            state.count -= 1
            return true
        }
    }

    func refill() async throws -> Bool {
        state.withLock { state in
            state.refillCount += 1
            if !state.isDiskFull { state.count = whole }
            return state.count == whole
        }
    }
}
