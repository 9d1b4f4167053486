import Glibc

/// One request at a scripted origin and the verbs to answer it, well or badly.
///
/// Used on the connection's thread only. When the behaviour returns, the connection is kept if the
/// answer had clear and kept framing, else it is closed: a body shorter than its Content-Length is
/// thereby truncated.
public final class Exchange {
    /// The request; its body is empty until it is read.
    public private(set) var request: RecordedRequest
    /// The connection, for bytes that are not HTTP.
    public let wire: Wire
    /// Goes along with every head.
    public var commonHeaders = HeaderLines()
    private let note: (RecordedRequest) -> Void
    private var bodyReader: BodyReader
    private var owesContinue: Bool
    private var framing: BodyReader.Framing?
    private var bodyBytesSent = 0
    private var chunksEnded = false
    private var saysClose = false

    init(
        _ request: RecordedRequest, wire: Wire, note: @escaping (RecordedRequest) -> Void
    ) throws {
        self.request = request
        self.wire = wire
        self.note = note
        let isChunked = request.headers["Transfer-Encoding"]?.lowercased() == "chunked"
        let length = request.headers["Content-Length"].map { Int($0) ?? -1 } ?? 0
        guard length >= 0 else { throw MalformedMessage("Content-Length") }
        bodyReader = BodyReader(isChunked ? .chunked : .length(length))
        owesContinue = request.headers["Expect"]?.lowercased() == "100-continue"
    }

    // MARK: The request's body

    /// The next piece of the request's body, empty at its end; sends an expected 100 first.
    public func readBody(upTo limit: Int = 65536) throws -> [UInt8] {
        if owesContinue {
            owesContinue = false
            try informational(100)
        }
        let piece = try bodyReader.next(upTo: limit, from: wire.reader)
        let room = RecordedRequest.recordedBodyLimit - request.body.count
        request.body += piece.prefix(room)
        request.bodyLength += piece.count
        request.bodyIsComplete = bodyReader.isComplete
        if bodyReader.isComplete { note(request) }
        return piece
    }

    /// The whole rest of the request's body; its first MiB is recorded.
    @discardableResult
    public func readWholeBody() throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let piece = try readBody()
            if piece.isEmpty { return all }
            all += piece
        }
    }

    // MARK: The answer, byte by byte

    /// Sends bytes as they are, outside of any framing that the origin keeps count of.
    public func send(_ bytes: some Collection<UInt8>) throws {
        saysClose = true
        try wire.send(bytes)
    }

    /// Sends text as it is; after it the connection is closed.
    public func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends a 1xx answer; any number may come before the head.
    public func informational(_ status: Int, _ headers: HeaderLines = [:]) throws {
        try wire.send("HTTP/1.1 \(status) Informational\r\n\(headers.wire)\r\n")
    }

    /// Sends the status line and exactly these header lines.
    ///
    /// Without Content-Length and Transfer-Encoding the end of the connection ends the body.
    public func head(_ status: Int, _ headers: HeaderLines = [:], reason: String = "Scripted")
        throws
    {
        let headers = headers.appending(commonHeaders)
        try wire.send("HTTP/1.1 \(status) \(reason)\r\n\(headers.wire)\r\n")
        noteHead(status, headers)
    }

    /// Sends the head one header line at a time with a pause between two lines.
    public func slowHead(_ status: Int, _ headers: HeaderLines = [:], every pause: Duration) throws
    {
        try wire.send("HTTP/1.1 \(status) Scripted\r\n")
        for line in headers.lines {
            try wire.idle(for: pause)
            try wire.send("\(line.name): \(line.value)\r\n")
        }
        try wire.idle(for: pause)
        try wire.send("\r\n")
        noteHead(status, headers)
    }

    /// Sends bytes of the body; nothing of it for a HEAD request.
    public func body(_ bytes: some Collection<UInt8>) throws {
        bodyBytesSent += bytes.count
        if request.method != "HEAD" { try wire.send(bytes) }
    }

    /// Sends text of the body.
    public func body(_ text: String) throws {
        try body(Array(text.utf8))
    }

    /// Sends a slice of `Pattern` as body, generated 64 KiB at a time.
    public func patternBody(from offset: Int = 0, count: Int) throws {
        var sent = 0
        while sent < count {
            let size = min(65536, count - sent)
            try body(Pattern.bytes(from: offset + sent, count: size))
            sent += size
        }
    }

    /// Sends the bytes of a body some at a time, `Wire.drip`'s way.
    public func drip(_ bytes: some Collection<UInt8>, by step: Int = 1, every pause: Duration)
        throws
    {
        bodyBytesSent += bytes.count
        try wire.drip(bytes, by: step, every: pause)
    }

    /// Sends one chunk of a chunked body.
    public func chunk(_ bytes: some Collection<UInt8>) throws {
        try wire.send("\(String(bytes.count, radix: 16))\r\n")
        try wire.send(bytes)
        try wire.send("\r\n")
    }

    /// Sends one chunk of text.
    public func chunk(_ text: String) throws {
        try chunk(Array(text.utf8))
    }

    /// Ends a chunked body.
    public func endChunks(_ trailers: HeaderLines = [:]) throws {
        chunksEnded = true
        try wire.send("0\r\n\(trailers.wire)\r\n")
    }

    /// Sends a whole answer with its right Content-Length.
    public func answer(
        _ status: Int = 200, _ headers: HeaderLines = [:], _ bytes: some Collection<UInt8>
    ) throws {
        try head(status, headers.appending(["Content-Length": "\(bytes.count)"]))
        try body(bytes)
    }

    /// Sends a whole answer of text with its right Content-Length.
    public func answer(_ status: Int = 200, _ headers: HeaderLines = [:], _ text: String = "")
        throws
    {
        try answer(status, headers, Array(text.utf8))
    }

    // MARK: Misbehaviour

    /// Sends nothing until `gate` opens; without a gate, until the peer or the origin goes.
    public func stall(until gate: Gate? = nil) throws {
        try wire.stall(until: gate)
    }

    /// Closes with RST.
    public func reset() {
        wire.reset()
    }

    /// Closes in order, whatever the framing promised.
    public func close() {
        wire.close()
    }

    // MARK: The end

    /// Takes what is left of the request and tells whether the connection can carry another one.
    func finish() -> Bool {
        guard !wire.isClosed, isAnswerComplete else { return false }
        guard !owesContinue else { return false }
        while !bodyReader.isComplete {
            guard (try? readBody()) != nil else { return false }
        }
        request.bodyIsComplete = true
        return request.headers["Connection"]?.lowercased() != "close"
    }

    private func noteHead(_ status: Int, _ headers: HeaderLines) {
        if headers["Connection"]?.lowercased() == "close" { saysClose = true }
        if headers["Transfer-Encoding"]?.lowercased() == "chunked" {
            framing = .chunked
        } else if let length = headers["Content-Length"].flatMap({ Int($0) }) {
            framing = .length(length)
        } else {
            framing = status == 204 || status == 304 ? BodyReader.Framing.none : .untilClose
        }
        if status == 304 || request.method == "HEAD" { framing = BodyReader.Framing.none }
    }

    private var isAnswerComplete: Bool {
        guard !saysClose, let framing else { return false }
        return switch framing {
        case .none: true
        case .length(let length): length == bodyBytesSent
        case .chunked: chunksEnded
        case .untilClose: false
        }
    }
}
