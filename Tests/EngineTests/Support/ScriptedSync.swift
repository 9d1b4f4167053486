import Glibc
import Synchronization

/// fdatasync(2) as its test wants it: whatever was written, it may fail.
final class ScriptedSync: Sendable {
    private struct State {
        var code: CInt?
        var count = 0
        var failureCount = 0
    }

    private let state = Mutex(State())

    /// Every call fails so, until it is nil.
    func fail(with code: CInt?) { state.withLock { $0.code = code } }

    /// Calls so far.
    var count: Int { state.withLock { $0.count } }
    /// Calls so far that have failed.
    var failureCount: Int { state.withLock { $0.failureCount } }

    func sync(_ descriptor: CInt) -> CInt {
        let code = state.withLock { state in
            state.count += 1
            if state.code != nil { state.failureCount += 1 }
            return state.code
        }
        guard let code else { return fdatasync(descriptor) }
        errno = code
        return -1
    }
}
