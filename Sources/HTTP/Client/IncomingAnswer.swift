internal import Syntax

/// The header of another server's answer.
public struct IncomingHead: Sendable {
    /// The status, 200…599.
    public fileprivate(set) var status = 0
    /// Its fields, but those of the connection (RFC 9110 §7.6.1); names are in lower case.
    public fileprivate(set) var fields = HeaderFields()
    /// The length that the body is told to have.
    public fileprivate(set) var length: Int64?
}

/// Makes an answer's header of the fields of HEADERS frames.
///
/// That pseudo-header fields are complete, come once and first, nghttp2 has checked, and that the
/// body is as long as `content-length` says.
struct IncomingHeadReader {
    private var head = IncomingHead()
    private var size = 0
    private var count = 0
    /// Whether it is larger than it may be.
    private(set) var isTooLarge = false

    mutating func add(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, limits: ClientLimits
    ) {
        size += name.count + value.count + 32
        count += 1
        guard size <= limits.header, count <= limits.headerFields else {
            isTooLarge = true
            return
        }
        let text = String(decoding: value, as: UTF8.self)
        if Octets.equal(name, ":status") {
            head.status = Int(text) ?? 0
        } else if Octets.equal(name, "content-length") {
            head.length = Int64(text)
        } else if !HopFields.contains(name) {
            head.fields.add(String(decoding: name, as: UTF8.self), text)
        }
    }

    /// The header; nil for an interim one (RFC 9110 §15.2).
    var finished: IncomingHead? { head.status < 200 ? nil : head }
}
