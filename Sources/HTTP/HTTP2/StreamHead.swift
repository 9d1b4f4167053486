internal import Syntax

/// Makes a request's header of the fields of a HEADERS frame (RFC 9113 §8.3).
///
/// That pseudo-header fields are complete, come once and first, and that no field belongs to the
/// connection, nghttp2 has checked.
struct StreamHead {
    let head = RequestHead(room: 512)
    private var framing = FramingFields()
    private var problem: Problem?
    /// Bytes of names and values, each field with 32 more (RFC 9113 §6.5.2).
    private var size = 0
    private var hasAuthority = false
    /// Whether it is larger than a client's may be: only who is trusted may send it.
    private(set) var needsTrust = false
    /// What the header may have beyond the limits of a client's, where it is a node's.
    private var slack = (bytes: 0, fields: 0)
    /// For another node of this gateway, which says so first and has to prove it: of its fields
    /// some are not the client's, and HTTP/1.1 counts those without 32 bytes each, and the target
    /// by itself.
    private static let nodeSlack = (bytes: 14 << 10, fields: 8)

    /// Adds a field.
    mutating func add(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, limits: ServerLimits
    ) {
        guard problem == nil else { return }
        size += name.count + value.count + 32
        if name.first == Octets.colon {
            addPseudo(name, value, limits: limits)
        } else if head.fields.isEmpty, Octets.equal(name, "ferry-node") {
            slack = StreamHead.nodeSlack
            addRegular(name, value)
        } else if size > limits.header + slack.bytes
            || head.fields.count >= limits.headerFields + slack.fields
        {
            problem = .headerTooLarge
        } else {
            if size > limits.header || head.fields.count >= limits.headerFields {
                needsTrust = true
            }
            addRegular(name, value)
        }
    }

    private mutating func addPseudo(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, limits: ServerLimits
    ) {
        if value.count > limits.requestLine {
            problem = .uriTooLong
        } else if Octets.equal(name, ":method") {
            head.method = head.append(value)
        } else if Octets.equal(name, ":path") {
            let isOfForm =
                value.first == Octets.slash
                || value.elementsEqual(CollectionOfOne(UInt8(ascii: "*")))
            guard isOfForm, value.allSatisfy(Octets.isTarget) else {
                problem = .malformedRequest("The path is in no form that HTTP/2 has.")
                return
            }
            head.path = head.append(value)
        } else if Octets.equal(name, ":authority") {
            hasAuthority = true
            framing.takeAuthority(head.append(value), head)
        }
    }

    private mutating func addRegular(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) {
        let field = RequestHead.Field(
            name: head.append(name),
            value: head.append(UnsafeRawBufferPointer(rebasing: Octets.trimmed(value))))
        head.fields.append(field)
        // RFC 9113 §8.3.1: no two readers may differ about whom the request is for.
        if hasAuthority, Octets.equal(name, "host") {
            let isSame = Octets.equalIgnoringCase(
                head.bytes[field.value.range], head.bytes[head.host.range])
            if !isSame { problem = .malformedRequest("The authority is not the one of Host.") }
        } else {
            problem = head.bytes.withUnsafeBytes { framing.take(field, in: $0, head) }
        }
    }

    /// Settles the header.
    ///
    /// - Parameter hasBody: Whether something follows it.
    /// - Returns: why it is refused; nil where it is not.
    mutating func finish(hasBody: Bool) -> Problem? {
        if let problem { return problem }
        // CONNECT has none (RFC 9113 §8.5).
        guard !head.path.isEmpty else { return .notImplemented }
        return framing.apply(toStream: head, hasBody: hasBody) ?? RequestTarget.check(head)
    }
}
