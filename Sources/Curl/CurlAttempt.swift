internal import CCurl
internal import Engine
internal import Loop
internal import Semantics

/// One exchange: what libcurl's callbacks for an easy handle lead to, and what the engine wants of
/// it.
///
/// While a callback runs libcurl is on the stack, so callbacks change this object, tell the
/// observer and answer with a verdict; nothing here calls libcurl from there.
@LoopActor
final class CurlAttempt: Attempt {
    let request: AttemptRequest
    /// Which versions of HTTP are offered.
    var offer: ProtocolOffer
    let gate: EgressGate
    let share: FairShare
    /// Holds the pool until the end.
    private(set) var pool: CurlPool?
    /// Nil once the attempt has ended or was cancelled.
    private(set) var observer: (any AttemptObserver)?
    private(set) var easy: EasyHandle?
    /// What the loop's clock had lost when the transfer began, in nanoseconds.
    private(set) var lostBefore: Int64 = 0
    var clock = AttemptClock()
    private var metricsAtEnd: TransactionMetrics?

    var reader = ResponseHeadReader()
    private var headIsTaken = false
    /// A head that may not be the last one.
    var heldHead: ResponseHead?
    var conversation: Conversation
    /// libcurl has ended the transfer without an error, but the head that was held is not taken
    /// yet.
    private var isOver = false
    var tunnel: Tunnel
    /// Of the connection in use.
    var handshake: Handshake?
    /// The connection that libcurl has chosen does not serve this attempt: it begins anew on
    /// another one.
    var needsFreshConnection = false
    /// The connection is there, and nothing else was wanted.
    var hasConnected = false
    /// The server has said which protocol it speaks, on the connection that was used last.
    var isProtocolChosen = false
    /// It has refused HTTP/1.1, and HTTP/2 is tried.
    var isRefused = false
    /// The request has been sent again already, in another transfer.
    var isRepetition = false
    /// Whether a line of a response has come: from there on libcurl does not send the request
    /// again.
    var wasAnswered = false
    /// How many of the bytes that libcurl delivers next were taken already.
    private var takenAhead = 0
    /// Not receiving, by a verdict or by `pause()`.
    private(set) var isPaused = false
    /// libcurl has been told to rest from receiving, and holds what it has read.
    private var isReceiverResting = false
    /// The same for a body that is not pulled, and so has no other way to rest than `pause()`.
    private var isSenderResting = false
    /// Not receiving for the rest of this turn of the loop, so that others get theirs.
    var isYielding = false
    /// The content, where it is decoded: see `CurlAttempt+Decoding`.
    private(set) var codedContent: CodedContent?
    /// How much of the request's body has left, of this request and of the one before that told
    /// most.
    var sentByteCount: Int64 = 0
    var toldByteCount: Int64 = 0
    /// Sending a body that is pulled: see `CurlAttempt+Upload`.
    let upload: Upload?
    /// What a SOCKS proxy is told in place of the host; set before the attempt begins.
    var address: IPAddress?
    /// The addresses that libcurl got a socket for.
    var tried: [IPAddress] = []

    /// What goes with the request beside its header; kept for a transfer that begins again.
    var proofs = Tickets.Proofs()
    /// A connection that was kept did not serve.
    var needsOwnConnection = false
    /// libcurl wanted a socket, and the process had no descriptor.
    var lacksDescriptor = false
    var descriptorTimer: LoopTimer?

    // Why a callback ended the transfer, if one did.
    var wasDenied = false
    private(set) var wasStopped = false
    var fault: String?
    /// The connection was lost, and the request may not be sent again.
    var isLost = false
    /// The response is whole as far as can be told, and no further.
    private(set) var isUnverified = false

    init(
        _ request: AttemptRequest, _ offer: ProtocolOffer, pool: CurlPool, gate: EgressGate,
        share: FairShare,
        sendBufferSize: Int, observer: any AttemptObserver
    ) {
        self.share = share
        self.request = request
        self.offer = offer
        self.pool = pool
        self.gate = gate
        self.observer = observer
        conversation = Conversation(request)
        tunnel = Tunnel(request)
        upload = PulledBody(request.body, bufferSize: sendBufferSize).map {
            // See `setConnection`.
            Upload($0)
        }
    }

    /// The attempt is about to be given to libcurl.
    func begin(_ easy: EasyHandle, in pool: CurlPool) {
        self.easy = easy
        self.pool = pool
        lostBefore = LoopActor.loop.clock.lost
        upload?.body.onReady { [weak self] in self?.bodyIsReady() }
    }

    // MARK: Attempt

