internal import Loop

/// Finds the bytes of a request's body, and its end, in what arrives (RFC 9112 §6).
@LoopActor
struct BodyDecoder {
    private enum Coding {
        case length(remaining: Int64)
        case chunked(ChunkedReader)
        case malformed
    }

    private var coding: Coding
    private(set) var isFinished: Bool
    private let limits: ServerLimits

    /// - Parameters:
    ///   - length: The announced one; nil for the chunked coding.
    ///   - limits: For the trailer.
    init(length: Int64?, limits: ServerLimits) {
        coding = length.map { .length(remaining: $0) } ?? .chunked(ChunkedReader())
        isFinished = length == 0
        self.limits = limits
    }

    /// Decodes what has arrived, at most `limit` bytes.
    mutating func take(_ limit: Int, from wire: Wire) throws(BodyError) -> BodyPiece {
        var piece: [UInt8] = []
        switch coding {
        case .length(let remaining):
            piece = wire.take(Int(min(remaining, Int64(limit))))
            coding = .length(remaining: remaining - Int64(piece.count))
            isFinished = remaining == Int64(piece.count)
        case .chunked(var reader) where reader.dataLeft > 0:
            piece = wire.take(Int(min(reader.dataLeft, Int64(limit))))
            reader.skipData(piece.count)
            coding = .chunked(reader)
        case .chunked(var reader):
            let consumed = wire.withInput { input in
                guard !input.isEmpty else { return 0 }
                let (count, outcome) = reader.decode(
                    input, onto: &piece, limit: limit, limits: limits)
                coding = outcome == .malformed ? .malformed : .chunked(reader)
                isFinished = outcome == .finished
                return count
            }
            wire.consume(consumed)
            // What was decoded in front of the fault stays.
            if case .malformed = coding, piece.isEmpty { throw .malformed }
        case .malformed: throw .malformed
        }
        return BodyPiece(bytes: piece, isLast: isFinished)
    }

    /// Whether everything that has not been taken has arrived.
    func hasArrivedWhole(on wire: Wire) -> Bool {
        if isFinished { return true }
        return wire.withInput { input in
            switch coding {
            case .length(let remaining): return remaining <= Int64(input.count)
            case .chunked(var reader):
                var rest: [UInt8] = []
                return reader.decode(input, onto: &rest, limit: .max, limits: limits).1 == .finished
            case .malformed: return false
            }
        }
    }

    /// Throws away what has arrived; whether that was all.
    mutating func discardArrived(on wire: Wire) -> Bool {
        while !isFinished, wire.hasInput {
            guard let piece = try? take(RequestBody.pieceSize, from: wire),
                !piece.bytes.isEmpty || piece.isLast
            else { break }
        }
        return isFinished
    }
}
