internal import Engine
internal import Loop
internal import Semantics

/// The sending of a body that is pulled, between libcurl, which asks for it, and its source.
///
/// The end of the response is the end of the attempt, as in most clients: what is left of the body
/// is not sent, and the connection is closed, which is what RFC 9112 §9.3 leaves to a server that
/// answers without reading on. libcurl stops sending by itself where the status is 300 or more, or
/// the connection closes after the response; else it goes on. While sending is paused it does not
/// see any of this, nor that the connection is lost (measured, 7.88.1): it stops watching the
/// socket, and the attempt would wait for its source. That it has stopped watching is how it is
/// noticed here: whoever sends a body shares its socket with nobody.
@LoopActor
final class PulledUpload {
    private let body: PulledBody
    /// Not sending for the rest of this turn of the loop, so that others get theirs.
    private var isYielding = false
    /// Sockets at which libcurl waits for input.
    private var inputs: Set<CInt> = []
    /// The last one of them.
    private(set) var lastInput: CInt?
    /// Whether the connection was made for this attempt, so that libcurl sends nothing twice.
    private(set) var isConnectionNew = false
    /// The body of the request that is under way has been asked for.
    private var isUnderWay = false
    /// Whether nothing more can come, and libcurl was asked to notice.
    private(set) var seemsOver = false
    private var isLooking = false

    /// Nil for a body that is not pulled, or has no bytes; `bufferSize` is
    /// CURLOPT_UPLOAD_BUFFERSIZE.
    init?(_ body: AttemptBody?, bufferSize: Int) {
        guard let body = PulledBody(body, bufferSize: bufferSize) else { return nil }
        self.body = body
    }

    /// Why the body cannot be sent.
    var fault: TransferError? { body.fault }

    /// Whether libcurl may not ask for more of the body.
    var isResting: Bool { isYielding || body.isWaiting }

    /// Whether the connection gives no more input although the body is not over.
    var hasNoInput: Bool { isUnderWay && !body.isSent && inputs.isEmpty }

    // MARK: The source

    /// Hears when a source that had nothing to say has more.
    func onReady(_ action: @escaping @LoopActor () -> Void) { body.onReady(action) }

    /// Nothing is asked of the source any more, and nothing heard from it.
    func letGo() { body.letGo() }

    // MARK: Requests

    /// A connection is made.
    func connects() {
        isConnectionNew = true
        inputs = []
        begin()
    }

    /// The body is about to be sent from its beginning.
    /// - Returns: false where it cannot be; nil where nothing of it had been sent.
    func beginAnew() -> Bool? {
        begin()
        return body.hasBegun ? body.beginAnew() : nil
    }

    private func begin() {
        isUnderWay = false
        seemsOver = false
    }

    // MARK: Pieces

    /// libcurl asks for a piece.
    /// - Returns: whether it is the first one of a request.
    func noteAsked() -> Bool {
        defer { isUnderWay = true }
        return !isUnderWay
    }

    /// What libcurl is told where the source may not be asked; nil where it may.
    func refusal(wasAnswered: Bool) -> PulledBody.Answer? {
        if seemsOver {
            // On a kept connection without an answer libcurl might have begun anew: it has not.
            return wasAnswered || isConnectionNew ? .wait : body.fail(.unanswered)
        }
        // libcurl also asks where sending rests, when it has been told to go on receiving
        // (measured).
        return isResting ? .wait : nil
    }

    /// The share of this turn is used up.
    func yield() -> PulledBody.Answer {
        isYielding = true
        return .wait
    }

    /// The next turn of the loop has come.
    func beginTurn() { isYielding = false }

    /// Asks the source for the next piece.
    func read(into room: UnsafeMutableRawBufferPointer) -> PulledBody.Answer {
        body.read(into: room)
    }

    /// libcurl has written so many bytes, framing included.
    /// - Returns: how many of the body's own bytes that is.
    func noteSent(onWire byteCount: Int64) -> Int64 { body.noteSent(onWire: byteCount) }

    // MARK: The end before the body's

    /// Whether libcurl waits for input at a socket.
    /// - Returns: whether it has just stopped.
    func noteWatch(of socket: CInt, isForInput: Bool) -> Bool {
        guard isForInput else { return inputs.remove(socket) != nil }
        inputs.insert(socket)
        lastInput = socket
        return false
    }

    /// Calls back when libcurl is off the stack, once for all who ask until then.
    func lookSoon(_ look: @escaping @LoopActor () -> Void) {
        guard !isLooking else { return }
        isLooking = true
        LoopActor.later { [self] in
            isLooking = false
            look()
        }
    }

    /// Nothing more can come: libcurl may ask again, whatever the source has said, and so notices.
    func seemOver() {
        seemsOver = true
        isYielding = false
        body.stopWaiting()
    }
}
