internal import CCurl
internal import Files
internal import Loop

/// A libcurl multi handle on the event loop: sockets and one timer, and what they lead to.
///
/// libcurl is called from the loop's own callbacks and from the engine, never from inside its
/// callbacks: those only change watches and the timer.
/// <https://curl.se/libcurl/c/curl_multi_socket_action.html>
@LoopActor
final class MultiHandle {
    private let raw: UnsafeMutableRawPointer
    private let onEnd: @LoopActor (UnsafeMutableRawPointer, CURLcode) -> Void
    /// Nil once the connections are being closed for good.
    private var onWatch: WatchHandler?
    /// By descriptor, kept when libcurl closes the socket: the number comes back with the next one.
    private var watches: [CInt: Watch] = [:]
    private var timer: LoopTimer?
    private let onStandstill: @LoopActor () -> Void
    /// What the loop's clock had lost at the last look.
    private var lost = LoopActor.loop.clock.lost
    private let descriptors: OpenDescriptors
    /// The sockets of its connections, in use or kept.
    private(set) var socketCount = 0
    /// Those of them that have carried a request.
    var sockets = ConnectedSockets()
    /// Runs while libcurl looks for connections to close.
    private var sweeper: EasyHandle?
    /// Its wake-up pair, which libcurl goes without where it cannot have it.
    private static let ownDescriptorCount = 2
    /// Whether a call of libcurl is on the stack.
    private(set) var isActing = false

    /// Hears which easy handle waits for input at a socket, and which no longer does.
    typealias WatchHandler = @LoopActor (UnsafeMutableRawPointer, CInt, Bool) -> Void

    /// Nil when there is no memory. It takes two descriptors.
    ///
    /// - Parameters:
    ///   - descriptors: Where it counts what it has open.
    ///   - onEnd: Called from outside of libcurl with the easy handle of each transfer that has
    ///     ended, which is still part of the multi handle.
    ///   - onWatch: Called from inside libcurl.
    ///   - onStandstill: Called from outside of libcurl when the process stood still, before
    ///     libcurl looks at its own clock, which does not know that.
    init?(
        counting descriptors: OpenDescriptors,
        onEnd: @escaping @LoopActor (UnsafeMutableRawPointer, CURLcode) -> Void,
        onWatch: @escaping WatchHandler,
        onStandstill: @escaping @LoopActor () -> Void
    ) {
        guard let raw = curl_multi_init() else { return nil }
        self.raw = raw
        self.descriptors = descriptors
        self.onEnd = onEnd
        self.onWatch = onWatch
        self.onStandstill = onStandstill
        let me = Unmanaged.passUnretained(self).toOpaque()
        Self.expect(ccurl_multi_set_pointer(raw, CURLMOPT_SOCKETDATA, me))
        Self.expect(ccurl_multi_set_pointer(raw, CURLMOPT_TIMERDATA, me))
        Self.expect(ccurl_multi_set_socket_callback(raw, Callbacks.socket))
        Self.expect(ccurl_multi_set_timer_callback(raw, Callbacks.timer))
        timer = LoopTimer { [weak self] in self?.act(on: ccurl_socket_timeout, 0) }
        descriptors.noteOpened(Self.ownDescriptorCount)
    }

    isolated deinit {
        // Closing the connections calls `watch` for each, with handles that are nobody's.
        onWatch = nil
        if let sweeper { remove(sweeper) }
        _ = curl_multi_cleanup(raw)
        descriptors.noteClosed(Self.ownDescriptorCount)
    }

    /// The most connections that stay open, those in use included.
    func limitConnections(to count: Int) {
        Self.expect(ccurl_multi_set_long(raw, CURLMOPT_MAXCONNECTS, count))
    }

    /// Closes the connections that have been kept for two seconds, on the next turn of the loop.
    /// libcurl has no call for that, and where its limit falls it closes one for each transfer that
    /// ends; but as a transfer begins it closes those that are too old for it (measured, 7.88.1).
    func closeKept() {
        guard sweeper == nil else { return }
        do throws(CurlFailure) {
            let easy = try EasyHandle.makeSweeper()
            sweeper = easy
            add(easy)
        } catch {
            preconditionFailure("libcurl takes these options: \(error)")
        }
    }

