internal import Diagnostics
internal import Files
internal import Loop
internal import Semantics

/// The body of a task's attempts (S-37…S-40). A streamed one is asked for, comes once, and is gone
/// with the attempt that has begun to send it.
@LoopActor
final class Upload {
    private let task: LiveTask
    /// What sends the body of the attempt.
    private var feed: PacedBody?
    /// The client's end of a streamed body, from its arrival to the end of the attempt.
    private var pipe: BodyPipe?
    /// Whose questions in the handshake have been answered, where the body is asked for behind
    /// them.
    private var knownServer: WebURL.Origin?
    /// Whether a streamed body was asked for, and has not come.
    private var isOwed = false

    init(of task: LiveTask) { self.task = task }

    private var control: (any TaskControl)? { task.control }
    private var delegate: (any DelegateAsking)? { task.delegate }
    private var request: RequestRecord { task.record.currentRequest }

    // MARK: An attempt

    /// While it is held nothing is sent.
    var isHeld = false {
        didSet { feed?.isHeld = isHeld }
    }

    /// Whether sending waits for the client, or for a limit, and not for the network.
    var isWaiting: Bool { feed?.isWaiting == true }

    /// Whether the next attempt only makes a connection: the delegate is asked whom to trust, and
    /// what to present, before it is asked for a body that can perhaps be sent once only (§5).
    var onlyConnects: Bool {
        guard request.body?.isStream == true, request.url.isSecure, pipe == nil, !isOwed,
            knownServer != request.url.origin, let delegate = task.session.record.delegate
        else { return false }
        return [.serverTrust, .clientCertificate].contains {
            delegate.challengeKind(of: $0) != nil
        }
    }

    /// The handshake with the server has been made, and its questions are answered.
    func knowsServer() { knownServer = request.url.origin }

    /// A body that is there, and needs nothing but to be sent.
    var inlineBody: AttemptBody? {
        if case .bytes(let bytes) = request.body { .bytes(bytes) } else { nil }
    }

    /// Whether it takes `open` to have the body of the next attempt.
    var mustBeOpened: Bool {
        switch request.body {
        case nil: false
        case .bytes(let bytes): !bytes.isEmpty && task.isLimited
        case .file, .task, .stream: true
        }
    }

    /// What was found of a body.
    enum Opening {
        /// As the transport takes it; nil where none is sent.
        case ready(AttemptBody?)
        /// It is elsewhere, and cannot be reached at the moment.
        case away
    }

    /// The body of the attempt that is about to begin.
    ///
    /// - Parameter onPace: called when sending begins or ends to wait.
    /// - Returns: the body, or that it cannot be reached.
    /// - Throws: `requestBodyStreamExhausted` where a streamed body has been sent before; why a
    ///   file cannot be opened.
    func open(onPace: @escaping @LoopActor () -> Void) async throws(TransferError) -> Opening {
        guard !onlyConnects else { return .ready(nil) }
        guard mustBeOpened, let body = request.body else { return .ready(inlineBody) }
        let source: PacedBody.Feed
        switch body {
        case .bytes(let bytes): source = .bytes(bytes)
        case .file, .task:
            guard let found = try await find(body) else { return .away }
            switch found {
            case .bytes(let bytes): source = .bytes(bytes)
            case .file(let file):
                source = .file(FileFeed(file, length: body.length))
            }
        case .stream:
            guard let pipe, !pipe.isUsed else { throw .url(.requestBodyStreamExhausted) }
            source = .pipe(pipe)
        }
        let announced = body.isStream ? pipe?.length ?? unknownSize : body.length
        let length = announced == unknownSize ? nil : announced
        let feed = PacedBody(source, length: length, within: task.bandwidth, onWaiting: onPace)
        feed.isHeld = isHeld
        self.feed = feed
        return .ready(.source(feed, length: length))
    }

    /// What a body is read from that did not come with the task; nil where that cannot be reached
    /// at the moment.
    private func find(_ body: BodyRecord) async throws(TransferError) -> BodyContent? {
        do throws(GatewayError) {
            return try await task.services.openSource(body, task.record.tenant)
        } catch {
            guard error.isForLater else { throw .cannotSend(error) }
            task.services.log.write(
                .warning, "what a task sends cannot be reached: it is tried again",
                ["task": .name("\(task.record.id)"), "error": .words("\(error)")])
            return nil
        }
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

    /// Whether nothing is lost when the upload is let go.
    var isAtRest: Bool { pipe == nil }

    /// Another attempt follows: it may need a body from the client.
    func note() { control?.setAsksForBody(request.body?.isStream == true && !onlyConnects) }

    /// Asks for the body, unless it is here already or was asked for before a suspension or a
    /// restart.
    func ask() {
        guard let control else { return }
        guard pipe == nil else {
            return LoopActor.later { [self] in
                if pipe != nil { control.send(.bodyGiven) }
            }
        }
        guard !isOwed else { return }
        isOwed = true
        task.record.bodyGeneration += 1
        task.record.countOfBytesExpectedToSend = request.body?.length ?? 0
        delegate?.ask(.bodyStream) {
            .needNewBodyStream(generation: task.record.bodyGeneration, decision: $0)
        }
        control.save()
    }

    /// The body was asked for before the gateway was started again.
    func wasAskedFor() {
        isOwed = true
        note()
    }

    /// The client sends the body of a generation.
    ///
    /// - Parameters:
    ///   - generation: which body it takes itself to be.
    ///   - length: bytes, of this body alone: the next one may be of another length; nil where the
    ///     client does not know.
    /// - Returns: the pipe to write it to.
    /// - Throws: `bodyNotWanted`, `wrongBodyLength`.
    func take(_ generation: Int, _ length: Int64?) throws(GatewayError) -> BodyPipe {
        guard case .stream(let announced) = request.body, task.record.state != .completed,
            generation == task.record.bodyGeneration, isOwed, pipe == nil
        else { throw .bodyNotWanted(generation: task.record.bodyGeneration) }
        if let length, announced != unknownSize, length != announced {
            throw .wrongBodyLength(expected: announced)
        }
        isOwed = false
        let pipe = BodyPipe(length: length ?? announced)
        self.pipe = pipe
        task.record.countOfBytesExpectedToSend = pipe.length
        return pipe
    }

    /// The client has left before the attempt began to read its body, which ends the task as it
    /// does later.
    func lose(_ pipe: BodyPipe) {
        guard self.pipe === pipe, !pipe.isUsed else { return }
        control?.fail(
            .url(.requestBodyStreamExhausted, message: "The client left before the body was over."))
    }

    /// The client need not send the rest: why not is what it is told.
    func tell(_ reason: BodyRefusal) {
        pipe?.end(reason)
        feed?.refuse()
    }

    /// The task is over.
    func end(_ reason: BodyRefusal) {
        pipe?.end(reason)
        pipe = nil
    }
}

extension TransferError {
    /// Why what a task was to send cannot be opened.
    fileprivate static func cannotSend(_ error: GatewayError) -> TransferError {
        guard !error.isGone else {
            return .url(
                .fileDoesNotExist, message: "What the task was to send does not exist any more.")
        }
        guard case .unreadable(let fault) = error else {
            return .url(.cannotOpenFile, message: "What the task was to send cannot be opened.")
        }
        return .url(
            .cannotOpenFile, message: "What the task was to send cannot be opened: \(fault.words).",
            underlying: Underlying(layer: .system, code: Int(fault.code), message: fault.words))
    }
}
