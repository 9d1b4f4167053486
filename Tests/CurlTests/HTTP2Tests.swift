import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// HTTP/2 over TLS, against nginx.
@Suite struct HTTP2 {
    init() { TestLoop.start() }

    @LoopActor
    @Test func `attempts that never pause share one HTTP/2 connection`() async throws {
        let server = try await Nginx()
        let network = Network(trustedCertificates: server.authorityPath)
        let probes = try (0..<20).map { number in
            try network.start(server.url("/pattern?\(number)"), mayPause: false)
        }
        for probe in probes {
            #expect(try await probe.end().error == nil)
            #expect(probe.head?.httpVersion == "2")
            #expect(probe.body == server.pattern)
            #expect(probe.ends[0].lengthVerified)
            #expect(probe.ends[0].metrics.networkProtocolName == "h2")
        }
        #expect(Set(probes.map { $0.ends[0].metrics.localPort }).count == 1)
        #expect(probes.filter { $0.ends[0].metrics.isReusedConnection }.count == 19)
    }

    @LoopActor
    @Test func `an attempt that may pause has a connection of its own (R-9)`() async throws {
        let server = try await Nginx()
        let network = Network(trustedCertificates: server.authorityPath)
        let flowing = try await network.fetch(server.url("/pattern"), mayPause: false)
        let paused = try network.start(server.url("/pattern")) { $0.onHead = { _ in .pause } }
        try await eventually { paused.offeredHeads.count == 1 }
        #expect(paused.head?.httpVersion == "1.1")
        let neighbour = try await network.fetch(server.url("/pattern"), mayPause: false)
        #expect(neighbour.ends[0].metrics.localPort == flowing.ends[0].metrics.localPort)
        paused.onHead = { _ in .proceed }
        paused.attempt?.resume()
        try await paused.end()
        #expect(paused.body == server.pattern)
        #expect(paused.ends[0].metrics.localPort != flowing.ends[0].metrics.localPort)
    }

    @LoopActor
    @Test(arguments: [ProxyAddress.Kind.socks5, .socks5h])
    func `HTTP/2 goes through SOCKS on one connection (S-23)`(
        kind: ProxyAddress.Kind
    ) async throws {
        let server = try await Nginx()
        let proxy = try await SOCKSProxy()
        let network = Network(trustedCertificates: server.authorityPath)
        let probes = try (0..<10).map {
            try network.begin(server.url("/pattern?\($0)"), mayPause: false) {
                $0.proxy = proxy.address(kind)
            }
        }
        for probe in probes {
            #expect(try await probe.end().error == nil)
            #expect(probe.head?.httpVersion == "2" && probe.body == server.pattern)
        }
        #expect(try await proxy.requests.count == 1)
    }

    @LoopActor
    @Test func `a cancelled stream leaves its neighbours alone`() async throws {
        let server = try await Nginx()
        let network = Network(trustedCertificates: server.authorityPath)
        let probes = try (0..<6).map { _ in
            try network.start(server.url("/pattern"), mayPause: false)
        }
        try await eventually { probes[0].bodyByteCount > 0 || !probes[0].ends.isEmpty }
        _ = probes[1].attempt?.cancel()
        for probe in probes where probe !== probes[1] {
            #expect(try await probe.end().error == nil)
            #expect(probe.body == server.pattern)
        }
    }

    @LoopActor
    @Test func `methods, bodies and HEAD work as on HTTP/1.1`() async throws {
        let server = try await Nginx()
        let network = Network(trustedCertificates: server.authorityPath)
        let head = try await network.fetch(server.url("/pattern"), method: "HEAD", mayPause: false)
        #expect(head.error == nil && head.body.isEmpty)
        #expect(head.head?.headers.first("content-length") == "\(server.pattern.count)")
        let body = Pattern.bytes(count: 300_000)
        let post = try await network.fetch(
            server.url("/echo"), method: "POST", body: body, mayPause: false)
        #expect(post.error == nil)
        #expect(post.body == body)
        #expect(post.sent.last == 300_000)
        #expect(post.ends[0].metrics.networkProtocolName == "http/1.1")
    }

    @LoopActor
    @Test(arguments: [500_000, nil], [true, false])
    func `a body is pulled as a stream, and over HTTP/1.1 (S-38)`(
        length: Int?, mayPause: Bool
    ) async throws {
        let server = try await Nginx()
        let recorder = UploadRecorder()
        server.upstream.on("/upload", recorder.behaviour)
        let network = Network(trustedCertificates: server.authorityPath)
        let source = PatternSource(500_000, limit: 100_000)
        let probe = try network.upload(
            source, length: length, to: server.url("/upload"), mayPause: mayPause)
        try await eventually { source.waits == 1 && recorder.byteCount == 100_000 }
        #expect(probe.sent.last == 100_000)
        source.allow()
        try await probe.end()
        #expect(probe.error == nil && probe.head?.status == 201)
        #expect(recorder.uploads[0].isPattern(500_000))
        #expect(probe.head?.httpVersion == "1.1")
        #expect(probe.sent.last == 500_000)
        #expect(probe.ends[0].metrics.countOfRequestBodyBytesSent == 500_000)
    }

