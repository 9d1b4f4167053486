/// A whole answer to a test's request.
public struct TestResponse: Sendable {
    /// The status code.
    public let status: Int
    /// The header lines.
    public let headers: HeaderLines
    /// The decoded body (chunks joined).
    public let body: [UInt8]
    /// The trailer of a chunked body.
    public let trailers: HeaderLines
    /// The 1xx answers that came before.
    public let informational: [Int]

    /// The body as UTF-8 text.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON; `.null` where it is none.
    public var json: TestJSON { (try? TestJSON(parsing: body)) ?? .null }

    /// The `code` of a problem+json answer, or nil.
    public var problem: String? {
        guard headers["Content-Type"] == "application/problem+json" else { return nil }
        return json["code"].string
    }
}

/// The head of an answer whose body is still to be read.
public struct ResponseHead: Sendable {
    /// The status code.
    public let status: Int
    /// The header lines.
    public let headers: HeaderLines
    /// The 1xx answers that came before.
    public let informational: [Int]

    /// Reads heads until a final one.
    init(from reader: WireReader) throws {
        var informational: [Int] = []
        while true {
            guard let line = try reader.line() else { throw ConnectionEnded() }
            let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
                throw MalformedMessage("status line \(line)")
            }
            let headers = try reader.headerLines()
            if (100..<200).contains(status), status != 101 {
                informational.append(status)
                continue
            }
            self.status = status
            self.headers = headers
            self.informational = informational
            return
        }
    }

    /// How the body of the answer to a request with `method` is framed (RFC 9112 §6.3).
    func framing(for method: String) throws -> BodyReader.Framing {
        if method == "HEAD" || status == 204 || status == 304 { return .none }
        if headers["Transfer-Encoding"]?.lowercased() == "chunked" { return .chunked }
        guard let text = headers["Content-Length"] else { return .untilClose }
        guard let length = Int(text), length >= 0 else {
            throw MalformedMessage("Content-Length \(text)")
        }
        return .length(length)
    }
}

/// The peer closed where an answer should have begun.
public struct ConnectionEnded: Error {}
