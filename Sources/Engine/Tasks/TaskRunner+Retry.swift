internal import Loop
internal import Semantics

/// What follows an attempt that did not succeed: another source, another try, or the end.
extension TaskRunner {
    /// What a status leads to in place of being the result; nil where it is the result.
    func sequel(to head: ResponseHead) -> Exchange.Sequel? {
        guard SourceFailure.isFailure(status: head.status) else { return nil }
        if record.type == .download, canBeginAgain, let next = nextSource() {
            return .turn(to: next)
        }
        guard let policy = record.options.retry, policy.retries(status: head.status),
            let delay = delay(
                by: policy,
                retryAfter: head.headers.first("Retry-After").flatMap {
                    RetryAfter.parse($0, now: services.clock.now)
                })
        else { return nil }
        return .retry(after: delay, reason: "status \(head.status)")
    }

    /// The attempt is over, and has failed.
    func attemptFailed(_ error: TransferError) {
        if standsIn(for: error) || waitsForRoute(after: error) { return }
        if record.type == .download, canBeginAgain, SourceFailure.isFailure(error),
            let next = nextSource()
        {
            turn(to: next)
        } else if let policy = record.options.retry, policy.retries(error),
            let delay = delay(by: policy, retryAfter: nil)
        {
            retry(after: delay, reason: error.name)
        } else {
            fail(error)
        }
    }

    /// Another source begins at zero: nothing tells that it has the same bytes.
    func turn(to request: RequestRecord) {
        dropReceived()
        record.currentRequest = request
        record.dialogue.authentication.move(to: request.url)
        tryAgain()
    }

    func retry(after delay: Duration, reason: String) {
        record.retryCount += 1
        record.mirrorCount = 0
        retryDelay = delay
        returnToOriginalRequest()
        noteBody(of: record.currentRequest)
        services.hub.publish(
            .willRetry(
                attempt: record.retryCount + 1, delay: delay.seconds, reason: reason),
            of: record.id, in: session)
        send(.retry)
        if isAtRest { owner?.rests(self) }
    }

    /// How long to wait for the next try; nil where there is none: too many, not allowed for the
    /// method, too late for the task's time, or something was handed on that cannot be taken back.
    private func delay(by policy: RetryPolicy, retryAfter: Duration?) -> Duration? {
        guard record.retryCount < policy.attempts,
            policy.mayRetry(method: record.currentRequest.method), canBeginAgain
        else { return nil }
        let delay = policy.delay(
            beforeRetry: record.retryCount + 1, jitter: .random(in: 0..<1), retryAfter: retryAfter)
        return delay < timers.timeLeft ? delay : nil
    }

    /// Whether nothing of a response has gone where it cannot be taken back from.
    var canBeginAgain: Bool {
        if record.countOfBytesReceived == 0 { return true }
        return record.options.delivery == .collect && !isInline
    }

    // MARK: Sources

    /// The request to the next mirror. What was meant for the first source alone stays behind, as
    /// with a redirect to another origin (S-69).
    private func nextSource() -> RequestRecord? {
        guard record.mirrorCount < record.options.mirrors.count else { return nil }
        let mirror = record.options.mirrors[record.mirrorCount]
        record.mirrorCount += 1
        redirectsBefore = record.metrics.redirectCount
        let original = record.dialogue.replacementRequest ?? record.originalRequest
        let decision = Redirection.decide(
            status: 307, target: mirror, source: source(of: firstRequest), count: 0)
        guard case .follow(let next, _) = decision else { return nil }
        return original.redirected(to: next)
    }

    private func returnToOriginalRequest() {
        redirectsBefore = record.metrics.redirectCount
        record.currentRequest = firstRequest
        record.dialogue.authentication.move(to: record.currentRequest.url)
    }

    /// The original request, or what the delegate has put in its place, with the session's headers
    /// (S-20, S-72).
    private var firstRequest: RequestRecord {
        var request = record.dialogue.replacementRequest ?? record.originalRequest
        request.headers = request.headers.merging(
            additional: session.record.configuration.httpAdditionalHeaders)
        return request
    }

    func source(of request: RequestRecord) -> Redirection.Source {
        Redirection.Source(
            url: request.url, method: request.method,
            headers: request == record.currentRequest
                ? record.headers(in: session.record) : request.headers,
            sensitiveHeaders: request.sensitiveHeaders)
    }
}

extension Duration {
    /// The length in seconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
