import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Whatever a peer sends, the loop goes on turning: others are served, and timers fire.
@Suite(.serialized) struct HostilePeers {
    init() { TestLoop.start() }

    /// Far beyond what any turn takes, and far below what reading without end takes.
    private static let bound = Duration.milliseconds(500)

    /// What a proxy may say to CONNECT.
    enum Refusal: CaseIterable, Sendable {
        case endlessChunks, longBody, endlessBody, endlessLine, endlessLines, endlessInformationals

        func send(_ status: Int, on exchange: Exchange) throws {
            let challenge = HeaderLines(
                dictionaryLiteral: ("Proxy-Authenticate", "Basic realm=\"p\""),
                ("Proxy-Authenticate", "NTLM"))
            let piece = String(repeating: "x", count: 16_384)
            switch self {
            case .endlessChunks:
                try exchange.head(status, challenge.appending(["Transfer-Encoding": "chunked"]))
                while true { try exchange.chunk(piece) }
            case .longBody:
                try exchange.head(status, challenge.appending(["Content-Length": "300000000"]))
                for _ in 0..<20_000 { try exchange.body(piece) }
            case .endlessBody:
                try exchange.head(status, challenge)
                while true { try exchange.body(piece) }
            case .endlessLine:
                try exchange.send("HTTP/1.1 \(status) No\r\nX-Long: ")
                while true { try exchange.send(piece) }
            case .endlessLines:
                try exchange.send("HTTP/1.1 \(status) No\r\n")
                while true { try exchange.send("X-Another: \(piece.prefix(50))\r\n") }
            case .endlessInformationals:
                while true { try exchange.send("HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n") }
            }
        }
    }

    @LoopActor
    @Test(arguments: Refusal.allCases, [nil, AttemptCredential.Scheme.ntlm])
    func `a proxy's answer to CONNECT holds nobody up, however long it is`(
        refusal: Refusal, scheme: AttemptCredential.Scheme?
    ) async throws {
        let proxy = try ScriptedOrigin()
        for status in [407, 503] {
            proxy.otherwise(Behaviour { try refusal.send(status, on: $0) })
            try await Self.expectShortTurns {
                let probe = try await Network().run("https://localhost:9443/") {
                    $0.proxy = proxy.address
                    $0.proxyCredential = scheme.map {
                        AttemptCredential($0, user: "ann", password: "pw")
                    }
                }
                #expect(probe.error != nil && probe.offeredHeads.isEmpty)
                switch refusal {
                // libcurl asks again, on another connection.
                case .endlessBody where scheme == .ntlm: break
                case .endlessChunks, .longBody, .endlessBody:
                    #expect(probe.ends[0].tunnelResponse?.status == status)
                case .endlessLine, .endlessLines, .endlessInformationals:
                    #expect(probe.ends[0].tunnelResponse == nil)
                }
            }
        }
    }

    @LoopActor
    @Test func `chunks of one byte each hold nobody up`() async throws {
        let origin = try ScriptedOrigin()
        let chunks = Array(String(repeating: "1\r\nx\r\n", count: 10_000).utf8)
        origin.on("/") { exchange in
            try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<40 { try exchange.send(chunks) }
            try exchange.send("0\r\n\r\n")
        }
        try await Self.expectShortTurns {
            let probe = try await Network().fetch(origin.url())
            #expect(probe.error == nil && probe.bodyByteCount == 400_000)
        }
    }

    @LoopActor
    @Test func `an endless extension of a chunk is read on, and leaves room for others`()
        async throws
    {
        let origin = try ScriptedOrigin()
        let piece = Array(String(repeating: "x", count: 1 << 20).utf8)
        origin.on("/endless") { exchange in
            try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=")
            while true { try exchange.send(piece) }
        }
        origin.on("/other", .fixed(200, [:], "ok"))
        let network = Network()
        let endless = try network.start(origin.url("/endless"))
        try await eventually { origin.bytesSent > 50 << 20 }
        try await Self.expectShortTurns {
            let probe = try await network.fetch(origin.url("/other"))
            #expect(probe.text == "ok")
        }
        _ = endless.attempt?.cancel()
    }

    @LoopActor
    @Test(arguments: FrameFlood.Kind.allCases)
    func `frames that bring nothing leave room for others`(kind: FrameFlood.Kind) async throws {
        let server = try await FrameFlood(kind, SharedForge.servers.leaf())
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let network = try await Network.trusting
        let flooded = try network.start(server.url, mayPause: false)
        try await server.waitForRequest()
        try await Self.expectShortTurns {
            for _ in 0..<20 {
                let probe = try await network.fetch(origin.url())
                #expect(probe.text == "ok")
            }
        }
        // libcurl gives up where it would have to answer each of them.
        #expect(flooded.error == nil || flooded.error?.kind == .url(.networkConnectionLost))
        _ = flooded.attempt?.cancel()
    }

    /// Runs an exchange until one has not been disturbed: other tests are on the same loop, and
    /// take their turns.
    @LoopActor
    private static func expectShortTurns(_ run: @LoopActor () async throws -> Void) async throws {
        var turns: [Duration] = []
        while turns.count < 10 {
            let gauge = LoopGauge()
            try await run()
            guard gauge.longestTurn >= bound else { return }
            turns.append(gauge.longestTurn)
        }
        Issue.record("The longest turns took \(turns).")
    }
}

/// A server of Python's that answers a request of HTTP/2 with a head, and then with frames that
/// bring nothing, without end.
final class FrameFlood: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case emptyData, unknown, priority, ping, settings
    }

    private let server: PythonServer

    init(_ kind: Kind, _ identity: CertificateForge.Identity) async throws {
        server = try await PythonServer(
            Self.script, [identity.certificatePath, identity.keyPath, kind.rawValue])
    }

    var url: String { "https://localhost:\(server.port)/" }

    func waitForRequest() async throws {
        try await eventually("a request") { server.linesSoFar.contains("request") }
    }

    private static let script = #"""
        import socket, ssl, struct, sys, threading
        certificate, key, kind = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2"])
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        tell("port", listener.getsockname()[1])

        def frame(kind, flags, stream, payload=b""):
            length = struct.pack("!I", len(payload))[1:]
            return length + bytes([kind, flags]) + struct.pack("!I", stream) + payload

        def serve(plain):
            try:
                connection = context.wrap_socket(plain, server_side=True)
                stream = connection.makefile("rb")
                stream.read(24)
                connection.sendall(frame(4, 0, 0) + frame(4, 1, 0))
                while head := stream.read(9):
                    stream.read(int.from_bytes(head[:3], "big"))
                    if head[3] == 1:
                        break
                tell("request")
                connection.sendall(frame(1, 4, 1, b"\x88"))
                nothing = {
                    "emptyData": frame(0, 0, 1), "unknown": frame(200, 0, 0),
                    "priority": frame(2, 0, 1, bytes([0, 0, 0, 0, 1])),
                    "ping": frame(6, 0, 0, bytes(8)), "settings": frame(4, 0, 0)}[kind]
                many = nothing * 100_000
                while True:
                    connection.sendall(many)
            except (OSError, ssl.SSLError):
                pass
            finally:
                plain.close()

        while True:
            plain, _ = listener.accept()
            threading.Thread(target=serve, args=(plain,), daemon=True).start()
        """#
}
