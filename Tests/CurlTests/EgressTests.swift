@testable import Curl
import Engine
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

/// X-1…X-6: there is one way out, and it asks.
@Suite struct Egress {
    init() { TestLoop.start() }

    private static let spellings = [
        "127.0.0.1", "2130706433", "0x7f000001", "0x7F.1", "017700000001", "0177.0.0.1", "127.1",
        "127.0.1",
        "%31%32%37.0.0.1", "127.0.0.%31", "%32%31%33%30%37%30%36%34%33%33", "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "１２７.0.0.1", "localhost", "LOCALHOST", "localhost.", "a.localhost", "a.localhost.",
        "loc%61lhost",
        "0", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[fe80::1%25lo]",
        "[::1%25lo]",
        "127.255.255.254",
    ]

    @LoopActor
    @Test(arguments: spellings)
    func `no spelling of this machine is let through (X-1, X-6)`(host: String) async throws {
        let decoy = try Decoy()
        let decoy6 = try Decoy(host: "::1", port: decoy.port)
        let probe = try await Network(egress: EgressPolicy()).fetch("http://\(host):\(decoy.port)/")
        #expect(probe.error == .destinationDenied)
        #expect(decoy.acceptCount == 0 && decoy6.acceptCount == 0)
    }

    @LoopActor
    @Test func `a name is judged by the address it leads to (X-1)`() async throws {
        let decoy = try Decoy()
        // ::1 is open, so the name itself may be looked up; 127.0.0.1, which it leads to as well,
        // is not.
        let egress = EgressPolicy(allowed: [try AllowedDestination(parsing: "::1")])
        let probe = try await Network(egress: egress).fetch("http://localhost:\(decoy.port)/")
        #expect(probe.error == .destinationDenied)
        #expect(decoy.acceptCount == 0)
    }

    @LoopActor
    @Test func `the machine's own name leads nowhere (X-1, X-2)`() async throws {
        let decoy = try Decoy()
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8($0) }, as: UTF8.self)
        let probe = try await Network(egress: EgressPolicy()).fetch("http://\(host):\(decoy.port)/")
        #expect(probe.error == .destinationDenied || probe.error?.kind == .url(.cannotFindHost))
        #expect(decoy.acceptCount == 0)
    }

    @LoopActor
    @Test func `every denial looks the same (X-1)`() async throws {
        let decoy = try Decoy()
        let opened = EgressPolicy(allowed: [try AllowedDestination(parsing: "::1")])
        let bySocket = try await Network(egress: opened).fetch("http://localhost:\(decoy.port)/")
        let byHost = try await Network(egress: EgressPolicy()).fetch("http://10.1.2.3/")
        let byPort = try await Network(egress: EgressPolicy()).fetch("http://example.com:22/")
        for probe in [bySocket, byHost, byPort] {
            #expect(probe.error?.domain == "FerryErrorDomain")
            #expect(probe.error?.code == 1)
            #expect(probe.error == byHost.error)
            var metrics = probe.ends[0].metrics
            #expect(metrics.fetchStart > 0)
            metrics.fetchStart = 0
            metrics.url = ""
            var bare = TransactionMetrics()
            bare.method = "GET"
            #expect(metrics == bare)
        }
    }

    @LoopActor
    @Test func `a denied destination is no way to another attempt's connection`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        let open = Network()
        let shut = Network(egress: EgressPolicy())
        #expect(try await open.fetch(origin.url()).error == nil)
        #expect(try await shut.fetch(origin.url()).error == .destinationDenied)
        #expect(try await open.fetch(origin.url()).error == nil)
        #expect(origin.requests.count == 2)
    }

    @LoopActor
    @Test func `a connection that is open already is judged again (X-1)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        let network = Network()
        let url = "http://localhost:\(origin.port)/"
        #expect(try await network.fetch(url).error == nil)
        // The name stays open by ::1, the address that the connection leads to does not.
        let pool = try #require(network.pool as? CurlPool)
        pool.gate.policy = EgressPolicy(allowed: [try AllowedDestination(parsing: "::1")])
        #expect(try await network.fetch(url).error == .destinationDenied)
        #expect(origin.requests.count == 1)
    }

    @LoopActor
    @Test func `an allowed port opens no other one (X-1)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        let decoy = try Decoy()
        let egress = EgressPolicy(
            allowed: [try AllowedDestination(parsing: "127.0.0.1:\(origin.port)")])
        let network = Network(egress: egress)
        #expect(try await network.fetch(origin.url()).error == nil)
        #expect(try await network.fetch(decoy.url()).error == .destinationDenied)
        #expect(decoy.acceptCount == 0)
    }

    @Test func `proxies of the environment are not asked (X-5)`() async {
        await #expect(processExitsWith: .success) {
            let decoy = try Decoy()
            let origin = try ScriptedOrigin()
            origin.on("/", .fixed(200, [:], "direct"))
            let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
            for name in names { setenv(name, decoy.url(), 1) }
            setenv("SSLKEYLOGFILE", "/dev/null", 1)
            TestLoop.start()
            let network = await Network()
            let scrubbed = (names + ["SSLKEYLOGFILE"]).allSatisfy { getenv($0) == nil }
            // Set again behind its back: the handle's own options must do without the environment.
            for name in names { setenv(name, decoy.url(), 1) }
            let text = try await network.fetch(origin.url()).text
            exit(scrubbed && text == "direct" && decoy.acceptCount == 0 ? 0 : 1)
        }
    }

    @Test func `host names are read the same in every locale (X-6)`() async {
        await #expect(processExitsWith: .success) {
            setlocale(LC_ALL, "C")
            setenv("LC_ALL", "C", 1)
            let transport = CurlTransport(CurlSettings(egress: EgressPolicy(), userAgent: "t"))
            let circled = try transport.parse("http://①②⑦.⓪.⓪.①/").string
            let umlaut = try transport.parse("http://münchen.de/").host
            exit(circled == "http://127.0.0.1/" && umlaut == "xn--mnchen-3ya.de" ? 0 : 1)
        }
    }
}
