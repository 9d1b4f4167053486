import TestSupport
import Testing

/// Sends and reads frames, one after the other. What is sent goes out in one piece, when an answer
/// is waited for: on a busy machine nothing of it comes too late.
final class FrameClient {
    enum Kind: UInt8 {
        case data, headers, priority, resetStream, settings, pushPromise, ping, goAway
        case windowUpdate, continuation
    }

    struct Frame {
        let kind: Kind?
        let isLast: Bool
        let stream: UInt8
        let payload: [UInt8]
    }

    private let client: TestClient
    private var connection: TestConnection?
    private var unsent = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Begins, with a window for every answer.
    init(_ client: TestClient, window: Int32 = 65_535) {
        self.client = client
        let size = withUnsafeBytes(of: window.bigEndian, Array.init)
        send(.settings, on: 0, [0, 4] + size)
        if window > 65_535 {
            let more = withUnsafeBytes(of: (window - 65_535).bigEndian, Array.init)
            send(.windowUpdate, on: 0, more)
        }
    }

    func send(_ kind: Kind, on stream: UInt8, flags: UInt8 = 0, _ payload: [UInt8]) {
        let head = [
            0, UInt8(payload.count >> 8), UInt8(payload.count & 0xff), kind.rawValue, flags, 0, 0,
            0, stream,
        ]
        unsent += head + payload
    }

    func get(_ path: String, on stream: UInt8) {
        request("GET", path, on: stream, isWhole: true)
    }

    func request(
        _ method: String, _ path: String, on stream: UInt8, isWhole: Bool
    ) {
        // Names by their index in the static table, values as they are (RFC 7541 §6.2.2).
        let fields: [(UInt8, String)] = [(2, method), (6, "http"), (4, path), (1, "h")]
        let block = fields.flatMap { [$0.0, UInt8($0.1.utf8.count)] + Array($0.1.utf8) }
        send(.headers, on: stream, flags: isWhole ? 5 : 4, block)
    }

    func next() async throws -> Frame {
        let connection = try await connected()
        if !unsent.isEmpty { try await connection.send(unsent) }
        unsent = []
        let head = try await connection.bytes(9)
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        let payload = length == 0 ? [] : try await connection.bytes(length)
        return Frame(
            kind: Kind(rawValue: head[3]), isLast: head[4] & 1 != 0, stream: head[8],
            payload: payload)
    }

    private func connected() async throws -> TestConnection {
        if let connection { return connection }
        let made = try await client.connect(sending: unsent)
        unsent = []
        connection = made
        return made
    }

    /// The next frame of which that is true; others are passed over.
    func first(where isIt: (Frame) -> Bool) async throws -> Frame {
        while true {
            let frame = try await next()
            if isIt(frame) { return frame }
        }
    }

    /// The body of an answer, read to its end.
    func answer(on stream: UInt8) async throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let frame = try await first { $0.stream == stream && $0.kind == .data }
            body += frame.payload
            if frame.isLast { return body }
        }
    }

    /// The server sends nothing more.
    func expectEnd() async throws {
        let connection = try await connected()
        #expect(try await connection.bytesToTheEnd().isEmpty)
        connection.close()
    }
}
