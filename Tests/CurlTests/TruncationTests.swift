import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Connections that end at any byte of an answer (R-3, S-61).
@Suite struct Truncations {
    init() { TestLoop.start() }

    /// An answer as it stands on the wire, and where it may end.
    struct Answer: Sendable, CustomTestStringConvertible {
        let name: String
        let head: String
        var body = ""
        /// Whether the end of the connection is the end of the body.
        var isCloseDelimited = false
        /// How many bytes at the end say nothing: with the last chunk a body is whole (RFC 9112
        /// §8).
        var idleByteCount = 0

        var testDescription: String { name }

        static let all = [
            Answer(
                name: "with a length",
                head: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\n",
                body: "hello"),
            Answer(
                name: "in chunks, with an extension and a trailer",
                head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n",
                body: "3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX-Trailer: 1\r\n\r\n",
                idleByteCount: 1),
            Answer(
                name: "up to the end of the connection", head: "HTTP/1.0 200 OK\r\nX-A: b\r\n\r\n",
                body: "hello", isCloseDelimited: true),
            Answer(name: "without content", head: "HTTP/1.1 204 None\r\nX-A: b\r\n\r\n"),
            Answer(
                name: "a redirect",
                head: "HTTP/1.1 302 Go\r\nLocation: /\r\nContent-Length: 2\r\n\r\n", body: "go"),
            Answer(
                name: "a challenge",
                head: "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\n"
                    + "Content-Length: 2\r\n\r\n", body: "no"),
            Answer(
                name: "behind a 103",
                head: "HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n"
                    + "Content-Length: 2\r\n\r\n", body: "ok"),
            Answer(
                name: "a range",
                head: "HTTP/1.1 206 Part\r\nContent-Range: bytes 1-2/9\r\n"
                    + "Content-Length: 2\r\n\r\n", body: "ar"),
        ]
    }

    /// What an attempt may be about.
    enum Kind: CaseIterable, Sendable {
        case get, post, upload, chunkedUpload, ntlm, proxied
    }

    @LoopActor
    @Test(arguments: Answer.all, Kind.allCases)
    func `an answer that breaks off is a lost connection at every byte of it (S-61)`(
        answer: Answer, kind: Kind
    ) async throws {
        let origin = try ScriptedOrigin()
        let bytes = Array((answer.head + answer.body).utf8)
        let network = Network()
        for count in 0...bytes.count {
            origin.otherwise(
                Behaviour { exchange in
                    try exchange.readWholeBody()
                    try exchange.send(bytes[..<count])
                    exchange.close()
                })
            let probe = try await Self.run(kind, network, origin)
            let headLength = answer.head.utf8.count
            let isWhole =
                count >= (answer.isCloseDelimited ? headLength : bytes.count - answer.idleByteCount)
            if isWhole {
                #expect(probe.error == nil, "\(count) bytes")
                #expect(probe.ends[0].lengthVerified != answer.isCloseDelimited)
            } else {
                #expect(probe.error?.kind == .url(.networkConnectionLost), "\(count) bytes")
            }
            #expect(probe.offeredHeads.isEmpty || count >= headLength, "\(count)")
        }
    }

    @LoopActor
    private static func run(
        _ kind: Kind, _ network: Network, _ origin: ScriptedOrigin
    ) async throws -> Probe {
        let url = origin.url()
        switch kind {
        case .get: return try await network.fetch(url)
        case .post: return try await network.fetch(url, method: "POST", body: [1, 2, 3])
        case .upload, .chunkedUpload:
            let length: Int64? = kind == .upload ? 1000 : nil
            return try await network.run(
                url, method: "PUT", body: .source(PatternSource(1000), length: length)
            ) { _ in }
        case .ntlm:
            return try await network.run(url) {
                $0.credential = AttemptCredential(.ntlm, user: "ann", password: "pw")
            }
        case .proxied:
            return try await network.run("http://127.0.0.1:9/") { $0.proxy = origin.address }
        }
    }

    @LoopActor
    @Test(arguments: ["HTTP/1.1 200 OK\r\nX-A: b\r\nConte", "HTTP/1.1 302 Go\r\nLocation: /"])
    func `half a header is no answer over TLS either`(bytes: String) async throws {
        let origin = try await RawTLSOrigin(bytes, SharedForge.servers.leaf())
        let network = try await Network.trusting
        for mayPause in [true, false] {
            let probe = try await network.fetch(origin.url, mayPause: mayPause)
            #expect(probe.error?.kind == .url(.networkConnectionLost))
            #expect(probe.offeredHeads.isEmpty)
        }
    }

    @LoopActor
    @Test(arguments: [
        "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 Yes\r\nX-A: b\r\n\r\n",
    ])
    func `half an answer to CONNECT makes neither a tunnel nor a question`(
        answer: String
    ) async throws {
        let credential = AttemptCredential(.basic, user: "ann", password: "pw")
        for count in 0..<answer.utf8.count {
            let proxy = try ScriptedOrigin()
            proxy.otherwise(
                Behaviour { exchange in
                    try exchange.send(Array(answer.utf8.prefix(count)))
                    exchange.close()
                })
            for credential in [nil, credential] {
                let probe = try await Network().run("https://localhost:9443/") {
                    $0.proxy = proxy.address
                    $0.proxyCredential = credential
                }
                #expect(probe.error != nil && probe.error?.kind != .url(.unknown), "\(count)")
                #expect(probe.ends[0].tunnelResponse == nil, "\(count)")
                #expect(probe.offeredHeads.isEmpty)
            }
            #expect(proxy.requests.count <= 4, "\(count)")
        }
    }
}

/// A TLS server of Python's that answers every request with the same bytes, and closes in order.
private final class RawTLSOrigin: Sendable {
    private let server: PythonServer

    init(_ answer: String, _ identity: CertificateForge.Identity) async throws {
        server = try await PythonServer(
            Self.script, [identity.certificatePath, identity.keyPath, answer])
    }

    var url: String { "https://localhost:\(server.port)/" }

    private static let script = #"""
        import socket, ssl, sys, threading
        certificate, key, answer = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        tell("port", listener.getsockname()[1])

        def serve(plain):
            try:
                connection = context.wrap_socket(plain, server_side=True)
                stream = connection.makefile("rb")
                while stream.readline().strip():
                    pass
                connection.sendall(answer.encode())
                connection.unwrap()
            except (OSError, ssl.SSLError):
                pass
            plain.close()

        while True:
            plain, _ = listener.accept()
            threading.Thread(target=serve, args=(plain,), daemon=True).start()
        """#
}
