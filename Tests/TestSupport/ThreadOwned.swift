import Synchronization

/// A socket with its reader, lent to one blocking call at a time.
final class ThreadOwned: Sendable {
    let socket: Socket
    private let reader: Mutex<WireReader>

    init(_ socket: Socket) {
        self.socket = socket
        reader = Mutex(WireReader(socket))
    }

    /// Ends the call that is under way, if any, and closes the socket.
    func close() {
        socket.interrupt()
        reader.withLock { _ in socket.close() }
    }

    /// Runs `body` on a thread of its own; reading in it ends at `limit`.
    func use<Value: Sendable>(
        within limit: Duration, _ body: @escaping @Sendable (WireReader) throws -> Value
    ) async throws -> Value {
        try await blocking { try self.useHere(within: limit, body) }
    }

    /// Runs `body` on the calling thread.
    func useHere<Value: Sendable>(
        within limit: Duration?, _ body: (WireReader) throws -> Value
    ) throws -> Value {
        try reader.withLock {
            $0.deadline = limit.map { Deadline(after: $0) }
            return try body($0)
        }
    }
}
