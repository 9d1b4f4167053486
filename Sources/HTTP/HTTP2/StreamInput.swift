/// What a client sends of a request's body on a stream of HTTP/2, as far as nobody has taken it.
struct StreamInput {
    private var bytes = ByteQueue()
    /// Whether nothing more comes.
    private(set) var hasEnded = false
    /// Whether nobody will ask for more.
    private(set) var isUnwanted = false
    /// Until when the client may still say something of a request whose answer is out.
    private(set) var lingerEnd: Uptime?
    /// How much the client may send ahead.
    var window = BodyWindow()

    /// How much waits to be taken.
    var count: Int { bytes.count }

    /// Keeps what has come.
    /// - Returns: whether somebody will ask for it.
    mutating func append(_ new: UnsafeRawBufferPointer) -> Bool {
        if !isUnwanted { bytes.append(new) }
        return !isUnwanted
    }

    mutating func end() { hasEnded = true }

    /// Takes the first bytes, at most so many.
    mutating func take(_ limit: Int) -> [UInt8] {
        let taken = bytes.withBytes { Array($0.prefix(limit)) }
        bytes.drop(taken.count)
        window.note(taken.count)
        return taken
    }

    /// Keeps nothing from now on.
    /// - Returns: how much had waited.
    mutating func discard() -> Int {
        defer { bytes = ByteQueue() }
        isUnwanted = true
        return bytes.count
    }

    mutating func linger(until end: Uptime) { lingerEnd = end }

    /// - Returns: false where it does not linger.
    mutating func endLingering() -> Bool { lingerEnd.take() != nil }
}

/// How many bytes of a body a client may send ahead: more where it is taken as fast as it comes.
struct BodyWindow {
    private static let largest = 1 << 20

    private(set) var size = HTTP2Session.initialWindow
    /// Bytes that were taken since it has grown.
    private var taken = 0

    mutating func note(_ count: Int) { taken += count }

    /// How much it should grow by: whoever takes the body waits for whoever sends it, whom the
    /// window may keep. Nil where it should not.
    var growth: Int? { taken >= size && size < BodyWindow.largest ? size : nil }

    /// How much it has grown by.
    var grown: Int { size - HTTP2Session.initialWindow }

    mutating func grow(by count: Int) {
        size += count
        taken = 0
    }
}
