import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Requests that a kept connection has swallowed: what goes out again, and what is told of it
/// (R-13, S-47).
@Suite struct Repetitions {
    init() { TestLoop.start() }

    /// An origin whose first connection dies with its second request.
    private static func origin() throws -> ScriptedOrigin {
        let origin = try ScriptedOrigin()
        origin.on("/first", .fixed(200, [:], "first"))
        origin.on("/x") { exchange in
            let bytes = try exchange.readWholeBody()
            guard exchange.request.connection > 1 else { return exchange.close() }
            try exchange.answer(200, [:], "got \(bytes.count)")
        }
        return origin
    }

    enum Body: CaseIterable, Sendable {
        case none, bytes, source, chunked

        @LoopActor
        var attemptBody: AttemptBody? {
            switch self {
            case .none: nil
            case .bytes: .bytes(Array(repeating: 1, count: 1000))
            case .source: .source(PatternSource(1000), length: 1000)
            case .chunked: .source(PatternSource(1000), length: nil)
            }
        }
    }

    @LoopActor
    @Test(arguments: ["POST", "PATCH", "DELETE", "PUT", "GET"], Body.allCases)
    func `what may do something twice is sent once, and every request is told (R-13, S-47)`(
        method: String, body: Body
    ) async throws {
        let origin = try Self.origin()
        let network = Network()
        try await network.fetch(origin.url("/first"))
        let probe = try await network.run(
            origin.url("/x"), method: method, body: body.attemptBody
        ) { _ in }
        let metrics = probe.ends[0].metrics
        guard RetryPolicy.isIdempotent(method) else {
            #expect(probe.error?.kind == .url(.networkConnectionLost))
            #expect(origin.requests(for: "/x").count == 1 && probe.earlier.isEmpty)
            #expect(metrics.isReusedConnection && metrics.status == nil)
            #expect(metrics.countOfRequestHeaderBytesSent > 0)
            return
        }
        #expect(probe.error == nil && probe.text == "got \(body == .none ? 0 : 1000)")
        #expect(origin.requests(for: "/x").map(\.connection) == [1, 2])
        let earlier = try #require(probe.earlier.first)
        #expect(probe.earlier.count == 1)
        #expect(earlier.isReusedConnection && earlier.status == nil)
        #expect(!metrics.isReusedConnection && metrics.status == 200)
        #expect(earlier.localPort != metrics.localPort && earlier.localPort != nil)
        #expect(earlier.countOfRequestHeaderBytesSent == metrics.countOfRequestHeaderBytesSent)
        #expect(metrics.countOfRequestBodyBytesSent == (body == .none ? 0 : 1000))
        #expect((earlier.requestStart ?? .max) <= (metrics.connectStart ?? 0))
        #expect((metrics.connectEnd ?? .max) <= (metrics.requestStart ?? 0))
        #expect((metrics.responseStart ?? .max) <= (metrics.responseEnd ?? 0))
    }

    @LoopActor
    @Test func `a client that allows it has its POST sent again`() async throws {
        let origin = try Self.origin()
        let network = Network()
        try await network.fetch(origin.url("/first"))
        let probe = try await network.run(origin.url("/x"), method: "POST", body: .bytes([1])) {
            $0.mayRepeat = true
        }
        #expect(probe.error == nil && probe.text == "got 1" && probe.earlier.count == 1)
    }

    @LoopActor
    @Test func `the steps of NTLM are requests of their own (S-47)`() async throws {
        let origin = try ScriptedOrigin()
        origin.otherwise(NTLMGuard.behaviour(header: "Authorization", 401, "WWW-Authenticate"))
        let probe = try await Network().run(
            origin.url(), method: "POST", body: .bytes([1, 2, 3])
        ) {
            $0.credential = AttemptCredential(.ntlm, user: "ann", password: "pw")
        }
        #expect(probe.error == nil && probe.text == "welcome")
        let metrics = probe.earlier + [probe.ends[0].metrics]
        #expect(metrics.count == origin.requests.count)
        #expect(metrics.map(\.status) == [401, 200])
        #expect(metrics.map(\.isReusedConnection) == [false, true])
        #expect(metrics.map(\.countOfRequestBodyBytesSent) == [0, 3])
        #expect(metrics.allSatisfy { $0.countOfResponseHeaderBytesReceived > 0 })
    }

    // MARK: HTTP/2