    /// Begins a transfer on the next turn of the loop.
    func add(_ easy: EasyHandle) {
        Self.expect(curl_multi_add_handle(raw, easy.raw))
    }

    /// Ends a transfer, running or over.
    func remove(_ easy: EasyHandle) {
        Self.expect(curl_multi_remove_handle(raw, easy.raw))
    }

    /// Lets a paused transfer go on, or stops it, each direction as its bit says; may call its
    /// callbacks before it returns.
    func pause(_ easy: EasyHandle, _ bits: CInt) -> CURLcode {
        calling { curl_easy_pause(easy.raw, bits) }
    }

    /// Does at once what is due, such as going on with a transfer that is no longer paused.
    func turn() {
        act(on: ccurl_socket_timeout, 0)
    }

    // MARK: What libcurl's callbacks ask

    /// CURLOPT_OPENSOCKETFUNCTION.
    func make(_ wanted: WantedSocket) throws(FileError) -> CInt {
        let socket = try descriptors.make(wanted)
        socketCount += 1
        return socket
    }

    /// CURLOPT_CLOSESOCKETFUNCTION.
    func noteClosed(_ socket: CInt) {
        sockets.remove(socket)
        socketCount -= 1
        descriptors.noteClosed(1)
    }

    /// CURLMOPT_SOCKETFUNCTION.
    func watch(_ socket: CInt, for what: CInt, by easy: UnsafeMutableRawPointer?) {
        if let easy { onWatch?(easy, socket, what == CURL_POLL_IN || what == CURL_POLL_INOUT) }
        let existing = watches[socket]
        guard what != CURL_POLL_REMOVE else {
            existing?.cancel()
            return
        }
        var interest: Watch.Interest = []
        if what & CURL_POLL_IN != 0 { interest.insert(.read) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
        if let existing {
            existing.change(to: interest)
        } else {
            watches[socket] = Watch(socket: socket, for: interest) { [weak self] ready in
                var flags: CInt = 0
                if ready.contains(.read) { flags |= CURL_CSELECT_IN }
                if ready.contains(.write) { flags |= CURL_CSELECT_OUT }
                self?.act(on: socket, flags)
            }
        }
    }

    /// CURLMOPT_TIMERFUNCTION. Zero is the next turn of the loop: libcurl may not be called from in
    /// here.
    func arm(milliseconds: Int) {
        if milliseconds < 0 {
            timer?.cancel()
        } else {
            timer?.arm(after: .milliseconds(milliseconds))
        }
    }

    // MARK: Acting

    private func act(on socket: CInt, _ flags: CInt) {
        noticeStandstill()
        var running: CInt = 0
        // Its result tells of misuse only; what happens to a transfer comes as a message.
        _ = calling { curl_multi_socket_action(raw, socket, flags, &running) }
        while let (easy, code) = nextEnd() {
            if let sweeper, sweeper.raw == easy {
                remove(sweeper)
                self.sweeper = nil
            } else {
                onEnd(easy, code)
            }
        }
    }

    private func noticeStandstill() {
        let clock = LoopActor.loop.clock
        _ = clock.now
        guard clock.lost != lost else { return }
        lost = clock.lost
        onStandstill()
    }

    private func nextEnd() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: CInt = 0
        while let message = curl_multi_info_read(raw, &left) {
            // Copied at once: the message dies with the removal of its handle.
            if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
                return (easy, message.pointee.data.result)
            }
        }
        return nil
    }

    private func calling<Result>(_ body: () -> Result) -> Result {
        let wasActing = isActing
        isActing = true
        defer { isActing = wasActing }
        return body()
    }

    /// A CURLMcode tells of our own misuse, or of no memory; never of the network.
    private static func expect(_ code: CURLMcode) {
        precondition(code == CURLM_OK, String(cString: curl_multi_strerror(code)))
    }
}
