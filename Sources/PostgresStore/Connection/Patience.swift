internal import Engine
internal import Glibc
internal import Synchronization

/// For how long a thread waits for a server, which may hang without closing its connections.
struct Patience: Sendable {
    /// How often a wait looks whether it is to go on.
    private static let slice = Duration.seconds(1)

    /// How long the server may say nothing while an answer is waited for.
    var answer = Duration.seconds(15)
    /// How long a connection may take to come about, all its hosts together.
    var opening = Duration.seconds(10)
    /// Ends every wait.
    let closing = Closing()

    /// That a store closes: from then on nobody waits for the database, but for a moment.
    final class Closing: Sendable {
        private let flag = Atomic(false)

        var hasBegun: Bool { flag.load(ordering: .acquiring) }

        func begin() { flag.store(true, ordering: .releasing) }
    }

    /// Waits for something to happen on a socket.
    ///
    /// - Parameters:
    ///   - events: what may happen.
    ///   - socket: where.
    ///   - waker: ends the wait, too.
    ///   - deadline: until when.
    /// - Returns: Whether something did, before the deadline and before the store closes.
    /// - Throws: `away` for a socket that is closed; `failed`.
    func wait(
        for events: CInt, on socket: CInt, or waker: Waker? = nil,
        until deadline: ContinuousClock.Instant
    ) throws(StoreError) -> Bool {
        guard socket >= 0 else { throw .away("The connection has been closed.") }
        var entries = [
            pollfd(fd: socket, events: Int16(events), revents: 0),
            // -1 is passed over.
            pollfd(fd: waker?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let left = deadline - ContinuousClock.now
            guard left > .zero else { return false }
            let milliseconds = (min(left, Self.slice) / .milliseconds(1)).rounded(.up)
            let count = Glibc.poll(&entries, 2, Int32(milliseconds))
            if count > 0 { return true }
            guard count == 0 || errno == EINTR else {
                throw .failed("poll: \(String(cString: strerror(errno)))")
            }
            if closing.hasBegun { return false }
        }
    }
}
