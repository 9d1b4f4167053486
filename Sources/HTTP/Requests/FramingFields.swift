internal import Syntax

/// The fields that decide where a request ends and what its connection does then (RFC 9112 §6, §7,
/// RFC 9110 §7.2, §10.1.1), and the one that names it. Gathered line by line, judged at the end of
/// the header.
struct FramingFields {
    private var length: Int64?
    private var isChunked = false
    private var hasHost = false

    /// Looks at one field; a problem when it leaves doubt.
    @inline(__always)
    mutating func take(
        _ field: RequestHead.Field, in received: UnsafeRawBufferPointer, _ head: RequestHead
    ) -> Problem? {
        let name = UnsafeRawBufferPointer(rebasing: received[field.name.range])
        switch name.count {
        case 4 where Octets.equal(name, "host"):
            guard !hasHost else { return .malformedRequest("Host is given twice.") }
            hasHost = true
            head.host = field.value
        case 6 where Octets.equal(name, "expect"):
            return takeExpectation(value(of: field, in: received), head)
        case 10 where Octets.equal(name, "connection"):
            let options = value(of: field, in: received).split(separator: UInt8(ascii: ","))
            for option in options.lazy.map(Octets.trimmed)
            where Octets.equal(UnsafeRawBufferPointer(rebasing: option), "close") {
                head.wantsClose = true
            }
        case 12 where Octets.equal(name, "x-request-id"):
            if RequestID.isKept(value(of: field, in: received)) { head.requestID = field.value }
        case 14 where Octets.equal(name, "content-length"):
            return takeLength(value(of: field, in: received))
        case 17 where Octets.equal(name, "transfer-encoding"):
            guard !isChunked, Octets.equal(value(of: field, in: received), "chunked") else {
                return .malformedRequest("Transfer-Encoding is not exactly chunked.")
            }
            isChunked = true
        default: break
        }
        return nil
    }

    /// Settles the framing of a whole header.
    func apply(to head: RequestHead) -> Problem? {
        guard hasHost || head.isVersion10 else { return .malformedRequest("Host is missing.") }
        if head.isVersion10 { head.wantsClose = true }
        if isChunked {
            guard length == nil, !head.isVersion10 else {
                return .malformedRequest(
                    "Transfer-Encoding with Content-Length, or in an HTTP/1.0 request.")
            }
            head.bodyLength = nil
        } else {
            head.bodyLength = length ?? 0
        }
        return hasHost ? checkHost(of: head) : nil
    }

    /// Settles what a stream of HTTP/2 leaves open: it has its own end.
    func apply(toStream head: RequestHead, hasBody: Bool) -> Problem? {
        guard hasHost else { return .malformedRequest("The authority is missing.") }
        head.bodyLength = hasBody ? length : 0
        return checkHost(of: head)
    }

    /// The authority of a stream stands for the Host of HTTP/1 (RFC 9113 §8.3.1).
    mutating func takeAuthority(_ authority: ByteSpan, _ head: RequestHead) {
        hasHost = true
        head.host = authority
    }

    private func checkHost(of head: RequestHead) -> Problem? {
        head.withBytes(of: head.host, HostField.isValid)
            ? nil : .malformedRequest("Host is not a host and an optional port.")
    }

    private func value(
        of field: RequestHead.Field, in received: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: received[field.value.range])
    }

    private func takeExpectation(_ value: UnsafeRawBufferPointer, _ head: RequestHead) -> Problem? {
        guard Octets.equal(value, "100-continue") else { return .expectationFailed }
        // RFC 9110 §10.1.1: an expectation in an HTTP/1.0 request is ignored.
        head.expectsContinue = !head.isVersion10
        return nil
    }

    private mutating func takeLength(_ value: UnsafeRawBufferPointer) -> Problem? {
        let problem = Problem.malformedRequest("Content-Length is not one decimal number.")
        guard length == nil, (1...18).contains(value.count) else { return problem }
        var sum: Int64 = 0
        for byte in value {
            guard Octets.isDigit(byte) else { return problem }
            sum = sum * 10 + Int64(byte &- 0x30)
        }
        length = sum
        return nil
    }
}

/// The value of the Host field: `uri-host [ ":" port ]`.
enum HostField {
    /// Whether `value` is a name, an IPv4 address or a bracketed IPv6 address, and a port up to
    /// 65535.
    static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
        guard let first = value.first else { return false }
        let hostEnd: Int
        if first == UInt8(ascii: "[") {
            guard let bracket = value.firstIndex(of: UInt8(ascii: "]")), bracket > 1,
                value[1..<bracket].allSatisfy(isAddressCharacter)
            else { return false }
            hostEnd = bracket + 1
        } else {
            hostEnd = value.firstIndex(of: Octets.colon) ?? value.count
            guard hostEnd > 0, value[..<hostEnd].allSatisfy(Octets.isUnreserved) else {
                return false
            }
        }
        guard hostEnd < value.count else { return true }
        guard value[hostEnd] == Octets.colon else { return false }
        return isPort(UnsafeRawBufferPointer(rebasing: value[(hostEnd + 1)...]))
    }

    private static func isAddressCharacter(_ byte: UInt8) -> Bool {
        Hex.value(of: byte) != nil || byte == Octets.colon || byte == UInt8(ascii: ".")
    }

    private static func isPort(_ digits: UnsafeRawBufferPointer) -> Bool {
        guard digits.count <= 5, digits.allSatisfy(Octets.isDigit) else { return false }
        return digits.reduce(0) { $0 * 10 + Int($1 &- 0x30) } <= 65_535
    }
}
