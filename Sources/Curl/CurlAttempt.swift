internal import CCurl
internal import Decoding
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
    /// Nil once the attempt has ended or was cancelled.
    private var observer: (any AttemptObserver)?
    /// Holds the pool until the end.
    private var pool: CurlPool?
    private var easy: EasyHandle?
    private let share: FairShare

    private var clock = AttemptClock()
    private var destinations: AttemptDestinations
    private var tls: TLSNegotiation
    private var tunnel: Tunnel
    private var conversation: Conversation
    /// The sending of a body that is pulled.
    private let upload: PulledUpload?
    private var response = IncomingResponse()
    private var content = IncomingContent()
    private var flow = FlowControl()
    /// Why a callback ended the transfer, if one did.
    private var stop: StopReason?

    init(
        _ request: AttemptRequest, _ offer: ProtocolOffer, pool: CurlPool, share: FairShare,
        sendBufferSize: Int, observer: any AttemptObserver
    ) {
        self.request = request
        self.observer = observer
        self.pool = pool
        self.share = share
        destinations = AttemptDestinations(pool.gate)
        tls = TLSNegotiation(offer)
        tunnel = Tunnel(request)
        conversation = Conversation(request)
        upload = PulledUpload(request.body, bufferSize: sendBufferSize)
    }

    // MARK: For the pool

    /// Whether the attempt has ended or was cancelled.
    var hasEnded: Bool { observer == nil }

    /// Which versions of HTTP are offered.
    var offer: ProtocolOffer { tls.offer }

    /// Of the connection in use.
    var handshake: Handshake? { tls.handshake }

    /// What had to be found before the attempt can begin has been found.
    func hasWaited() {
        clock.restart()
    }

    /// The attempt is about to be given to libcurl.
    func begin(_ easy: EasyHandle, in pool: CurlPool) {
        self.easy = easy
        self.pool = pool
        upload?.onReady { [weak self] in self?.bodyIsReady() }
    }

    /// Calls back in a while; the request's own time runs on.
    func waitForDescriptor(then goOn: @escaping @LoopActor () -> Void) {
        destinations.waitForDescriptor(then: goOn)
    }

    /// The process stood still, and libcurl's clock did not: what is left for the connection stays
    /// what it was.
    func prolongConnecting() {
        guard let easy, let limit = request.connectTimeout else { return }
        easy.prolongConnecting(limit)
    }

    /// Whether the connection is kept for another attempt. May be called from inside libcurl.
    func keepConnectionAtEnd(_ isKept: Bool) {
        easy?.keepConnection(isKept)
    }

    // MARK: Attempt

    func pause() {
        precondition(pool?.isActing != true, "an attempt is paused from inside libcurl")
        guard observer != nil, !flow.isPaused else { return }
        flow.pause()
        guard let easy, !response.isOver else { return }
        // Where one direction rests while nothing is held, libcurl reads all the same, and joins
        // the lines of a header (measured). So a receiver beside a sender rests when there is
        // something to hold.
        guard upload == nil else { return }
        flow.restBothWays()
        // Before there is a connection libcurl refuses or forgets this; the callbacks then see
        // that the attempt is paused.
        _ = pool?.pause(easy, CURLPAUSE_ALL)
    }

    func resume() {
        precondition(pool?.isActing != true, "an attempt is resumed from inside libcurl")
        guard observer != nil, flow.isPaused else { return }
        flow.resume()
        if response.isOver {
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

    func cancel() -> TransactionMetrics {
        let metrics = clock.metricsAtEnd ?? collectMetrics()
        clock.end(metrics)
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

    // MARK: Resting

    /// The next turn of the loop has come.
    func goOn() {
        flow.beginTurn()
        upload?.beginTurn()
        applyPauses()
        lookForEndSoon()
    }

    /// Tells libcurl which directions rest.
    private func applyPauses() {
        guard let easy, !response.isOver else { return }
        let bits = flow.pauseBits(senderRests: upload?.isResting)
        let code = pool?.pause(easy, bits) ?? CURLE_OK
        // Bytes that were held are delivered by that call, and where a callback then ends the
        // transfer, libcurl tells it here only. Before there is a connection libcurl refuses or
        // forgets a pause; the callbacks see to it.
        let isRefused = code == CURLE_BAD_FUNCTION_ARGUMENT && !response.hasBegun
        guard code != CURLE_OK, !isRefused else { return }
        // Another transfer may have taken its place by then.
        LoopActor.later { [self] in if self.easy === easy { end(code) } }
    }

    // MARK: Requests

    /// CURLOPT_OPENSOCKETFUNCTION; nil where the address is none of the internet's.
    func openSocket(_ wanted: WantedSocket?) -> CInt {
        guard observer != nil, let pool, let wanted = destinations.permitted(wanted) else {
            return ccurl_socket_bad
        }
        upload?.connects()
        tunnel.connects()
        clock.connects(sent: requestSize)
        return destinations.make(wanted, in: pool)
    }

    /// CURLOPT_SSL_CTX_FUNCTION: a connection is about to be made by TLS. False ends the transfer.
    func secure(_ context: OpaquePointer) -> Bool {
        guard observer != nil, stop == nil else { return false }
        return tls.begin(context, for: request)
    }

    /// CURLOPT_PREREQFUNCTION: the last look before a request goes out, also on a connection that
    /// was kept.
    func mayRequest(on connection: ConnectionEnds) -> Bool {
        guard observer != nil, stop == nil, let easy else { return false }
        guard conversation.mayFollow(hasLeft: wasSwallowed) else { return stops(.lost) }
        // libcurl 7.88 does not say where a connection leads that others of HTTP/2 share behind a
        // tunnel (measured).
        guard !connection.address.isEmpty else { return stops(.unsuitable) }
        guard destinations.mayRequest(on: connection), mayUseConnection(easy) else { return false }
        guard isClean(connection, easy) else { return stops(.unsuitable) }
        guard !request.onlyConnects else { return stops(.connected) }
        guard conversation.begin() else { return stops(.malformed(Conversation.endless)) }
        noteEarlierRequest()
        clock.requestBegins(request, easy)
        tunnel.isOpen()
        response.requestBegins()
        return rewindBody()
    }

    private func stops(_ reason: StopReason) -> Bool {
        stop = reason
        return false
    }

    private func mayUseConnection(_ easy: EasyHandle) -> Bool {
        guard request.url.isSecure else { return true }
        switch tls.judge(easy.ssl, for: request, pool?.origins) {
        case .isReplaced: return stops(.unsuitable)
        case .isLost: return stops(.lost)
        case .serves: break
        }
        // In TLS 1.3 the server's verdict about the certificate comes behind the handshake, and
        // libcurl may find the connection broken before it has read it: then it reads when it
        // closes (measured).
        if tls.awaitsVerdict(on: request) { keepConnectionAtEnd(false) }
        return true
    }

    /// Whether the next that comes on a connection answers the request that is about to go out:
    /// libcurl 7.88 takes for an answer what a server has sent unasked (RFC 9112 §6.3; measured).
    private func isClean(_ connection: ConnectionEnds, _ easy: EasyHandle) -> Bool {
        guard easy.long(CURLINFO_NUM_CONNECTS) == 0 else {
            pool?.note(connection, among: destinations.sockets)
            return true
        }
        let ssl = request.url.isSecure ? easy.ssl : nil
        guard ssl.flatMap(HandshakeCallbacks.protocolName) != "h2",
            let socket = pool?.socket(at: connection)
        else { return true }
        return !SocketProbe.hasInput(socket) && ssl.map(HandshakeCallbacks.hasUnread) != true
    }

    /// Whether something of a request has left that had no answer.
    private var wasSwallowed: Bool { clock.hasSent(requestSize) && !response.hasBegun }

    /// S-47: what has left is a request of its own.
    private func noteEarlierRequest() {
        guard clock.hasSent(requestSize) else { return }
        observer?.attemptGoesOn(after: collectMetrics())
        clock.requestIsOver()
    }

    /// The bytes of all requests so far, those to a proxy included.
    private var requestSize: Int { easy?.long(CURLINFO_REQUEST_SIZE) ?? 0 }

    // MARK: The response

    /// CURLOPT_HEADERFUNCTION: one line.
    func takeHeader(_ line: UnsafeRawBufferPointer) -> FlowVerdict {
        guard let observer, stop == nil else { return .stop }
        if tunnel.isOpening {
            observer.attemptDidMove()
            switch tunnel.take(line, requestSize: requestSize) {
            case .more: return .proceed
            case .refused: return .stop
            case .malformed(let sentence): return fail(sentence)
            }
        }
        if !response.hasBegun { answerBegins() }
        clock.answered()
        let step = response.take(line)
        guard !response.isHeadTaken else {
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
                response.hold(head)
                return .proceed
            }
            if head.status >= 400, request.sendsBodyToProxy { keepConnectionAtEnd(false) }
            guard !flow.isPaused else { return flow.rest() }
            return offer(head, to: observer)
        }
        return .proceed
    }

    /// The first line of an answer has come.
    private func answerBegins() {
        guard tls.awaitsVerdict(on: request), pool?.isClosed == false else { return }
        keepConnectionAtEnd(request.sharesConnection)
    }

    private func offer(_ head: ResponseHead, to observer: any AttemptObserver) -> FlowVerdict {
        let verdict = obey(observer.attemptDidReceive(head))
        if verdict == .proceed || verdict == .stop {
            response.headIsTaken()
            content.begin(head, of: request)
        }
        return verdict
    }

    private func obey(_ verdict: FlowVerdict) -> FlowVerdict {
        switch verdict {
        case .proceed: break
        case .pause, .take: flow.pauseByVerdict()
        case .stop: stop = .enough
        }
        return verdict
    }

    private func fail(_ sentence: String) -> FlowVerdict {
        stop = .malformed(sentence)
        return .stop
    }

    /// CURLOPT_WRITEFUNCTION: bytes of the body.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        guard let observer, stop == nil else { return .stop }
        guard flow.mayDeliver else { return flow.rest() }
        if let head = response.heldHead {
            let verdict = offer(head, to: observer)
            guard verdict == .proceed else { return verdict }
        }
        let new = content.new(of: bytes)
        var count = 0
        let verdict =
            content.decoder.map { deliver(new, decodedBy: $0, &count) }
            ?? deliver(new, to: observer, &count)
        content.take(count, of: bytes, verdict)
        return verdict
    }

    /// Delivers what has come as it is.
    ///
    /// - Parameters:
    ///   - bytes: what the observer has not taken yet.
    ///   - observer: who is told.
    ///   - count: how much of it is taken when this returns.
    /// - Returns: what libcurl is told.
    private func deliver(
        _ bytes: UnsafeRawBufferPointer, to observer: any AttemptObserver, _ count: inout Int
    ) -> FlowVerdict {
        guard !bytes.isEmpty else { return .proceed }
        guard share.admits(self) else { return flow.yield() }
        let verdict = obey(observer.attemptDidReceive(bytes))
        count = verdict.count(of: bytes)
        share.spend(count)
        return verdict
    }

    /// Decodes what has come, and delivers it.
    ///
    /// - Parameters:
    ///   - coded: what the decoder has not seen yet; maybe nothing, where only its output was left.
    ///   - decoder: which takes it.
    ///   - count: how much of it is decoded when this returns.
    /// - Returns: what libcurl is told.
    private func deliver(
        _ coded: UnsafeRawBufferPointer, decodedBy decoder: ContentDecoder, _ count: inout Int
    ) -> FlowVerdict {
        var left = coded
        defer { count = coded.count - left.count }
        // Much of a content may come before the first byte of it can be decoded.
        if !coded.isEmpty { observer?.attemptDidMove() }
        do throws(DecodingFault) {
            while !left.isEmpty || decoder.hasMore {
                guard share.admits(self) else { return flow.yield() }
                guard try share.step(decoder, &left) else { break }
                guard let observer else { return .stop }
                let piece = decoder.piece
                guard !piece.isEmpty else { continue }
                let verdict = obey(observer.attemptDidReceive(piece))
                decoder.take(verdict.count(of: piece))
                guard verdict == .proceed else { return verdict }
            }
        } catch {
            stop = .undecodable(error)
            return .stop
        }
        return .proceed
    }

    // MARK: The request's body

    /// CURLOPT_READFUNCTION: the next piece of a body that is pulled.
    func fill(_ room: UnsafeMutableRawBufferPointer) -> PulledBody.Answer {
        guard observer != nil, stop == nil, let upload else { return .failed }
        // Before the first piece libcurl may not yet have said what it watches.
        if upload.noteAsked() { lookForEndSoon() }
        if let answer = upload.refusal(wasAnswered: response.hasBegun) { return answer }
        guard share.admits(self) else { return upload.yield() }
        let answer = upload.read(into: room)
        if case .bytes(let count) = answer { share.spend(count) }
        return answer
    }

    /// CURLOPT_SEEKFUNCTION and CURLOPT_PREREQFUNCTION: the body is about to be sent from its
    /// beginning.
    func rewindBody() -> Bool {
        guard observer != nil else { return false }
        guard let isRewound = upload?.beginAnew() else { return true }
        // A pause from before may have come with it.
        LoopActor.later { [self] in applyPauses() }
        return isRewound
    }

    /// CURLOPT_XFERINFOFUNCTION: how much of the request's body is on the wire. False ends the
    /// transfer.
    func noteSent(_ byteCount: Int64) -> Bool {
        guard let observer, tunnel.mayReadOn() else { return false }
        guard clock.bodySent(upload?.noteSent(onWire: byteCount) ?? byteCount) else { return true }
        observer.attemptDidMove()
        if let total = clock.nextTotal() { observer.attemptDidSend(total: total) }
        return true
    }

    /// CURLMOPT_SOCKETFUNCTION: whether libcurl waits for input at a socket.
    func noteWatch(of socket: CInt, isForInput: Bool) {
        if upload?.noteWatch(of: socket, isForInput: isForInput) == true { lookForEndSoon() }
    }

    /// The source of the body has more to say.
    private func bodyIsReady() {
        // It may be fed by another attempt, from inside libcurl.
        if pool?.isActing == true {
            LoopActor.later { [self] in applyPauses() }
        } else {
            applyPauses()
        }
    }

    private func lookForEndSoon() {
        guard let upload else { return }
        upload.lookSoon { [self] in lookForEnd(upload) }
    }

    /// Looks whether the response has ended, or the connection, while the body rests.
    private func lookForEnd(_ upload: PulledUpload) {
        guard mayBeOver(upload) else { return }
        upload.seemOver()
        // Where libcurl has stopped sending, it now ends the transfer by its own rules; where the
        // connection was a kept one and gave no answer, it may begin anew.
        applyPauses()
        pool?.turn()
        guard upload.seemsOver, mayBeOver(upload) else { return }
        guard response.hasBegun || upload.isConnectionNew else { return }
        let error = response.end(
            of: request, after: easy?.offset(CURLINFO_SIZE_DOWNLOAD_T),
            isOpen: SocketProbe.isOpen(upload.lastInput))
        settle(error?.at(request.url.string))
    }

    private func mayBeOver(_ upload: PulledUpload) -> Bool {
        easy != nil && upload.hasNoInput && flow.mayDeliver
    }

    // MARK: Other transfers

    /// Whether the process has no descriptor for the transfer, and nothing has been sent that may
    /// not be sent again.
    private func isShortOfDescriptors(after code: CURLcode) -> Bool {
        mayTryAgain && conversation.mayFollow(hasLeft: wasSwallowed)
            && destinations.isShortOfDescriptors(after: code)
    }

    private func isRefusingHTTP1(after code: CURLcode) -> Bool {
        guard mayTryAgain, tls.isRefusingHTTP1(after: code, request, hasBegun: clock.hasBegun)
        else { return false }
        noteEarlierRequest()
        return true
    }

    /// Whether the request goes out again, as a connection that was kept has ended without an
    /// answer.
    private func isRepeated(after code: CURLcode) -> Bool {
        guard CurlErrorTable.isLostConnection(Int(code.rawValue)), mayTryAgain,
            conversation.repeats(onReused: clock.isReused, hasLeft: wasSwallowed)
        else { return false }
        noteEarlierRequest()
        return true
    }

    /// Whether libcurl has failed of itself, before there was an answer.
    private var mayTryAgain: Bool {
        stop == nil && !destinations.wasDenied && !response.hasBegun
    }

    /// The same is tried in a while, on a connection that is kept or on one that can be made then.
    private func waitToTryAgain(instead easy: EasyHandle) {
        noteEarlierRequest()
        pool?.lacksDescriptor(for: self) { [weak self] in
            guard let self, observer != nil, self.easy === easy else { return }
            destinations.beginAnew()
            beginTransfer { pool throws(CurlFailure) in try pool.tryAgain(self, instead: easy) }
        }
    }

    /// What was held back of the connection that libcurl had chosen comes on a new one.
    private func beginAnew(instead easy: EasyHandle) {
        stop = nil
        beginTransfer { pool throws(CurlFailure) in try pool.beginAnew(self, instead: easy) }
    }

    private func beginTransfer(
        _ begin: (CurlPool) throws(CurlFailure) -> Void
    ) {
        clock.restart()
        do throws(CurlFailure) {
            if let pool { try begin(pool) }
        } catch {
            finish(AttemptOutcome.error(of: error, at: request.url))
        }
    }

    // MARK: The end

    /// Ends an attempt that never began.
    func endSoon(_ error: TransferError) {
        LoopActor.later { [self] in finish(error) }
    }

    /// libcurl has ended the transfer, or refuses to go on with it.
    func end(_ code: CURLcode) {
        guard let easy, !response.isOver else { return }
        if observer != nil, isShortOfDescriptors(after: code) {
            return waitToTryAgain(instead: easy)
        }
        if observer != nil,
            stop?.isUnsuitable == true || isRefusingHTTP1(after: code) || isRepeated(after: code)
        {
            return beginAnew(instead: easy)
        }
        settle(error(code, easy))
    }

    /// The transfer is over; but a head that was held comes before its end.
    private func settle(_ error: TransferError?) {
        guard error == nil, let head = response.heldHead, let observer, stop == nil else {
            return finish(error)
        }
        response.endHolding()
        guard !flow.isPaused, offer(head, to: observer) != .pause else { return }
        finish(nil)
    }

    private func finish(_ error: TransferError?) {
        guard let observer else { return release() }
        let error = error ?? contentError
        let metrics = error == .destinationDenied ? deniedMetrics() : collectMetrics()
        clock.end(metrics)
        self.observer = nil
        var end = AttemptEnd(error: error, metrics: metrics, lengthVerified: isLengthVerified)
        if let error, error != .destinationDenied {
            end.question = response.hasBegun ? nil : tls.question
            end.tunnelResponse = tunnel.refusal(requestSize: requestSize)
        }
        release()
        observer.attemptDidEnd(end)
    }

    private func release() {
        upload?.letGo()
        content.letGo()
        destinations.letGo()
        if let easy { pool?.remove(easy) }
        easy = nil
        pool = nil
    }

    private func error(_ code: CURLcode, _ easy: EasyHandle) -> TransferError? {
        let url = request.url.string
        if let stop { return stop.error(at: url) }
        if let fault = upload?.fault, code != CURLE_OK { return fault.at(url) }
        // What libcurl says of a trailer that is no field; nothing else of ours gets this far.
        if code == CURLE_BAD_FUNCTION_ARGUMENT, response.isHeadTaken {
            return .badServerResponse("The response has a trailer that is no field.").at(url)
        }
        guard let failure = CurlFailure(code) else {
            // libcurl takes the end of the connection for the end of a header too (measured,
            // 7.88.1).
            return response.isHeadTaken || response.heldHead != nil ? nil : .unanswered.at(url)
        }
        if !destinations.wasDenied {
            if let refusal = tunnel.refusal(requestSize: requestSize) {
                return Tunnel.error(of: refusal, at: url)
            }
            if let fault = tunnel.fault { return .badServerResponse(fault).at(url) }
            if !response.hasBegun, let error = tls.error(at: url) { return error }
        }
        return AttemptOutcome.error(
            of: failure, on: easy, wasDenied: destinations.wasDenied, tried: destinations.tried,
            of: request)
    }

    /// Why the content is not whole although the transfer is; nil where it is, or where nobody
    /// wants it whole.
    private var contentError: TransferError? {
        guard stop?.isEnough != true else { return nil }
        return content.fault?.error(at: request.url.string)
    }

    private var isLengthVerified: Bool {
        guard stop?.isEnough != true else { return false }
        return response.isLengthVerified(for: request, on: easy)
    }

    private func collectMetrics() -> TransactionMetrics {
        guard let easy else { return clock.metrics(of: request) }
        return clock.metrics(of: request, easy, status: response.head?.status)
    }

    /// Security.md §1: a denial tells nothing of what was found, nor how long that took.
    private func deniedMetrics() -> TransactionMetrics { clock.metrics(of: request) }
}
