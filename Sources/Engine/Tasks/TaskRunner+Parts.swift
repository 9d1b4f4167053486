internal import Loop
internal import Semantics

/// multipart/x-mixed-replace: one response after the other in one body (S-46).
extension TaskRunner {
    /// Takes the parts out of a piece of the body. Each begins with `task.didReceiveResponse`;
    /// progress never reaches over that border.
    func deliverParts(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while let (piece, consumed) = replacedParts?.next(rest) {
            let following = UnsafeRawBufferPointer(rebasing: rest[consumed...])
            if let piece {
                guard !deliver(piece, of: rest) else {
                    undelivered = Array(following)
                    return
                }
            } else if consumed == rest.count {
                return
            }
            rest = following
        }
    }

    /// The body is over.
    /// - Returns: why it cannot be believed, if it cannot.
    func finishParts() -> TransferError? {
        guard let piece = replacedParts?.finish() else { return nil }
        replacedParts = nil
        if case .malformed(let words) = piece { return .badServerResponse(words) }
        _ = deliver(piece, of: UnsafeRawBufferPointer(start: nil, count: 0))
        return nil
    }

    /// - Returns: whether the delegate has yet to say what becomes of a part that has just begun.
    private func deliver(
        _ piece: MixedReplaceReader.Piece, of bytes: UnsafeRawBufferPointer
    ) -> Bool {
        switch piece {
        case .head where isOnePart:
            replacedParts = nil
            exchange.sequel = .finish
        case .head(let headers):
            isResponseDecided = false
            return showAsking(ResponseRecord(part: headers, of: task.record))
        case .body(let range): deliverPlain(UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .heldBody(let held): held.withUnsafeBytes { deliverPlain($0) }
        case .end: break
        case .malformed(let words):
            replacedParts = nil
            exchange.sequel = .fail(.badServerResponse(words))
        }
        return false
    }

    // MARK: Decisions (S-82)

    /// The delegate has allowed a part: what has come of it, and of those behind it, is delivered.
    func deliverUndelivered() {
        guard let bytes = undelivered else { return }
        undelivered = nil
        bytes.withUnsafeBytes { deliverParts($0) }
        guard undelivered == nil else { return }
        if replacedParts == nil, let metrics = exchange.stop() {
            attemptDidEnd(AttemptEnd(error: nil, metrics: metrics, lengthVerified: true))
        } else if machine.phase == .waitingForDecision {
            send(.answered)  // the body was held, and is here
        } else {
            releaseResponse()
        }
    }

    /// The part becomes a download of its own: its content is that part alone.
    func handOverPart() {
        guard let heir = makeHeir(), let response = task.record.response else { return }
        heir.exchange.takeOver(&exchange, for: heir)
        heir.caching.inherit(caching)
        heir.undelivered = undelivered
        heir.isOnePart = true
        heir.take(response)
        // It is no entity of its own that could be asked for once more.
        heir.download.isNoEntity()
        heir.replacedParts = replacedParts
        send(.handedOver)
        heir.deliverUndelivered()
    }
}

extension ResponseRecord {
    /// The response that a part stands for: with the part's own fields alone.
    fileprivate init(part headers: HeaderList, of record: TaskRecord) {
        let type = headers.first("Content-Type").flatMap(MediaType.init(parsing:))
        let length = (try? ContentLength.parse(headers.values(of: "Content-Length"))) ?? nil
        self.init(
            url: record.currentRequest.url.string, status: record.response?.status ?? 200,
            httpVersion: record.response?.httpVersion ?? "1.1", headers: headers,
            expectedContentLength: length ?? unknownSize, mimeType: type?.mimeType,
            textEncodingName: type?.textEncodingName,
            suggestedFilename: SuggestedFilename.choose(
                contentDisposition: headers.first("Content-Disposition"),
                url: record.currentRequest.url, mimeType: type?.mimeType))
    }
}
