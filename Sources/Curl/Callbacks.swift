internal import CCurl
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics

/// Every function that libcurl calls: each recovers its object, enters the loop's isolation, and
/// answers.
///
/// They are formed here, outside of any isolation, and nothing in them throws or changes anything
/// of libcurl's.
enum Callbacks {
    // MARK: Of an easy handle

    static let header: BytesCallback = { bytes, size, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return taken(line.count, by: attempt(context, line) { $0.takeHeader($1) })
    }

    static let write: BytesCallback = { bytes, size, count, context in
        let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return taken(body.count, by: attempt(context, body) { $0.takeBody($1) })
    }

    static let read: BytesCallback = { bytes, size, count, context in
        let room = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        return switch attempt(context, room, { $0.fill($1) }) {
        case .bytes(let count): count
        case .wait: Int(CURL_READFUNC_PAUSE)
        case .end: 0
        case .failed, nil: Int(CURL_READFUNC_ABORT)
        }
    }

    static let seek: curl_seek_callback = { context, offset, origin in
        // libcurl goes back to the beginning only.
        guard offset == 0, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
        let isRewound = attempt(context, ()) { attempt, _ in attempt.rewindBody() }
        return isRewound == true ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
    }

    static let progress: curl_xferinfo_callback = { context, _, _, _, sent in
        attempt(context, Int64(sent)) { $0.noteSent($1) } == true ? 0 : 1
    }

    static let openSocket: curl_opensocket_callback = { context, purpose, address in
        guard purpose == CURLSOCKTYPE_IPCXN, let address else { return ccurl_socket_bad }
        return attempt(context, WantedSocket(address)) { $0.openSocket($1) } ?? ccurl_socket_bad
    }

    /// Of a transfer that is to make no connection.
    static let noSocket: curl_opensocket_callback = { _, _, _ in ccurl_socket_bad }

    static let prereq: curl_prereq_callback = { context, address, _, port, localPort in
        guard let address else { return CURL_PREREQFUNC_ABORT }
        let ends = ConnectionEnds(
            address: String(cString: address), port: Int(port), localPort: Int(localPort))
        let mayGo = attempt(context, ends) { $0.mayRequest(on: $1) }
        return mayGo == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }

    static let sslContext: curl_ssl_ctx_callback = { _, sslContext, context in
        guard let sslContext else { return CURLE_SSL_CONNECT_ERROR }
        let isJoined = attempt(context, OpaquePointer(sslContext)) { $0.secure($1) }
        return isJoined == true ? CURLE_OK : CURLE_ABORTED_BY_CALLBACK
    }

    /// The shape of CURLOPT_HEADERFUNCTION, CURLOPT_WRITEFUNCTION and CURLOPT_READFUNCTION.
    typealias BytesCallback =
        @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int

    /// libcurl's form of a verdict: all bytes, none of them now, or another number, which ends the
    /// transfer.
    private static func taken(_ byteCount: Int, by verdict: FlowVerdict?) -> Int {
        switch verdict {
        case .proceed: byteCount
        case .pause, .take: ccurl_writefunc_pause
        case .stop, nil: byteCount == 0 ? 1 : 0
        }
    }

    private static func attempt<Argument, Answer: Sendable>(
        _ context: UnsafeMutableRawPointer?, _ argument: Argument,
        _ body: @LoopActor (CurlAttempt, Argument) -> Answer
    ) -> Answer? {
        guard let context else { return nil }
        return LoopActor.enter(with: (context, argument)) { context, argument in
            body(Unmanaged<CurlAttempt>.fromOpaque(context).takeUnretainedValue(), argument)
        }
    }

    // MARK: Of a multi handle

    static let socket: curl_socket_callback = { easy, socket, what, context, _ in
        guard let context else { return 0 }
        LoopActor.enter(with: (context, easy)) { context, easy in
            Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
                .watch(socket, for: what, by: easy)
        }
        return 0
    }

    /// Of an easy handle, but called as long as the connection lives, which is the multi handle's.
    static let closeSocket: curl_closesocket_callback = { context, socket in
        LoopActor.enter(context, as: MultiHandle.self) { $0.noteClosed(socket) }
        return close(socket)
    }

    static let timer: curl_multi_timer_callback = { _, milliseconds, context in
        LoopActor.enter(context, as: MultiHandle.self) { $0.arm(milliseconds: milliseconds) }
        return 0
    }
}

extension EasyHandle {
    /// Has the attempt hear of everything; the pool keeps it alive until the handle is removed.
    func setCallbacks(_ attempt: CurlAttempt, _ request: AttemptRequest) throws(CurlFailure) {
        let body = request.body
        let context = Unmanaged.passUnretained(attempt).toOpaque()
        try set(CURLOPT_HEADERDATA, context: context)
        try set(CURLOPT_WRITEDATA, context: context)
        try set(CURLOPT_OPENSOCKETDATA, context: context)
        try set(CURLOPT_PREREQDATA, context: context)
        try check(ccurl_set_bytes_callback(raw, CURLOPT_HEADERFUNCTION, Callbacks.header))
        try check(ccurl_set_bytes_callback(raw, CURLOPT_WRITEFUNCTION, Callbacks.write))
        try check(ccurl_set_opensocket_callback(raw, Callbacks.openSocket))
        try check(ccurl_set_prereq_callback(raw, Callbacks.prereq))
        if request.url.isSecure {
            try set(CURLOPT_SSL_CTX_DATA, context: context)
            try check(ccurl_set_ssl_context_callback(raw, Callbacks.sslContext))
        }
        if case .source? = body {
            try set(CURLOPT_READDATA, context: context)
            try set(CURLOPT_SEEKDATA, context: context)
            try check(ccurl_set_bytes_callback(raw, CURLOPT_READFUNCTION, Callbacks.read))
            try check(ccurl_set_seek_callback(raw, Callbacks.seek))
        }
        guard body?.isEmpty == false || Tunnel.isNeeded(for: request) else { return }
        // Called at every step of a transfer, so only for requests that have a body, or need a
        // tunnel.
        try set(CURLOPT_XFERINFODATA, context: context)
        try check(ccurl_set_progress_callback(raw, Callbacks.progress))
        try set(CURLOPT_NOPROGRESS, 0)
    }

    /// Has the multi handle hear of sockets that are closed.
    func setCloseCallback(_ multi: MultiHandle) throws(CurlFailure) {
        try set(CURLOPT_CLOSESOCKETDATA, context: Unmanaged.passUnretained(multi).toOpaque())
        try check(ccurl_set_closesocket_callback(raw, Callbacks.closeSocket))
    }

    /// A transfer that makes no connection. As it begins, libcurl looks for those that are kept too
    /// long already, and of this one that is more than a second.
    static func makeSweeper() throws(CurlFailure) -> EasyHandle {
        let easy = EasyHandle()
        try easy.set(CURLOPT_URL, "http://127.0.0.1:9/")
        try easy.set(CURLOPT_PROXY, "")
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.set(CURLOPT_FRESH_CONNECT, 1)
        try easy.set(CURLOPT_MAXAGE_CONN, 1)
        try easy.check(ccurl_set_opensocket_callback(easy.raw, Callbacks.noSocket))
        return easy
    }
}
