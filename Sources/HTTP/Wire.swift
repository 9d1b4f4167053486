internal import CEvent
internal import Glibc
internal import Loop

/// One socket behind a libevent bufferevent: the C door of this target.
///
/// What is sent goes to the socket at once while nothing is queued; only what the kernel does not
/// take is copied into the bufferevent, which sends it when there is room. That saves two turns of
/// epoll for each small answer (measured: 151k requests a second against 133k).
@LoopActor
final class Wire {
    /// Bytes that are read ahead of the request's reader; libevent stops reading there.
    static let readAhead = 64 << 10
    /// Bytes that one event writes at most; libevent's own limit is 16 KiB, which costs a turn of
    /// epoll each.
    private static let writeSize = 256 << 10

    private var socket: CInt = -1
    /// The bufferevent while the wire is open.
    private var raw: OpaquePointer?
    /// The connection that is told; it outlives the open wire.
    private unowned var owner: Connection?
    private var isBroken = false
    /// Bytes handed over, to the kernel or the queue.
    private(set) var handed: Int64 = 0

    init() {}

    /// Takes over a connected, non-blocking socket.
    ///
    /// - Parameters:
    ///   - socket: Closed with the wire.
    ///   - owner: Told of what happens until `close`.
    ///   - mark: The owner is told after each write that leaves no more than this queued.
    /// - Returns: False when there is no memory; the socket is then still the caller's.
    func open(socket: CInt, owner: Connection, drainedBelow mark: Int) -> Bool {
        let options = CInt(BEV_OPT_CLOSE_ON_FREE.rawValue)
        guard let raw = bufferevent_socket_new(LoopActor.loop.rawBase, socket, options) else {
            return false
        }
        self.socket = socket
        self.raw = raw
        self.owner = owner
        bufferevent_setwatermark(raw, Int16(EV_READ), 0, Wire.readAhead)
        bufferevent_setwatermark(raw, Int16(EV_WRITE), mark, 0)
        bufferevent_set_max_single_write(raw, Wire.writeSize)
        bufferevent_setcb(
            raw, Wire.readCallback, Wire.writeCallback, Wire.eventCallback,
            Unmanaged.passUnretained(self).toOpaque())
        bufferevent_enable(raw, Int16(EV_READ))
        return true
    }

    // MARK: Receiving

    /// Lends what has arrived and was not consumed.
    @inline(__always)
    func withInput<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        guard let raw, let input = bufferevent_get_input(raw) else {
            return body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        let count = evbuffer_get_length(input)
        return body(UnsafeRawBufferPointer(start: evbuffer_pullup(input, -1), count: count))
    }

    /// Takes at most `limit` bytes, possibly none: what libevent has read, and then what the socket
    /// has.
    ///
    /// libevent reads 4 KiB at a time (`EVBUFFER_MAX_READ` of 2.1), which makes large bodies slow:
    /// so these are taken from the socket past it. The end of the stream and errors are left for
    /// libevent to see.
    func take(_ limit: Int) -> [UInt8] {
        guard let raw, let input = bufferevent_get_input(raw), limit > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
            filled = max(0, Int(evbuffer_remove(input, buffer.baseAddress, limit)))
            guard filled < limit, let start = buffer.baseAddress else { return }
            filled += max(0, recv(socket, start + filled, limit - filled, CInt(MSG_DONTWAIT)))
        }
    }

    /// Forgets the first bytes of the input.
    func consume(_ count: Int) {
        guard let raw else { return }
        evbuffer_drain(bufferevent_get_input(raw), count)
    }

    /// Forgets all of the input.
    func discardInput() {
        guard let raw, let input = bufferevent_get_input(raw) else { return }
        evbuffer_drain(input, evbuffer_get_length(input))
    }

    /// Whether bytes wait to be read.
    var hasInput: Bool {
        raw.map { evbuffer_get_length(bufferevent_get_input($0)) > 0 } ?? false
    }

    /// Whether nothing has arrived, not even at the socket, and nothing waits to be sent.
    var isSilent: Bool {
        guard !hasInput, queued == 0 else { return false }
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) <= 0
    }

    // MARK: Sending

    /// Bytes that the kernel has not taken yet.
    var queued: Int {
        raw.map { evbuffer_get_length(bufferevent_get_output($0)) } ?? 0
    }

    /// Bytes that the kernel has taken.
    var written: Int64 { handed - Int64(queued) }

    /// Sends `bytes`.
    func send(_ bytes: UnsafeRawBufferPointer) {
        var part = iovec(
            iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        withUnsafeMutablePointer(to: &part) { send(parts: $0, count: 1, bytes.count) }
    }

    /// Sends three runs of bytes in one system call.
    func send(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer,
        _ third: UnsafeRawBufferPointer
    ) {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 3) { parts in
            guard let start = parts.baseAddress else { return }
            for (index, bytes) in [first, second, third].enumerated() {
                parts[index] = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    iov_len: bytes.count)
            }
            send(parts: start, count: 3, first.count + second.count + third.count)
        }
    }

    private func send(parts: UnsafeMutablePointer<iovec>, count: Int, _ total: Int) {
        guard let raw, !isBroken, let output = bufferevent_get_output(raw) else { return }
        handed += Int64(total)
        var taken = 0
        if evbuffer_get_length(output) == 0 {
            var message = msghdr()
            message.msg_iov = parts
            message.msg_iovlen = count
            let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
            taken = sendmsg(socket, &message, flags)
            if taken == total { return }
            if taken < 0 {
                guard errno == EAGAIN || errno == EINTR else { return breakDown() }
                taken = 0
            }
        }
        for index in 0..<count {
            let part = parts[index]
            let skipped = min(taken, part.iov_len)
            taken -= skipped
            if skipped < part.iov_len, let base = part.iov_base {
                evbuffer_add(output, base + skipped, part.iov_len - skipped)
            }
        }
    }

    /// The client has gone; the owner hears of it once it has come to rest.
    private func breakDown() {
        isBroken = true
        LoopActor.later { [self] in
            if raw != nil { owner?.clientHasGone() }
        }
    }

    // MARK: Ending

    /// Tells the client that nothing more will come. Everything has to be sent.
    func endSending() {
        if raw != nil { shutdown(socket, CInt(SHUT_WR)) }
    }

    /// Closes the socket; what is queued is lost. No callback comes afterwards.
    func close() {
        guard let raw else { return }
        self.raw = nil
        bufferevent_free(raw)
    }

    /// Closes with RST, for an answer whose end the client could not tell from a cut otherwise.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout.size(ofValue: linger))
        if raw != nil { setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, size) }
        close()
    }

    isolated deinit {
        close()
    }

    // MARK: Callbacks

    private nonisolated static let readCallback: bufferevent_data_cb = { _, context in
        LoopActor.enter(context, as: Wire.self) { $0.owner?.bytesHaveArrived() }
    }

    private nonisolated static let writeCallback: bufferevent_data_cb = { _, context in
        LoopActor.enter(context, as: Wire.self) { $0.owner?.outputHasDrained() }
    }

    private nonisolated static let eventCallback: bufferevent_event_cb = { _, what, context in
        LoopActor.enter(context, as: Wire.self) { wire in
            if what & Int16(BEV_EVENT_ERROR) != 0 {
                wire.owner?.clientHasGone()
            } else if what & Int16(BEV_EVENT_EOF) != 0 {
                wire.owner?.clientHasEnded()
            }
        }
    }
}
