internal import Loop
internal import Semantics

/// What an attempt tells, and what becomes of it.
extension TaskRunner: AttemptObserver {
    /// A redirect's body is read to its end to keep the connection, but no further than this.
    private static let discardLimit = 64 << 10
    private static let inlinePiece = 64 << 10

    func attemptDidMove() { moved() }

    func attemptDidReceiveInformational(_ head: ResponseHead) {
        moved()
        services.hub.publish(
            .didReceiveInformationalResponse(status: head.status, headers: head.headers),
            of: record.id, in: session)
    }

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        moved()
        switch redirection(for: head) {
        case .result:
            if let continuation { return goOn(with: continuation, head) }
            begin(ResponseRecord(head, to: record, in: session.record))
            return .proceed
        case .follow(let next):
            exchange.sequel = .follow(record.currentRequest.redirected(to: next))
            return .proceed
        case .refuse(let error):
            exchange.sequel = .fail(error)
            return .stop
        }
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        moved()
        if exchange.sequel != nil {
            exchange.discardedBytes += bytes.count
            return exchange.discardedBytes > TaskRunner.discardLimit ? .stop : .proceed
        }
        if isInline, mustWaitForJournal() { return .pause }
        guard take(bytes) else {
            exchange.notePause(.sink)
            updateIdleTimer()
            return .pause
        }
        let offset = record.countOfBytesReceived
        record.countOfBytesReceived += Int64(bytes.count)
        if isInline {
            publishInline(bytes, from: offset)
        } else if services.hub.isHeard(record.id, in: record.session, of: record.tenant) {
            services.progress.note(self)
        }
        return .proceed
    }

    func attemptDidSend(total: Int64) {
        moved()
        record.countOfBytesSent = total
        services.progress.note(self)
    }

    func attemptDidEnd(_ end: AttemptEnd) {
        let sequel = exchange.sequel
        exchange.ended()
        attemptEnded(end.metrics)
        switch sequel {
        case .follow(let request):
            record.currentRequest = request
            record.metrics.redirectCount += 1
            send(.redirected)
            if isAtRest { services.onRest?(self) }
        case .fail(let error):
            send(.failed(error))
        case nil:
            lengthVerified = end.lengthVerified
            send(end.error.map { .failed($0) } ?? .answered)
        }
    }

    // MARK: Head

    private func redirection(for head: ResponseHead) -> Redirection {
        guard Redirection.isRedirect(head.status) else { return .result }
        let request = record.currentRequest
        return Redirection.decide(
            status: head.status, target: target(of: head, from: request.url),
            source: Redirection.Source(
                url: request.url, method: request.method,
                headers: record.headers(in: session.record),
                sensitiveHeaders: request.sensitiveHeaders),
            count: record.metrics.redirectCount)
    }

    private func target(of head: ResponseHead, from url: WebURL) -> Redirection.Target {
        guard let location = head.headers.first("Location") else { return .absent }
        do {
            return .url(try services.transport.resolve(location, against: url))
        } catch {
            return switch error {
            case .malformed: .malformed
            case .unsupportedScheme: .unsupportedScheme
            }
        }
    }

    private func begin(_ response: ResponseRecord) {
        record.response = response
        record.countOfBytesExpectedToReceive = response.expectedContentLength
        openSink(expecting: response)
        showProgress()  // what was sent is told before what was answered (§5)
        services.hub.publish(.didReceiveResponse(response), of: record.id, in: session)
        wakeContentWaiters()
    }

    // MARK: Progress

    private var isInline: Bool {
        record.type == .data && session.record.delegate?.data == .inline
    }

    /// S-58: numbered, in order, at most 64 KiB a piece; the transfer waits while too much is uncommitted.
    private func publishInline(_ bytes: UnsafeRawBufferPointer, from start: Int64) {
        var offset = 0
        while offset < bytes.count {
            let piece = bytes[offset..<min(bytes.count, offset + TaskRunner.inlinePiece)]
            services.hub.publish(
                .didReceiveData(
                    offset: start + Int64(offset), length: piece.count, inline: true,
                    bytes: Array(piece)),
                of: record.id, in: session)
            offset += piece.count
        }
        uncommittedBytes += bytes.count
    }

    /// Shows the newest figures (S-59).
    func showProgress() {
        let hub = services.hub
        guard hub.isHeard(record.id, in: record.session, of: record.tenant) else { return }
        if record.countOfBytesSent > shown.sent {
            let sent = record.countOfBytesSent
            hub.show(
                .didSendBodyData(
                    bytesSent: sent - shown.sent, totalBytesSent: sent,
                    totalBytesExpectedToSend: record.countOfBytesExpectedToSend),
                of: record.id, in: session.record)
            shown.sent = sent
        }
        guard record.countOfBytesReceived > shown.received, !isInline else { return }
        let received = record.countOfBytesReceived
        let new = received - shown.received
        hub.show(
            record.type == .download
                ? .didWriteData(
                    bytesWritten: new, totalBytesWritten: received,
                    totalBytesExpectedToWrite: record.countOfBytesExpectedToReceive)
                : .didReceiveData(
                    offset: shown.received, length: Int(new), inline: false, bytes: nil),
            of: record.id, in: session.record)
        shown.received = received
    }
}
