import Glibc
import Synchronization

/// An answer to uploads of `Pattern`, of whatever length: the body is compared as it comes, and not
/// kept.
public final class UploadRecorder: Sendable {
    /// What has become known of a body.
    public struct Upload: Sendable {
        /// How much of it has arrived.
        public internal(set) var byteCount = 0
        /// The place of the first byte that is not the pattern's, or nil.
        public internal(set) var firstDifference: Int?
        /// How many pieces it came in: for a chunked body at least its chunks.
        public internal(set) var pieceCount = 0
        /// Whether it came to its end as its framing has it.
        public internal(set) var isComplete = false

        /// Quick where there is no difference: without optimization, byte by byte takes seconds.
        fileprivate mutating func compare(_ piece: [UInt8]) {
            guard firstDifference == nil else { return }
            let expected = Pattern.bytes(from: byteCount, count: piece.count)
            guard memcmp(piece, expected, piece.count) != 0 else { return }
            firstDifference = Pattern.firstDifference(in: piece, at: byteCount)
        }

        /// Whether it is the pattern, whole, and `byteCount` long.
        public func isPattern(_ byteCount: Int) -> Bool {
            isComplete && firstDifference == nil && self.byteCount == byteCount
        }
    }

    private let records = Mutex<[Upload]>([])
    private let limit: Int
    private let gate: Gate?

    /// Reads each body to its end; or stops reading when `limit` bytes have come, until `gate`
    /// opens.
    public init(stoppingAfter limit: Int = .max, until gate: Gate? = nil) {
        self.limit = limit
        self.gate = gate
    }

    /// Every upload so far, oldest first.
    public var uploads: [Upload] { records.withLock(\.self) }

    /// How much of the last upload has arrived.
    public var byteCount: Int { uploads.last?.byteCount ?? 0 }

    /// Reads the body and answers 201.
    public var behaviour: Behaviour {
        Behaviour { [self] in try store($0) }
    }

    /// Reads the body of an exchange and answers 201.
    public func store(_ exchange: Exchange) throws {
        try read(exchange)
        try exchange.answer(201, [:], "stored")
    }

    /// Reads the body of an exchange, up to `count` bytes of it: what comes next is the caller's.
    public func read(_ exchange: Exchange, upTo count: Int = .max) throws {
        let index = records.withLock { records in
            records.append(Upload())
            return records.count - 1
        }
        var upload = Upload()
        while upload.byteCount < count {
            if upload.byteCount >= limit { try exchange.stall(until: gate) }
            let piece = try exchange.readBody(upTo: min(65_536, count - upload.byteCount))
            upload.isComplete = exchange.request.bodyIsComplete
            if !piece.isEmpty {
                upload.pieceCount += 1
                upload.compare(piece)
                upload.byteCount += piece.count
            }
            records.withLock { $0[index] = upload }
            if piece.isEmpty { return }
        }
    }
}
