/// The body of one message, taken piece by piece as its framing says (RFC 9112 §6).
struct BodyReader {
    enum Framing: Equatable {
        case none
        case length(Int)
        case chunked
        case untilClose
    }

    let framing: Framing
    private var left = 0
    private(set) var isComplete = false
    private(set) var trailers: HeaderLines = [:]

    init(_ framing: Framing) {
        self.framing = framing
        if case .length(let length) = framing { left = length }
        isComplete = framing == .none || framing == .length(0)
    }

    /// The next piece, at most `limit` bytes; empty once the body is complete.
    ///
    /// - Throws: `MalformedMessage` when the stream ends inside the body.
    mutating func next(upTo limit: Int = 65536, from reader: WireReader) throws -> [UInt8] {
        guard !isComplete else { return [] }
        switch framing {
        case .none:
            return []
        case .untilClose:
            let piece = try reader.some(upTo: limit)
            isComplete = piece.isEmpty
            return piece
        case .length:
            return try take(limit, from: reader)
        case .chunked:
            if left == 0, try !openChunk(from: reader) { return [] }
            let piece = try take(limit, from: reader)
            if left == 0 {
                isComplete = false
                guard try reader.line() == "" else { throw MalformedMessage("chunk end") }
            }
            return piece
        }
    }

    /// The rest of the body.
    mutating func rest(from reader: WireReader) throws -> [UInt8] {
        var all: [UInt8] = []
        while !isComplete { all += try next(from: reader) }
        return all
    }

    private mutating func take(_ limit: Int, from reader: WireReader) throws -> [UInt8] {
        let piece = try reader.some(upTo: min(limit, left))
        guard !piece.isEmpty else { throw MalformedMessage("\(left) bytes of the body missing") }
        left -= piece.count
        isComplete = left == 0
        return piece
    }

    private mutating func openChunk(from reader: WireReader) throws -> Bool {
        guard let line = try reader.line() else { throw MalformedMessage("last chunk missing") }
        let size = line.split(separator: ";", omittingEmptySubsequences: false)[0]
        guard let count = Int(size, radix: 16), count >= 0 else {
            throw MalformedMessage("chunk size \(line)")
        }
        left = count
        guard count == 0 else { return true }
        trailers = try reader.headerLines()
        isComplete = true
        return false
    }
}
