/// Tasks that wait for one change, and are woken together in the order of their coming.
///
/// Who is woken looks again: what it waited for may be over by then.
public struct Waiters: Sendable {
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Nobody waits.
    public init() {}

    /// Adds a task: `await withCheckedContinuation { waiters.add($0) }`.
    ///
    /// It is not this method that suspends the task, because its owner's property would be lent
    /// all the while.
    public mutating func add(_ waiter: CheckedContinuation<Void, Never>) {
        waiting.append(waiter)
    }

    /// Lets everybody go on who waits now, each in a job of its own.
    public mutating func wakeAll() {
        guard !waiting.isEmpty else { return }
        let woken = waiting
        waiting = []
        for waiter in woken { waiter.resume() }
    }
}
