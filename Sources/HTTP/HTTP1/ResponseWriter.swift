internal import Syntax

/// Formats answers into one buffer that is used again and again.
struct ResponseWriter {
    /// How the client will know where the body ends.
    enum Framing: Equatable {
        /// The status has no body, and no length either.
        case none
        case length(Int64)
        case chunked
        case untilClose
    }

    private(set) var bytes: [UInt8] = []
    /// The status line and the date of the answer before: they are nearly always those of the next.
    private var opening: (bytes: [UInt8], status: Int, date: [UInt8]) = ([], 0, [])
    /// The lines of the fields of the answer before: answers of one kind share them.
    private var lines: (bytes: [UInt8], fields: HeaderFields) = ([], HeaderFields())

    init() {
        bytes.reserveCapacity(16 << 10)
    }

    /// Puts a status line and a header in place of what the buffer held.
    ///
    /// - Parameters:
    ///   - head: what they say.
    ///   - framing: how the end of the body is told.
    ///   - staysOpen: whether another request may follow.
    ///   - date: the line of the `Date` field.
    mutating func begin(_ head: AnswerHead, framing: Framing, staysOpen: Bool, date: [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        if opening.status == head.status, opening.date == date {
            bytes.append(contentsOf: opening.bytes)
        } else {
            append("HTTP/1.1 ")
            append(decimal: Int64(head.status))
            append(StatusText.reason(head.status))
            bytes.append(contentsOf: date)
            append("Ferry-Request-Id: ")
            opening = (bytes, head.status, date)
        }
        head.writeID { bytes.append(contentsOf: $0) }
        append("\r\n")
        append(head.fields)
        switch framing {
        case .none, .untilClose: break
        case .length(let length):
            append("Content-Length: ")
            append(decimal: length)
            append("\r\n")
        case .chunked: append("Transfer-Encoding: chunked\r\n")
        }
        append(staysOpen ? "\r\n" : "Connection: close\r\n\r\n")
    }

    private mutating func append(_ fields: HeaderFields) {
        if fields.isIdentical(to: lines.fields) { return bytes.append(contentsOf: lines.bytes) }
        let start = bytes.count
        for field in fields {
            append(text: field.name)
            append(": ")
            append(text: field.value)
            append("\r\n")
        }
        lines.fields = fields
        lines.bytes.removeAll(keepingCapacity: true)
        lines.bytes.append(contentsOf: bytes[start...])
    }

    /// Puts body bytes behind the header.
    mutating func append(_ body: [UInt8]) {
        bytes.append(contentsOf: body)
    }

    /// Puts text behind the header.
    mutating func append(_ text: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// A name or value; what could end its line becomes a space.
    private mutating func append(text: String) {
        var text = text
        text.withUTF8 { utf8 in
            if utf8.allSatisfy(Octets.isFieldValue) {
                bytes.append(contentsOf: utf8)
            } else {
                bytes += utf8.lazy.map { Octets.isFieldValue($0) ? $0 : Octets.space }
            }
        }
    }

    private mutating func append(decimal number: Int64) {
        var divisor: Int64 = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }
}

/// Reason phrases (RFC 9110 §15), with the space before and the line end behind them.
enum StatusText {
    static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: " OK\r\n"
        case 201: " Created\r\n"
        case 202: " Accepted\r\n"
        case 204: " No Content\r\n"
        case 206: " Partial Content\r\n"
        case 301: " Moved Permanently\r\n"
        case 302: " Found\r\n"
        case 303: " See Other\r\n"
        case 304: " Not Modified\r\n"
        case 307: " Temporary Redirect\r\n"
        case 308: " Permanent Redirect\r\n"
        case 400: " Bad Request\r\n"
        case 401: " Unauthorized\r\n"
        case 403: " Forbidden\r\n"
        case 404: " Not Found\r\n"
        case 405: " Method Not Allowed\r\n"
        case 406: " Not Acceptable\r\n"
        case 408: " Request Timeout\r\n"
        case 409: " Conflict\r\n"
        case 410: " Gone\r\n"
        case 411: " Length Required\r\n"
        case 412: " Precondition Failed\r\n"
        case 413: " Content Too Large\r\n"
        case 414: " URI Too Long\r\n"
        case 415: " Unsupported Media Type\r\n"
        case 416: " Range Not Satisfiable\r\n"
        case 417: " Expectation Failed\r\n"
        case 421: " Misdirected Request\r\n"
        case 422: " Unprocessable Content\r\n"
        case 428: " Precondition Required\r\n"
        case 429: " Too Many Requests\r\n"
        case 431: " Request Header Fields Too Large\r\n"
        case 500: " Internal Server Error\r\n"
        case 501: " Not Implemented\r\n"
        case 502: " Bad Gateway\r\n"
        case 503: " Service Unavailable\r\n"
        case 504: " Gateway Timeout\r\n"
        case 505: " HTTP Version Not Supported\r\n"
        case 507: " Insufficient Storage\r\n"
        // RFC 9112 §4: the phrase may be empty, the space before it may not.
        default: " \r\n"
        }
    }
}