    @LoopActor
    @Test(arguments: [FrameOrigin.Death.goAway, .close, .refused, .goAwayLater])
    func `a request that meets a closing HTTP/2 connection goes out on a fresh one`(
        death: FrameOrigin.Death
    ) async throws {
        let origin = try await FrameOrigin(death, SharedForge.servers.leaf())
        let network = try await Network.trusting
        let first = try await network.fetch(origin.url, mayPause: false)
        #expect(first.error == nil && first.head?.httpVersion == "2")
        let probe = try await network.fetch(origin.url, mayPause: false)
        #expect(probe.error == nil && probe.text == "connection 2", "\(death)")
        #expect(try await origin.requests == ["1 1", "1 3", "2 1"])
    }

    @LoopActor
    @Test(arguments: [FrameOrigin.Death.reset, .resetWithoutError])
    func `a stream that is reset is not whole (R-3)`(death: FrameOrigin.Death) async throws {
        let origin = try await FrameOrigin(death, SharedForge.servers.leaf())
        let network = try await Network.trusting
        try await network.fetch(origin.url, mayPause: false)
        let probe = try await network.fetch(origin.url, mayPause: false)
        if probe.text == "connection 2" {
            // All came at once, libcurl has dropped the head with the rest, and has asked again.
            #expect(probe.error == nil && probe.ends[0].metrics.status == 200)
        } else {
            #expect(probe.error?.kind == .url(.networkConnectionLost) || probe.error == nil)
            #expect(probe.error != nil || !probe.ends[0].lengthVerified)
        }
    }
}

/// A server of Python's that speaks the frames of HTTP/2 (RFC 9113 §4.1), and whose first
/// connection meets its end with its second request. It tells of each request by the numbers of
/// connection and stream.
final class FrameOrigin: Sendable {
    enum Death: String, Sendable {
        case goAway, goAwayLater, close, refused, reset, resetWithoutError
    }

    private let server: PythonServer

    init(_ death: Death, _ identity: CertificateForge.Identity) async throws {
        server = try await PythonServer(
            Self.script, [identity.certificatePath, identity.keyPath, death.rawValue])
    }

    var url: String { "https://localhost:\(server.port)/" }

    var requests: [String] { get async throws { try await server.lines } }

    private static let script = #"""
        import socket, ssl, struct, sys, threading, time
        certificate, key, death = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2", "http/1.1"])
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        tell("port", listener.getsockname()[1])
        DATA, HEADERS, RESET, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
        END_STREAM, END_HEADERS = 1, 4
        STATUS_200 = b"\x88"

        def frame(kind, flags, stream, payload=b""):
            length = struct.pack("!I", len(payload))[1:]
            return length + bytes([kind, flags]) + struct.pack("!I", stream) + payload

        def die(connection, stream):
            if death.startswith("goAway"):
                connection.sendall(frame(GOAWAY, 0, 0, struct.pack("!II", 1, 0)))
                if death == "goAwayLater":
                    connection.recv(1)
            if death == "refused":
                connection.sendall(frame(RESET, 0, stream, struct.pack("!I", 7)))
                connection.recv(1)
            if death.startswith("reset"):
                code = 2 if death == "reset" else 0
                connection.sendall(
                    frame(HEADERS, END_HEADERS, stream, STATUS_200)
                    + frame(DATA, 0, stream, b"half"))
                time.sleep(0.1)  # so that they may come one after the other
                # The reset and the end of the connection come in one segment: libcurl takes a
                # reset without an error for the end, and only the connection's end tells of it.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
                connection.sendall(frame(RESET, 0, stream, struct.pack("!I", code)))
                connection.shutdown(socket.SHUT_WR)

        def serve(plain, number):
            try:
                if plain.recv(5, socket.MSG_PEEK) == b"MARK ":
                    tell(plain.makefile("rb").readline().decode().strip())
                    return
                connection = context.wrap_socket(plain, server_side=True)
                stream = connection.makefile("rb")
                stream.read(24)
                connection.sendall(frame(SETTINGS, 0, 0))
                while head := stream.read(9):
                    size = int.from_bytes(head[:3], "big")
                    kind, flags = head[3], head[4]
                    id = int.from_bytes(head[5:], "big") & 0x7fffffff
                    stream.read(size)
                    if kind == SETTINGS and not flags & 1:
                        connection.sendall(frame(SETTINGS, 1, 0))
                    if kind != HEADERS:
                        continue
                    tell(number, id)
                    if number == 1 and id == 3:
                        return die(connection, id)
                    connection.sendall(
                        frame(HEADERS, END_HEADERS, id, STATUS_200)
                        + frame(DATA, END_STREAM, id, b"connection %d" % number))
            except (OSError, ssl.SSLError):
                pass
            finally:
                plain.close()

        number = 0
        while True:
            plain, _ = listener.accept()
            if plain.recv(5, socket.MSG_PEEK) != b"MARK ":
                number += 1
            threading.Thread(target=serve, args=(plain, number), daemon=True).start()
        """#
}
