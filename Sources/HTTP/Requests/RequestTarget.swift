internal import Syntax

/// The request target (RFC 9112 §3.2): origin-form, absolute-form, and `*` for OPTIONS.
enum RequestTarget {
    /// Splits the target, which the head still holds as its path, and checks what it is made of.
    static func check(_ head: RequestHead) -> Problem? {
        if head.withBytes(of: head.method, { Octets.equal($0, "connect") }) {
            return .notImplemented
        }
        let target = head.path
        switch head.bytes[Int(target.start)] {
        case Octets.slash:
            return split(target, of: head)
        case UInt8(ascii: "*") where target.range.count == 1:
            guard head.withBytes(of: head.method, { Octets.equal($0, "options") }) else {
                return .malformedRequest("The target * is for OPTIONS.")
            }
            head.isAsterisk = true
            return nil
        default:
            return checkAbsolute(target, of: head)
        }
    }

    /// `http://authority/path`: the authority has to be the one of Host, so that no two readers of
    /// this request can differ about whom it is for.
    private static func checkAbsolute(_ target: ByteSpan, of head: RequestHead) -> Problem? {
        let malformed = Problem.malformedRequest("The target is in no form that this method takes.")
        let end = Int(target.end)
        guard
            let start = ["http://", "https://"].lazy.compactMap({ scheme -> Int? in
                let start = Int(target.start) + scheme.utf8.count
                guard start < end else { return nil }
                let bytes = head.bytes[Int(target.start)..<start]
                return Octets.equalIgnoringCase(bytes, scheme.utf8) ? start : nil
            }).first
        else { return malformed }
        let pathStart =
            head.bytes[start..<end].firstIndex { $0 == Octets.slash || $0 == UInt8(ascii: "?") }
            ?? end
        let authority = ByteSpan(start, pathStart)
        guard head.withBytes(of: authority, HostField.isValid) else { return malformed }
        if head.host.isEmpty {
            head.host = authority
        } else if !Octets.equalIgnoringCase(
            head.bytes[authority.range], head.bytes[head.host.range])
        {
            return .malformedRequest("The target's authority is not the one of Host.")
        }
        return split(ByteSpan(pathStart, end), of: head)
    }

    /// Splits `path ? query`. The path is empty, or begins with a slash.
    private static func split(_ target: ByteSpan, of head: RequestHead) -> Problem? {
        head.bytes.withUnsafeBytes { bytes in
            var index = Int(target.start)
            let end = Int(target.end)
            var segmentStart = index + 1
            scan: while index < end {
                switch bytes[index] {
                case UInt8(ascii: "?"):
                    head.query = ByteSpan(index + 1, end)
                    break scan
                case Octets.slash:
                    if index > Int(target.start) {
                        head.segments.append(ByteSpan(segmentStart, index))
                    }
                    segmentStart = index + 1
                case Octets.percent: head.isEncoded = true
                default: break
                }
                index += 1
            }
            head.path = ByteSpan(Int(target.start), index)
            if index > segmentStart || !head.segments.isEmpty {
                head.segments.append(ByteSpan(segmentStart, index))
            }
            return head.isEncoded || head.query != nil ? checkEscapes(of: head, bytes) : nil
        }
    }

    private static func checkEscapes(
        of head: RequestHead, _ bytes: UnsafeRawBufferPointer
    ) -> Problem? {
        let parts = head.segments + (head.query.map { [$0] } ?? [])
        let areValid = parts.allSatisfy {
            PercentCoding.isValid(UnsafeRawBufferPointer(rebasing: bytes[$0.range]))
        }
        return areValid ? nil : .malformedRequest("The target has a bad percent escape.")
    }
}
