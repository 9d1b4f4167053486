internal import Loop
internal import Semantics

/// What a request sends (S-37…S-40).
extension TaskRunner {
    /// A body that is at hand, and needs nothing but to be sent.
    var inlineBody: AttemptBody? {
        if case .bytes(let bytes) = record.currentRequest.body { .bytes(bytes) } else { nil }
    }

    var needsBodyToBeOpened: Bool {
        switch record.currentRequest.body {
        case nil: false
        case .bytes(let bytes): !bytes.isEmpty && isLimited
        case .file, .task, .stream: true
        }
    }

    /// Whether the next attempt only makes a connection: the delegate is asked whom to trust, and what to present, before
    /// it is asked for a body that can perhaps be sent once only (§5).
    var onlyConnects: Bool {
        let request = record.currentRequest
        guard request.body?.isStream == true, request.url.isSecure, bodyPipe == nil, !isBodyOwed,
            knownServer != request.url.origin, let delegate = session.record.delegate
        else { return false }
        return [.serverTrust, .clientCertificate].contains {
            delegate.challengeKind(of: $0) != nil
        }
    }

    /// The body of the attempt that is about to begin.
    func openBody() async throws(TransferError) -> AttemptBody? {
        guard !onlyConnects else { return nil }
        guard needsBodyToBeOpened, let body = record.currentRequest.body else { return inlineBody }
        let feed: PacedBody.Feed
        switch body {
        case .bytes(let bytes): feed = .bytes(bytes)
        case .file, .task:
            switch try await services.openSource(body, record.tenant) {
            case .bytes(let bytes): feed = .bytes(bytes)
            case .file(let file):
                feed = .file(FileFeed(file, length: body.length, files: services.files))
            }
        case .stream:
            guard let bodyPipe, !bodyPipe.isUsed else {
                throw .url(.requestBodyStreamExhausted)
            }
            feed = .pipe(bodyPipe)
        }
        let upload = PacedBody(feed, within: bandwidth) { [weak self] in
            self?.updateIdleTimer()
        }
        upload.isHeld = exchange.isPaused(for: .client)
        self.upload = upload
        let length = body.isStream ? bodyPipe?.length ?? unknownSize : body.length
        return .source(upload, length: length == unknownSize ? nil : length)
    }

    /// The attempt takes nothing more of its body.
    func endUpload(_ reason: BodyRefusal) {
        upload?.close()
        upload = nil
        guard let pipe = bodyPipe, pipe.isUsed else { return }
        pipe.end(reason)
        bodyPipe = nil
    }

    // MARK: Streams (S-39, S-73)

    /// Asks for the body, unless it is here already or was asked for before a suspension or a restart.
    func askForBody() {
        if bodyPipe != nil {
            LoopActor.later { [self] in
                if bodyPipe != nil { send(.bodyGiven) }
            }
            return
        }
        guard !isBodyOwed else { return }
        isBodyOwed = true
        record.bodyGeneration += 1
        record.countOfBytesExpectedToSend = record.currentRequest.body?.length ?? 0
        ask(.bodyStream) {
            .needNewBodyStream(generation: record.bodyGeneration, decision: $0)
        }
        save()
    }

    /// The client sends the body of a generation.
    /// - Returns: the pipe to write it to.
    func takeBody(
        of generation: Int, length: Int64?
    ) throws(GatewayError) -> BodyPipe {
        guard case .stream(let announced) = record.currentRequest.body, record.state != .completed,
            isBodyOwed, generation == record.bodyGeneration, bodyPipe == nil
        else { throw .bodyNotWanted(generation: record.bodyGeneration) }
        if let length, announced != unknownSize, length != announced {
            throw .wrongBodyLength(expected: announced)
        }
        isBodyOwed = false
        closeDecision(as: .answered)
        // Of this body alone: the next one may be of another length.
        let pipe = BodyPipe(length: length ?? announced)
        record.countOfBytesExpectedToSend = pipe.length
        bodyPipe = pipe
        send(.bodyGiven)
        return pipe
    }

    /// The client has left before the attempt began to read its body, which ends the task as it does later.
    func loseBody(_ pipe: BodyPipe) {
        guard bodyPipe === pipe, !pipe.isUsed else { return }
        fail(
            .url(.requestBodyStreamExhausted, message: "The client left before the body was over."))
    }
}
