internal import CCurl
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics

/// How a body that is pulled goes out, and how it ends before its time.
///
/// The end of the response is the end of the attempt, as in most clients: what is left of the body
/// is not sent, and the connection is closed, which is what RFC 9112 §9.3 leaves to a server that
/// answers without reading on. libcurl stops sending by itself where the status is 300 or more, or
/// the connection closes after the response; else it goes on. While sending is paused it does not
/// see any of this, nor that the connection is lost (measured, 7.88.1): it stops watching the
/// socket, and the attempt would wait for its source. That it has stopped watching is how it is
/// noticed here: whoever sends a body shares its socket with nobody.
extension CurlAttempt {
    /// The state of sending.
    @LoopActor
    final class Upload {
        let body: PulledBody
        /// Not sending for the rest of this turn of the loop, so that others get theirs.
        var isYielding = false
        /// Sockets at which libcurl waits for input on behalf of this attempt.
        fileprivate(set) var inputs: Set<CInt> = []
        /// The last one of them.
        fileprivate var lastInput: CInt?
        /// Made for this attempt, so that libcurl sends nothing twice.
        fileprivate var isConnectionNew = false
        /// The body of the request that is under way has been asked for.
        fileprivate var isUnderWay = false
        /// Nothing more can come, and libcurl was asked to notice.
        fileprivate var seemsOver = false
        fileprivate var isLooking = false

        init(_ body: PulledBody) { self.body = body }

        /// Whether libcurl may not ask for more of the body.
        var isResting: Bool { isYielding || body.isWaiting }

        /// A connection is made.
        func connects() {
            isConnectionNew = true
            inputs = []
            begin()
        }

        /// A request is about to be sent.
        fileprivate func begin() {
            isUnderWay = false
            seemsOver = false
        }
    }

    // MARK: Callbacks

    /// CURLOPT_READFUNCTION: the next piece of the body.
    func fill(_ room: UnsafeMutableRawBufferPointer) -> PulledBody.Answer {
        guard observer != nil, !isEnding, let upload else { return .failed }
        // Before the first piece libcurl may not yet have said what it watches.
        if !upload.isUnderWay { lookForEndSoon() }
        upload.isUnderWay = true
        guard !upload.seemsOver else {
            // On a kept connection without an answer libcurl might have begun anew: it has not.
            let isLost = !wasAnswered && !upload.isConnectionNew
            return isLost ? upload.body.fail(.unanswered) : .wait
        }
        // libcurl also asks where sending rests, when it has been told to go on receiving
        // (measured).
        guard !upload.isResting else { return .wait }
        guard share.admits(self) else {
            upload.isYielding = true
            return .wait
        }
        let answer = upload.body.read(into: room)
        if case .bytes(let count) = answer { share.spend(count) }
        return answer
    }

    /// CURLOPT_SEEKFUNCTION and CURLOPT_PREREQFUNCTION: the body is about to be sent from its
    /// beginning.
    func rewindBody() -> Bool {
        guard observer != nil else { return false }
        guard let upload else { return true }
        upload.begin()
        guard upload.body.hasBegun else { return true }
        // A pause from before may have come with it.
        LoopActor.later { [self] in applyPauses() }
        return upload.body.beginAnew()
    }

    /// CURLOPT_XFERINFOFUNCTION: how much of the request's body is on the wire. False ends the
    /// transfer.
    func noteSent(_ byteCount: Int64) -> Bool {
        guard let observer, tunnel.mayReadOn() else { return false }
        let sent = upload?.body.noteSent(onWire: byteCount) ?? byteCount
        guard sent > sentByteCount else { return true }
        sentByteCount = sent
        clock.bodySent()
        observer.attemptDidMove()
        if sent > toldByteCount {
            toldByteCount = sent
            observer.attemptDidSend(total: sent)
        }
        return true
    }

    /// CURLMOPT_SOCKETFUNCTION: whether libcurl waits for input at a socket.
    func noteWatch(of socket: CInt, isForInput: Bool) {
        guard let upload else { return }
        if isForInput {
            upload.inputs.insert(socket)
            upload.lastInput = socket
        } else if upload.inputs.remove(socket) != nil {
            lookForEndSoon()
        }
    }

    // MARK: The source

    /// The source has more to say.
    func bodyIsReady() {
        // It may be fed by another attempt, from inside libcurl.
        if pool?.isActing == true {
            LoopActor.later { [self] in applyPauses() }
        } else {
            applyPauses()
        }
    }

    // MARK: The end before the body's

    /// Looks for it when libcurl is off the stack.
    func lookForEndSoon() {
        guard let upload, !upload.isLooking else { return }
        upload.isLooking = true
        LoopActor.later { [self] in
            upload.isLooking = false
            lookForEnd(upload)
        }
    }

    private func lookForEnd(_ upload: Upload) {
        guard hasNoInput(upload) else { return }
        upload.seemsOver = true
        upload.isYielding = false
        upload.body.stopWaiting()
        // Where libcurl has stopped sending, it now ends the transfer by its own rules; where the
        // connection was a kept one and gave no answer, it may begin anew.
        applyPauses()
        pool?.turn()
        guard upload.seemsOver, hasNoInput(upload) else { return }
        guard wasAnswered || upload.isConnectionNew else { return }
        let (error, isUnverified) = outcome(upload)
        end(error?.at(request.url.string), isUnverified: isUnverified)
    }

    /// Whether the connection gives no more input although the body is not over.
    private func hasNoInput(_ upload: Upload) -> Bool {
        easy != nil && upload.isUnderWay && !upload.body.isSent && upload.inputs.isEmpty
            && !isPaused && !isYielding
    }

    /// libcurl has read the response to its end, or to the connection's.
    private func outcome(_ upload: Upload) -> (error: TransferError?, isUnverified: Bool) {
        guard let head = reader.head else {
            return (.unanswered, false)
        }
        if hasNoBody(head) { return (nil, false) }
        // RFC 9112 §6.3: chunks come before a length. Whether the last one has come libcurl does
        // not tell; but while the connection is open, nothing else can have been the end.
        let isWhole =
            reader.isChunked
            ? isOpen(upload.lastInput)
            : reader.contentLength.map { $0 == easy?.offset(CURLINFO_SIZE_DOWNLOAD_T) } ?? true
        guard isWhole else {
            return (
                .url(
                    .networkConnectionLost,
                    message: "The server closed the connection in the middle of its response."),
                false
            )
        }
        // TLS has an end of its own, which leaves the socket open.
        return (nil, reader.isChunked && request.url.isSecure)
    }

    func isOpen(_ socket: CInt?) -> Bool {
        guard let socket else { return false }
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count > 0 || (count < 0 && errno == EAGAIN)
    }
}
