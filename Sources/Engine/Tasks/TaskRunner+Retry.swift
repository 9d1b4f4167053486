internal import Loop
internal import Semantics

/// What follows an attempt that did not succeed: another source, another try, or the end.
extension TaskRunner {
    /// What a status leads to in place of being the result; nil where it is the result.
    func sequel(to head: ResponseHead) -> Exchange.Sequel? {
        guard SourceFailure.isFailure(status: head.status) else { return nil }
        if task.record.type == .download, canBeginAgain, let next = nextSource() {
            return .turn(to: next)
        }
        guard let policy = task.record.options.retry, policy.retries(status: head.status),
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
        if task.record.response == nil, caching.standsIn(for: error) { return tryAgain() }
        if waitsForRoute(after: error) { return }
        if task.record.type == .download, canBeginAgain, SourceFailure.isFailure(error),
            let next = nextSource()
        {
            turn(to: next)
        } else if let policy = task.record.options.retry, policy.retries(error),
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
        task.record.currentRequest = request
        task.record.dialogue.authentication.move(to: request.url)
        tryAgain()
    }

    func retry(after delay: Duration, reason: String) {
        task.record.retryCount += 1
        task.record.mirrorCount = 0
        retryDelay = delay
        returnToOriginalRequest()
        noteBody(of: task.record.currentRequest)
        task.publish(
            .willRetry(
                attempt: task.record.retryCount + 1, delay: delay.seconds, reason: reason))
        send(.retry)
        rest()
    }

    /// How long to wait for the next try; nil where there is none: too many, not allowed for the
    /// method, too late for the task's time, or something was handed on that cannot be taken back.
    private func delay(by policy: RetryPolicy, retryAfter: Duration?) -> Duration? {
        guard task.record.retryCount < policy.attempts,
            policy.mayRetry(method: task.record.currentRequest.method), canBeginAgain
        else { return nil }
        let delay = policy.delay(
            beforeRetry: task.record.retryCount + 1, jitter: .random(in: 0..<1),
            retryAfter: retryAfter)
        return delay < timers.timeLeft ? delay : nil
    }

    /// Whether nothing of a response has gone where it cannot be taken back from.
    var canBeginAgain: Bool {
        if task.record.countOfBytesReceived == 0 { return true }
        return task.record.options.delivery == .collect && !task.isInline
    }

    // MARK: Sources

    /// The request to the next mirror. What was meant for the first source alone stays behind, as
    /// with a redirect to another origin (S-69).
    private func nextSource() -> RequestRecord? {
        guard task.record.mirrorCount < task.record.options.mirrors.count else { return nil }
        let mirror = task.record.options.mirrors[task.record.mirrorCount]
        task.record.mirrorCount += 1
        redirectsBefore = task.record.metrics.redirectCount
        let original = task.record.dialogue.replacementRequest ?? task.record.originalRequest
        let decision = Redirection.decide(
            status: 307, target: mirror, source: source(of: firstRequest), count: 0)
        guard case .follow(let next, _) = decision else { return nil }
        return original.redirected(to: next)
    }

    private func returnToOriginalRequest() {
        redirectsBefore = task.record.metrics.redirectCount
        task.record.currentRequest = firstRequest
        task.record.dialogue.authentication.move(to: task.record.currentRequest.url)
    }

    /// The original request, or what the delegate has put in its place, with the session's headers
    /// (S-20, S-72).
    private var firstRequest: RequestRecord {
        var request = task.record.dialogue.replacementRequest ?? task.record.originalRequest
        request.headers = request.headers.merging(
            additional: session.record.configuration.httpAdditionalHeaders)
        return request
    }

    func source(of request: RequestRecord) -> Redirection.Source {
        Redirection.Source(
            url: request.url, method: request.method,
            headers: request == task.record.currentRequest
                ? task.record.headers(in: session.record) : request.headers,
            sensitiveHeaders: request.sensitiveHeaders)
    }
}

extension Duration {
    /// The length in seconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
