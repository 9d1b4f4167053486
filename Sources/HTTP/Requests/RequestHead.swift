internal import Glibc
internal import Syntax

/// A run of bytes within a request's header.
struct ByteSpan {
    var start: Int32
    var end: Int32

    static let empty = ByteSpan(0, 0)

    @inline(__always)
    init(_ start: Int, _ end: Int) {
        self.start = Int32(truncatingIfNeeded: start)
        self.end = Int32(truncatingIfNeeded: end)
    }

    @inline(__always)
    var range: Range<Int> { Int(start)..<Int(end) }
    var isEmpty: Bool { start == end }
}

/// The header of one request: its bytes, and where in them everything is.
///
/// Text is made of it only when somebody asks. Filled by `HeadReader`; what it says does not change
/// afterwards, until the connection fills it anew for its next request when nobody else holds it.
final class RequestHead {
    struct Field {
        var name: ByteSpan
        var value: ByteSpan
    }

    /// The request line and all field lines, as received.
    private(set) var bytes: [UInt8] = []
    var fields: [Field] = []
    var method = ByteSpan.empty
    /// The path as it was sent; `/` for the other forms of target.
    var path = ByteSpan.empty
    /// What follows the path's `?`.
    var query: ByteSpan?
    /// The path's parts between slashes, still encoded.
    var segments: [ByteSpan] = []
    /// Whether a part of the path has a percent escape.
    var isEncoded = false
    var isAsterisk = false
    /// The host field, empty when there is none.
    var host = ByteSpan.empty
    /// The client's name for the request, empty where there is none that is kept.
    var requestID = ByteSpan.empty
    var isVersion10 = false
    /// The bytes that follow the header; nil where the client has not said how many.
    var bodyLength: Int64? = 0
    /// The client will send nothing after this request.
    var wantsClose = false
    var expectsContinue = false
    /// Where the router leads it, once that was asked.
    var resolution: Router.Resolution?

    /// A header for a request of about so many bytes: the allocator keeps what has up to 1032 at
    /// hand for the next one.
    init(room: Int = 960) {
        bytes.reserveCapacity(room)
        fields.reserveCapacity(room / 64)
        segments.reserveCapacity(8)
    }

    /// Forgets the request before.
    func reset() {
        fields.removeAll(keepingCapacity: true)
        segments.removeAll(keepingCapacity: true)
        query = nil
        host = .empty
        requestID = .empty
        isEncoded = false
        isAsterisk = false
        bodyLength = 0
        wantsClose = false
        expectsContinue = false
        resolution = nil
    }

    /// Whether what has arrived begins with the very bytes of this header: whoever polls sends the
    /// same one again and again, and there is nothing new to be read in it.
    ///
    /// - Parameter received: begins with the first byte of a request.
    /// - Returns: false also where no header was read into this yet.
    func isRepeated(in received: UnsafeRawBufferPointer) -> Bool {
        bytes.withUnsafeBytes { own in
            guard !own.isEmpty, own.count <= received.count, let first = own.baseAddress,
                let second = received.baseAddress
            else { return false }
            return memcmp(first, second, own.count) == 0
        }
    }

    /// Adds bytes for a slice to point at.
    func append(_ received: UnsafeRawBufferPointer) -> ByteSpan {
        let start = bytes.count
        bytes.append(contentsOf: received)
        return ByteSpan(start, bytes.count)
    }

    /// Keeps the bytes that the slices point into.
    func keep(_ received: UnsafeRawBufferPointer) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: received)
    }

    @inline(__always)
    func withBytes<Result>(
        of slice: ByteSpan, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[slice.range])) }
    }

    /// What the answer and the log call the request: the client's name for it, or the server's.
    func name(else id: RequestID) -> String {
        requestID.isEmpty ? id.text : text(requestID)
    }

    /// Whether the answer has no body, whatever it says of it.
    var isHEAD: Bool { withBytes(of: method) { $0.elementsEqual("HEAD".utf8) } }

    /// The text of a slice; bytes that are not UTF-8 become U+FFFD.
    func text(_ slice: ByteSpan) -> String {
        String(decoding: bytes[slice.range], as: UTF8.self)
    }

    /// The first field of a lower-case name.
    func field(_ name: StaticString) -> ByteSpan? {
        bytes.withUnsafeBytes { bytes in
            for field in fields
            where Octets.equal(UnsafeRawBufferPointer(rebasing: bytes[field.name.range]), name) {
                return field.value
            }
            return nil
        }
    }

    /// The first field of a name in any case.
    func field(named name: String) -> ByteSpan? {
        fields.first { Octets.equalIgnoringCase(bytes[$0.name.range], name.utf8) }?.value
    }
}
