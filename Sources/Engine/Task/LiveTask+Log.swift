internal import Diagnostics
internal import Loop
internal import Metrics
internal import Semantics

/// What the log tells of a task: never a URL, a header, or what an origin or a client has said.
extension LiveTask {
    /// An attempt goes to an origin.
    func noteAttempt() {
        services.tally.attempts.add()
        guard Log.isWriting(.debug) else { return }
        services.log.write(
            .debug, "an attempt begins",
            names + [
                ("host", .host(record.currentRequest.url.host)),
                ("method", .name(record.currentRequest.method)),
                ("attempt", .number(record.metrics.transactions.count + 1)),
            ])
    }

    /// The task is tried again; nil where it begins as soon as it comes to its turn.
    func tellRetry(after delay: Duration?, reason: String) {
        guard Log.isWriting(.info) else { return }
        services.log.write(
            .info, "a task is tried again",
            names + [
                ("host", .host(record.currentRequest.url.host)), ("reason", .name(reason)),
                ("retry", .number(record.retryCount)), ("after", .duration(delay ?? .zero)),
            ])
    }

    /// The task has ended. What its client has cancelled has not failed.
    func tellEnd() {
        let error = record.error
        let hasFailed = error.map { !$0.isCancellation } ?? false
        let level: Log.Level = hasFailed ? .info : .debug
        guard Log.isWriting(level) else { return }
        var fields = names
        if let error {
            fields += [("error", .name(error.name)), ("code", .number(error.code))]
        } else if let response = record.response {
            fields.append(("status", .number(response.status)))
        }
        fields.append(("host", .host(record.currentRequest.url.host)))
        if let underlying = error?.underlying {
            fields.append(("underlying", .words(underlying.message)))
        }
        fields += [
            ("attempts", .number(record.metrics.transactions.count)),
            ("retries", .number(record.retryCount)),
            ("bytes", .number(Int(record.countOfBytesReceived))),
        ]
        if let (start, end) = lifetime { fields.append(("duration", .duration(end - start))) }
        let sentence: StaticString =
            hasFailed
            ? "a task has failed" : error == nil ? "a task has completed" : "a task was cancelled"
        services.log.write(level, sentence, fields)
    }

    /// Its first resume and its end, by the wall clock.
    private var lifetime: (Duration, Duration)? {
        guard let start = record.startedAt, let end = record.completedAt else { return nil }
        return (.milliseconds(start.milliseconds), .milliseconds(end.milliseconds))
    }

    /// What it is called, and what it came with.
    private var names: [(String, Log.Field)] {
        var names: [(String, Log.Field)] = [
            ("task", .name(record.id.description)), ("session", .name(record.session.description)),
        ]
        if !record.requestID.isEmpty { names.append(("request", .name(record.requestID))) }
        if let trace = record.traceContext { names.append(("trace", .name(trace.traceID))) }
        return names
    }
}
