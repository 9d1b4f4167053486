/// Takes a body of the type `multipart/x-mixed-replace` apart into the responses that replace each
/// other (S-46).
///
/// The format is that of RFC 2046 §5.1, read as servers write it: line breaks may be bare LFs, the
/// boundary parameter may have the two hyphens already that belong before it, and a part's
/// Content-Length, where there is one, tells its end. What stands before the first part, up to 1
/// MiB, and behind the last one is passed over: some cameras send their first picture there,
/// without a head.
///
/// Bytes that may belong to a delimiter are held back until that is clear: at most some 140.
public struct MixedReplaceReader: Sendable {
    /// What comes next in the body.
    public enum Piece: Equatable, Sendable {
        /// A part begins; the one before has ended.
        case head(HeaderList)
        /// Content of the part: the bytes of the call's buffer at these offsets.
        case body(Range<Int>)
        /// Content of the part that had been held back, perhaps since earlier calls.
        case heldBody([UInt8])
        /// The last part has ended, and nothing more will come.
        case end
        /// This is no such body, and nothing more will come; one sentence for the error.
        case malformed(String)
    }

    private enum State {
        case preamble
        case head
        /// Content up to a delimiter.
        case open
        /// Content of this many more bytes, at least 1.
        case measured(Int64)
        /// A delimiter must follow.
        case delimiter
        case over
    }

    private var state = State.preamble
    private var preamble: MultipartPreamble
    private var dashBoundary: [UInt8] = []
    private var head = PartHead()
    /// The delimiter that the last bytes may be; nil where they are content.
    private var match: DelimiterMatch?
    private var held: [UInt8] = []

    /// A reader for a body with this `Content-Type`; nil for another type, and without a boundary.
    public init?(contentType: String) {
        guard Self.reads(contentType),
            let boundary = FieldParameters(parsing: contentType)["boundary"],
            let preamble = MultipartPreamble(boundary: boundary)
        else { return nil }
        self.preamble = preamble
    }

    /// Whether a `Content-Type` is of the type that is read here, with a boundary or without.
    static func reads(_ contentType: String) -> Bool {
        let bytes = contentType.utf8
        guard bytes.count >= Self.type.utf8.count else { return false }
        let end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.endIndex
        return contentType[..<end].trimmingFieldSpace.equalsIgnoringCase(Self.type)
    }

    private static let type = "multipart/x-mixed-replace"

    /// Reads on until there is a piece, or all bytes are used up.
    ///
    /// To be called again with the bytes behind `consumed`, until all are consumed and there is no
    /// piece.
    ///
    /// - Parameter bytes: what follows in the body.
    /// - Returns: the next piece, if there is one, and how many bytes need not be given again.
    public mutating func next(_ bytes: UnsafeRawBufferPointer) -> (piece: Piece?, consumed: Int) {
        var used = 0
        while used < bytes.count {
            let (piece, consumed) = step(UnsafeRawBufferPointer(rebasing: bytes[used...]))
            let start = used
            used += consumed
            switch piece {
            case nil: continue
            case .body(let range):
                return (.body(start + range.lowerBound..<start + range.upperBound), used)
            default: return (piece, used)
            }
        }
        return (nil, used)
    }

    /// Says that the body has ended, as its connection did; nothing more may be given.
    ///
    /// - Returns: content that was held back, or what is missing; nil where a part may end
    ///   so.
    public mutating func finish() -> Piece? {
        defer { state = .over }
        switch state {
        case .preamble: return .malformed("The content ends before its first part.")
        case .head where !head.isEmpty:
            return .malformed("The content ends within the head of a part.")
        case .measured(let missing):
            return .malformed("The content ends \(missing) bytes before the end of a part.")
        case .open where !held.isEmpty && match?.hasBoundary == false: return .heldBody(held)
        case .head, .open, .delimiter, .over: return nil
        }
    }
}

extension MixedReplaceReader {
    private mutating func step(_ bytes: UnsafeRawBufferPointer) -> (piece: Piece?, consumed: Int) {
        switch state {
        case .preamble: readPreamble(bytes)
        case .head: readHead(bytes)
        case .open: match == nil ? search(bytes) : goOn(bytes)
        case .measured(let count): readMeasured(bytes, count)
        case .delimiter: goOn(bytes)
        case .over: (nil, bytes.count)
        }
    }

