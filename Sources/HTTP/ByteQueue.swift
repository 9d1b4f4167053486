/// Bytes that come at one end and go at the other.
struct ByteQueue {
    private var bytes: [UInt8]
    /// Where the first one is that has not gone.
    private var start = 0

    /// Has these, which are not copied while nothing is added to them.
    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var count: Int { bytes.count - start }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ more: UnsafeRawBufferPointer) {
        // Moved when what has gone is as much as what is left: so each byte is moved once.
        if start > 0, start >= bytes.count - start {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Lets the first bytes go; an empty queue keeps no room.
    mutating func drop(_ count: Int) {
        start += count
        if start == bytes.count { self = ByteQueue() }
    }

    /// Forgets all but the first bytes.
    mutating func truncate(to count: Int) {
        var first = ByteQueue()
        withBytes { first.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        self = first
    }

    /// Lends all of them.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }
}
