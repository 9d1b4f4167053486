internal import JSON

/// How far one task is, put together from its events and from what the gateway shows of it.
///
/// A pure value: the same events give the same state.
public struct TaskProgress: Equatable, Sendable {
    /// How a task ended.
    public enum Ending: Equatable, Sendable {
        /// Without an error; the response may still be a 404 (rule S-49).
        case succeeded
        /// With an error.
        case failed(TransferFailure)
    }

    /// The head of the response.
    public struct Response: Equatable, Sendable {
        /// Its status.
        public var status: Int
        /// The name that it suggests for the content; as it came.
        public var suggestedFilename: String?
    }

    /// What an event asks of its reader.
    public enum Demand: Sendable {
        /// Nothing.
        case none
        /// Events were lost: the task has to be asked for.
        case refresh
    }

    /// The task; empty before the first event or answer.
    public private(set) var id = ""
    /// The URL; empty where the events did not tell.
    public private(set) var url = ""
    /// Bytes the gateway has received.
    public private(set) var received: Int64 = 0
    /// Bytes in all; -1 where unknown.
    public private(set) var expected: Int64 = -1
    /// Bytes of the request's body the gateway has sent.
    public private(set) var sent: Int64 = 0
    /// Bytes of the request's body in all; -1 where unknown.
    public private(set) var expectedToSend: Int64 = -1
    /// Where a download from resume data goes on; nil unless the gateway could resume it (rule
    /// S-36).
    public private(set) var resumedAt: Int64?
    /// What the task does when no bytes come; nil while they do.
    public var note: String? { note(at: nil) }
    private var activity = Activity.does("starting")
    /// Why the last attempt was followed by another one, by the contract's word; nil before.
    private(set) var retryReason: String?
    /// The last response; nil before there is one.
    public private(set) var response: Response?
    /// How many responses there have been: after a second one the content has begun anew (rule
    /// S-46).
    public private(set) var responseCount = 0
    /// Set once the task has ended.
    public private(set) var ending: Ending?

    /// What tells how far the task is: what it has received; of an upload, and before there is a
    /// response, what it has sent.
    public var moved: (bytes: Int64, total: Int64) {
        isUpload || (response == nil && sent > 0) ? (sent, expectedToSend) : (received, expected)
    }
    private var isUpload = false

    private enum Activity: Equatable {
        case moves
        case does(String)
        case waits(TaskWait)
    }

    /// As `note`, at an instant in milliseconds since 1970: with the time until the next try.
    func note(at now: Int64?) -> String? {
        switch activity {
        case .moves: nil
        case .does(let note): note
        case .waits(let wait): wait.note(at: now)
        }
    }

    /// The progress of a task of which nothing is known.
    public init() {}

    /// The progress of a task as the gateway shows it.
    public init(_ task: RemoteTask) {
        apply(task)
    }

    /// Takes what the gateway shows now.
    public mutating func apply(_ task: RemoteTask) {
        id = task.id
        url = task.url
        received = task.received
        expected = task.expected
        sent = task.sent
        expectedToSend = task.expectedToSend
        isUpload = task.type == "upload"
        if let status = task.responseStatus {
            response = Response(status: status, suggestedFilename: task.suggestedFilename)
            responseCount = max(responseCount, 1)
        }
        note(state: task.state, waitingFor: task.waitingFor, until: task.nextAttemptAt)
        if task.isCompleted { end(task.failure) }
    }

    /// Takes the next event of the task.
    public mutating func apply(_ event: ServerSentEvent) -> Demand {
        guard event.name != "reset" else { return .refresh }
        let limits = GatewayClient.limits
        guard let data = try? JSONValue(parsing: Array(event.data.utf8), limits: limits) else {
            return .none
        }
        return apply(event.name, data)
    }

    /// Bytes move; but what had come before the disk was full may be told after that.
    private mutating func noteBytes() {
        if case .waits(let wait) = activity, wait.kind == "room" { return }
        activity = .moves
    }