    private mutating func readPreamble(_ bytes: UnsafeRawBufferPointer) -> (Piece?, Int) {
        for (index, byte) in bytes.enumerated() {
            switch preamble.take(byte) {
            case .more: continue
            case .begins(let dashBoundary):
                self.dashBoundary = dashBoundary
                state = .head
                return (nil, index + 1)
            case .closes: return (end(), index + 1)
            case .tooLong: return (malformed("The content has no part."), index + 1)
            }
        }
        return (nil, bytes.count)
    }

    private mutating func readHead(_ bytes: UnsafeRawBufferPointer) -> (Piece?, Int) {
        for (index, byte) in bytes.enumerated() {
            switch head.take(byte) {
            case .more: continue
            case .whole(let headers): return (begin(headers), index + 1)
            case .malformed(let sentence): return (malformed(sentence), index + 1)
            }
        }
        return (nil, bytes.count)
    }

    /// An empty part may have no line break of its own before the next delimiter: the one of its
    /// head counts.
    private mutating func begin(_ headers: HeaderList) -> Piece {
        head = PartHead()
        match = DelimiterMatch(isLineStart: true)
        do throws(ContentLength.Violation) {
            switch try ContentLength.parse(headers.values(of: "Content-Length")) {
            case nil: state = .open
            case 0: state = .delimiter
            case let length?: state = .measured(length)
            }
            return .head(headers)
        } catch {
            return malformed("In a part: \(error.sentence)")
        }
    }

    private mutating func readMeasured(
        _ bytes: UnsafeRawBufferPointer, _ missing: Int64
    ) -> (Piece?, Int) {
        let count = Int(min(missing, Int64(bytes.count)))
        state = .measured(missing - Int64(count))
        if count == missing {
            state = .delimiter
            match = DelimiterMatch()
        }
        return (.body(0..<count), count)
    }

    /// Content with no possible delimiter before it.
    private mutating func search(_ bytes: UnsafeRawBufferPointer) -> (Piece?, Int) {
        var start = 0
        while let index = bytes[start...].firstIndex(where: Self.isLineBreak) {
            var match = DelimiterMatch()
            var next = index
            var verdict = DelimiterMatch.Verdict.more
            while verdict == .more, next < bytes.count {
                verdict = match.take(bytes[next], of: dashBoundary)
                next += verdict == .fails ? 0 : 1
            }
            if verdict != .fails {
                guard index == 0 else { return (.body(0..<index), index) }
                self.match = DelimiterMatch()
                return (nil, 0)
            }
            start = next
        }
        return (.body(0..<bytes.count), bytes.count)
    }

    /// What may be a delimiter, and must be one behind a part of known length.
    private mutating func goOn(_ bytes: UnsafeRawBufferPointer) -> (Piece?, Int) {
        for (index, byte) in bytes.enumerated() {
            switch match?.take(byte, of: dashBoundary) ?? .fails {
            case .more: continue
            case .begins:
                leaveContent(for: .head)
                return (nil, index + 1)
            case .closes: return (end(), index + 1)
            case .fails:
                guard case .open = state else {
                    return (malformed("A part is longer than its Content-Length."), index)
                }
                return (giveBack(bytes[..<index]), index)
            }
        }
        held += bytes
        return (nil, bytes.count)
    }

    /// They were no delimiter. Those of this call are given with the earlier ones: they are few.
    private mutating func giveBack(_ bytes: Slice<UnsafeRawBufferPointer>) -> Piece? {
        let content = held + bytes
        held = []
        match = nil
        return content.isEmpty ? nil : .heldBody(content)
    }

    private mutating func leaveContent(for state: State) {
        self.state = state
        held = []
        match = nil
    }

    private mutating func end() -> Piece {
        leaveContent(for: .over)
        return .end
    }

    private mutating func malformed(_ sentence: String) -> Piece {
        leaveContent(for: .over)
        return .malformed(sentence)
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }
}
