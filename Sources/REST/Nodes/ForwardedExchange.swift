internal import Engine
internal import HTTP
internal import Loop
internal import Semantics

/// One request at another node, and its answer on the way back: at most 256 KiB of it wait here
/// and a short one is had as a whole before the client gets any of it.
@LoopActor
final class ForwardedExchange: AttemptObserver, ByteSource {
    /// What came of it.
    enum Outcome {
        /// An answer whose body comes piece by piece.
        case begins(ResponseHead)
        /// An answer with all of its body.
        case whole(ResponseHead, [UInt8])
        /// There is no answer, or not all of a short one: whether the node may have had the
        /// request, and words about why.
        case failed(mayHaveBegun: Bool, String)
        /// Whoever has answered is not the node.
        case unproven
        /// The client has left.
        case left
    }

    /// The answer is not whole.
    struct Cut: Error {}

    private static let limit = 256 << 10
    /// An answer of at most so many bytes is had as a whole.
    private static let wholeLimit: Int64 = 64 << 10
    /// How long an answer is still waited for when the client sends nothing more: it may have said
    /// so before it reads.
    private static let farewell = Duration.seconds(1)

    /// The node that was asked.
    let node: NodeRecord
    /// Called once when nothing of it is under way any more.
    var onEnd: (@LoopActor () -> Void)?
    private(set) var isEventStream = false

    /// What an answer of the node has as its `Ferry-Proof`.
    private let proof: String
    private let body: ForwardedBody?
    private let isHEAD: Bool
    private var attempt: (any Attempt)?
    private var head: ResponseHead?
    private var waiter: CheckedContinuation<Outcome, Never>?
    private var bytes: [UInt8] = []
    private var isPaused = false
    private var isOver = false
    private var failure: Cut?
    private var reader: CheckedContinuation<Void, Never>?
    private lazy var farewellTimer = LoopTimer { [weak self] in self?.leave() }

    init(with node: NodeRecord, proof: String, body: ForwardedBody?, isHEAD: Bool) {
        self.node = node
        self.proof = proof
        self.body = body
        self.isHEAD = isHEAD
    }

    /// Sends a request, and waits for its answer to begin.
    func run(_ request: AttemptRequest, in pool: any ConnectionPool) async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                self.waiter = waiter
                attempt = pool.start(request, observer: self)
            }
        } onCancel: {
            LoopActor.post { self.clientHasEnded() }
        }
    }

    /// Whether the answer has not begun.
    var isWaiting: Bool { waiter != nil }

    /// Nothing more is expected of the node: an answer that has begun is cut.
    ///
    /// - Parameter reason: words about why.
    func giveUp(because reason: String) {
        guard let attempt else { return }
        let metrics = attempt.cancel()
        end(.failed(mayHaveBegun: metrics.requestStart != nil, reason))
    }

    private func clientHasEnded() {
        guard waiter != nil else { return }
        farewellTimer.arm(after: ForwardedExchange.farewell)
    }

    private func leave() {
        guard waiter != nil else { return }
        _ = attempt?.cancel()
        end(.left)
    }

    /// Nothing more comes of the exchange.
    private func end(_ outcome: Outcome) {
        guard attempt != nil else { return }
        attempt = nil
        body?.stop()
        farewellTimer.cancel()
        if case .whole = outcome { isOver = true } else { failure = failure ?? Cut() }
        tell(outcome)
        wakeReader()
        onEnd.take()?()
    }

    private func tell(_ outcome: Outcome) {
        guard let waiter = waiter.take() else { return }
        farewellTimer.cancel()
        waiter.resume(returning: outcome)
    }

    private func wakeReader() { reader.take()?.resume() }

    // MARK: What the client takes

    func next() async throws -> [UInt8]? {
        while bytes.isEmpty {
            if isOver { return nil }
            if let failure { throw failure }
            await withCheckedContinuation { reader = $0 }
        }
        let piece = bytes
        bytes = []
        if isPaused {
            isPaused = false
            attempt?.resume()
        }
        return piece
    }

    func cancel() {
        bytes = []
        guard let attempt else { return wakeReader() }
        _ = attempt.cancel()
        end(.left)
    }

    func drain() {
        guard isEventStream, let attempt else { return }
        _ = attempt.cancel()
        isOver = true
        end(.left)
    }

    // MARK: What the attempt tells

    func attemptDidMove() {}

    func attemptDidReceiveInformational(_ head: ResponseHead) {}

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        self.head = head
        body?.stop()
        guard head.headers.values(of: ForwardedFields.proof) == [proof] else {
            tell(.unproven)
            return .proceed
        }
        let type = head.headers.first("Content-Type")
        isEventStream = type?.hasPrefix("text/event-stream") ?? false
        if !isShort(head) { tell(.begins(head)) }
        return .proceed
    }

    /// Whether the answer is had as a whole.
    private func isShort(_ head: ResponseHead) -> Bool {
        if isHEAD || head.status == 204 || head.status == 304 { return true }
        return length(of: head).map { $0 <= ForwardedExchange.wholeLimit } ?? false
    }

    func attemptDidReceive(_ received: UnsafeRawBufferPointer) -> FlowVerdict {
        guard bytes.count < ForwardedExchange.limit else {
            isPaused = true
            return .pause
        }
        bytes.append(contentsOf: received)
        wakeReader()
        return .proceed
    }

    func attemptGoesOn(after request: TransactionMetrics) {}

    func attemptDidSend(total: Int64) {}

    func attemptDidEnd(_ end: AttemptEnd) {
        guard end.error == nil, let head else {
            let error = end.error
            return self.end(
                .failed(
                    mayHaveBegun: end.metrics.requestStart != nil,
                    error?.underlying?.message ?? error?.message ?? "there is no answer"))
        }
        self.end(.whole(head, bytes))
    }

    /// The length that an answer is told to have.
    func length(of head: ResponseHead) -> Int64? {
        head.headers.first("Content-Length").flatMap { Int64($0) }
    }
}