    /// Takes the next event of the task, its data read already.
    mutating func apply(_ name: String, _ data: JSONValue) -> Demand {
        if let task = data["task"]?.string { id = task }
        if data["decision"]?["id"] != nil { activity = .waits(TaskWait("decision")) }
        switch name {
        case "reset": return .refresh
        case "task.isWaitingForConnectivity": activity = .waits(TaskWait("connectivity"))
        case "task.didChange": return take(changes: data["changes"])
        case "task.didReceiveResponse":
            take(response: data["response"], isQuestion: data["decision"]?["id"] != nil)
        case "download.didWriteData":
            noteBytes()
            received = data["totalBytesWritten"]?.int64 ?? received
            expected = data["totalBytesExpectedToWrite"]?.int64 ?? expected
        case "task.didReceiveData":
            noteBytes()
            if let offset = data["offset"]?.int64, let length = data["length"]?.int64 {
                received = max(received, offset &+ length)
            }
        case "task.didSendBodyData":
            activity = .moves
            sent = data["totalBytesSent"]?.int64 ?? sent
            expectedToSend = data["totalBytesExpectedToSend"]?.int64 ?? expectedToSend
        case "download.didResumeAtOffset":
            resumedAt = data["fileOffset"]?.int64
            received = resumedAt ?? received
            expected = data["expectedTotalBytes"]?.int64 ?? expected
        case "task.willRetry":
            retryReason = data["reason"]?.string
            activity = .waits(TaskProgress.wait(retry: data))
        case "task.didComplete": end(TransferFailure(data["error"]))
        // The data task's terminal event (rule S-70).
        case "task.didBecomeDownloadTask": end(nil)
        default: break
        }
        return .none
    }

    /// Whether the task is suspended (S-32).
    var isSuspended: Bool { activity == .does("suspended") }

    /// Whether the task waits for its delegate.
    var waitsForDecision: Bool { activity == .waits(TaskWait("decision")) }

    /// What the task has asked was answered.
    mutating func isAnswered() {
        if waitsForDecision { activity = .does("starting") }
    }

    /// The wait that `task.willRetry` tells of.
    private static func wait(retry data: JSONValue) -> TaskWait {
        let begin = data["at"]?.string.flatMap(RFC3339.milliseconds)
        let delay = data["delay"]?.double.map { Int64(min(max($0, 0), 0x1p40) * 1000) }
        return TaskWait(
            "retry", until: begin.flatMap { begin in delay.map { begin &+ $0 } },
            reason: data["reason"]?.string.map(TaskWait.words))
    }

    /// Takes what no other event tells. Whoever wants to know the question that a task waits with
    /// has to ask.
    private mutating func take(changes: JSONValue?) -> Demand {
        guard let changes else { return .none }
        if let state = changes["state"]?.string, state != "running" {
            activity = .does(state)
        } else if changes["state"] != nil || changes["waitingFor"] != nil {
            let waitingFor = changes["waitingFor"]?.string
            note(
                state: "running", waitingFor: waitingFor, until: changes["nextAttemptAt"]?.string)
            if waitingFor == "decision" { return .refresh }
        }
        return .none
    }

    private mutating func take(response json: JSONValue?, isQuestion: Bool) {
        guard let json, let status = json["status"]?.int64 else { return }
        if !isQuestion { activity = .moves }
        responseCount += 1
        response = Response(
            status: Int(clamping: status), suggestedFilename: json["suggestedFilename"]?.string)
        // The answer to a range has the length of the range.
        if resumedAt == nil { expected = json["expectedContentLength"]?.int64 ?? expected }
        if let url = json["url"]?.string { self.url = url }
    }

    private mutating func end(_ failure: TransferFailure?) {
        activity = .moves
        ending = failure.map(Ending.failed) ?? .succeeded
    }

    private mutating func note(state: String, waitingFor: String?, until: String?) {
        switch (state, waitingFor) {
        case ("running", let kind?):
            let instant = until.flatMap(RFC3339.milliseconds)
            if case .waits(let wait) = activity, wait.kind == kind, wait.until == instant { return }
            activity = .waits(TaskWait(kind, until: instant))
        case ("running", nil):
            activity = moved.bytes == 0 && response == nil ? .does("starting") : .moves
        case ("completed", _): activity = .moves
        default: activity = .does(state)
        }
    }
}

extension TaskProgress {
    /// Whether an attempt has failed for a host that is not known, or that refuses, before any
    /// response.
    var lacksHost: Bool {
        responseCount == 0
            && ["cannotFindHost", "dnsLookupFailed", "cannotConnectToHost"].contains(retryReason)
    }

    /// The failure of such an attempt, as far as its event tells.
    var withoutHost: ClientError {
        .transferFailed(
            TransferFailure(
                domain: "NSURLErrorDomain", code: -1004, name: retryReason ?? "", message: ""))
    }
}
