internal import Loop
internal import Semantics

/// A task's attempt on the wire, and why it may be paused at the moment.
@LoopActor
struct Exchange {
    /// Who wants the transfer to pause; it goes on when nobody does.
    struct PauseReasons: OptionSet {
        let rawValue: UInt8
        /// The client has suspended the task.
        static let client = PauseReasons(rawValue: 1)
        /// The disk or the reader is behind.
        static let sink = PauseReasons(rawValue: 2)
        /// Inline events have not been committed yet.
        static let commit = PauseReasons(rawValue: 4)
        /// As much as may be moved has been moved.
        static let rate = PauseReasons(rawValue: 8)
        /// The client has yet to say what becomes of the response.
        static let decision = PauseReasons(rawValue: 16)
        /// Another node may be about to take the task over.
        static let standstill = PauseReasons(rawValue: 32)
    }

    /// Counts the attempts of the task.
    private(set) var number = 0
    /// The host whose slot the attempt holds.
    private(set) var origin: WebURL.Origin
    /// What follows when the attempt has ended, if not its answer.
    var nextStep: NextStep?
    /// Whether the answer was judged, and is the task's: where its head comes once more, behind a
    /// decision, nothing else may come of it (S-70).
    var isResult = false
    /// Whether the attempt has brought the head of an answer.
    var hasAnswer = false
    /// How much of the range that the answer has promised is still to come; nil where it has
    /// promised none.
    var missingByteCount: Int64?
    /// Bytes of a redirect's body that were thrown away.
    var discardedBytes = 0
    /// Runs while a body is read that nobody waits for.
    var restTimer: LoopTimer?
    /// The body of a response that a decision is about, as far as it is kept.
    private(set) var heldBody: [UInt8] = []
    private var attempt: (any Attempt)?
    private var isOpen = false
    private var pauses: PauseReasons = []

    /// Apart from what has it, since most exchanges are followed by nothing.
    indirect enum NextStep {
        case follow(RequestRecord)
        /// The delegate is asked, and the response is kept until it answers.
        case ask(Question, ResponseRecord)
        /// The same is asked for with a credential.
        case authenticate
        /// The same is asked for in another way: by date in place of the tag, or from zero.
        case again(RangeRequest?)
        /// What the cache has planned in place of the answer.
        case replay
        /// Another source is asked.
        case turn(to: RequestRecord)
        case retry(after: Duration, reason: String)
        /// The body that is sent once is asked for, now that the server is known.
        case sendBody
        /// Nothing is missing.
        case finish
        case fail(TransferError)
    }

    enum Question {
        case credential(ProtectionSpace, DecisionKind)
        case redirect(RequestRecord)
    }

    /// No attempt yet; the first goes to `origin`.
    nonisolated init(to origin: WebURL.Origin) { self.origin = origin }

    /// A new attempt holds a slot, and will be opened.
    mutating func begin(to origin: WebURL.Origin) {
        number += 1
        self.origin = origin
        nextStep = nil
        isResult = false
        hasAnswer = false
        missingByteCount = nil
        discardedBytes = 0
        heldBody = []
        isOpen = true
    }

    /// Keeps some of a body that may become the result.
    /// - Returns: false where there is no room, and nothing of it is kept.
    mutating func hold(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard heldBody.count + bytes.count <= HeldResponse.bodyLimit else { return false }
        heldBody.append(contentsOf: bytes)
        return true
    }

    /// The response that a decision is about, and that is still coming; nil where none is.
    var heldResponse: ResponseRecord? {
        guard case .ask(_, let response)? = nextStep, attempt != nil else { return nil }
        return response
    }

    /// The response that was held is the result: what of its body was kept is handed out.
    mutating func releaseHeld() -> [UInt8] {
        defer { heldBody = [] }
        nextStep = nil
        return heldBody
    }

    /// Goes on with another task's attempt, which hears of nothing more.
    mutating func takeOver(_ other: inout Exchange, for observer: any AttemptObserver) {
        self = other
        restTimer = nil
        attempt?.handOver(to: observer)
        other = Exchange(to: other.origin)
    }

    /// Whether the attempt has its slot, but has not been opened.
    var isWaitingToStart: Bool { isOpen && attempt == nil }

    mutating func opened(_ attempt: any Attempt) {
        self.attempt = attempt
        if !pauses.isEmpty { attempt.pause() }
    }

    mutating func pause(_ reason: PauseReasons) {
        let wasRunning = pauses.isEmpty
        pauses.insert(reason)
        if wasRunning { attempt?.pause() }
    }

    /// As `pause`, where a verdict pauses the attempt itself.
    mutating func notePause(_ reason: PauseReasons) {
        pauses.insert(reason)
    }

    func isPaused(for reason: PauseReasons) -> Bool { pauses.contains(reason) }

    /// Takes a reason away.
    /// - Returns: the attempt if it must go on now; the caller resumes it, since that may call back
    ///   at once.
    mutating func unpause(_ reason: PauseReasons) -> (any Attempt)? {
        guard pauses.contains(reason) else { return nil }
        pauses.remove(reason)
        return pauses.isEmpty ? attempt : nil
    }

    /// The attempt is not to bring an answer: the body is asked for when it has ended well.
    mutating func connectsOnly() {
        nextStep = .sendBody
        hasAnswer = true
    }

    /// What is wrong with that many more bytes, in a sentence: they are more than the answer's
    /// Content-Range has promised. Nil where nothing is.
    func fault(with byteCount: Int) -> String? {
        guard let missing = missingByteCount, Int64(byteCount) > missing else { return nil }
        return "A range is longer than the server has said."
    }

    /// Takes note of what has become of bytes of the body.
    mutating func took(_ verdict: FlowVerdict, of byteCount: Int) {
        guard let missing = missingByteCount else { return }
        switch verdict {
        case .proceed: missingByteCount = missing - Int64(byteCount)
        case .take(let count): missingByteCount = missing - Int64(count)
        case .stop: missingByteCount = nil
        case .pause: break
        }
    }

    /// The attempt has ended by itself.
    ///
    /// - Returns: the end as it is meant for the task. Nothing ends well without an answer, nor
    ///   with less of a range than its Content-Range has said, whoever says so: the connection was
    ///   lost (R-3, S-61).
    mutating func ended(_ end: AttemptEnd) -> AttemptEnd {
        var end = end
        if end.error == nil, !hasAnswer { end.error = .unanswered }
        if end.error == nil, let missing = missingByteCount, missing > 0 {
            end.error = .url(
                .networkConnectionLost,
                message: "The connection was lost in the middle of a range.")
        }
        ended()
        return end
    }

    private mutating func ended() {
        attempt = nil
        isOpen = false
        pauses = []
        restTimer = nil
    }

    /// Ends the attempt.
    /// - Returns: its metrics, if it was opened.
    mutating func stop() -> TransactionMetrics? {
        defer { ended() }
        return attempt?.cancel()
    }
}
