internal import CPostgres
internal import Engine
internal import Glibc

/// A descriptor that can be read once somebody has something to tell whoever waits for a socket.
final class Waker: Sendable {
    let descriptor: CInt

    /// Nothing is to be told yet.
    /// - Throws: `failed` where the process has no descriptor left.
    init() throws(StoreError) {
        descriptor = cpostgres_make_event()
        guard descriptor >= 0 else {
            throw .failed("eventfd: \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    /// Ends a wait, or else the next one.
    func wake() {
        var one: UInt64 = 1
        // It fails where so many words wait already that one more is of no account.
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    /// Whether it was woken since it was asked last.
    func wasWoken() -> Bool {
        var count: UInt64 = 0
        return read(descriptor, &count, MemoryLayout.size(ofValue: count)) > 0
    }
}
