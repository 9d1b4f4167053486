/// An answer whose body is read piece by piece; one reader at a time.
public final class ResponseStream: Sendable {
    /// The answer's head.
    public let head: ResponseHead
    private let connection: ThreadOwned

    /// Sends a GET of this head and reads the answer's head; blocks.
    init(_ endpoint: Endpoint, _ requestHead: String, within limit: Duration) throws {
        let connection = ThreadOwned(try endpoint.connect())
        head = try connection.useHere(within: limit) { reader in
            try reader.socket.send(Array(requestHead.utf8), by: reader.deadline)
            let head = try ResponseHead(from: reader)
            reader.body = BodyReader(try head.framing(for: "GET"))
            return head
        }
        self.connection = connection
    }

    /// The next piece of the body, at most `limit` bytes; empty at its proper end.
    ///
    /// - Throws: `MalformedMessage` when the body was cut off, `SocketError`, `DeadlinePassed`.
    public func next(
        upTo limit: Int = 65536, within time: Duration = .patience
    ) async throws -> [UInt8] {
        try await connection.use(within: time) { try $0.body.next(upTo: limit, from: $0) }
    }

    /// The whole rest of the body.
    public func rest(within time: Duration = .seconds(60)) async throws -> [UInt8] {
        try await connection.use(within: time) { try $0.body.rest(from: $0) }
    }

    /// Leaves: closes the connection.
    public func close() {
        connection.close()
    }

    /// The next piece, on the calling thread and with no deadline.
    func nextHere() throws -> [UInt8] {
        try connection.useHere(within: nil) { try $0.body.next(from: $0) }
    }
}