    func pause() {
        precondition(pool?.isActing != true, "an attempt is paused from inside libcurl")
        guard observer != nil, !isPaused else { return }
        isPaused = true
        guard let easy, !isOver else { return }
        // Where one direction rests while nothing is held, libcurl reads all the same, and joins
        // the lines of a header (measured). So a receiver beside a sender rests when there is
        // something to hold.
        guard upload == nil else { return }
        isReceiverResting = true
        isSenderResting = true
        // Before there is a connection libcurl refuses or forgets this; the callbacks then see
        // `isPaused`.
        _ = pool?.pause(easy, CURLPAUSE_ALL)
    }

    func resume() {
        precondition(pool?.isActing != true, "an attempt is resumed from inside libcurl")
        guard observer != nil, isPaused else { return }
        isPaused = false
        isSenderResting = false
        if isOver {
            LoopActor.later { [self] in settle(nil) }
            return
        }
        applyPauses()
        lookForEndSoon()
    }

    func handOver(to observer: any AttemptObserver) {
        precondition(pool?.isActing != true, "an attempt is handed over from inside libcurl")
        guard self.observer != nil else { return }
        self.observer = observer
    }

    /// The next turn of the loop has come.
    func goOn() {
        isYielding = false
        upload?.isYielding = false
        applyPauses()
        lookForEndSoon()
    }

    /// Tells libcurl which directions rest: it takes both at once.
    func applyPauses() {
        guard let easy, !isOver else { return }
        isReceiverResting = isReceiverResting && (isPaused || isYielding)
        var bits: CInt = 0
        if isReceiverResting { bits |= CURLPAUSE_RECV }
        if upload?.isResting ?? isSenderResting { bits |= CURLPAUSE_SEND }
        let code = pool?.pause(easy, bits) ?? CURLE_OK
        // Bytes that were held are delivered by that call, and where a callback then ends the
        // transfer, libcurl tells it here only. Before there is a connection libcurl refuses or
        // forgets a pause; the callbacks see to it.
        let isRefused = code == CURLE_BAD_FUNCTION_ARGUMENT && !wasAnswered
        guard code != CURLE_OK, !isRefused else { return }
        LoopActor.later { [self] in end(code) }
    }

    func cancel() -> TransactionMetrics {
        let metrics = metricsAtEnd ?? collectMetrics()
        metricsAtEnd = metrics
        observer = nil
        if pool?.isActing == true {
            // libcurl is on the stack: every callback now ends the transfer, and the handle goes
            // afterwards.
            LoopActor.later { [self] in release() }
        } else {
            release()
        }
        return metrics
    }

    // MARK: Callbacks

