internal import Loop
internal import Semantics

/// multipart/x-mixed-replace: one response after the other in one body (S-46).
extension TaskRunner {
    /// Takes the parts out of a piece of the body. Each begins with `task.didReceiveResponse`; progress never reaches
    /// over that border.
    func deliverParts(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while let (piece, consumed) = replacedParts?.next(rest) {
            if let piece { deliver(piece, of: rest) } else if consumed == rest.count { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
        }
    }

    /// The body is over.
    /// - Returns: why it cannot be believed, if it cannot.
    func finishParts() -> TransferError? {
        guard let piece = replacedParts?.finish() else { return nil }
        replacedParts = nil
        if case .malformed(let words) = piece { return .badServerResponse(words) }
        deliver(piece, of: UnsafeRawBufferPointer(start: nil, count: 0))
        return nil
    }

    private func deliver(_ piece: MixedReplaceReader.Piece, of bytes: UnsafeRawBufferPointer) {
        switch piece {
        case .head(let headers): show(ResponseRecord(part: headers, of: record))
        case .body(let range): deliverPlain(UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .heldBody(let held): held.withUnsafeBytes { deliverPlain($0) }
        case .end: break
        case .malformed(let words):
            replacedParts = nil
            exchange.sequel = .fail(.badServerResponse(words))
        }
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
