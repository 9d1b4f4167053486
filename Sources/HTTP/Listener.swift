internal import CEvent
internal import Diagnostics
internal import Glibc
internal import Loop

/// A listening socket on libevent's listener; it rests when there are no descriptors left.
@LoopActor
final class Listener {
    /// How long it rests; others close their connections meanwhile.
    private static let rest = Duration.milliseconds(500)
    private static let log = Log("http")

    /// Whether there is a descriptor for one more connection (`ServerLimits.descriptors`).
    enum Room {
        case free
        /// Others have been closed for it, and their descriptors come free in the next turn of the
        /// loop.
        case made
        case none
    }

    let socket: ListeningSocket
    private let room: @LoopActor () -> Room
    private let accept: @LoopActor (CInt, sockaddr_storage) -> Void
    private var raw: OpaquePointer?
    private lazy var timer = LoopTimer { [weak self] in self?.resume() }
    private var lastComplaint: Uptime?

    /// Listens at a bound socket, which the listener closes.
    ///
    /// - Parameters:
    ///   - socket: Where to listen.
    ///   - room: Asked for each connection.
    ///   - accept: Gets each connected, non-blocking socket, to keep.
    /// - Throws: `ListenError`.
    init(
        _ socket: ListeningSocket, room: @escaping @LoopActor () -> Room,
        accept: @escaping @LoopActor (CInt, sockaddr_storage) -> Void
    ) throws(ListenError) {
        self.socket = socket
        self.room = room
        self.accept = accept
        let flags = UInt32(LEV_OPT_CLOSE_ON_FREE) | UInt32(LEV_OPT_CLOSE_ON_EXEC)
        raw = evconnlistener_new(
            LoopActor.loop.rawBase, Listener.acceptCallback,
            Unmanaged.passUnretained(self).toOpaque(), flags, 4096, socket.descriptor)
        guard raw != nil else {
            let failure = errno
            close(socket.descriptor)
            throw ListenError(operation: "listen", code: failure, address: socket.address)
        }
        evconnlistener_set_error_cb(raw, Listener.errorCallback)
    }

    /// Accepts no more, and takes a unix socket's file away.
    func stop() {
        guard let raw else { return }
        self.raw = nil
        timer.cancel()
        evconnlistener_free(raw)
        socket.removeFile()
    }

    isolated deinit {
        stop()
    }

    /// `accept` failed with `code`: while descriptors or memory are used up, trying again at once
    /// would only spin.
    func acceptHasFailed(_ code: CInt) {
        switch code {
        case EMFILE, ENFILE, ENOBUFS, ENOMEM:
            evconnlistener_disable(raw)
            timer.arm(after: Listener.rest)
        default: break
        }
        let now = Uptime.now
        if let lastComplaint, now < lastComplaint.advanced(by: .seconds(1)) { return }
        lastComplaint = now
        Listener.log.write(
            .warning, "no connection could be accepted",
            ["error": .words(String(cString: strerror(code)))])
    }

    private func accepted(_ connection: CInt, _ address: sockaddr_storage) {
        switch room() {
        case .free: break
        case .made:
            evconnlistener_disable(raw)
            timer.arm(after: .zero)
        case .none:
            close(connection)
            return acceptHasFailed(EMFILE)
        }
        accept(connection, address)
    }

    private func resume() {
        if let raw { evconnlistener_enable(raw) }
    }

    private nonisolated static let acceptCallback: evconnlistener_cb = {
        _, socket, address, length, context in
        var storage = sockaddr_storage()
        if let address {
            withUnsafeMutableBytes(of: &storage) {
                $0.copyMemory(
                    from: UnsafeRawBufferPointer(
                        start: address, count: min(Int(length), $0.count)))
            }
        }
        LoopActor.enter(context, as: Listener.self) { [storage] in $0.accepted(socket, storage) }
    }

    private nonisolated static let errorCallback: evconnlistener_errorcb = { _, context in
        let code = errno
        LoopActor.enter(context, as: Listener.self) { $0.acceptHasFailed(code) }
    }
}
