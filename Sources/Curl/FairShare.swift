internal import Decoding
internal import DequeModule
internal import Loop
internal import Semantics

/// What all transfers together may take in one turn of the loop, so that whoever else is on it is
/// not kept waiting.
///
/// libcurl reads up to a hundred buffers from a socket before it returns (measured: 6.6 MB, several
/// milliseconds of copying), for every socket that is ready; it sends one buffer for each
/// (measured), which is much too where many send. An attempt that finds the share used up pauses,
/// and goes on in a later turn, in the order of asking.
@LoopActor
final class FairShare {
    /// An eighth of a millisecond of copying, or less. Twice as much saves a twentieth of the
    /// processor, and makes whoever waits meanwhile wait twice as long (measured).
    private static let bytesPerTurn = 128 << 10
    /// Of decoding: as fast as most contents are, and a turn's share is half a millisecond of it.
    private static let bytesPerMicrosecond = 256
    /// What a piece costs beside its bytes, in bytes: chunks of one byte each are work, too.
    private static let bytesPerPiece = 1 << 10

    private var left = FairShare.bytesPerTurn
    private var isRefillDue = false
    private var waiting: Deque<CurlAttempt> = []
    private lazy var nextTurn = LoopTimer { [weak self] in self?.refill() }

    /// Whether there is something left of this turn's share: then the attempt may move one piece,
    /// of whatever size.
    /// - Returns: false when it is used up: the attempt is told by `goOn()`, in another turn.
    func admits(_ attempt: CurlAttempt) -> Bool {
        if left > 0 { return true }
        waiting.append(attempt)
        return false
    }

    /// Goes one step on with decoding, and takes what was decoded from the share of this turn: by
    /// the time that it took, where that is longer than usual.
    ///
    /// - Parameters:
    ///   - decoder: all of whose piece was taken.
    ///   - left: what it has not seen yet; what it takes goes from the front.
    /// - Returns: whether there may be something to deliver, and more to decode.
    /// - Throws: for a content that is damaged.
    func step(
        _ decoder: ContentDecoder, _ left: inout UnsafeRawBufferPointer
    ) throws(DecodingFault) -> Bool {
        let (start, count) = (ContinuousClock.now, left.count)
        let hasMore = try decoder.step(&left)
        let byteCount = max(count - left.count, decoder.piece.count)
        let time = ContinuousClock.now - start
        spend(max(byteCount, Int(time / .microseconds(1)) * FairShare.bytesPerMicrosecond))
        return hasMore
    }

    /// Takes what was moved from the share of this turn.
    func spend(_ byteCount: Int) {
        guard byteCount > 0 else { return }
        left -= byteCount + FairShare.bytesPerPiece
        guard !isRefillDue else { return }
        // A timer, and not `later`: the sockets of everybody are looked at before it fires.
        isRefillDue = true
        nextTurn.arm(after: .zero)
    }

    private func refill() {
        isRefillDue = false
        left = FairShare.bytesPerTurn
        // The others keep their places: what libcurl holds of each would be copied for nothing.
        while left > 0, let attempt = waiting.popFirst() { attempt.goOn() }
    }
}
