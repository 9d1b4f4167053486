internal import Engine
internal import HTTP
internal import Loop

/// One request at another node, and its answer on the way back: what the client does not take stays
/// at the node, and a short answer is had as a whole before the client gets any of it.
@LoopActor
final class ForwardedExchange: OutgoingObserver, ByteSource {
    /// What came of it.
    enum Outcome {
        /// An answer whose body comes piece by piece.
        case begins(IncomingHead)
        /// An answer with all of its body.
        case whole(IncomingHead, [UInt8])
        /// There is no answer, or not all of a short one: whether the node may have had the
        /// request, and words about why.
        case failed(mayHaveBegun: Bool, String)
        /// Whoever has answered, with this status, is not the node.
        case unproven(status: Int)
        /// The client has left.
        case left
    }

    /// The answer is not whole.
    struct Cut: Error {}

    /// An answer of at most so many bytes is had as a whole: no more than comes unasked.
    private static let wholeLimit: Int64 = 64 << 10
    private static let pieceSize = 128 << 10
    /// How long an answer is still waited for when the client sends nothing more: it may have said
    /// so before it reads.
    private static let lingering = Duration.seconds(1)

    /// The node that was asked.
    let node: NodeRecord
    /// Called once when nothing of it is under way any more.
    var onEnd: (@LoopActor () -> Void)?
    private(set) var isEventStream = false

    /// What an answer of the node has as its `Ferry-Proof`.
    private let proof: String
    private let body: ForwardedBody?
    private let isHEAD: Bool
    private var stream: OutgoingStream?
    private var waiter: CheckedContinuation<Outcome, Never>?
    /// Whether the client gets what there is, and then the end.
    private var isDrained = false
    /// Whether the client gets nothing any more.
    private var isCut = false
    private var reader: CheckedContinuation<Void, Never>?
    private lazy var lingerTimer = LoopTimer { [weak self] in self?.leave() }

    init(with node: NodeRecord, proof: String, body: ForwardedBody?, isHEAD: Bool) {
        self.node = node
        self.proof = proof
        self.body = body
        self.isHEAD = isHEAD
    }

    /// Sends a request, and waits for its answer to begin.
    func run(
        _ request: OutgoingRequest, to origin: ServerOrigin, by client: HTTPClient
    ) async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                self.waiter = waiter
                stream = client.send(request, to: origin, observer: self)
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
        end(.failed(mayHaveBegun: stream?.mayHaveBegun ?? false, reason))
    }

    private func clientHasEnded() {
        guard waiter != nil else { return }
        lingerTimer.arm(after: ForwardedExchange.lingering)
    }

    private func leave() {
        if waiter != nil { end(.left) }
    }

    /// Nothing more comes of the exchange.
    private func end(_ outcome: Outcome) {
        stream?.cancel()
        isCut = !isDrained
        body?.stop()
        tell(outcome)
        reader.take()?.resume()
        onEnd.take()?()
    }

    private func tell(_ outcome: Outcome) {
        guard let waiter = waiter.take() else { return }
        lingerTimer.cancel()
        waiter.resume(returning: outcome)
    }

    // MARK: What the client takes

    func next() async throws -> [UInt8]? {
        while let stream, !isDrained {
            if isCut { throw Cut() }
            let piece = stream.take(ForwardedExchange.pieceSize)
            if !piece.isEmpty { return piece }
            if stream.isOver { return nil }
            await withCheckedContinuation { reader = $0 }
        }
        return nil
    }

    func cancel() { end(.left) }

    func drain() {
        guard isEventStream else { return }
        isDrained = true
        end(.left)
    }

    // MARK: What comes of the node

    func exchangeHasMoved() {
        guard let stream else { return }
        if let failure = stream.failure {
            return end(.failed(mayHaveBegun: failure.mayHaveBegun, failure.words))
        }
        if let head = stream.head {
            body?.stop()
            if waiter != nil { answerHasCome(head, on: stream) }
        } else if stream.hasBegun, let body {
            body.begin(on: stream) { [weak self] in
                self?.end(.failed(mayHaveBegun: true, "the body has not come whole"))
            }
            if stream.hasRoom { body.goOn() }
        }
        reader.take()?.resume()
        if stream.isWhole { onEnd.take()?() }
    }

    private func answerHasCome(_ head: IncomingHead, on stream: OutgoingStream) {
        guard head.fields.values(of: ForwardedFields.proof) == [proof] else {
            return tell(.unproven(status: head.status))
        }
        isEventStream = head.fields[first: "content-type"]?.hasPrefix("text/event-stream") ?? false
        guard isShort(head) else { return tell(.begins(head)) }
        if stream.isWhole {
            tell(.whole(head, stream.take(Int(ForwardedExchange.wholeLimit))))
        }
    }

    /// Whether the answer is had as a whole.
    private func isShort(_ head: IncomingHead) -> Bool {
        if isHEAD || head.status == 204 || head.status == 304 { return true }
        return head.length.map { $0 <= ForwardedExchange.wholeLimit } ?? false
    }
}
