internal import Glibc
internal import Loop
internal import TLS

/// TLS between a wire and its socket: the handshake with its deadline, and what is left of the
/// connection once that has failed.
///
/// The wire watches the socket, and tells the layer when it is ready.
@LoopActor
final class TLSLayer {
    /// What the wire is to do.
    enum Step {
        /// Bytes can be read and written.
        case goOn
        /// Wait until the socket can be read.
        case awaitInput
        /// Wait until the socket has room; there is no use in reading before.
        case awaitRoom
        /// There is no connection any more.
        case end
    }

    let connection: TLSConnection
    private let end: any TLSEnd
    private let socket: CInt
    /// Ends the handshake when it takes too long; afterwards it goes on with what the connection
    /// holds, in the next turn of the loop.
    private let timer: LoopTimer
    /// When the handshake has taken too long. The owner has a timer of its own for that and for the
    /// header that follows; which of both fires first is all the same.
    private let deadline: Uptime
    private var failure: HandshakeFailure?
    /// Whether the handshake waits for room.
    private var isHeldUp = false
    /// Whether the client is still to be told that nothing more comes.
    private(set) var isGoodbyeDue = false

    /// How long a client is listened to that was refused: to close the socket on what it still
    /// sends would reset the connection, and the client would not learn why.
    private static let lingerTime = Duration.seconds(1)
    /// By how much a timer may be early.
    private static let tolerance = Duration.milliseconds(20)
    /// To whoever speaks HTTP in clear.
    private static let httpsNotice = """
        HTTP/1.1 400 Bad Request\r
        Content-Type: text/plain; charset=utf-8\r
        Content-Length: 63\r
        Connection: close\r
        \r
        This is an https port: write https:// in place of http:// here.
        """

    /// The layer on a socket; nil without memory. `wakeUp` is called when the time has come to go
    /// on without the socket.
    init?(_ end: any TLSEnd, socket: CInt, wakeUp: @escaping @LoopActor () -> Void) {
        guard let connection = end.makeConnection(on: socket) else { return nil }
        self.connection = connection
        self.end = end
        self.socket = socket
        timer = LoopTimer(action: wakeUp)
        timer.arm(after: end.handshakeTime)
        deadline = Uptime.now.advanced(by: end.handshakeTime)
    }

    /// Whether bytes can be written.
    var takesOutput: Bool { connection.isEstablished }

    /// Goes on after `advance` in the next turn of the loop, whatever the socket has.
    func wakeUpSoon() {
        if connection.isEstablished { timer.arm(after: .zero) }
    }

    /// Brings the handshake forward.
    func advance(timeIsUp: Bool) -> Step {
        if connection.isEstablished { return .goOn }
        if failure != nil { return timeIsUp || !discard() ? .end : .awaitInput }
        if timeIsUp {
            fail(.timedOut)
            return .end
        }
        switch end.step(of: connection) {
        case nil: return isHeldUp ? .awaitRoom : .awaitInput
        case .needsInput:
            isHeldUp = false
            return .awaitInput
        case .needsRoom:
            isHeldUp = true
            return .awaitRoom
        case .done:
            timer.cancel()
            end.noteSuccess(isResumed: connection.isResumed)
            return .goOn
        case .failed(let failure):
            fail(failure)
            guard failure != .disconnected, end.listensToRefused else { return .end }
            if failure == .plainHTTP { sendNotice() }
            shutdown(socket, CInt(SHUT_WR))
            timer.arm(after: TLSLayer.lingerTime)
            return discard() ? .awaitInput : .end
        }
    }

    private func fail(_ failure: HandshakeFailure) {
        self.failure = failure
        end.note(failure, of: connection)
    }

    /// As far as it goes: whoever does not take so little at once has its own problems.
    private func sendNotice() {
        let notice = Array(TLSLayer.httpsNotice.utf8)
        _ = send(socket, notice, notice.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    }

    /// Throws away what a refused client still sends; whether it may send more.
    private func discard() -> Bool {
        // More than that many are left to the next turn of the loop.
        for _ in 0..<4 {
            let count = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) {
                recv(socket, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT))
            }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            if count == 0 { return false }
        }
        return true
    }

    /// Tells the client that nothing more comes, and shuts the sending side, if there is room; else
    /// `isGoodbyeDue` stays set.
    func endSending() {
        isGoodbyeDue = !connection.sayGoodbye()
        if !isGoodbyeDue { shutdown(socket, CInt(SHUT_WR)) }
    }

    /// The socket is about to be closed. A client whose answer was cut must not take it for whole.
    func close(isWhole: Bool) {
        timer.cancel()
        if isWhole { _ = connection.sayGoodbye() }
        guard !connection.isEstablished, failure == nil else { return }
        let isLate = Uptime.now.advanced(by: TLSLayer.tolerance) >= deadline
        fail(isLate ? .timedOut : .disconnected)
    }
}
