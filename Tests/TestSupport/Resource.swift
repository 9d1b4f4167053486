/// A thing at an origin with validators and byte ranges (RFC 9110 §8.8, §13, §14), that may be
/// told to get them wrong.
public struct Resource: Sendable {
    /// How a range request is treated.
    public enum RangeManner: Sendable {
        /// As RFC 9110 asks.
        case honoured
        /// Answered with 200 and the whole.
        case ignored
        /// A 206 whose Content-Range and bytes begin this many bytes off the asked offset.
        case shifted(Int)
        /// A 206 whose Content-Range names another total than the real one.
        case wrongTotal(Int)
        /// A 206 that carries another entity tag than If-Range asked for.
        case wrongValidator(String)
    }

    /// Its length in bytes; the bytes are those of `Pattern`.
    public var byteCount: Int
    /// The entity tag with its quotes, or nil.
    public var etag: String?
    /// The Last-Modified date, or nil.
    public var lastModified: String?
    /// How it treats ranges.
    public var ranges = RangeManner.honoured
    /// Further header lines of 200 and 206.
    public var headers: HeaderLines = [:]
    /// Resets the connection after this many body bytes of an answer, counted per answer.
    public var resetsAfter: Int?
    /// From this byte on a resource is not sent before the gate is opened.
    public var gate: (offset: Int, gate: Gate)?
    /// The pause after each 64 KiB of an answer; nil to send as fast as can be.
    public var pause: Duration?

    /// A well-behaved resource of `byteCount` bytes of `Pattern`.
    public init(_ byteCount: Int, etag: String? = "\"v1\"", lastModified: String? = nil) {
        self.byteCount = byteCount
        self.etag = etag
        self.lastModified = lastModified
    }

    /// The behaviour that serves it.
    public var behaviour: Behaviour {
        Behaviour { try answer($0) }
    }

    private func answer(_ exchange: Exchange) throws {
        var common = headers
        if let etag { common.append("ETag", etag) }
        if let lastModified { common.append("Last-Modified", lastModified) }
        if case .ignored = ranges {} else { common.append("Accept-Ranges", "bytes") }

        guard let range = requestedRange(exchange.request) else {
            try exchange.head(200, common.appending(["Content-Length": "\(byteCount)"]))
            return try send(0..<byteCount, on: exchange)
        }
        guard !range.isEmpty else {
            return try exchange.answer(416, ["Content-Range": "bytes */\(byteCount)"])
        }
        try partial(range, common, on: exchange)
    }

    private func partial(
        _ range: Range<Int>, _ common: HeaderLines, on exchange: Exchange
    ) throws {
        var range = range
        var total = byteCount
        var common = common
        switch ranges {
        case .honoured, .ignored: break
        case .shifted(let distance):
            let start = min(max(0, range.lowerBound + distance), byteCount - 1)
            range = start..<max(range.upperBound, start + 1)
        case .wrongTotal(let wrong): total = wrong
        case .wrongValidator(let other): common = headers.appending(["ETag": other])
        }
        let place = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
        let framing: HeaderLines = ["Content-Range": place, "Content-Length": "\(range.count)"]
        try exchange.head(206, common.appending(framing))
        try send(range, on: exchange)
    }

    private func send(_ range: Range<Int>, on exchange: Exchange) throws {
        let count = min(range.count, resetsAfter ?? .max)
        let end = range.lowerBound + count
        let held = min(end, max(range.lowerBound, gate?.offset ?? end))
        try sendPieces(range.lowerBound..<held, on: exchange)
        if let gate, held < end {
            try exchange.stall(until: gate.gate)
            try sendPieces(held..<end, on: exchange)
        }
        if count < range.count { exchange.reset() }
    }

    private func sendPieces(_ range: Range<Int>, on exchange: Exchange) throws {
        guard let pause else {
            return try exchange.patternBody(from: range.lowerBound, count: range.count)
        }
        let bytes = Pattern.bytes(from: range.lowerBound, count: range.count)
        try exchange.drip(bytes, by: 64 << 10, every: pause)
    }

    /// The one range that applies: nil for none, empty where it cannot be satisfied.
    private func requestedRange(_ request: RecordedRequest) -> Range<Int>? {
        if case .ignored = ranges { return nil }
        guard request.method == "GET", let text = request.headers["Range"],
            text.hasPrefix("bytes="), !text.contains(",")
        else { return nil }
        if let condition = request.headers["If-Range"], condition != etag, condition != lastModified
        {
            return nil
        }
        let ends = text.dropFirst("bytes=".count)
            .split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        guard let first = Int(ends[0]) else {
            guard let suffix = Int(ends[1]) else { return nil }
            return max(0, byteCount - suffix)..<byteCount
        }
        let end = Int(ends[1]).map { min($0 + 1, byteCount) } ?? byteCount
        return first < end ? first..<end : 0..<0
    }
}

extension Behaviour {
    /// Serves a resource, with ranges and validators as it says.
    public static func resource(_ resource: Resource) -> Behaviour {
        resource.behaviour
    }

    /// A body in a content coding, whatever the request accepts.
    public static func coded(
        _ coding: UncompressedCoding, _ bytes: [UInt8], _ headers: HeaderLines = [:]
    ) -> Behaviour {
        let body = coding.encode(bytes)
        return Behaviour { exchange in
            let coding: HeaderLines = ["Content-Encoding": coding.rawValue]
            try exchange.answer(200, headers.appending(coding), body)
        }
    }

    /// A gzip body of `byteCount` zeros, made while it is sent: 1 GiB is 6.8 MB on the wire.
    public static func gzipBomb(_ byteCount: Int = 1 << 30) -> Behaviour {
        Behaviour { exchange in
            try exchange.head(
                200, ["Content-Encoding": "gzip", "Transfer-Encoding": "chunked"])
            try GzipBomb(byteCount: byteCount).forEachPiece {
                if !$0.isEmpty { try exchange.chunk($0) }
            }
            try exchange.endChunks()
        }
    }
}