    /// CURLOPT_HEADERFUNCTION: one line.
    func takeHeader(_ line: UnsafeRawBufferPointer) -> FlowVerdict {
        guard let observer, !isEnding else { return .stop }
        if tunnel.isOpening {
            observer.attemptDidMove()
            switch tunnel.take(line, requestSize: requestSize) {
            case .more: return .proceed
            case .refused: return .stop
            case .malformed(let sentence): return fail(sentence)
            }
        }
        if !wasAnswered { answerBegins() }
        wasAnswered = true
        clock.answered()
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
            if conversation.mayGoOn(after: head) {
                heldHead = head
                return .proceed
            }
            if head.status >= 400, sendsBodyToProxy { keepConnectionAtEnd(false) }
            guard !isPaused else { return rest() }
            return offer(head, to: observer)
        }
        return .proceed
    }

    /// A proxy that has refused a body while it came may never read what follows on that
    /// connection, though it keeps it: measured with Squid 5.7, which had the next request whole,
    /// and left it unanswered.
    private var sendsBodyToProxy: Bool {
        request.body != nil && request.httpProxy != nil && !request.url.isSecure
    }

    private func offer(_ head: ResponseHead, to observer: any AttemptObserver) -> FlowVerdict {
        let verdict = obey(observer.attemptDidReceive(head))
        headIsTaken = verdict == .proceed || verdict == .stop
        if headIsTaken {
            heldHead = nil
            codedContent = CodedContent(head, of: request)
        }
        return verdict
    }

    /// CURLOPT_WRITEFUNCTION: bytes of the body. After a pause libcurl delivers the same again, and
    /// maybe more with them.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        guard let observer, !isEnding else { return .stop }
        guard !isPaused, !isYielding else { return rest() }
        if let heldHead {
            let verdict = offer(heldHead, to: observer)
            guard verdict == .proceed else { return verdict }
        }
        let new = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(takenAhead))
        var count = 0
        let verdict =
            codedContent.map { deliver(new, of: $0, &count) } ?? deliver(new, to: observer, &count)
        switch verdict {
        case .proceed, .stop: takenAhead = max(0, takenAhead - bytes.count)
        case .pause, .take: takenAhead += count
        }
        return verdict
    }

    func obey(_ verdict: FlowVerdict) -> FlowVerdict {
        switch verdict {
        case .proceed: break
        case .pause, .take:
            isPaused = true
            isReceiverResting = true
        case .stop: wasStopped = true
        }
        return verdict
    }

    /// libcurl holds what it has, and stops reading.
    func rest() -> FlowVerdict {
        isReceiverResting = true
        return .pause
    }

    /// A verdict has ended the transfer; libcurl may go on for the rest of the turn, where it was
    /// told while unpausing.
    var isEnding: Bool {
        wasStopped || hasConnected || isLost || fault != nil || codedContent?.fault != nil
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

    /// libcurl has ended the transfer, or refuses to go on with it.
    func end(_ code: CURLcode) {
        guard let easy, !isOver else { return }
        if observer != nil, isShortOfDescriptors(after: code, easy) {
            return waitToTryAgain(instead: easy)
        }
        if observer != nil,
            needsFreshConnection || isRefusingHTTP1(after: code) || isRepeated(after: code)
        {
            return beginAnew(instead: easy)
        }
        settle(error(code, easy))
    }

    /// The transfer is taken from libcurl, which does not see that it is over.
    func end(_ error: TransferError?, isUnverified: Bool) {
        self.isUnverified = isUnverified
        settle(error)
    }

    /// The transfer is over; but a head that was held comes before its end.
    private func settle(_ error: TransferError?) {
        guard error == nil, let heldHead, let observer, !isEnding else { return finish(error) }
        isOver = true
        guard !isPaused, offer(heldHead, to: observer) != .pause else { return }
        finish(nil)
    }

    /// What was held back of the connection that libcurl had chosen comes on a new one.
    private func beginAnew(instead easy: EasyHandle) {
        needsFreshConnection = false
        clock.restart()
        do throws(CurlFailure) {
            try pool?.beginAnew(self, instead: easy)
        } catch {
            finish(AttemptOutcome.error(of: error, at: request.url))
        }
    }

    func finish(_ error: TransferError?) {
        guard let observer else { return release() }
        let error = error ?? contentError
        let metrics = error == .destinationDenied ? deniedMetrics() : collectMetrics()
        metricsAtEnd = metrics
        self.observer = nil
        var end = AttemptEnd(error: error, metrics: metrics, lengthVerified: isLengthVerified)
        if let error, error != .destinationDenied {
            end.question = wasAnswered ? nil : handshake?.question
            end.tunnelResponse = tunnel.refusal(requestSize: requestSize)
        }
        release()
        observer.attemptDidEnd(end)
    }

    private func release() {
        upload?.body.letGo()
        codedContent = nil
        descriptorTimer = nil
        if let easy { pool?.remove(easy) }
        easy = nil
        pool = nil
    }

    private func error(_ code: CURLcode, _ easy: EasyHandle) -> TransferError? {
        if wasStopped || hasConnected { return nil }
        if isLost { return .unanswered.at(request.url.string) }
        if let fault { return .badServerResponse(fault).at(request.url.string) }
        if codedContent?.fault != nil { return contentError }
        if let fault = upload?.body.fault, code != CURLE_OK { return fault.at(request.url.string) }
        // What libcurl says of a trailer that is no field; nothing else of ours gets this far.
        if code == CURLE_BAD_FUNCTION_ARGUMENT, headIsTaken {
            return .badServerResponse("The response has a trailer that is no field.")
                .at(request.url.string)
        }
        guard let failure = CurlFailure(code) else {
            // libcurl takes the end of the connection for the end of a header too (measured,
            // 7.88.1).
            return headIsTaken || heldHead != nil ? nil : .unanswered.at(request.url.string)
        }
        if !wasDenied {
            if let refusal = tunnel.refusal(requestSize: requestSize) {
                return Tunnel.error(of: refusal, at: request.url.string)
            }
            if let fault = tunnel.fault {
                return .badServerResponse(fault).at(request.url.string)
            }
            if !wasAnswered, let error = handshake?.error(at: request.url.string) { return error }
        }
        return AttemptOutcome.error(
            of: failure, on: easy, wasDenied: wasDenied, tried: tried, of: request)
    }

    /// The bytes of all requests so far, those to a proxy included.
    var requestSize: Int { easy?.long(CURLINFO_REQUEST_SIZE) ?? 0 }

    func collectMetrics() -> TransactionMetrics {
        guard let easy else { return clock.metrics(of: request) }
        var metrics = clock.metrics(of: request, easy, status: reader.head?.status)
        // libcurl counts the framing of chunks too.
        if upload != nil { metrics.countOfRequestBodyBytesSent = sentByteCount }
        return metrics
    }

    /// Security.md §1: a denial tells nothing of what was found, nor how long that took.
    private func deniedMetrics() -> TransactionMetrics { clock.metrics(of: request) }
}
