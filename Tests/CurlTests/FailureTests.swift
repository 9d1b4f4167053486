import Engine
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

/// S-61: what goes wrong on the network is one of NSURLError's codes, with libcurl's own words.
@Suite struct Failures {
    init() { TestLoop.start() }

    @LoopActor
    @Test func `a refused connection`() async throws {
        let port = try Endpoint.freePort()
        let url = "http://127.0.0.1:\(port)/"
        let probe = try await Network().fetch(url)
        #expect(probe.error?.kind == .url(.cannotConnectToHost))
        #expect(probe.error?.failingURL == url)
        #expect(probe.error?.underlying?.layer == .curl)
        #expect(probe.error?.underlying?.code == 7)
        #expect(probe.error?.underlying?.message.isEmpty == false)
        #expect(probe.ends.first?.metrics.isReusedConnection == false)
    }

    @LoopActor
    @Test func `a server that does not answer the connect (S-16)`() async throws {
        let deaf = try DeafListener()
        let network = Network()
        let url = "http://127.0.0.1:\(deaf.port)/"
        let cancelled = try network.start(url)
        let probe = try network.start(url, connectTimeout: 0.05)
        let end = try await probe.end()
        #expect(end.error?.kind == .url(.timedOut))
        #expect(end.metrics.connectStart != nil && end.metrics.connectEnd == nil)
        #expect(cancelled.attempt?.cancel().connectEnd == nil)
        #expect(cancelled.ends.isEmpty)
    }

    @LoopActor
    @Test func `a host that does not exist`() async throws {
        let probe = try await Network().fetch("http://does-not-exist.invalid/")
        #expect(probe.error?.kind == .url(.cannotFindHost))
        #expect(probe.ends.first?.metrics.remoteAddress == nil)
    }

    @LoopActor
    @Test func `a host that does not exist is nothing to the next one of its pool`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/here", .fixed(200, [:], "here"))
        let network = Network()
        for _ in 0..<3 {
            let missing = try await network.fetch("http://does-not-exist.invalid/")
            #expect(missing.error?.kind == .url(.cannotFindHost))
            let found = try await network.fetch(origin.url("/here"))
            #expect(found.error == nil && found.head?.status == 200)
        }
    }

    @LoopActor
    @Test func `an address that no way leads to is no server that refuses (S-26)`() async throws {
        // To the broadcast address of a network there is no route for TCP, on any machine.
        let broadcast = try await Network().fetch("http://127.255.255.255:9/")
        #expect(broadcast.error?.kind == .url(.notConnectedToInternet))
        #expect(broadcast.error?.isLackOfRoute == true)
        let port = try Endpoint.freePort()
        let refused = try await Network().fetch("http://127.0.0.1:\(port)/")
        #expect(refused.error?.isLackOfRoute == false)
    }

    @LoopActor
    @Test func `a connection that is lost`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/reset", .reset())
        origin.on("/reset-later", .reset(after: 1000))
        origin.on("/truncated", .truncated(after: 10, of: 100))
        origin.on("/chunks", .truncatedChunks(after: 10))
        origin.on("/silent") { $0.close() }
        for path in ["/reset", "/reset-later", "/truncated", "/chunks", "/silent"] {
            let probe = try await Network().fetch(origin.url(path))
            #expect(probe.error?.kind == .url(.networkConnectionLost), "\(path)")
        }
        let truncated = try await Network().fetch(origin.url("/truncated"))
        #expect(truncated.body == Pattern.bytes(count: 10))
        #expect(truncated.head?.status == 200)
    }

    @LoopActor
    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nbody\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nbody\r\n",
    ])
    func `chunks that are none`(bytes: String) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { try $0.send(bytes) }
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error?.kind == .url(.networkConnectionLost))
        #expect(probe.body.isEmpty)
    }

    @LoopActor
    @Test(arguments: [
        "no HTTP at all\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
    ])
    func `an answer that is not HTTP`(bytes: String) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { try $0.send(bytes) }
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error != nil)
        #expect([.url(.cannotParseResponse), .url(.badServerResponse)].contains(probe.error?.kind))
        #expect(probe.offeredHeads.isEmpty && probe.body.isEmpty)
    }

    @LoopActor
    @Test func `a longer body than promised ends where it was promised`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { try $0.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more") }
        let network = Network()
        let probe = try await network.fetch(origin.url())
        #expect(probe.error == nil && probe.text == "ok")
        origin.on("/next", .fixed(200, [:], "next"))
        let next = try await network.fetch(origin.url("/next"))
        #expect(next.text == "next")
        #expect(next.ends.first?.metrics.isReusedConnection == false)
    }

    @LoopActor
    @Test func `a stalled origin ends by cancelling only`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .stall())
        let probe = try Network().start(origin.url())
        try await origin.waitForRequests(1)
        let metrics = probe.attempt?.cancel()
        #expect(metrics?.remotePort == Int(origin.port))
        #expect(metrics?.responseStart == nil)
        try await origin.waitUntilIdle()
        #expect(probe.ends.isEmpty)
    }

    @LoopActor
    @Test func `a slow head keeps the attempt alive line by line (S-16)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .slowHead(["A": "1", "B": "2", "C": "3"], every: .milliseconds(5)))
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error == nil)
        #expect(probe.moves >= 5)
    }
}

/// A listener whose queue is full, so that the kernel drops what tries to connect.
private final class DeafListener {
    private(set) var port: UInt16 = 0
    private var descriptors: [CInt] = []

    init() throws {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = socket(AF_INET, type, 0)
        descriptors.append(listener)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 0) == 0
                    && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening else { throw SetUpFailed() }
        port = UInt16(bigEndian: address.sin_port)
        for _ in 0..<4 {
            let filler = socket(AF_INET, type | CInt(SOCK_NONBLOCK.rawValue), 0)
            descriptors.append(filler)
            withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = connect(filler, $0, size)
                }
            }
        }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }

    struct SetUpFailed: Error {}
}
