internal import Diagnostics
internal import Loop
internal import Semantics

/// Which request a task sends next, and what is kept of an answer meanwhile.
extension LiveTask {
    func redirection(for head: ResponseHead) -> Redirection {
        guard Redirection.isRedirect(head.status) else { return .result }
        let request = record.currentRequest
        return Redirection.decide(
            status: head.status, target: target(of: head, from: request.url),
            source: source(of: request),
            count: record.metrics.redirectCount - record.redirectsBefore)
    }

    private func target(of head: ResponseHead, from url: WebURL) -> WebURL? {
        guard let location = head.headers.first("Location") else { return nil }
        do {
            return try services.transport.resolve(location, against: url)
        } catch {
            return switch error {
            case .malformed: WebURL(unfetchable: location, isURL: false)
            case .unsupportedScheme: WebURL(unfetchable: location, isURL: true)
            }
        }
    }

    /// What has failed the task stays with it, though it was not its response: a redirect that is
    /// not followed (S-81), an error in the place of the rest (S-36).
    func keepAnswer(_ response: ResponseRecord) {
        if record.response == nil { record.response = response }
    }

    /// The next attempt is the redirect's.
    func follow(_ request: RequestRecord) {
        record.currentRequest = request
        record.metrics.redirectCount += 1
        record.dialogue.authentication.move(to: request.url)
    }

    /// A client's own request with the fields of the session (S-20, S-79); what of them is
    /// sensitive is for the origin that the task began with (S-69).
    func own(_ request: RequestRecord) -> RequestRecord {
        var fields = session.record.configuration.httpAdditionalHeaders
        let first = record.firstRequest
        if request.url.origin != first.url.origin || first.isForMirror {
            fields = fields.forAnotherOrigin(sensitive: request.sensitiveHeaders)
        }
        var request = request
        request.headers = request.headers.merging(additional: fields)
        return request
    }

    // MARK: Sources

    /// The request to the next mirror. What was meant for the first source alone stays behind, as
    /// with a redirect to another origin (S-69).
    func turnToNextSource() -> RequestRecord? {
        guard record.mirrorCount < record.options.mirrors.count else { return nil }
        let mirror = record.options.mirrors[record.mirrorCount]
        record.mirrorCount += 1
        record.redirectsBefore = record.metrics.redirectCount
        let original = record.firstRequest
        let decision = Redirection.decide(
            status: 307, target: mirror, source: source(of: firstAsSent), count: 0)
        guard case .follow(let next, _) = decision else { return nil }
        return original.redirected(to: next)
    }

    /// The next try begins with the first request, with the session's headers (S-20). Where that
    /// was not safe, and a redirect has led from it to a request that is, only this one is made
    /// again: the first was answered, and what it sent has arrived (RFC 9110 §15.4.4).
    func returnToFirstRequest() {
        guard !isBehindUnsafeRequest else { return }
        record.redirectsBefore = record.metrics.redirectCount
        record.currentRequest = firstAsSent
        record.dialogue.authentication.move(to: record.currentRequest.url)
    }

    private var firstAsSent: RequestRecord {
        var request = record.firstRequest
        request.headers = request.headers.merging(
            additional: session.record.configuration.httpAdditionalHeaders)
        return request
    }

    /// Whether a redirect has led from a request that is not safe to one that is, and sends
    /// nothing.
    var isBehindUnsafeRequest: Bool {
        record.metrics.redirectCount > record.redirectsBefore && !record.firstRequest.isSafe
            && record.currentRequest.isSafe && record.currentRequest.body == nil
    }

    private func source(of request: RequestRecord) -> Redirection.Source {
        Redirection.Source(
            url: request.url, method: request.method,
            headers: request == record.currentRequest
                ? record.headers(in: session.record) : request.headers,
            sensitiveHeaders: request.sensitiveHeaders)
    }

    /// Whether nothing of a response has gone where it cannot be taken back from.
    var canBeginAgain: Bool {
        if record.countOfBytesReceived == 0 { return true }
        return record.options.delivery == .collect && !isInline
    }

    // MARK: Held responses (S-66, S-68)

    /// A response has asked for something, and is kept until that is decided.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - body: of it, as far as it was kept.
    ///   - end: of the attempt that has brought it.
    func hold(_ response: ResponseRecord, _ body: [UInt8], _ end: AttemptEnd) {
        record.dialogue.held = HeldResponse(
            response, bodyLength: body.count, isTruncated: end.error != nil,
            isDamaged: end.error?.kind == .url(.cannotDecodeRawData),
            lengthVerified: end.lengthVerified)
        if !body.isEmpty { session.commits.keep(body, of: record.id) }
    }

    /// What was held is not used.
    func dropHeld() {
        guard let held = record.dialogue.held else { return }
        if held.bodyLength > 0 { session.commits.dropContent(of: record.id) }
        record.dialogue.held = nil
    }

    /// Nil where the store does not have it any more.
    func heldBytes(of held: HeldResponse) async -> [UInt8]? {
        guard held.bodyLength > 0 else { return [] }
        if let bytes = session.commits.recentContent(of: record.id) { return bytes }
        do {
            return try await session.store.content(of: record.id)
        } catch {
            services.log.write(
                .error, "a held response cannot be read", ["error": .words("\(error)")])
            return nil
        }
    }
}

extension TaskRecord {
    /// The original request, or what the delegate has put in its place (S-72).
    var firstRequest: RequestRecord {
        self.dialogue.replacementRequest ?? self.originalRequest
    }

    /// Whether there has been an attempt of which anything is known.
    var hasBegun: Bool {
        self.hasLiveAttempt || self.response != nil || !self.metrics.transactions.isEmpty
            || self.retryCount > 0 || self.mirrorCount > 0
    }
}
