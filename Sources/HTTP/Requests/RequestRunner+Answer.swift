internal import Loop

/// What a runner sends.
extension RequestRunner {
    /// Sends an answer, all of it: returns when the last byte is handed over, the client has gone,
    /// or an event stream has begun.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - head: What it answers; nil for bytes that were no request.
    func deliver(_ response: Response, to head: RequestHead?) async {
        if let pending = begin(response, to: head) { await pump(pending) }
    }

    /// What is still to be pulled from the source of an answer whose header is out.
    struct PendingBody {
        let source: any ByteSource
        /// How many bytes it has to have; nil where that is not known.
        let length: Int64?
    }

    /// Sends what of an answer can be sent at once.
    /// - Returns: the rest, if its body has a source; the caller pumps it.
    func begin(_ response: Response, to head: RequestHead?) -> PendingBody? {
        guard beginAnswering() else {
            response.body.cancel()
            return nil
        }
        var response = response
        response.headers.add(contentsOf: answerFields)
        if let head { server.crossOrigin.complete(&response.headers, to: head) }
        let hasNoBody = response.status == 204 || response.status == 304
        let isOmitted = hasNoBody || head?.isHEAD == true
        served.status = response.status
        stallLimit = limit(of: response.body)
        if case .events = response.body { response.describeEventStream() }
        let opening = AnswerHead(
            status: response.status, fields: response.headers,
            length: hasNoBody ? .none : response.body.length, id: served.id, request: head)

        switch response.body {
        case .empty:
            stream.send(opening, with: [], isWhole: true)
        case .bytes(let bytes):
            stream.send(opening, with: isOmitted ? [] : bytes, isWhole: true)
        case .source(let source, let length):
            stream.send(opening, with: [], isWhole: isOmitted)
            if source.isEventStream { noteEventStream() }
            if isOmitted {
                response.body.cancel()
            } else {
                guard beginStream(AnswerStream(source)) else { return nil }
                return PendingBody(source: source, length: length)
            }
        case .events(let subscription):
            stream.send(opening, with: [], isWhole: isOmitted)
            noteEventStream()
            if !isOmitted {
                begin(subscription)
                return nil
            }
            response.body.cancel()
        }
        finish()
        return nil
    }

    /// How long the client may take nothing of an answer: of events as of what is held.
    private func limit(of body: ResponseBody) -> Duration {
        guard case .source(let source, _) = body, !source.isEventStream else {
            return server.limits.stalledAnswer
        }
        return server.limits.stalledSource
    }

    // MARK: Streams

    /// Pulls a source as fast as the client takes its bytes.
    func pump(_ pending: PendingBody) async {
        var sent: Int64 = 0
        do {
            while let piece = try await pending.source.next() {
                guard phase == .answering else { return }
                if piece.isEmpty { continue }
                sent += Int64(piece.count)
                if let length = pending.length, sent > length { return cut() }
                piece.withUnsafeBytes { stream.send($0) }
                if stream.queued > stream.answerAhead {
                    stream.tellWhenDrained()
                    await roomToStream()
                    guard phase == .answering else { return }
                }
            }
        } catch {
            return cut()
        }
        guard phase == .answering else { return }
        streamHasEnded()
        if let length = pending.length, sent < length { return cut() }
        stream.endBody()
        finish()
    }

    private func begin(_ subscription: EventSubscription) {
        let reader = EventReader(subscription, runner: self)
        guard beginStream(AnswerStream(reader)) else { return }
        handlerIsDone()
        stream.eventsBegin()
        let opening = EventReader.opening + subscription.opening
        opening.withUnsafeBytes { stream.send($0) }
        reader.start()
        guard phase == .answering else { return }
        stream.wake(at: reader.heartbeatDeadline)
        // The server has begun to stop while the handler was at work.
        if server.isDraining { drain() }
    }

    /// The log is finished and the reader has got everything.
    func eventsHaveEnded() {
        guard phase == .answering else { return }
        stream.endBody()
        finish()
    }
}

extension ResponseBody {
    /// Nothing of it will be sent.
    @LoopActor
    fileprivate func cancel() {
        switch self {
        case .empty, .bytes: break
        case .source(let source, _): source.cancel()
        case .events(let subscription): subscription.log.readerStaysAway()
        }
    }

    fileprivate var length: AnswerHead.Length {
        switch self {
        case .empty: .known(0)
        case .bytes(let bytes): .known(Int64(bytes.count))
        case .source(_, let length?): .known(length)
        case .source(_, nil), .events: .unknown
        }
    }
}

extension Response {
    /// The header of an event stream: kept by no cache, held back by no proxy.
    fileprivate mutating func describeEventStream() {
        headers.set("Content-Type", "text/event-stream")
        headers.set("Cache-Control", "no-store")
        headers.set("X-Accel-Buffering", "no")
    }
}
