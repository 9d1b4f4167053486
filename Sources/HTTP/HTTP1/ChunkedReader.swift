internal import Syntax

/// Takes the chunked transfer coding off a request body (RFC 9112 §7.1), strictly.
struct ChunkedReader {
    enum Outcome: Equatable {
        /// Takes more when there is more.
        case more
        case finished
        case malformed
    }

    private enum Place {
        case size(digits: Int)
        /// Behind a size, up to the CR.
        case sizeExtension(ChunkExtensionReader)
        case sizeLineFeed
        case data
        case dataCarriageReturn
        case dataLineFeed
        case trailers(taken: Int, fields: Int)
        case end
    }

    private var place = Place.size(digits: 0)
    private var remaining: Int64 = 0
    /// Extensions are ignored; together they may not be longer than this.
    private var extensionAllowance = 4096

    /// How much data comes next, as it is: it need not go through `decode`, if `skipData` says so.
    var dataLeft: Int64 {
        if case .data = place { remaining } else { 0 }
    }

    /// So many bytes of data were taken elsewhere: at most `dataLeft`.
    mutating func skipData(_ count: Int) {
        remaining -= Int64(count)
        if remaining == 0, case .data = place { place = .dataCarriageReturn }
    }

    /// Decodes `input` onto `output` until either is used up.
    ///
    /// - Parameters:
    ///   - input: What has arrived and was not consumed before.
    ///   - output: Where data goes.
    ///   - limit: The most bytes that `output` may hold.
    ///   - limits: How large a trailer section may be.
    /// - Returns: The bytes of `input` that are done with, and how things stand.
    mutating func decode(
        _ input: UnsafeRawBufferPointer, onto output: inout [UInt8], limit: Int,
        limits: borrowing ServerLimits
    ) -> (consumed: Int, Outcome) {
        var index = 0
        while index < input.count {
            let byte = input[index]
            switch place {
            case .size(let digits):
                if let digit = Hex.value(of: byte), digits < 15 {
                    remaining = remaining << 4 | Int64(digit)
                    place = .size(digits: digits + 1)
                } else if digits == 0 {
                    return (index, .malformed)
                } else if byte == Octets.carriageReturn {
                    place = .sizeLineFeed
                } else {
                    var reader = ChunkExtensionReader()
                    guard reader.take(byte) else { return (index, .malformed) }
                    place = .sizeExtension(reader)
                }
            case .sizeExtension(var reader):
                extensionAllowance -= 1
                if byte == Octets.carriageReturn, reader.mayEnd {
                    place = .sizeLineFeed
                } else if reader.take(byte), extensionAllowance >= 0 {
                    place = .sizeExtension(reader)
                } else {
                    return (index, .malformed)
                }
            case .sizeLineFeed:
                guard byte == Octets.lineFeed else { return (index, .malformed) }
                place = remaining == 0 ? .trailers(taken: 0, fields: 0) : .data
            case .data:
                let room = limit - output.count
                guard room > 0 else { return (index, .more) }
                let count = Int(min(remaining, Int64(min(room, input.count - index))))
                output.append(
                    contentsOf: UnsafeRawBufferPointer(rebasing: input[index..<(index + count)]))
                remaining -= Int64(count)
                if remaining == 0 { place = .dataCarriageReturn }
                index += count
                continue
            case .dataCarriageReturn:
                guard byte == Octets.carriageReturn else { return (index, .malformed) }
                place = .dataLineFeed
            case .dataLineFeed:
                guard byte == Octets.lineFeed else { return (index, .malformed) }
                place = .size(digits: 0)
            case .trailers(let taken, let fields):
                switch FieldLine.read(input, at: index) {
                case .incomplete:
                    let isTooLong = input.count - index + taken > limits.header + 1
                    return (index, isTooLong ? .malformed : .more)
                case .malformed: return (index, .malformed)
                case .end(let next):
                    place = .end
                    return (next, .finished)
                case .field(_, let next):
                    place = .trailers(taken: taken + next - index, fields: fields + 1)
                    guard taken + next - index <= limits.header, fields < limits.headerFields
                    else { return (index, .malformed) }
                    index = next
                    continue
                }
            case .end: return (index, .finished)
            }
            index += 1
        }
        return (index, .more)
    }
}
