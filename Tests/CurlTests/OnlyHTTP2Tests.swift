import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Origins that speak nothing but HTTP/2: node, and one that makes nothing of HTTP/1.1.
@Suite struct OnlyHTTP2 {
    init() { TestLoop.start() }

    /// How the origin refuses HTTP/1.1.
    enum Refusal: String, CaseIterable, Sendable {
        /// By the alert of RFC 7301 §3.2.
        case alert
        /// It closes after the handshake.
        case close
        /// It sends its settings, and closes.
        case frames
    }

    @LoopActor
    @Test(arguments: Refusal.allCases)
    func `downloads, streams and bodies go to an origin of HTTP/2 alone`(
        refusal: Refusal
    ) async throws {
        let origin = try await NodeOrigin(refusal, SharedForge.servers.leaf())
        let network = try await Network.trusting
        for _ in 0..<2 {
            let download = try await network.fetch(origin.url("/large"))
            #expect(download.error == nil && download.head?.httpVersion == "2")
            #expect(download.body.count == 3_000_000 && download.body.allSatisfy { $0 == 0x78 })
        }
        let post = try await network.fetch(origin.url("/"), method: "POST", body: [1, 2, 3])
        #expect(post.error == nil && post.text == "POST 3")
        for length in [500_000, nil] {
            let source = PatternSource(500_000)
            source.canRewind = false
            let probe = try network.upload(
                source, length: length, to: origin.url("/"), isFresh: true)
            try await probe.end()
            #expect(probe.error == nil && probe.text == "PUT 500000")
        }
        let get = try await network.fetch(origin.url("/"), mayPause: false)
        #expect(get.error == nil && get.text == "GET 0")
    }

    @LoopActor
    @Test(arguments: Refusal.allCases)
    func `a stream that is sent once only reaches an origin that nobody knows yet (S-39)`(
        refusal: Refusal
    ) async throws {
        let origin = try await NodeOrigin(refusal, SharedForge.servers.leaf())
        let source = PatternSource(100_000)
        source.canRewind = false
        let probe = try await Network.trusting.upload(
            source, length: nil, to: origin.url("/"), isFresh: true)
        try await probe.end()
        #expect(probe.error == nil && probe.text == "PUT 100000")
        #expect(source.rewinds == 0)
    }

    @LoopActor
    @Test func `pausing stops the socket, and holds little (R-9)`() async throws {
        let origin = try await NodeOrigin(.alert, SharedForge.servers.leaf())
        let probe = try await Network.trusting.start(origin.url("/endless")) { probe in
            probe.keepsBody = false
            probe.onBody = { _ in probe.bodyByteCount > 1_000_000 ? .pause : .proceed }
        }
        try await eventually(within: .seconds(60)) { probe.bodyByteCount > 1_000_000 }
        // What the origin has handed to its kernel comes to an end: the window of the stream, and
        // the sockets' buffers.
        var last = ""
        try await eventually(within: .seconds(30), "the origin to be held up") {
            let written = try await Network.trusting.fetch(origin.url("/written"), mayPause: false)
            defer { last = written.text }
            return written.text == last
        }
        #expect(Int(last) ?? .max < 64 << 20)
        probe.onBody = { _ in probe.bodyByteCount > 50_000_000 ? .stop : .proceed }
        probe.attempt?.resume()
        #expect(try await probe.end().error == nil)
    }
}

/// node, with HTTP/2 alone.
private final class NodeOrigin: Sendable {
    private let node: ChildProcess
    private let relay: PythonServer?
    private let port: UInt16

    init(_ refusal: OnlyHTTP2.Refusal, _ identity: CertificateForge.Identity) async throws {
        let files = [identity.certificatePath, identity.keyPath]
        // node itself sends the alert; in front of it stands what does not.
        node = try ChildProcess("node", ["-e", Self.script] + (refusal == .alert ? files : []))
        let line = try await node.waitForLine { $0.hasPrefix("port ") }
        let own = line.dropFirst(5)
        relay =
            refusal == .alert
            ? nil : try await PythonServer(Self.relay, files + [refusal.rawValue, String(own)])
        port = relay?.port ?? UInt16(own) ?? 0
    }

    func url(_ path: String) -> String { "https://localhost:\(port)\(path)" }

    private static let script = #"""
        const [certificate, key] = process.argv.slice(1)
        const fs = require("fs"), http2 = require("http2")
        let written = 0
        const answer = (request, response) => {
            const piece = Buffer.alloc(65536, "x")
            if (request.url === "/large") return response.end(Buffer.alloc(3000000, "x"))
            if (request.url === "/written") return response.end(String(written))
            if (request.url === "/endless") {
                const go = () => {
                    while (response.write(piece)) written += piece.length
                    written += piece.length
                }
                response.on("drain", go)
                return go()
            }
            let count = 0
            request.on("data", data => { count += data.length })
            request.on("end", () => response.end(`${request.method} ${count}`))
        }
        const server = certificate
            ? http2.createSecureServer(
                {cert: fs.readFileSync(certificate), key: fs.readFileSync(key)}, answer)
            : http2.createServer(answer)
        server.on("sessionError", () => {})
        server.listen(0, "127.0.0.1", () => console.log("port " + server.address().port))
        """#

    private static let relay = #"""
        import select, socket, ssl, sys, threading
        certificate, key, refusal, port = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2"])
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        tell("port", listener.getsockname()[1])

        def serve(plain):
            try:
                client = context.wrap_socket(plain, server_side=True)
                if not client.selected_alpn_protocol():
                    if refusal == "frames":
                        client.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
                    return client.unwrap()
                server = socket.create_connection(("127.0.0.1", int(port)))
                while True:
                    ready = [client] if client.pending() else select.select([client, server], [], [])[0]
                    for source in ready:
                        data = source.recv(65536)
                        if not data:
                            return
                        (server if source is client else client).sendall(data)
            except (OSError, ssl.SSLError):
                pass
            finally:
                plain.close()

        while True:
            plain, _ = listener.accept()
            threading.Thread(target=serve, args=(plain,), daemon=True).start()
        """#
}
