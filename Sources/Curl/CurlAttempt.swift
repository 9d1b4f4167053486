internal import CCurl
internal import Engine
internal import Loop
internal import Semantics

/// One exchange: what libcurl's callbacks for an easy handle lead to, and what the engine wants of it.
///
/// While a callback runs libcurl is on the stack, so callbacks change this object, tell the observer and answer
/// with a verdict; nothing here calls libcurl from there.
@LoopActor
final class CurlAttempt: Attempt {
    private let request: AttemptRequest
    private let gate: EgressGate
    private let share: FairShare
    /// Holds the pool until the end.
    private var pool: CurlPool?
    /// Nil once the attempt has ended or was cancelled.
    private var observer: (any AttemptObserver)?
    private var easy: EasyHandle?
    private var clock = AttemptClock()
    private var metricsAtEnd: TransactionMetrics?

    private var reader = ResponseHeadReader()
    private var headIsTaken = false
    private var isPaused = false
    /// Paused for the rest of this turn of the loop, so that others get theirs.
    private var isYielding = false
    private var sentByteCount: Int64 = 0

    // Why a callback ended the transfer, if one did.
    private var wasDenied = false
    private var wasStopped = false
    private var fault: String?

    init(
        _ request: AttemptRequest, pool: CurlPool, gate: EgressGate, share: FairShare,
        observer: any AttemptObserver
    ) {
        self.share = share
        self.request = request
        self.pool = pool
        self.gate = gate
        self.observer = observer
    }

    /// The attempt is about to be given to libcurl.
    func begin(_ easy: EasyHandle) {
        self.easy = easy
    }

    // MARK: Attempt

    func pause() {
        precondition(pool?.isActing != true, "an attempt is paused from inside libcurl")
        guard let easy, !isPaused else { return }
        isPaused = true
        // Before there is a connection libcurl refuses or forgets this; the callbacks then see `isPaused`.
        _ = pool?.pause(easy, CURLPAUSE_ALL)
    }

    func resume() {
        precondition(pool?.isActing != true, "an attempt is resumed from inside libcurl")
        guard easy != nil, isPaused else { return }
        isPaused = false
        unpause()
    }

    /// The next turn of the loop has come.
    func goOn() {
        isYielding = false
        unpause()
    }

    private func unpause() {
        guard let easy, !isPaused, !isYielding else { return }
        let code = pool?.pause(easy, CURLPAUSE_CONT) ?? CURLE_OK
        // Bytes that were held are delivered by that call, and where a callback then ends the transfer, libcurl
        // tells it here only. Without a connection there is nothing to unpause.
        guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
        LoopActor.later { [self] in end(code) }
    }

    func cancel() -> TransactionMetrics {
        let metrics = metricsAtEnd ?? collectMetrics()
        metricsAtEnd = metrics
        observer = nil
        if pool?.isActing == true {
            // libcurl is on the stack: every callback now ends the transfer, and the handle goes afterwards.
            LoopActor.later { [self] in release() }
        } else {
            release()
        }
        return metrics
    }

    // MARK: Callbacks

    /// CURLOPT_HEADERFUNCTION: one line.
    func takeHeader(_ line: UnsafeRawBufferPointer) -> FlowVerdict {
        guard let observer else { return .stop }
        let step = reader.take(line)
        guard !headIsTaken else {
            if case .malformed(let sentence) = step { return fail(sentence) }
            return .proceed
        }
        observer.attemptDidMove()
        switch step {
        case .more: return .proceed
        case .informational(let head): observer.attemptDidReceiveInformational(head)
        case .malformed(let sentence): return fail(sentence)
        case .final(let head):
            guard !isPaused else { return .pause }
            let verdict = obey(observer.attemptDidReceive(head))
            headIsTaken = verdict != .pause
            return verdict
        }
        return .proceed
    }