    @LoopActor
    @Test func `a coded body over HTTP/2 is whole or an error too (S-76, R-3)`() async throws {
        let server = try await Nginx()
        let network = Network(trustedCertificates: server.authorityPath)
        let plain = Pattern.bytes(count: 300_000)
        for coding in UncompressedCoding.allCases {
            let coded = coding.encode(plain)
            for isWhole in [true, false] {
                let bytes = isWhole ? coded : Array(coded.dropLast())
                server.upstream.on(
                    "/upload/coded", .bytes(bytes, ["Content-Encoding": coding.rawValue]))
                var offers = 0
                let probe = try await network.fetch(
                    server.url("/upload/coded"), decodes: true, mayPause: false
                ) { probe in
                    probe.onBody = { bytes in
                        offers += 1
                        guard offers % 3 == 1 else { return .proceed }
                        LoopActor.post { probe.attempt?.resume() }
                        return .take(bytes.count / 2)
                    }
                }
                #expect(probe.head?.httpVersion == "2")
                #expect(probe.error?.kind == (isWhole ? nil : .url(.cannotDecodeRawData)))
                #expect(plain.starts(with: probe.body), "\(coding)")
                #expect(!isWhole || probe.body == plain, "\(coding)")
            }
        }
    }

    @LoopActor
    @Test func `a shared connection serves those only who trust its leaf (S-75)`() async throws {
        let server = try await Nginx()
        let network = Network()
        let url = server.url("/pattern")
        let asked = try await network.run(url, mayPause: false) { $0.trust = .known([]) }
        let leaf = try #require(asked.ends[0].serverTrust?.chain.first?.fingerprint)
        let port = try network.transport.parse(url).port
        let accepted = TrustPolicy.known([
            KnownLeaf(host: "localhost", port: port, fingerprint: leaf, mustVerify: false)
        ])
        let running = try network.begin(url, mayPause: false) { $0.trust = accepted }
        try await eventually { running.bodyByteCount > 0 || !running.ends.isEmpty }
        let stranger = try await network.run(url, mayPause: false) { $0.trust = .known([]) }
        #expect(stranger.ends[0].serverTrust?.chain.first?.fingerprint == leaf)
        #expect(stranger.offeredHeads.isEmpty)
        #expect(try await running.end().error == nil && running.body == server.pattern)
        let next = try await network.run(url, mayPause: false) { $0.trust = accepted }
        #expect(next.error == nil && next.head?.httpVersion == "2")
        #expect(next.ends[0].metrics.isReusedConnection)
    }

    @LoopActor
    @Test func `HTTP/2 goes through a proxy's tunnel, which is shared`() async throws {
        let server = try await Nginx()
        let proxy = try await ConnectProxy(["HTTP/1.1 200 Yes\r\n\r\n"])
        let network = Network(trustedCertificates: server.authorityPath)
        let probes = try (0..<5).map { _ in
            try network.begin(server.url("/pattern"), mayPause: false) {
                $0.proxy = ProxyAddress(host: "127.0.0.1", port: Int(proxy.port))
            }
        }
        for probe in probes {
            #expect(try await probe.end().error == nil)
            #expect(probe.head?.httpVersion == "2" && probe.body == server.pattern)
        }
        #expect(try await proxy.requests.count == 1)
    }

    @LoopActor
    @Test(arguments: [500_000, nil])
    func `an early answer over TLS ends the attempt while the source waits (S-37)`(
        length: Int?
    ) async throws {
        let server = try await Nginx()
        server.upstream.on("/upload") { exchange in
            _ = try exchange.readBody(upTo: 10)
            try exchange.answer(413, ["Connection": "close"], "no")
        }
        let network = Network(trustedCertificates: server.authorityPath)
        let source = PatternSource(500_000, limit: 1000)
        let probe = try network.upload(
            source, length: length, to: server.url("/upload"), mayPause: true)
        try await probe.end()
        #expect(probe.error == nil && probe.head?.status == 413 && probe.text == "no")
        #expect(source.given == 1000 && source.onReady == nil)
    }
}

/// nginx with TLS and HTTP/2 on a port of its own, and an echo behind it; ended when it is
/// released.
private final class Nginx: Sendable {
    let pattern = Pattern.bytes(count: 2_000_000)
    let authorityPath: String
    private let port: UInt16
    private let forge: CertificateForge
    private let directory = try? TemporaryDirectory()
    let upstream: ScriptedOrigin
    private let process: ChildProcess

    init() async throws {
        upstream = try ScriptedOrigin()
        upstream.on("/echo", .echo)
        forge = try await CertificateForge()
        authorityPath = forge.authorityPath
        let leaf = try await forge.leaf()
        // nginx cannot be asked for a port of its choice.
        port = try Endpoint.freePort()
        guard let directory else { throw SetUpFailed() }
        try directory.write("pattern", pattern)
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory.path)/\($0);" }.joined(separator: " ")
        let text = """
            daemon off; master_process off; pid \(directory.file("pid"));
            events {}
            http {
              access_log off; \(temporary)
              server {
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate \(leaf.certificatePath); ssl_certificate_key \(leaf.keyPath);
                root \(directory.path);
                location /upload {
                  proxy_http_version 1.1; proxy_request_buffering off;
                  proxy_pass http://127.0.0.1:\(upstream.port);
                }
                location /echo { proxy_pass http://127.0.0.1:\(upstream.port); }
              }
            }
            """
        let file = try directory.write("nginx.conf", Array(text.utf8))
        process = try ChildProcess(
            "nginx", ["-p", directory.path, "-e", directory.file("error.log"), "-c", file])
        try await eventually("nginx to listen") { [port] in
            (try? await TestConnection(.tcp(host: "127.0.0.1", port: port))) != nil
        }
    }

    func url(_ path: String) -> String { "https://localhost:\(port)\(path)" }

    struct SetUpFailed: Error {}
}
