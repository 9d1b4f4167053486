import Synchronization

/// A small HTTP/1.1 client for tests, on plain sockets and independent of the gateway's code.
///
/// It keeps connections alive and uses as many as there are requests at once.
public final class TestClient: Sendable {
    /// Where it connects to.
    public let endpoint: Endpoint
    /// The bearer token that every request carries, or nil.
    public let token: String?
    private let idle = Mutex<[ThreadOwned]>([])

    /// Makes a client; connects only when a request is sent.
    public init(_ endpoint: Endpoint, token: String? = nil) {
        self.endpoint = endpoint
        self.token = token
    }

    /// The same place with another token, or none.
    public func with(token: String?) -> TestClient {
        TestClient(endpoint, token: token)
    }

    /// Sends a request and reads its whole answer.
    ///
    /// `Host` and `Authorization` are added unless `headers` has them; so is `Content-Length`
    /// where there is a body.
    /// - Throws: `ConnectionEnded`, `MalformedMessage`, `SocketError` or `DeadlinePassed`.
    @discardableResult
    public func send(
        _ method: String, _ target: String, _ headers: HeaderLines = [:],
        body: [UInt8]? = nil, within limit: Duration = .patience
    ) async throws -> TestResponse {
        let head = requestHead(method, target, headers, bodyLength: body?.count)
        return try await blocking {
            while let kept = self.idle.withLock({ $0.popLast() }) {
                guard !kept.socket.peerIsGone(after: 0) else { continue }
                return try self.exchange(method, head, body, over: kept, within: limit)
            }
            let fresh = ThreadOwned(try self.endpoint.connect())
            return try self.exchange(method, head, body, over: fresh, within: limit)
        }
    }

    /// Sends GET.
    @discardableResult
    public func get(
        _ target: String, _ headers: HeaderLines = [:], within limit: Duration = .patience
    ) async throws -> TestResponse {
        try await send("GET", target, headers, within: limit)
    }

    /// Sends POST with a JSON body, or with none.
    @discardableResult
    public func post(
        _ target: String, _ json: TestJSON? = nil, _ headers: HeaderLines = [:],
        within limit: Duration = .patience
    ) async throws -> TestResponse {
        try await send("POST", target, json: json, headers, within: limit)
    }

    /// Sends PATCH with a JSON body.
    @discardableResult
    public func patch(
        _ target: String, _ json: TestJSON, within limit: Duration = .patience
    ) async throws -> TestResponse {
        try await send("PATCH", target, json: json, [:], within: limit)
    }

    /// Sends DELETE.
    @discardableResult
    public func delete(
        _ target: String, within limit: Duration = .patience
    ) async throws -> TestResponse {
        try await send("DELETE", target, within: limit)
    }

    /// Sends a GET and gives its body piece by piece.
    public func stream(
        _ target: String, _ headers: HeaderLines = [:], within limit: Duration = .patience
    ) async throws -> ResponseStream {
        let head = requestHead("GET", target, headers, bodyLength: nil)
        return try await blocking { try ResponseStream(self.endpoint, head, within: limit) }
    }

    /// Opens an event stream and reads it on a thread of its own.
    public func events(
        _ target: String, lastEventID: String? = nil, _ headers: HeaderLines = [:],
        within limit: Duration = .patience
    ) async throws -> EventStreamReader {
        var all = headers.appending(["Accept": "text/event-stream"])
        if let lastEventID { all.append("Last-Event-ID", lastEventID) }
        return EventStreamReader(try await stream(target, all, within: limit))
    }

    /// Opens a connection for raw bytes.
    public func connect() async throws -> TestConnection {
        try await TestConnection(endpoint)
    }

    /// Opens a connection and sends bytes in one go: a server with little patience gets them in
    /// time, however busy the machine is.
    public func connect(sending bytes: [UInt8]) async throws -> TestConnection {
        try await TestConnection(endpoint, sending: bytes)
    }

    /// Opens a connection that takes in few bytes when its test does not read.
    ///
    /// `receiveBuffer` is SO_RCVBUF in bytes; the kernel doubles it.
    public func connect(receiveBuffer: Int) async throws -> TestConnection {
        try await TestConnection(endpoint, receiveBuffer: receiveBuffer)
    }

    /// The bytes of a request head as `send` writes it.
    public func requestHead(
        _ method: String, _ target: String, _ headers: HeaderLines = [:], bodyLength: Int? = nil
    ) -> String {
        var all = HeaderLines()
        if headers["Host"] == nil { all.append("Host", host) }
        if let token, headers["Authorization"] == nil {
            all.append("Authorization", "Bearer \(token)")
        }
        all = all.appending(headers)
        if let bodyLength, headers["Content-Length"] == nil {
            all.append("Content-Length", "\(bodyLength)")
        }
        return "\(method) \(target) HTTP/1.1\r\n\(all.wire)\r\n"
    }

    private var host: String {
        if case .unix = endpoint { "localhost" } else { endpoint.description }
    }

    private func send(
        _ method: String, _ target: String, json: TestJSON?, _ headers: HeaderLines,
        within limit: Duration
    ) async throws -> TestResponse {
        guard let json else { return try await send(method, target, headers, within: limit) }
        var all = headers
        if all["Content-Type"] == nil { all.append("Content-Type", "application/json") }
        return try await send(method, target, all, body: try json.text(), within: limit)
    }

    private func exchange(
        _ method: String, _ head: String, _ body: [UInt8]?, over connection: ThreadOwned,
        within limit: Duration
    ) throws -> TestResponse {
        let response = try connection.useHere(within: limit) { reader in
            // A peer that refuses early closes while the body is sent; its answer still counts.
            let sending = Result {
                try reader.socket.send(Array(head.utf8) + (body ?? []), by: reader.deadline)
            }
            do {
                return try TestConnection.response(to: method, from: reader)
            } catch {
                try sending.get()
                throw error
            }
        }
        if response.headers["Connection"]?.lowercased() != "close" {
            idle.withLock { $0.append(connection) }
        }
        return response
    }
}
