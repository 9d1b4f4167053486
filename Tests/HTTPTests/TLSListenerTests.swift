@testable import HTTP
import Loop
import Metrics
import TLS
import TestSupport
import Testing

/// TLS under the front door, with curl and openssl as clients.
@Suite struct TLSListenerTests {
    private let files: TemporaryDirectory
    private let authority: CertificateAuthority

    init() throws {
        files = try TemporaryDirectory()
        authority = try CertificateAuthority(name: "Tests")
        _ = try files.write("authority.pem", authority.pair.certificate)
    }

    private func context(
        _ hosts: [String] = ["localhost", "127.0.0.1"], protocols: [String] = ["h2", "http/1.1"],
        asksForCertificates: Bool = false
    ) throws -> TLSContext {
        let pair = try authority.issue(.server(hosts.compactMap { HostName($0) }))
        let paths = TLSFiles(
            certificate: try files.write("leaf.pem", pair.certificate),
            key: try files.write("leaf.key", pair.key),
            clientAuthorities: asksForCertificates ? files.file("authority.pem") : nil)
        return try TLSContext(paths, protocols: protocols)
    }

    private func live(
        _ routes: [Route], limits: ServerLimits = ServerLimits(),
        context given: TLSContext? = nil,
        _ body: (LiveServer, ServerTLS) async throws -> Void
    ) async throws {
        let context = try given ?? context()
        let tls = await ServerTLS(context)
        try await LiveServer.run(routes, limits: limits, tls: tls) { try await body($0, tls) }
    }

    private func curl(_ live: LiveServer, _ path: String, _ words: String...) async throws -> String
    {
        try await ChildProcess.run(
            "curl",
            ["-sS", "--max-time", "60", "--cacert", files.file("authority.pem")] + words
                + ["https://localhost:\(live.port)\(path)"])
    }

    private static let hello = Route("GET", "/hello") { _ in .text("hello") }

    @Test func `A request is answered, and the protocol that was agreed upon is known`()
        async throws
    {
        try await live([Self.hello]) { live, tls in
            for (word, version) in [("--http2", "2"), ("--http1.1", "1.1"), ("--no-alpn", "1.1")] {
                let shown = try await curl(live, "/hello", word, "-w", " %{http_version}")
                #expect(shown == "hello \(version)")
            }
            let figures = await tls.figures
            #expect(figures.full.value == 3)
            #expect(figures.failures.isEmpty)
        }
    }

    @Test(arguments: ["1.2", "1.3"], ["--http1.1", "--http2"])
    func `Bodies of any size pass whole in both directions`(
        version: String, http: String
    ) async throws {
        let echo = Route("POST", "/echo") { request in
            var all: [UInt8] = []
            while let piece = try await request.body.next() { all += piece }
            return Response(status: 200, body: .bytes(all))
        }
        let pattern = (0..<16_411).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        for count in [0, 1, 16_383, 16_384, 16_385, 70_000, 3_000_001] {
            // Of a length that no record has, so that no two records are alike.
            var sent: [UInt8] = []
            while sent.count < count { sent += pattern }
            sent.removeLast(sent.count - count)
            let path = try files.write("sent", sent)
            let received = files.file("received")
            try await live([echo]) { live, _ in
                _ = try await curl(
                    live, "/echo", http, "--tlsv\(version)", "--tls-max", version, "--data-binary",
                    "@\(path)", "-o", received)
            }
            let bytes = try files.read("received")
            #expect(bytes == sent, "\(count) bytes")
        }
    }

    @Test func `A client that reads slowly holds the source back`() async throws {
        let calls = Calls()
        let route = Route("GET", "/endless") { _ in
            let source = PatternSource(pieces: 4000, of: 64 << 10, calls: calls)
            return Response(status: 200, body: .source(source, length: nil))
        }
        try await live([route]) { live, _ in
            let client = try ChildProcess(
                "curl",
                [
                    "-sS", "--limit-rate", "100k", "--cacert", files.file("authority.pem"),
                    "-o", "/dev/null", "https://localhost:\(live.port)/endless",
                ])
            try await eventually { await live.server.largestQueue > 0 }
            let pulled = calls["pulled"]
            // What is on its way fits into the kernel's buffers and the wire's.
            #expect(pulled < 400)
            client.terminate()
            _ = try await client.waitForEnd()
            try await eventually { await live.server.connectionCount == 0 }
            #expect(calls["cancelled"] == 1)
        }
    }

    @Test func `Pieces of a source come as they are made`() async throws {
        let route = Route("GET", "/pieces") { _ in
            let source = PatternSource(pieces: 3, of: 1, calls: Calls())
            return Response(status: 200, body: .source(source, length: nil))
        }
        try await live([route]) { live, _ in
            let shown = try await curl(live, "/pieces")
            #expect(shown == "aaa")
        }
    }

    @Test(arguments: ["-tls1", "-tls1_1"])
    func `TLS 1.0 and 1.1 are refused and counted`(version: String) async throws {
        try await live([Self.hello]) { live, tls in
            let client = try ChildProcess(
                "openssl",
                [
                    "s_client", "-connect", "127.0.0.1:\(live.port)", version, "-cipher",
                    "ALL:@SECLEVEL=0",
                ])
            #expect(try await client.waitForEnd() != .status(0))
            try await eventually { await tls.figures.failures[.version]?.value == 1 }
        }
    }

    @Test func `X-11: a handshake has the time of a header`() async throws {
        var limits = ServerLimits()
        limits.headerTime = .milliseconds(200)
        try await live([Self.hello], limits: limits) { live, tls in
            let client = try await live.client.connect()
            // The beginning of a ClientHello.
            try await client.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
            #expect(try await client.bytesToTheEnd().isEmpty)
            try await eventually { await live.server.connectionCount == 0 }
            #expect(await tls.figures.failures[.timedOut]?.value == 1)
        }
    }

    @Test func `One connection too many is told so by TLS`() async throws {
        var limits = ServerLimits()
        limits.connections = 0
        try await live([Self.hello], limits: limits) { live, _ in
            let shown = try await curl(
                live, "/hello", "--http1.1", "-o", "/dev/null", "-w", "%{http_code}")
            #expect(shown == "503")
            await #expect(throws: ProgramFailed.self) {
                _ = try await curl(live, "/hello", "--http2")
            }
        }
    }

    @Test func `HTTP in clear is told to come by https`() async throws {
        try await live([Self.hello]) { live, tls in
            let answer = try await live.client.send("GET", "/hello")
            #expect(answer.status == 400)
            #expect(answer.text.contains("https://"))
            #expect(await tls.figures.failures[.plainHTTP]?.value == 1)
        }
    }

    @Test func `A client without a certificate is refused where one is asked for`() async throws {
        let pair = try authority.issue(.client("alice"))
        let paths = [
            try files.write("alice.pem", pair.certificate), try files.write("alice.key", pair.key),
        ]
        try await live([Self.hello], context: try context(asksForCertificates: true)) {
            live, tls in
            #expect(
                try await curl(live, "/hello", "--cert", paths[0], "--key", paths[1]) == "hello")
            await #expect(throws: ProgramFailed.self) { _ = try await curl(live, "/hello") }
            try await eventually { await tls.figures.failures[.clientCertificate]?.value == 1 }
        }
    }
}
