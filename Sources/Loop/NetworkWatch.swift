internal import CEvent
internal import Glibc

/// Watches the machine's interfaces, addresses and routes by rtnetlink(7).
///
/// A cable that is plugged in brings a dozen messages within a second: they are gathered for a
/// while, so that those who are told find the network as it is then. What has changed is not told;
/// who waits for a way tries it.
@LoopActor
public final class NetworkWatch {
    /// Called after changes, once for all of one `delay`.
    public var onChange: (@LoopActor () -> Void)?

    private let socket: CInt
    private let delay: Duration
    private var watch: Watch?
    private var timer: LoopTimer?

    /// How long changes are gathered: 250 ms.
    public nonisolated static let delay = Duration.milliseconds(250)

    /// Watches the machine, or its container.
    ///
    /// Nil where the kernel has no such socket for it, as some sandboxes have not.
    public convenience init?() {
        let socket = cevent_route_socket()
        guard socket >= 0 else { return nil }
        self.init(owning: socket, delay: Self.delay)
    }

    /// Watches a socket that is bound to the changes and does not block; closes it when it is
    /// released.
    public init(owning socket: CInt, delay: Duration) {
        self.socket = socket
        self.delay = delay
        timer = LoopTimer { [weak self] in self?.onChange?() }
        watch = Watch(socket: socket, for: .read) { [weak self] _ in self?.drain() }
    }

    isolated deinit {
        watch?.cancel()
        close(socket)
    }

    /// Takes the messages that are there. What they say is not needed, so nothing of them is kept,
    /// however long.
    private func drain() {
        // More than that many are left to the next turn of the loop.
        for _ in 0..<64 {
            var byte: UInt8 = 0
            let count = recv(socket, &byte, 1, CInt(MSG_DONTWAIT))
            let failure = count < 0 ? errno : 0
            if count > 0 || failure == ENOBUFS {
                // ENOBUFS: there were more messages than the socket holds.
                noteChange()
            } else if failure == EAGAIN {
                return
            } else if failure != EINTR {
                // Nothing comes any more, and libevent would say so for ever.
                watch?.cancel()
                return
            }
        }
    }

    private func noteChange() {
        if timer?.isArmed == false { timer?.arm(after: delay) }
    }
}
