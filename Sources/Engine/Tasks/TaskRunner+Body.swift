internal import Loop
internal import Semantics

/// What a request sends (S-37…S-40).
extension TaskRunner {
    /// A body that is at hand, and needs nothing but to be sent.
    var inlineBody: AttemptBody? {
        if case .bytes(let bytes) = task.record.currentRequest.body { .bytes(bytes) } else { nil }
    }

    var needsBodyToBeOpened: Bool {
        switch task.record.currentRequest.body {
        case nil: false
        case .bytes(let bytes): !bytes.isEmpty && task.isLimited
        case .file, .task, .stream: true
        }
    }

    /// Whether the next attempt only makes a connection.
    var onlyConnects: Bool {
        upload?.onlyConnects(for: task.record.currentRequest, asking: session.record.delegate)
            ?? false
    }

    /// The body of the attempt that is about to begin.
    func openBody() async throws(TransferError) -> AttemptBody? {
        guard !onlyConnects else { return nil }
        guard needsBodyToBeOpened, let upload, let body = task.record.currentRequest.body else {
            return inlineBody
        }
        return try await upload.open(
            body, of: task.record.tenant, services: services, within: task.bandwidth
        ) { [weak self] in self?.updateIdleTimer() }
    }

    // MARK: Streams (S-39, S-73)

    /// Asks for the body, unless it is here already or was asked for before a suspension or a
    /// restart.
    func askForBody() {
        guard let upload else { return }
        if upload.hasBody {
            LoopActor.later { [self] in
                if upload.hasBody { send(.bodyGiven) }
            }
            return
        }
        guard upload.ask() else { return }
        task.record.bodyGeneration += 1
        task.record.countOfBytesExpectedToSend = task.record.currentRequest.body?.length ?? 0
        ask(.bodyStream) {
            .needNewBodyStream(generation: task.record.bodyGeneration, decision: $0)
        }
        save()
    }

    /// The client sends the body of a generation.
    /// - Returns: the pipe to write it to.
    func takeBody(
        of generation: Int, length: Int64?
    ) throws(GatewayError) -> BodyPipe {
        guard case .stream(let announced) = task.record.currentRequest.body,
            task.record.state != .completed,
            generation == task.record.bodyGeneration, let upload, upload.isAwaited
        else { throw .bodyNotWanted(generation: task.record.bodyGeneration) }
        if let length, announced != unknownSize, length != announced {
            throw .wrongBodyLength(expected: announced)
        }
        dialogue.close(as: .answered)
        let pipe = upload.take(length ?? announced)
        task.record.countOfBytesExpectedToSend = pipe.length
        send(.bodyGiven)
        return pipe
    }

    /// The client has left before the attempt began to read its body, which ends the task as it
    /// does later.
    func loseBody(_ pipe: BodyPipe) {
        guard upload?.isUnused(pipe) == true else { return }
        fail(
            .url(.requestBodyStreamExhausted, message: "The client left before the body was over."))
    }
}
