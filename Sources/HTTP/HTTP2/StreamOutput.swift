/// What a stream of HTTP/2 has to send of a body, as nghttp2 takes it.
struct StreamOutput {
    private var bytes = ByteQueue()
    /// Whether nothing is added any more.
    private(set) var hasEnded = false
    /// What nghttp2 was told last: how many bytes its next DATA frame takes, which it may still do
    /// once the stream is cut; 0 where it waits to hear of more; nil where it has what it was told.
    private var offered: Int?
    /// Bytes that were added since the beginning, and of the header.
    private(set) var handed: Int64 = 0

    /// How much waits to be sent.
    var count: Int { bytes.count }

    /// Begins behind a header.
    ///
    /// - Parameters:
    ///   - body: the first bytes, which are not copied while nothing is added to them.
    ///   - isWhole: whether nothing follows.
    ///   - headerSize: bytes of the header.
    mutating func begin(with body: [UInt8], isWhole: Bool, headerSize: Int = 0) {
        bytes = ByteQueue(body)
        handed += Int64(headerSize + body.count)
        hasEnded = isWhole
    }

    mutating func append(_ more: UnsafeRawBufferPointer) {
        bytes.append(more)
        handed += Int64(more.count)
    }

    mutating func end() { hasEnded = true }

    /// Forgets everything but what nghttp2 may still take.
    mutating func cut() {
        bytes.truncate(to: offered ?? 0)
        hasEnded = false
    }

    /// Whether nghttp2 waits to hear of more, which it is told then.
    mutating func takeDemand() -> Bool {
        guard offered == 0 else { return false }
        offered = nil
        return true
    }

    /// How much there is to send, at most `limit`, and whether that is the last of it.
    mutating func offer(_ limit: Int) -> (count: Int, isLast: Bool) {
        let count = min(limit, bytes.count)
        let isLast = hasEnded && count == bytes.count
        offered = count == 0 && isLast ? nil : count
        return (count, isLast)
    }

    /// Takes bytes to send them.
    mutating func take(_ count: Int, _ send: (UnsafeRawBufferPointer) -> Void) {
        bytes.withBytes { send(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        bytes.drop(count)
        offered = nil
    }
}
