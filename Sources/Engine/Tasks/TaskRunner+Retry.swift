internal import Loop
internal import Semantics

/// What follows an attempt that did not succeed: another source, another try, or the end.
extension TaskRunner {
    /// What a status leads to in place of being the result; nil where it is the result.
    func sequel(to head: ResponseHead) -> Exchange.Sequel? {
        guard SourceFailure.isFailure(status: head.status) else { return nil }
        if task.record.type == .download, task.canBeginAgain, let next = task.turnToNextSource() {
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
        if task.record.type == .download, task.canBeginAgain, SourceFailure.isFailure(error),
            let next = task.turnToNextSource()
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
        task.returnToOriginalRequest()
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
            policy.mayRetry(method: task.record.currentRequest.method), task.canBeginAgain
        else { return nil }
        let delay = policy.delay(
            beforeRetry: task.record.retryCount + 1, jitter: .random(in: 0..<1),
            retryAfter: retryAfter)
        return delay < timers.timeLeft ? delay : nil
    }

}

extension Duration {
    /// The length in seconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
