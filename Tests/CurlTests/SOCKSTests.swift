@testable import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Proxies of SOCKS 4 and 5 (S-23): where they may lead, and what they are told (X-1…X-6).
@Suite(.serialized) struct SOCKS {
    init() { TestLoop.start() }

    /// Global addresses to which nothing is sent: the proxy connects to this machine in their
    /// place.
    private static let global = [IPAddress.v4(0x0808_0404), .v4(0x0808_0808)]
    private static let global6 = IPAddress.v6(0x2001_4860_4860 << 80 | 0x8844)
    private static let told: [ProxyAddress.Kind] = [.socks4, .socks5]
    private static let all: [ProxyAddress.Kind] = [.socks4, .socks5, .socks5h]

    private static func origin(_ text: String = "by SOCKS") throws -> ScriptedOrigin {
        let origin = try ScriptedOrigin()
        origin.otherwise(.fixed(200, [:], text))
        return origin
    }

    // MARK: What is told

    @LoopActor
    @Test func `SOCKS 5h is told the name, and nobody here looks it up`() async throws {
        let (origin, proxy, names) = (try Self.origin(), try await SOCKSProxy(), Names())
        let url = "http://server.example:\(origin.port)/a"
        let probe = try await Network(names).run(url) { $0.proxy = proxy.address(.socks5h) }
        #expect(probe.error == nil && probe.text == "by SOCKS")
        #expect(
            try await proxy.requests == [
                .init(
                    version: 5, methods: [0], host: "server.example", isName: true,
                    port: Int(origin.port))
            ])
        #expect(names.asked.isEmpty)
        #expect(origin.requests[0].target == "/a")
        #expect(origin.requests[0].headers["Host"] == "server.example:\(origin.port)")
        let metrics = probe.ends[0].metrics
        #expect(metrics.isProxyConnection && metrics.remotePort == Int(proxy.port))
    }

    @LoopActor
    @Test func `SOCKS 5 is told the address that was judged (X-1)`() async throws {
        for address in [Self.global[0], Self.global6] {
            let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
            let names = Names(["server.example": [address]])
            let url = "http://server.example:\(origin.port)/"
            let probe = try await Network(names).run(url) { $0.proxy = proxy.address(.socks5) }
            #expect(probe.error == nil && probe.text == "by SOCKS")
            let told = SOCKSProxy.Request(
                version: 5, methods: [0], host: "\(address)", isName: false, port: Int(origin.port))
            #expect(try await proxy.requests == [told])
            #expect(origin.requests[0].headers["Host"] == "server.example:\(origin.port)")
        }
    }

    @LoopActor
    @Test func `SOCKS 5 is told an address of version 4 where one is permitted`() async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let url = "http://both.example:\(origin.port)/"
        for address in [Self.global[0], .v4(0x0a00_0001)] {
            let names = Names(["both.example": [Self.global6, address]])
            let probe = try await Network(names).run(url) { $0.proxy = proxy.address(.socks5) }
            #expect(probe.error == nil && probe.text == "by SOCKS")
        }
        let told = [Self.global[0], Self.global6].map(\.description)
        #expect(try await proxy.requests.map(\.host) == told)
    }

    @LoopActor
    @Test func `SOCKS 4 is told addresses of version 4 only`() async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let names = Names([
            "both.example": [Self.global6, Self.global[0]], "new.example": [Self.global6],
        ])
        let network = Network(names)
        let probe = try await network.run("http://both.example:\(origin.port)/") {
            $0.proxy = proxy.address(.socks4)
        }
        #expect(probe.error == nil)
        let told = SOCKSProxy.Request(
            version: 4, host: "\(Self.global[0])", isName: false, port: Int(origin.port))
        #expect(try await proxy.requests == [told])
        for url in ["http://new.example:\(origin.port)/", "http://[\(Self.global6)]/"] {
            let refused = try await network.run(url) { $0.proxy = proxy.address(.socks4) }
            #expect(refused.error?.kind == .url(.cannotConnectToHost))
            #expect(refused.error?.message.contains("version 4") == true)
        }
        #expect(try await proxy.requests.count == 1)
    }

    @LoopActor
    @Test(arguments: all)
    func `no credential goes to a SOCKS proxy`(kind: ProxyAddress.Kind) async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let names = Names(["server.example": [Self.global[0]]])
        let probe = try await Network(names).run("http://server.example:\(origin.port)/") {
            $0.proxy = proxy.address(kind)
            $0.credential = AttemptCredential(.basic, user: "bob", password: "hidden")
            $0.proxyCredential = AttemptCredential(digest: "Digest nonce=n")
        }
        #expect(probe.error == nil && probe.offeredHeads.count == 1)
        let request = try #require(try await proxy.requests.first)
        #expect(request.user.isEmpty && request.methods == (kind == .socks4 ? [] : [0]))
        let headers = origin.requests[0].headers
        #expect(headers["Authorization"] == "Basic Ym9iOmhpZGRlbg==")
        #expect(headers["Proxy-Authorization"] == nil)
    }

    @LoopActor
    @Test func `a 407 behind a SOCKS proxy is the origin's`() async throws {
        let (origin, proxy) = (try ScriptedOrigin(), try await SOCKSProxy())
        origin.otherwise(.fixed(407, ["Proxy-Authenticate": "Basic realm=\"p\""], "no"))
        let probe = try await Network().run(origin.url()) {
            $0.proxy = proxy.address(.socks5)
            $0.proxyCredential = AttemptCredential(.basic, user: "ann", password: "secret")
        }
        #expect(probe.error == nil && probe.head?.status == 407 && probe.text == "no")
        #expect(probe.ends[0].tunnelResponse == nil)
        #expect(origin.requests.count == 1)
    }

    @LoopActor
    @Test(arguments: all)
    func `TLS is with the host behind the proxy`(kind: ProxyAddress.Kind) async throws {
        let proxy = try await SOCKSProxy()
        let origin = try await TLSOrigin(SharedForge.servers.leaf())
        let network = try await Network.trusting
        for isReused in [false, true] {
            let probe = try await network.run(origin.url()) { $0.proxy = proxy.address(kind) }
            #expect(probe.error == nil && probe.text == "nobody")
            let metrics = probe.ends[0].metrics
            #expect(metrics.isProxyConnection && metrics.isReusedConnection == isReused)
            #expect(metrics.remotePort == Int(proxy.port))
            #expect((metrics.secureConnectionStart != nil) == !isReused)
        }
        let told = try await proxy.requests.map(\.host)
        #expect(told == [kind == .socks5h ? "localhost" : "127.0.0.1"])
        let other = try await TLSOrigin(SharedForge.servers.leaf(.wrongHost))
        let refused = try await network.run(other.url()) { $0.proxy = proxy.address(kind) }
        #expect(refused.error?.kind == .url(.serverCertificateUntrusted))
        #expect(try await other.requests.isEmpty)
    }

    // MARK: Where it may lead

    @LoopActor
    @Test(arguments: told)
    func `a name that leads to a denied address is denied (X-1)`(
        kind: ProxyAddress.Kind
    ) async throws {
        let proxy = try await SOCKSProxy()
        let open = try AllowedDestination(parsing: "127.0.0.1:\(proxy.port)")
        let inside: [IPAddress] = [.v4(0x7f00_0001), .v4(0x0a00_0001), .v4(0xa9fe_a9fe)]
        for address in inside {
            let network = Network(
                Names(["rebound.example": [address]]), egress: EgressPolicy(allowed: [open]))
            let probe = try await network.run("http://rebound.example:8080/") {
                $0.proxy = proxy.address(kind)
            }
            #expect(probe.error == .destinationDenied)
            var metrics = probe.ends[0].metrics
            #expect(metrics.isProxyConnection && metrics.remoteAddress == nil)
            (metrics.fetchStart, metrics.url, metrics.isProxyConnection) = (0, "", false)
            var bare = TransactionMetrics()
            bare.method = "GET"
            #expect(metrics == bare)
        }
        #expect(try await proxy.requests.isEmpty)
    }

    @LoopActor
    @Test func `SOCKS 5h is judged by spelling alone (X-1)`() async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let open = try AllowedDestination(parsing: "127.0.0.1:\(proxy.port)")
        let names = Names(["rebound.example": [.v4(0x7f00_0001)]])
        let network = Network(names, egress: EgressPolicy(allowed: [open]))
        let probe = try await network.run("http://rebound.example:\(origin.port)/") {
            $0.proxy = proxy.address(.socks5h)
        }
        #expect(probe.error == nil)
        #expect(try await proxy.requests.map(\.host) == ["rebound.example"])
    }

    @LoopActor
    @Test(arguments: all)
    func `hosts of this machine are denied before the proxy hears of them (X-1)`(
        kind: ProxyAddress.Kind
    ) async throws {
        let (proxy, decoy) = (try await SOCKSProxy(), try Decoy())
        let open = try AllowedDestination(parsing: "127.0.0.1:\(proxy.port)")
        let network = Network(Names(), egress: EgressPolicy(allowed: [open]))
        for host in ["127.0.0.1", "2130706433", "localhost", "a.localhost", "[::1]", "10.0.0.1"] {
            let probe = try await network.run("http://\(host):\(decoy.port)/") {
                $0.proxy = proxy.address(kind)
            }
            #expect(probe.error == .destinationDenied, "\(host)")
        }
        #expect(try await proxy.requests.isEmpty && decoy.acceptCount == 0)
    }

    @LoopActor
    @Test(arguments: told)
    func `of several addresses the first permitted one is told (X-1)`(
        kind: ProxyAddress.Kind
    ) async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let names = Names(["mixed.example": [.v4(0x0a00_0001)] + Self.global])
        let probe = try await Network(names).run("http://mixed.example:\(origin.port)/") {
            $0.proxy = proxy.address(kind)
        }
        #expect(probe.error == nil)
        #expect(try await proxy.requests.map(\.host) == ["\(Self.global[0])"])
    }

    @LoopActor
    @Test(arguments: all)
    func `only permitted proxies are asked (S-23)`(kind: ProxyAddress.Kind) async throws {
        let decoy = try Decoy()
        let names = Names(["server.example": [Self.global[0]]])
        let probe = try await Network(names, egress: EgressPolicy()).run("http://server.example/") {
            $0.proxy = ProxyAddress(host: "127.0.0.1", port: Int(decoy.port), kind: kind)
        }
        #expect(probe.error == .destinationDenied && decoy.acceptCount == 0)
    }

    // MARK: Connections

    @LoopActor
    @Test func `a connection serves its proxy, its kind and its address only`() async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let other = try await SOCKSProxy()
        let network = Network()
        let proxies: [ProxyAddress?] = [
            proxy.address(.socks5), nil, other.address(.socks5), proxy.address(.socks5h),
            proxy.address(.socks4),
        ]
        for isReused in [false, true] {
            for proxy in proxies {
                let probe = try await network.run(origin.url()) { $0.proxy = proxy }
                #expect(probe.error == nil)
                #expect(probe.ends[0].metrics.isReusedConnection == isReused)
                let port = proxy?.port ?? Int(origin.port)
                #expect(probe.ends[0].metrics.remotePort == port)
            }
        }
        #expect(try await proxy.requests.map(\.version) == [5, 5, 4])
        #expect(try await other.requests.count == 1 && origin.connectionCount == 5)
    }

    @LoopActor
    @Test func `a kept connection is judged again by the address behind it (X-1)`() async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let network = Network(Names(["server.example": Self.global]))
        let url = "http://server.example:\(origin.port)/"
        for denied in [[], [Self.global[0]], Self.global] {
            let pool = try #require(network.pool as? CurlPool)
            pool.gate.policy = EgressPolicy(
                allowed: EgressPolicy.loopback.allowed, ownAddresses: Set(denied))
            let probe = try await network.run(url) { $0.proxy = proxy.address(.socks5) }
            #expect((probe.error == .destinationDenied) == (denied.count == 2))
            if denied.count < 2 { #expect(!probe.ends[0].metrics.isReusedConnection) }
        }
        #expect(try await proxy.requests.map(\.host) == Self.global.map(\.description))
    }

    @LoopActor
    @Test func `a name is looked up once for all who want it at the same time`() async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let names = Names(["server.example": [Self.global[0]]])
        let network = Network(names)
        let probes = try (0..<8).map {
            try network.begin("http://server.example:\(origin.port)/\($0)") {
                $0.proxy = proxy.address(.socks5)
            }
        }
        for probe in probes { #expect(try await probe.end().error == nil) }
        #expect(names.asked == ["server.example"])
        // Another session finds out for itself.
        let other = network.transport.makePool(PoolSettings(tlsMinimum: .tls12, tlsMaximum: .tls13))
        let probe = Probe()
        var request = AttemptRequest(
            url: try network.transport.parse("http://server.example:\(origin.port)/"),
            method: "GET", headers: [:], body: nil, decodesContent: false, priority: 0.5,
            mayPause: true)
        request.proxy = proxy.address(.socks5)
        probe.attempt = other.start(request, observer: probe)
        #expect(try await probe.end().error == nil)
        #expect(names.asked.count == 2)
    }

    @LoopActor
    @Test func `an attempt that is cancelled during its look-up sends nothing`() async throws {
        let proxy = try await SOCKSProxy()
        let names = Names(["server.example": [Self.global[0]]], isHeld: true)
        let network = Network(names)
        let probes = try (0..<2).map { _ in
            try network.begin("http://server.example/") { $0.proxy = proxy.address(.socks5) }
        }
        try await eventually { !names.asked.isEmpty }
        let metrics = probes[0].attempt?.cancel()
        #expect(metrics?.isProxyConnection == true && metrics?.remoteAddress == nil)
        names.letGo()
        try await probes[1].end()
        #expect(try await proxy.requests.count == 1 && probes[0].ends.isEmpty)
    }

    // MARK: What goes wrong

    @LoopActor
    @Test(arguments: [
        ("05ff", "", URLErrorCode.userAuthenticationRequired), ("0501", "", .cannotConnectToHost),
        ("0580", "", .badServerResponse), ("4854", "", .badServerResponse),
        ("", "", .networkConnectionLost), ("05", "", .networkConnectionLost),
        ("0500", "close", .networkConnectionLost), ("0500", "0500", .networkConnectionLost),
        ("0500", "05010001000000000000", .cannotConnectToHost),
        ("0500", "05020001000000000000", .cannotConnectToHost),
        ("0500", "05030001000000000000", .cannotConnectToHost),
        ("0500", "05040001000000000000", .cannotConnectToHost),
        ("0500", "05050001000000000000", .cannotConnectToHost),
        ("0500", "05ff0001000000000000", .cannotConnectToHost),
        ("0500", "04000001000000000000", .badServerResponse),
    ])
    func `SOCKS 5 that does not come about (S-61)`(
        greeting: String, reply: String, code: URLErrorCode
    ) async throws {
        let proxy = try await SOCKSProxy(greeting: greeting, reply: reply)
        let probe = try await Network().run("https://127.0.0.1:9443/") {
            $0.proxy = proxy.address(.socks5h)
        }
        #expect(probe.error?.kind == .url(code))
        #expect(probe.error?.underlying?.layer == .curl && probe.error?.underlying?.code == 97)
        #expect(probe.ends[0].tunnelResponse == nil && probe.offeredHeads.isEmpty)
    }

    @LoopActor
    @Test(arguments: [
        ("005b000000000000", URLErrorCode.cannotConnectToHost),
        ("005c000000000000", .userAuthenticationRequired),
        ("005d000000000000", .userAuthenticationRequired),
        ("0001000000000000", .badServerResponse), ("485454502f312e31", .badServerResponse),
        ("close", .networkConnectionLost),
    ])
    func `SOCKS 4 that does not come about (S-61)`(reply: String, code: URLErrorCode) async throws {
        let proxy = try await SOCKSProxy(reply: reply)
        let probe = try await Network().run("http://127.0.0.1:9/") {
            $0.proxy = proxy.address(.socks4)
        }
        #expect(probe.error?.kind == .url(code) && probe.error?.underlying?.code == 97)
    }

    @LoopActor
    @Test func `a proxy that is not there, or says nothing (S-16)`() async throws {
        let port = try Endpoint.freePort()
        let absent = try await Network().run("http://127.0.0.1:9/") {
            $0.proxy = ProxyAddress(host: "127.0.0.1", port: Int(port), kind: .socks5)
        }
        #expect(absent.error?.kind == .url(.cannotConnectToHost))
        #expect(absent.error?.isLackOfRoute == false)
        let silent = try await SOCKSProxy(reply: "wait")
        let probe = try await Network().run("http://127.0.0.1:9/") {
            $0.proxy = silent.address(.socks5)
            $0.connectTimeout = 0.3
        }
        #expect(probe.error?.kind == .url(.timedOut))
    }

    @LoopActor
    @Test(arguments: told)
    func `a name that is not found, in the resolver's words`(kind: ProxyAddress.Kind) async throws {
        let proxy = try await SOCKSProxy()
        let url = "http://nobody.invalid/"
        let probe = try await Network(Names()).run(url) { $0.proxy = proxy.address(kind) }
        #expect(
            probe.error
                == .url(
                    .cannotFindHost, at: url,
                    underlying: .init(layer: .curl, code: 6, message: "not in the book")))
        #expect(try await proxy.requests.isEmpty)
    }

    @LoopActor
    @Test func `the system is asked by default`() async throws {
        let (origin, proxy) = (try Self.origin(), try await SOCKSProxy())
        let found = AddressBook.askSystem("does-not-exist.invalid")
        #expect(throws: AddressBook.Failure.self) { try found.get() }
        #expect(try AddressBook.askSystem("127.0.0.1").get() == [.v4(0x7f00_0001)])
        #expect(try AddressBook.askSystem("::1").get() == [.v6(1)])
        let probe = try await Network().run("http://localhost:\(origin.port)/") {
            $0.proxy = proxy.address(.socks5)
        }
        #expect(probe.error == nil)
        #expect(try await proxy.requests.map(\.host) == ["127.0.0.1"])
    }
}
