internal import Engine
internal import Loop
internal import Semantics

/// What S3 has answered.
struct S3Answer: Sendable {
    let status: Int
    let headers: HeaderList
    let body: [UInt8]

    /// The root element of the body.
    var document: XMLElement? { XMLElement.root(of: body) }

    /// The error that the body tells of; nil where it tells of none. S3 answers some requests with
    /// 200 before it knows how they end.
    var error: XMLElement? { document.flatMap { $0.name == "Error" ? $0 : nil } }

    /// The entity tag; nil where there is none.
    var etag: String? { headers.first("ETag") }
}

/// For how long nothing may move before a request counts as not answered.
struct S3Silence: Sendable {
    var usual = Duration.seconds(30)
    /// Where S3 moves bytes itself: some servers copy them one by one, and send nothing meanwhile.
    var ofWork = Duration.seconds(300)
}

/// One request on the wire: gathers its answer, and ends where nothing moves.
@LoopActor
final class S3Exchange: AttemptObserver {
    /// What came of it: an answer, or words about why there is none.
    enum Outcome: Sendable {
        case answer(S3Answer)
        case failure(String)
        case stopped
    }

    private let bodyLimit: Int
    private let patience: Duration
    private var head: ResponseHead?
    private var body: [UInt8] = []
    private var isTooLong = false
    private var attempt: (any Attempt)?
    private var waiter: CheckedContinuation<Outcome, Never>?
    private lazy var timer = LoopTimer { [weak self] in
        guard let self else { return }
        cancel(with: .failure("nothing has moved for \(patience)"))
    }

    /// - Parameters:
    ///   - bodyLimit: how long the answer may be, in bytes.
    ///   - patience: so long nothing may move; then S3 does not answer.
    init(bodyLimit: Int, patience: Duration) {
        self.bodyLimit = bodyLimit
        self.patience = patience
    }

    /// Sends a request, and waits for its end.
    func run(_ request: AttemptRequest, in pool: any ConnectionPool) async -> Outcome {
        await withCheckedContinuation { waiter in
            self.waiter = waiter
            timer.arm(after: patience)
            attempt = pool.start(request, observer: self)
        }
    }

    /// Nobody waits for the answer any more.
    func stop() { cancel(with: .stopped) }

    private func cancel(with outcome: Outcome) {
        guard waiter != nil else { return }
        _ = attempt?.cancel()
        end(outcome)
    }

    private func end(_ outcome: Outcome) {
        timer.cancel()
        attempt = nil
        waiter.take()?.resume(returning: outcome)
    }

    // MARK: What the attempt tells

    func attemptDidMove() { timer.arm(after: patience) }

    func attemptDidReceiveInformational(_ head: ResponseHead) {}

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        self.head = head
        return .proceed
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        timer.arm(after: patience)
        guard body.count + bytes.count <= bodyLimit else {
            isTooLong = true
            return .stop
        }
        body.append(contentsOf: bytes)
        return .proceed
    }

    func attemptGoesOn(after request: TransactionMetrics) {}

    func attemptDidSend(total: Int64) { timer.arm(after: patience) }

    func attemptDidEnd(_ end: AttemptEnd) {
        if let error = end.error {
            let words = error.underlying?.message ?? error.message
            self.end(.failure(words))
        } else if let head, !isTooLong {
            self.end(.answer(S3Answer(status: head.status, headers: head.headers, body: body)))
        } else {
            self.end(.failure(isTooLong ? "the answer is too long" : "there is no answer"))
        }
    }
}

/// A body that is sent from memory, without a copy of it on the loop.
@LoopActor
final class S3Body: BodySource {
    private let bytes: [UInt8]
    private var taken = 0
    var onReady: (@LoopActor () -> Void)?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyPiece {
        guard taken < bytes.count else { return .end }
        let count = min(buffer.count, bytes.count - taken)
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: .init(rebasing: $0[taken..<taken + count]))
        }
        taken += count
        return .bytes(count)
    }

    func rewind() -> Bool {
        taken = 0
        return true
    }
}
