internal import Engine
internal import Semantics
internal import Syntax

/// Makes heads of the lines that libcurl's header callback gets, within X-9's limits.
///
/// libcurl has checked the status lines; here every head is counted, its framing fields are
/// compared, and the lines behind the final head (trailers, RFC 9110 §6.5) are counted and dropped.
/// <https://curl.se/libcurl/c/CURLOPT_HEADERFUNCTION.html>
struct ResponseHeadReader {
    /// What a line has led to.
    enum Step {
        /// The head goes on, or it is a trailer.
        case more
        /// A 1xx head is complete.
        case informational(ResponseHead)
        /// The final head is complete. The same line may be given again: it gives the same head.
        case final(ResponseHead)
        /// The attempt cannot go on.
        case malformed(String)
    }

    private enum Place { case beforeHead, inHead, afterFinalHead }

    /// X-9 limits the fields of one head; this limits how many heads of 1xx may come before the
    /// final one.
    private static let informationalLimit = 256

    /// The final head, once it is complete.
    private(set) var head: ResponseHead?
    /// The value of the final head's Content-Length, if it has one.
    private(set) var contentLength: Int64?
    /// Whether the final head says that the body is in chunks.
    private(set) var isChunked = false
    private var place = Place.beforeHead
    private var status = 0
    private var version = ""
    private var fields: [HeaderField] = []
    private var budget = ResponseHeaderBudget()
    private var informationalCount = 0

    /// Takes one line with its line end.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Step {
        let text = line.trimmingLineEnd
        switch place {
        case .beforeHead:
            return text.isEmpty ? .more : begin(text)
        case .inHead where text.isEmpty:
            return end()
        case .inHead:
            guard budget.take(lineByteCount: line.count) else { return Self.tooLarge }
            return takeField(text)
        case .afterFinalHead:
            guard !text.isEmpty else { return head.map(Step.final) ?? .more }
            return dropTrailers(line)
        }
    }

    /// RFC 9112 §7.1.2: who knows nothing of trailers drops them. libcurl hands them out line by
    /// line, but joined where they came while the attempt was paused.
    private mutating func dropTrailers(_ lines: UnsafeRawBufferPointer) -> Step {
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            guard budget.take(lineByteCount: line.count + 1) else { return Self.tooLarge }
            let isFolded = line.first.map(Octets.isWhitespace) ?? false
            guard isFolded || line.contains(UInt8(ascii: ":")) else { return Self.noField }
        }
        return .more
    }

    private static let tooLarge = Step.malformed(
        "The response's header has more than \(ResponseHeaderBudget.fieldLimit) fields"
            + " or \(ResponseHeaderBudget.byteLimit) bytes.")

    private static let noField = Step.malformed(
        "The response's header has a line that is no field.")

    /// As libcurl writes those of HTTP/2 and 3.
    private static let versions: Set = ["1.0", "1.1", "2", "3"]

    /// `HTTP/1.1 200 OK`, `HTTP/2 200 `.
    private mutating func begin(_ line: UnsafeRawBufferPointer) -> Step {
        var rest = line[...]
        let (name, code) = (Self.word(from: &rest), Self.word(from: &rest))
        guard name.starts(with: "HTTP/".utf8), code.count == 3, code.allSatisfy(Octets.isDigit)
        else { return .malformed("The response has no HTTP status line.") }
        status = code.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard status >= 100 else { return .malformed("The response has no HTTP status line.") }
        version = Self.text(name.dropFirst(5))
        guard Self.versions.contains(version) else {
            return .malformed("The response is of no known version of HTTP.")
        }
        guard status != 101 else {
            return .malformed("The server switched protocols (101) without being asked to.")
        }
        fields = []
        fields.reserveCapacity(16)
        budget = ResponseHeaderBudget()
        place = .inHead
        return .more
    }

    /// Takes what stands before the next blank, and the blanks before it.
    private static func word(
        from line: inout Slice<UnsafeRawBufferPointer>
    ) -> Slice<UnsafeRawBufferPointer> {
        let blank = UInt8(ascii: " ")
        let start = line.drop { $0 == blank }
        let word = start.prefix { $0 != blank }
        line = start[word.endIndex...]
        return word
    }

    private mutating func takeField(_ line: UnsafeRawBufferPointer) -> Step {
        // RFC 9112 §5.2: a line that begins with white space goes on with the value before it.
        if Octets.isWhitespace(line[0]) {
            guard !fields.isEmpty else { return Self.noField }
            fields[fields.count - 1].value += " " + Self.text(Octets.trimmed(line[...]))
            return .more
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else {
            return Self.noField
        }
        let name = Self.text(Octets.trimmed(line[..<colon]))
        let bytes = Octets.trimmed(line[(colon + 1)...])
        // What is not text has to go back as it came.
        let isCookie = name.utf8.count == 10 && name.lowercased() == "set-cookie"
        let value = isCookie ? OpaqueBytes.text(bytes) : Self.text(bytes)
        fields.append(HeaderField(name, value))
        return .more
    }

    private mutating func end() -> Step {
        let complete = ResponseHead(
            status: status, httpVersion: version, headers: HeaderList(fields))
        guard status >= 200 else {
            place = .beforeHead
            informationalCount += 1
            return informationalCount <= Self.informationalLimit
                ? .informational(complete)
                : .malformed("The server sent more than \(Self.informationalLimit) 1xx responses.")
        }
        // RFC 9112 §6.3: lengths that differ, or are none, make the end of the body anybody's
        // guess.
        do throws(ContentLength.Violation) {
            contentLength = try ContentLength.parse(complete.headers.values(of: "Content-Length"))
        } catch {
            return .malformed(error.sentence)
        }
        let codings = complete.headers.values(of: "Transfer-Encoding")
            .flatMap { $0.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" } }
            .filter { $0 != "identity" }
        // RFC 9112 §7.4: no other one was asked for. libcurl would take it off, and one that breaks
        // off for a whole one (measured, 7.88.1).
        guard codings.isEmpty || codings == ["chunked"] else {
            return .malformed("The response has a transfer coding that was not asked for.")
        }
        isChunked = !codings.isEmpty
        place = .afterFinalHead
        head = complete
        return .final(complete)
    }

    /// UTF-8 where the bytes are that, else ISO 8859-1 (RFC 9110 §5.5 leaves it open).
    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        // A rebased buffer is looked at and copied at once, a slice byte by byte.
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        var bits: UInt8 = 0
        for byte in bytes { bits |= byte }
        if bits < 0x80 { return String(decoding: bytes, as: UTF8.self) }
        return String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension UnsafeRawBufferPointer {
    /// The line without CR LF or LF.
    fileprivate var trimmingLineEnd: UnsafeRawBufferPointer {
        var end = count
        if end > 0, self[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        if end > 0, self[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[..<end])
    }
}
