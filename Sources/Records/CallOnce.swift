internal import Synchronization

/// Calls a function the first time only, from whichever thread.
package final class CallOnce: Sendable {
    private let function: @Sendable () -> Void
    private let flag = Atomic(false)

    package init(_ function: @escaping @Sendable () -> Void) { self.function = function }

    /// Whether it has been called.
    package var wasCalled: Bool { flag.load(ordering: .acquiring) }

    package func call() {
        if !flag.exchange(true, ordering: .acquiringAndReleasing) { function() }
    }
}
