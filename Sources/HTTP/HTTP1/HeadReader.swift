internal import Syntax

/// The strict reader of request headers (RFC 9112, X-10 and X-11).
///
/// Works on the bytes received so far and remembers where it stopped, line by line, so that a
/// header that trickles in is not read over and over. On any doubt it refuses.
struct HeadReader {
    enum Outcome {
        /// More bytes are needed.
        case incomplete
        /// The header ends after so many bytes.
        case complete(Int)
        case refused(Problem)
    }

    /// The bytes of whole lines that are read.
    private var position = 0
    /// Where the field lines begin; 0 before the request line is read.
    private var fieldsStart = 0
    private var framing = FramingFields()

    /// Whether a request has begun to arrive.
    var hasBegun: Bool { position > 0 }

    /// Reads on in `received`, which begins with the first byte of the request and has grown.
    mutating func read(
        _ received: UnsafeRawBufferPointer, into head: RequestHead, limits: borrowing ServerLimits
    ) -> Outcome {
        if fieldsStart == 0 {
            let stop = readRequestLine(received, into: head, limit: limits.requestLine)
            if let stop { return stop }
        }
        while true {
            switch FieldLine.read(received, at: position) {
            case .incomplete:
                let isTooLong = received.count - fieldsStart > limits.header + 1
                return isTooLong ? .refused(.headerTooLarge) : .incomplete
            case .malformed(let detail):
                return .refused(.malformedRequest(detail))
            case .end(let next):
                head.keep(UnsafeRawBufferPointer(rebasing: received[..<next]))
                let problem = framing.apply(to: head) ?? RequestTarget.check(head)
                self = HeadReader()
                return problem.map(Outcome.refused) ?? .complete(next)
            case .field(let field, let next):
                guard next - fieldsStart <= limits.header, head.fields.count < limits.headerFields
                else { return .refused(.headerTooLarge) }
                if let problem = framing.take(field, in: received, head) {
                    return .refused(problem)
                }
                head.fields.append(field)
                position = next
            }
        }
    }

    /// Reads `method SP target SP version CRLF`; nil when done.
    private mutating func readRequestLine(
        _ received: UnsafeRawBufferPointer, into head: RequestHead, limit: Int
    ) -> Outcome? {
        let end = received.count
        var start = 0
        // RFC 9112 §2.2: one empty line before the request line is let pass.
        if end > 0, received[0] == Octets.carriageReturn {
            guard end > 1 else { return .incomplete }
            if received[1] == Octets.lineFeed { start = 2 }
        }
        let isTooLong = end - start > limit + 1
        let unfinished = isTooLong ? Outcome.refused(.uriTooLong) : .incomplete

        var index = start
        while index < end, Octets.isToken(received[index]) { index += 1 }
        let method = ByteSpan(start, index)
        guard index < end else { return unfinished }
        guard received[index] == Octets.space, !method.isEmpty else {
            return .refused(.malformedRequest("The method is not a token and a space."))
        }
        index += 1
        let target = index
        while index < end, Octets.isTarget(received[index]) { index += 1 }
        guard index < end else { return unfinished }
        guard received[index] == Octets.space, index > target else {
            return .refused(.malformedRequest("The target is not visible ASCII and a space."))
        }
        guard end - index > 10 else {
            return HeadReader.mayBeVersion(received[(index + 1)...])
                ? unfinished : .refused(.malformedRequest("The version is malformed."))
        }
        let version = received[(index + 1)..<(index + 11)]
        guard HeadReader.mayBeVersion(version) else {
            return .refused(.malformedRequest("The version is malformed."))
        }
        guard index + 9 - start <= limit else { return .refused(.uriTooLong) }
        guard received[index + 6] == UInt8(ascii: "1") else {
            return .refused(.versionNotSupported)
        }
        head.reset()
        head.method = method
        head.path = ByteSpan(target, index)
        head.isVersion10 = received[index + 8] == UInt8(ascii: "0")
        position = index + 11
        fieldsStart = position
        return nil
    }

    /// Whether `bytes` is the beginning, or all, of `HTTP/d.d CR LF`.
    private static func mayBeVersion(_ bytes: Bytes) -> Bool {
        let pattern: StaticString = "HTTP/0.0\r\n"
        return zip(bytes, 0..<pattern.utf8CodeUnitCount).allSatisfy { byte, index in
            let wanted = pattern.utf8Start[index]
            return wanted == UInt8(ascii: "0") ? byte &- 0x30 < 10 : byte == wanted
        }
    }

    private typealias Bytes = Slice<UnsafeRawBufferPointer>
}
