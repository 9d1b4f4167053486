import Glibc

/// One client connection, for tests that care about bytes: pipelining, smuggling, slow requests.
///
/// Calls may come from any task but never two at once.
public final class TestConnection: Sendable {
    private let owner: ThreadOwned

    /// Connects.
    public init(_ endpoint: Endpoint) async throws {
        owner = try await blocking { ThreadOwned(try endpoint.connect()) }
    }

    init(_ endpoint: Endpoint, sending bytes: [UInt8]) async throws {
        owner = try await blocking {
            let socket = try endpoint.connect()
            try socket.send(bytes, by: Deadline(after: .patience))
            return ThreadOwned(socket)
        }
    }

    init(_ endpoint: Endpoint, receiveBuffer: Int) async throws {
        owner = try await blocking {
            let socket = try endpoint.connect()
            socket.set(SO_RCVBUF, to: Int32(receiveBuffer))
            return ThreadOwned(socket)
        }
    }

    /// Sends bytes as they are.
    ///
    /// - Throws: `SocketError` when the peer is gone, `DeadlinePassed` when it does not read.
    public func send(
        _ bytes: some Collection<UInt8> & Sendable, within limit: Duration = .patience
    ) async throws {
        try await owner.use(within: limit) { reader in
            try reader.socket.send(bytes, by: Deadline(after: limit))
        }
    }

    /// Sends text as it is: write `\r\n` where the wire wants it.
    public func send(_ text: String, within limit: Duration = .patience) async throws {
        try await send(Array(text.utf8), within: limit)
    }

    /// Reads the next whole answer.
    ///
    /// `method` is the request's: an answer to HEAD has no body.
    /// - Throws: `ConnectionEnded`, `MalformedMessage`, `SocketError` or `DeadlinePassed`.
    public func response(
        to method: String = "GET", within limit: Duration = .patience
    ) async throws -> TestResponse {
        try await owner.use(within: limit) { try Self.response(to: method, from: $0) }
    }

    /// Reads the head of the next answer only; its body comes by `bytes`, framing and all.
    public func head(within limit: Duration = .patience) async throws -> ResponseHead {
        try await owner.use(within: limit) { try ResponseHead(from: $0) }
    }

    /// Exactly `count` bytes as they come over the wire.
    public func bytes(_ count: Int, within limit: Duration = .patience) async throws -> [UInt8] {
        try await owner.use(within: limit) { try $0.exactly(count) }
    }

    /// Everything until the peer closes; a reset counts as an end too.
    public func bytesToTheEnd(within limit: Duration = .patience) async throws -> [UInt8] {
        try await owner.use(within: limit) { reader in
            var all: [UInt8] = []
            do {
                while case let piece = try reader.some(), !piece.isEmpty { all += piece }
            } catch is SocketError {}
            return all
        }
    }

    /// Closes the sending half.
    public func endSending() {
        owner.socket.endSending()
    }

    /// Closes in order.
    public func close() {
        owner.close()
    }

    /// Closes with RST.
    public func reset() {
        owner.socket.reset()
    }

    static func response(to method: String, from reader: WireReader) throws -> TestResponse {
        let head = try ResponseHead(from: reader)
        var body = BodyReader(try head.framing(for: method))
        let bytes = try body.rest(from: reader)
        return TestResponse(
            status: head.status, headers: head.headers, body: bytes, trailers: body.trailers,
            informational: head.informational)
    }
}