    /// CURLOPT_WRITEFUNCTION: bytes of the body.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        guard let observer else { return .stop }
        guard !isPaused, !isYielding else { return .pause }
        guard share.take(bytes.count, for: self) else {
            isYielding = true
            return .pause
        }
        return obey(observer.attemptDidReceive(bytes))
    }

    /// CURLOPT_XFERINFOFUNCTION: how much of the request's body has left. False ends the transfer.
    func noteSent(_ byteCount: Int64) -> Bool {
        guard let observer else { return false }
        guard byteCount > sentByteCount else { return true }
        sentByteCount = byteCount
        clock.bodySent()
        observer.attemptDidMove()
        observer.attemptDidSend(total: byteCount)
        return true
    }

    /// CURLOPT_OPENSOCKETFUNCTION. The address is nil where it is none of the internet's.
    func openSocket(_ address: SocketAddress?) -> CInt {
        guard observer != nil else { return ccurl_socket_bad }
        guard let address, gate.mayConnect(to: address) else {
            wasDenied = true
            return ccurl_socket_bad
        }
        return address.makeSocket()
    }

    /// CURLOPT_PREREQFUNCTION: the last look before a request goes out, also on a connection that was kept.
    func mayRequest(address: String, port: Int) -> Bool {
        guard observer != nil else { return false }
        wasDenied = !gate.mayRequest(address: address, port: port)
        return !wasDenied
    }

    private func obey(_ verdict: FlowVerdict) -> FlowVerdict {
        switch verdict {
        case .proceed: break
        case .pause, .take: isPaused = true
        case .stop: wasStopped = true
        }
        return verdict
    }

    private func fail(_ sentence: String) -> FlowVerdict {
        fault = sentence
        return .stop
    }

    // MARK: The end

    /// Ends an attempt that never began.
    func endSoon(_ error: TransferError) {
        LoopActor.later { [self] in finish(error) }
    }

    /// The connection is not kept for another attempt.
    func closeConnectionAtEnd() {
        try? easy?.set(CURLOPT_FORBID_REUSE, 1)
    }

    /// libcurl has ended the transfer, or refuses to go on with it.
    func end(_ code: CURLcode) {
        guard let easy else { return }
        finish(error(code, easy))
    }

    private func finish(_ error: TransferError?) {
        guard let observer else { return release() }
        let metrics = error == .destinationDenied ? deniedMetrics() : collectMetrics()
        metricsAtEnd = metrics
        self.observer = nil
        release()
        observer.attemptDidEnd(
            AttemptEnd(error: error, metrics: metrics, lengthVerified: isLengthVerified))
    }

    private func release() {
        if let easy { pool?.remove(easy) }
        easy = nil
        pool = nil
    }

    private func error(_ code: CURLcode, _ easy: EasyHandle) -> TransferError? {
        if wasStopped { return nil }
        if let fault { return .badServerResponse(fault).at(request.url.string) }
        guard let failure = CurlFailure(code) else { return nil }
        return AttemptOutcome.error(
            of: failure, on: easy, wasDenied: wasDenied,
            contentEncoding: reader.head?.headers.first("Content-Encoding"), at: request.url)
    }

    /// RFC 9112 §6.3: without a length and without chunks, the end of the connection is the end of the body.
    private var isLengthVerified: Bool {
        guard let head = reader.head, !wasStopped else { return false }
        let hasNoBody = request.method == "HEAD" || head.status == 204 || head.status == 304
        return hasNoBody || !head.httpVersion.hasPrefix("1.") || reader.isChunked
            || reader.contentLength != nil
    }

    private func collectMetrics() -> TransactionMetrics {
        guard let easy else { return clock.metrics(of: request) }
        return clock.metrics(of: request, easy, status: reader.head?.status)
    }

    /// Security.md §1: a denial tells nothing of what was found, nor how long that took.
    private func deniedMetrics() -> TransactionMetrics { clock.metrics(of: request) }
}
