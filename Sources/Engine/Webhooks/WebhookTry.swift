internal import Loop
internal import Semantics

/// One request to a webhook's receiver.
@LoopActor
final class WebhookTry: AttemptObserver {
    /// What has come of it.
    struct Outcome {
        let attempt: DeliveryAttempt
        /// How long the answer asks to be left alone.
        let retryAfter: Duration?
        /// The first bytes of the answer.
        let excerpt: [UInt8]
        /// Whether the policy has not let it through.
        let wasDenied: Bool
    }

    /// How much of an answer is looked at, in bytes.
    static let excerptLength = 1024
    /// How much of an answer is read, so that the connection can be used again, in bytes.
    private static let readLength = 64 << 10

    private let clock: any Clock
    private let startedAt: Timestamp
    private let beginning: Duration
    private var onEnd: (@LoopActor (Outcome) -> Void)?
    private var attempt: (any Attempt)?
    private var head: ResponseHead?
    private var excerpt: [UInt8] = []
    private var byteCount = 0
    private lazy var timer = LoopTimer { [weak self] in self?.timeOut() }

    /// Begins a request.
    ///
    /// - Parameters:
    ///   - request: what is posted.
    ///   - pool: the receiver's connections.
    ///   - limit: how long all of it may take.
    ///   - clock: says when it was, and how long it took.
    ///   - onEnd: called once, on a later turn of the loop, unless it is cancelled.
    init(
        _ request: AttemptRequest, in pool: any ConnectionPool, within limit: Duration,
        clock: any Clock,
        onEnd: @escaping @LoopActor (Outcome) -> Void
    ) {
        self.clock = clock
        self.onEnd = onEnd
        startedAt = clock.now
        beginning = clock.uptime
        attempt = pool.start(request, observer: self)
        timer.arm(after: limit)
    }

    /// Ends it; nobody hears of it.
    func cancel() {
        onEnd = nil
        _ = attempt?.cancel()
        finish(nil)
    }

    private func timeOut() {
        _ = attempt?.cancel()
        finish("There was no whole answer in time.")
    }

    /// An answer counts with its head: what fails behind it was the body, which nobody needs.
    private func finish(_ error: String?, wasDenied: Bool = false) {
        timer.cancel()
        attempt = nil
        guard let onEnd else { return }
        self.onEnd = nil
        let duration = (clock.uptime - beginning).milliseconds
        let retryAfter = head?.headers.first("Retry-After").flatMap {
            RetryAfter.parse($0, now: clock.now)
        }
        onEnd(
            Outcome(
                attempt: DeliveryAttempt(
                    at: startedAt, status: head?.status, duration: duration,
                    error: head == nil ? error : nil),
                retryAfter: retryAfter, excerpt: excerpt, wasDenied: wasDenied))
    }

    // MARK: AttemptObserver

    func attemptDidMove() {}

    func attemptDidReceiveInformational(_ head: ResponseHead) {}

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        self.head = head
        return .proceed
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        excerpt.append(contentsOf: bytes.prefix(WebhookTry.excerptLength - excerpt.count))
        byteCount += bytes.count
        return byteCount > WebhookTry.readLength ? .stop : .proceed
    }

    func attemptGoesOn(after request: TransactionMetrics) {}

    func attemptDidSend(total: Int64) {}

    func attemptDidEnd(_ end: AttemptEnd) {
        finish(
            end.error.map { "\($0.name): \($0.message)" },
            wasDenied: end.error?.kind == .ferry(.destinationDenied))
    }
}
