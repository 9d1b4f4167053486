internal import Loop
internal import Semantics

/// The body of a task's attempts (S-37…S-40). A streamed one is asked for, comes once, and is gone
/// with the attempt that has begun to send it.
@LoopActor
final class Upload {
    /// What sends the body of the attempt.
    private var feed: PacedBody?
    /// The client's end of a streamed body, from its arrival to the end of the attempt.
    private var pipe: BodyPipe?
    /// Whose questions in the handshake have been answered, where the body is asked for behind
    /// them.
    private var knownServer: WebURL.Origin?
    /// Whether a streamed body was asked for, and has not come.
    private var isOwed = false

    // MARK: An attempt

    /// While it is held nothing is sent.
    var isHeld = false {
        didSet { feed?.isHeld = isHeld }
    }

    /// Whether sending waits for the client, or for a limit, and not for the network.
    var isWaiting: Bool { feed?.isWaiting == true }

    /// Whether the next attempt only makes a connection: the delegate is asked whom to trust, and
    /// what to present, before it is asked for a body that can perhaps be sent once only (§5).
    func onlyConnects(for request: RequestRecord, asking delegate: DelegateOptions?) -> Bool {
        guard request.body?.isStream == true, request.url.isSecure, pipe == nil, !isOwed,
            knownServer != request.url.origin, let delegate
        else { return false }
        return [.serverTrust, .clientCertificate].contains {
            delegate.challengeKind(of: $0) != nil
        }
    }

    /// The handshake with a server has been made, and its questions are answered.
    func knows(_ server: WebURL.Origin) { knownServer = server }

    /// The body of the attempt that is about to begin.
    ///
    /// - Parameters:
    ///   - body: what the request sends.
    ///   - tenant: whose it is.
    ///   - services: open what it is read from.
    ///   - bandwidth: the task's limits.
    ///   - onPace: called when sending begins or ends to wait.
    /// - Returns: the body as the transport pulls it.
    /// - Throws: `requestBodyStreamExhausted` where a streamed body has been sent before; why a
    ///   file cannot be opened.
    func open(
        _ body: BodyRecord, of tenant: TenantID, services: TaskServices,
        within bandwidth: Bandwidth, onPace: @escaping @LoopActor () -> Void
    ) async throws(TransferError) -> AttemptBody {
        let source: PacedBody.Feed
        switch body {
        case .bytes(let bytes): source = .bytes(bytes)
        case .file, .task:
            switch try await services.openSource(body, tenant) {
            case .bytes(let bytes): source = .bytes(bytes)
            case .file(let file):
                source = .file(FileFeed(file, length: body.length, files: services.files))
            }
        case .stream:
            guard let pipe, !pipe.isUsed else { throw .url(.requestBodyStreamExhausted) }
            source = .pipe(pipe)
        }
        let feed = PacedBody(source, within: bandwidth, onWaiting: onPace)
        feed.isHeld = isHeld
        self.feed = feed
        let length = body.isStream ? pipe?.length ?? unknownSize : body.length
        return .source(feed, length: length == unknownSize ? nil : length)
    }

    /// The attempt takes nothing more of its body.
    func attemptEnded() {
        feed?.close()
        feed = nil
        isHeld = false
        guard let pipe, pipe.isUsed else { return }
        pipe.end(.attemptEnded)
        self.pipe = nil
    }

    // MARK: Streams (S-39, S-73)

    /// Whether the body is here.
    var hasBody: Bool { pipe != nil }
    /// Whether the client may send it.
    var isAwaited: Bool { isOwed && pipe == nil }

    /// The client is asked for the body.
    /// - Returns: false where it has been asked before.
    func ask() -> Bool {
        defer { isOwed = true }
        return !isOwed
    }

    /// The body comes.
    /// - Parameter length: bytes, of this body alone: the next one may be of another length.
    /// - Returns: the pipe that the client writes to.
    func take(_ length: Int64) -> BodyPipe {
        isOwed = false
        let pipe = BodyPipe(length: length)
        self.pipe = pipe
        return pipe
    }

    /// Whether this is the body, and nothing of it has been sent.
    func isUnused(_ pipe: BodyPipe) -> Bool { self.pipe === pipe && !pipe.isUsed }

    /// The client need not send the rest: why not is what it is told.
    func tell(_ reason: BodyRefusal) { pipe?.end(reason) }

    /// The task is over.
    func end(_ reason: BodyRefusal) {
        pipe?.end(reason)
        pipe = nil
    }
}
