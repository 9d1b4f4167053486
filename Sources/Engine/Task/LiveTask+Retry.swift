internal import Loop
internal import Metrics
internal import Semantics

/// What follows an attempt that did not succeed: another source, another try, or the end.
extension LiveTask {
    /// What a status leads to in place of being the result.
    ///
    /// - Parameters:
    ///   - head: of the answer.
    ///   - timeLeft: of the whole task's time.
    /// - Returns: nil where the response is the result.
    func nextStep(
        after head: ResponseHead, timeLeft: @autoclosure () -> Duration
    ) -> Exchange.NextStep? {
        guard SourceFailure.isFailure(status: head.status) else { return nil }
        if let next = nextSource() { return .turn(to: next) }
        guard let policy = record.options.retry, policy.retries(status: head.status) else {
            return nil
        }
        let retryAfter = head.headers.first("Retry-After").flatMap {
            RetryAfter.parse($0, now: services.clock.now)
        }
        return retry(by: policy, retryAfter, "status \(head.status)", timeLeft())
    }

    /// What follows an attempt that has failed.
    ///
    /// - Parameters:
    ///   - error: how it has failed.
    ///   - timeLeft: of the whole task's time.
    /// - Returns: nil where it fails the task.
    func nextStep(
        after error: TransferError, timeLeft: @autoclosure () -> Duration
    ) -> Exchange.NextStep? {
        if let next = nextSource(after: error) { return .turn(to: next) }
        if goesOn(after: error) {
            return .retry(
                after: BackgroundRetry.delay(after: countFailure(), jitter: .random(in: 0..<1)),
                reason: error.name)
        }
        guard let policy = record.options.retry, policy.retries(error) else { return nil }
        return retry(by: policy, nil, error.name, timeLeft())
    }

    /// What follows where the rest of a content is answered with an error's status: a background
    /// session's task asks once more, later, where that tells of a passing trouble (S-52); any
    /// other one fails, and its part is there for the next one (S-35).
    func nextStep(afterRestAnsweredWith status: Int) -> Exchange.NextStep {
        guard session.record.isBackground, canBeginAgain,
            RetryPolicy.transientStatuses.contains(status)
        else { return .fail(.restAnswered(with: status)) }
        return .retry(
            after: BackgroundRetry.delay(after: countFailure(), jitter: .random(in: 0..<1)),
            reason: "status \(status)")
    }

    /// S-52: whether the gateway tries again by itself until the task's time is over. What may not
    /// be sent twice, and may have left, is not.
    private func goesOn(after error: TransferError) -> Bool {
        guard session.record.isBackground, RetryPolicy.mayPass(error), canBeginAgain else {
            return false
        }
        let nothingHasLeft =
            record.metrics.redirectCount == record.redirectsBefore
            && record.metrics.transactions.last?.requestStart == nil
        return mayBeSentTwice || nothingHasLeft
    }

    /// Whether what another try sends does the same twice as once, or the client allows it:
    /// all that has left by now, since the delegate may have put anything in a redirect's place.
    private var mayBeSentTwice: Bool {
        guard !isBehindUnsafeRequest else { return true }
        let sent = record.metrics.transactions.filter { $0.requestStart != nil }.map(\.method)
        return ([record.firstRequest.method, record.currentRequest.method] + sent).allSatisfy {
            record.options.retry?.mayRetry(method: $0) ?? RetryPolicy.isIdempotent($0)
        }
    }

    /// The request to the next source; nil where none is left, or the error is not the source's.
    func nextSource(after error: TransferError) -> RequestRecord? {
        SourceFailure.isFailure(error) ? nextSource() : nil
    }

    private func nextSource() -> RequestRecord? {
        record.type == .download && canBeginAgain ? turnToNextSource() : nil
    }

    /// The next try; nil where there is none: too many, not allowed for the method, too late for
    /// the task's time, or something was handed on that cannot be taken back.
    private func retry(
        by policy: RetryPolicy, _ retryAfter: Duration?, _ reason: String, _ timeLeft: Duration
    ) -> Exchange.NextStep? {
        // What a background session's network has cost is none of the policy's (S-52).
        let count = session.record.isBackground ? record.policyRetryCount : record.retryCount
        guard count < policy.attempts, mayBeSentTwice, canBeginAgain else { return nil }
        let delay = policy.delay(
            beforeRetry: count + 1, jitter: .random(in: 0..<1), retryAfter: retryAfter)
        guard delay < timeLeft else { return nil }
        record.policyRetryCount += 1
        return .retry(after: delay, reason: reason)
    }

    /// Whether what is under way can be begun once more elsewhere: nothing is done twice that may
    /// not be, and nothing was handed on, of which nobody knows how much it was.
    var mayMove: Bool {
        mayBeSentTwice && record.options.delivery == .collect && !isInline && !record.isOnePart
    }

    /// Whether the task goes on by itself behind the end of a process that has interrupted it: its
    /// session or its policy covers the interruption (S-52), and it `mayMove`.
    ///
    /// - Parameter asAnotherTry: whether the policy counts it: not where the task only waited.
    /// - Returns: whether it goes on.
    func mayGoOnAfterRestart(asAnotherTry: Bool) -> Bool {
        guard mayMove else { return false }
        if session.record.isBackground { return true }
        guard let policy = record.options.retry else { return false }
        return !asAnotherTry || record.retryCount < policy.attempts
    }

    /// The task is tried once more from its first request on: later, or where there is no delay
    /// as soon as it comes to its turn.
    func beginRetry(after delay: Duration?, reason: String) {
        record.retryCount += 1
        services.tally.retries.add()
        record.mirrorCount = 0
        record.nextAttemptAt = delay.map { services.clock.now.advanced(by: $0) }
        returnToFirstRequest()
        tellRetry(after: delay, reason: reason)
        showProgress()  // what this attempt has brought comes before
        publish(
            .willRetry(
                attempt: record.retryCount + 1, delay: delay?.seconds ?? 0, reason: reason))
    }
}

extension Duration {
    /// The length in seconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
