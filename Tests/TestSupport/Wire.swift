import Glibc
import Synchronization

/// One connection of a scripted origin, for a behaviour that speaks bytes.
///
/// Used on the connection's thread only. Every verb throws once the peer or the origin is gone;
/// let the error pass, the origin expects it.
public final class Wire {
    /// The number of the connection, from 1.
    public let connection: Int
    /// Whether the origin has closed or reset this connection.
    public private(set) var isClosed = false
    let socket: Socket
    let reader: WireReader
    private let ledger: Ledger

    init(_ socket: Socket, connection: Int, ledger: Ledger) {
        self.socket = socket
        self.connection = connection
        self.ledger = ledger
        reader = WireReader(socket)
    }

    /// Sends bytes as they are; returns once the kernel has taken all of them.
    public func send(_ bytes: some Collection<UInt8>) throws {
        guard !isClosed else { throw SocketError("send", EPIPE) }
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let piece = rest.prefix(16384)
            try socket.send(piece)
            ledger.bytesSent.add(UInt64(piece.count), ordering: .relaxed)
            rest = rest.dropFirst(piece.count)
        }
    }

    /// Sends text as it is: write `\r\n` where the wire wants it.
    public func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends `step` bytes at a time with a pause between two steps.
    public func drip(_ bytes: some Collection<UInt8>, by step: Int = 1, every pause: Duration)
        throws
    {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            try send(rest.prefix(step))
            rest = rest.dropFirst(step)
            if !rest.isEmpty { try idle(for: pause) }
        }
    }

    /// Receives exactly so many bytes.
    ///
    /// - Throws: `MalformedMessage` when the stream ends before.
    public func receive(_ count: Int) throws -> [UInt8] { try reader.exactly(count) }

    /// Sends nothing until `gate` opens; without a gate, until the peer or the origin goes.
    ///
    /// - Throws: `SocketError` when the peer has gone meanwhile.
    public func stall(until gate: Gate? = nil) throws {
        while gate?.isOpen != true {
            if socket.peerIsGone(after: 2) { throw SocketError("stall", EPIPE) }
        }
    }

    /// Sends nothing for a while.
    ///
    /// - Throws: `SocketError` when the peer has gone meanwhile.
    public func idle(for pause: Duration) throws {
        let deadline = Deadline(after: pause)
        while !deadline.hasPassed {
            if socket.peerIsGone(after: deadline.millisecondsLeft) {
                throw SocketError("idle", EPIPE)
            }
        }
    }

    /// Closes with RST, so that the peer's next read fails with ECONNRESET.
    public func reset() {
        isClosed = true
        socket.reset()
    }

    /// Closes in order, after the peer has received what was sent.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        socket.endSending()
        // Unread input would turn the close into a reset, which may destroy what was just sent.
        reader.deadline = Deadline(after: .milliseconds(200))
        while let piece = try? reader.some(), !piece.isEmpty {}
        socket.close()
    }
}
