import Glibc
import Synchronization

/// A failed system call on a socket.
public struct SocketError: Error, CustomStringConvertible {
    /// The call that failed.
    public let operation: String
    /// Its `errno`.
    public let number: Int32

    init(_ operation: String, _ number: Int32 = errno) {
        self.operation = operation
        self.number = number
    }

    /// The call and the system's words for its error.
    public var description: String { "\(operation): \(String(cString: strerror(number)))" }
}

/// Held while a descriptor exists that a child started just then would inherit: glibc hides
/// `accept4` and `pipe2` from Swift.
let inheritance = Mutex(())

/// A blocking stream socket, used by one thread at a time; any thread may shut it down.
final class Socket: Sendable {
    let descriptor: Int32
    /// Holds true until the descriptor is closed, so that no other thread touches a reused number.
    private let isOpen = Mutex(true)
    private let interrupted = Flag()

    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close()
    }

    /// Sends all of `bytes`.
    ///
    /// - Throws: `SocketError` when the peer is gone, or `DeadlinePassed`.
    func send(_ bytes: some Collection<UInt8>, by deadline: Deadline? = nil) throws {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            try wait(for: Int16(POLLOUT), by: deadline, what: "room to send")
            let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            let sent = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, flags)
            }
            if sent >= 0 {
                rest = rest.dropFirst(sent)
            } else if errno != EINTR && errno != EAGAIN {
                throw SocketError("send")
            }
        }
    }

    /// Receives at least one byte and at most `limit`; an empty array is the end of the stream.
    ///
    /// - Throws: `SocketError` on a reset, or `DeadlinePassed`.
    func receive(upTo limit: Int = 65536, by deadline: Deadline? = nil) throws -> [UInt8] {
        while true {
            try wait(for: Int16(POLLIN), by: deadline, what: "bytes to receive")
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                let flags = Int32(MSG_DONTWAIT)
                let got = recv(descriptor, buffer.baseAddress, limit, flags)
                failure = got < 0 ? errno : 0
                count = max(0, got)
            }
            switch failure {
            case 0: return bytes
            case EINTR, EAGAIN: continue
            default: throw SocketError("recv", failure)
            }
        }
    }

    /// Whether the peer has closed or reset, without consuming what it sent before.
    func peerIsGone(after milliseconds: Int32) -> Bool {
        let events: Int16 = 0x2000  // POLLRDHUP, which glibc hides behind _GNU_SOURCE
        var entry = pollfd(fd: descriptor, events: events, revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    /// The next connection of a listening socket; nil once it was interrupted.
    func accept() -> Socket? {
        while (try? wait(for: Int16(POLLIN), by: nil, what: "a connection")) != nil {
            let (accepted, failure) = inheritance.withLock { _ in
                let accepted = Glibc.accept(descriptor, nil, nil)
                if accepted >= 0 { _ = fcntl(accepted, F_SETFD, FD_CLOEXEC) }
                return (accepted, accepted < 0 ? errno : 0)
            }
            switch failure {
            case 0:
                let socket = Socket(adopting: accepted)
                socket.set(TCP_NODELAY, level: Int32(IPPROTO_TCP), to: 1)
                return socket
            case EINTR, EAGAIN, ECONNABORTED, EMFILE: continue
            default: return nil
            }
        }
        return nil
    }

    /// Half-closes: the peer sees the end of the stream, answers still arrive.
    func endSending() {
        isOpen.withLock { if $0 { _ = shutdown(descriptor, Int32(SHUT_WR)) } }
    }

    /// Wakes every call on this socket; later calls fail. Safe from any thread.
    func interrupt() {
        interrupted.raise()
        isOpen.withLock { if $0 { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    /// Closes so that the peer gets RST instead of FIN.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        isOpen.withLock {
            if $0 { _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, size) }
        }
        close()
    }

    func close() {
        isOpen.withLock {
            if $0 { _ = Glibc.close(descriptor) }
            $0 = false
        }
    }

    func set(_ option: Int32, level: Int32 = SOL_SOCKET, to value: Int32) {
        var value = value
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private func wait(for events: Int16, by deadline: Deadline?, what: String) throws {
        while true {
            // The kernel goes on to deliver to a socket that was shut down.
            guard !interrupted.isRaised else { throw SocketError(what, ECANCELED) }
            var entry = pollfd(fd: descriptor, events: events, revents: 0)
            let ready = poll(&entry, 1, deadline?.millisecondsLeft ?? -1)
            if ready > 0 { return }
            if ready < 0 && errno != EINTR { throw SocketError("poll") }
            if let deadline, deadline.hasPassed { throw DeadlinePassed(what, deadline.limit) }
        }
    }
}
