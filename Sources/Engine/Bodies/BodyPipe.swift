internal import DequeModule
public import Loop
public import Semantics

/// Why a streamed body is not wanted any further.
public enum BodyRefusal: Error, Equatable, Sendable {
    /// The origin has answered before the body was over.
    case answered(status: Int)
    /// The attempt ended; where the task goes on, it asks for another body.
    case attemptEnded
    /// The task has ended; nil where it succeeded without the rest of the body.
    case taskEnded(TransferError?)
    /// The gateway is about to stop.
    case gatewayStops
}

/// A body on its way from the client to the origin (S-39): written as the client sends it, read as
/// the origin takes it. At most 512 KiB wait in between.
///
/// The writer calls `write` for each piece and then `finish`, or `abandon`.
@LoopActor
public final class BodyPipe {
    private static let limit = 512 << 10
    /// Pieces are put together up to this many bytes.
    private static let chunkSize = 4 << 10

    /// Called once when the body is not wanted any further, also while nobody writes.
    public var onRefusal: (@LoopActor (BodyRefusal) -> Void)?
    /// Called when there is more to read, or nothing more will come.
    var onReady: (@LoopActor () -> Void)?
    /// Bytes that were written and not read; they can be read unless `isRefused`.
    private(set) var available = 0
    /// Whether `available` is all that is left.
    private(set) var isFinished = false
    /// Whether the client left before the end.
    private(set) var isAbandoned = false
    /// Whether an attempt has begun to read it: it cannot be read again.
    private(set) var isUsed = false

    /// Bytes that will be written, or `unknownSize`.
    let length: Int64
    private var chunks = Deque<ArraySlice<UInt8>>()
    private var refusal: BodyRefusal?
    private var writer: CheckedContinuation<Void, Never>?

    init(length: Int64 = unknownSize) { self.length = length }

    /// Whether the rest of the body is not wanted any more: what waited is gone.
    var isRefused: Bool { refusal != nil }

    /// In how many pieces of memory `available` lies.
    var chunkCount: Int { chunks.count }

    // MARK: The client's end

    /// Takes bytes; returns when there is room for more.
    /// - Throws: `BodyRefusal`.
    public func write(_ bytes: [UInt8]) async throws(BodyRefusal) {
        if let refusal { throw refusal }
        guard !bytes.isEmpty else { return }
        // Many that are small would take far more memory than they have bytes.
        if var last = chunks.last, last.count + bytes.count <= BodyPipe.chunkSize {
            // Taken out first, so that it is the only reference, and grows where it is.
            chunks.removeLast()
            last += bytes
            chunks.append(last)
        } else {
            chunks.append(bytes[...])
        }
        available += bytes.count
        onReady?()
        try await untilAtMost(BodyPipe.limit)
    }

    /// All bytes have been written; returns when the last one is on its way to the origin.
    /// - Throws: `BodyRefusal`.
    public func finish() async throws(BodyRefusal) {
        if let refusal { throw refusal }
        isFinished = true
        onReady?()
        try await untilAtMost(0)
    }

    /// The client has left, or sends what makes no sense: the body will never be whole.
    public func abandon() {
        guard !isFinished, refusal == nil else { return }
        isAbandoned = true
        onReady?()
    }

    private func untilAtMost(_ count: Int) async throws(BodyRefusal) {
        while available > count, refusal == nil {
            await withCheckedContinuation { writer = $0 }
        }
        if available > count, let refusal { throw refusal }
    }

    // MARK: The origin's end

    func begin() { isUsed = true }

    /// Moves bytes into the buffer.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        while filled < buffer.count, var chunk = chunks.popFirst() {
            let count = min(chunk.count, buffer.count - filled)
            chunk.prefix(count).withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: $0)
            }
            filled += count
            chunk = chunk.dropFirst(count)
            if !chunk.isEmpty { chunks.prepend(chunk) }
        }
        available -= filled
        if available <= (isFinished ? 0 : BodyPipe.limit / 2) { wakeWriter() }
        return filled
    }

    /// Nothing more is taken. A body that was taken whole is not refused any more.
    func end(_ refusal: BodyRefusal) {
        guard self.refusal == nil, !(isFinished && available == 0) else { return }
        self.refusal = refusal
        chunks.removeAll()
        wakeWriter()
        onRefusal?(refusal)
    }

    private func wakeWriter() {
        writer?.resume()
        writer = nil
    }
}
