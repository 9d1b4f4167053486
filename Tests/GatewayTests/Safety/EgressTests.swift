import TestSupport
import Testing

/// Where a gateway does not go, however it is asked (security §1).
struct EgressTests {
    private static let noDestination: RunningGateway.Options = {
        var options = RunningGateway.Options()
        options.allowedDestinations = []
        return options
    }()

    private static let denial: TestJSON = [
        "domain": "FerryErrorDomain", "code": 1, "name": "destinationDenied",
        "message": "The gateway's policy does not allow this destination.", "failingURL": nil,
        "userInfo": [:], "underlying": nil,
    ]

    /// Spellings of places that nobody may fetch from; PORT stands for the decoys'.
    private static let spellings = [
        "127.0.0.1:PORT", "127.1:PORT", "127.0.1:PORT", "2130706433:PORT", "0x7f000001:PORT",
        "0x7f.0.0.1:PORT", "017700000001:PORT", "0177.0.0.01:PORT", "%31%32%37.0.0.1:PORT",
        "①②⑦.⓪.⓪.①:PORT", "localhost:PORT", "LOCALHOST:PORT", "localhost.:PORT",
        "a.localhost:PORT", "0.0.0.0:PORT", "0:PORT", "[::1]:PORT", "[::]:PORT",
        "[0:0:0:0:0:0:0:1]:PORT", "[::ffff:127.0.0.1]:PORT", "[::ffff:7f00:1]:PORT",
        "[64:ff9b::7f00:1]:PORT", "[2002:7f00:1::]:PORT", "[fe80::1]:PORT", "169.254.169.254",
        "168.63.129.16", "10.0.0.1", "192.168.0.1", "100.64.0.1", "192.0.2.1", "[fd00::1]",
        "224.0.0.1", "255.255.255.255", "93.184.216.34:25",
    ]

    @Test func `no spelling of a forbidden place gets there, and all are told the same (X-1, X-2)`()
        async throws
    {
        try await RunningGateway.alone(Self.noDestination) { gateway in
            let decoy = try Decoy()
            let sixth = try Decoy(host: "::1", port: decoy.port)
            let session = try await gateway.client.createSession("ephemeral")
            for spelling in Self.spellings {
                let url = "http://" + spelling.replacing("PORT", with: "\(decoy.port)") + "/"
                let task = try await session.run("download", url)
                #expect(task["error"] == Self.denial, "\(spelling): \(task["error"])")
                #expect(task["response"].isNull)
                let transactions = task["metrics"]["transactions"].array ?? []
                #expect(transactions.allSatisfy { $0["remoteAddress"].isNull }, "\(spelling)")
            }
            #expect(decoy.acceptCount == 0 && sixth.acceptCount == 0)
        }
    }

    @Test func `what the operator opens is open, to its port and no further`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/quick", .fixed(200, [:], "done"))
        let decoy = try Decoy()
        var options = Self.noDestination
        options.allowedDestinations = ["127.0.0.1/32:\(origin.port)"]
        try await RunningGateway.alone(options) { gateway in
            let session = try await gateway.client.createSession()
            #expect(try await session.run("data", origin.url("/quick"))["error"].isNull)
            let named = "http://localhost:\(origin.port)/quick"
            #expect(try await session.run("data", named)["error"].isNull)
            #expect(try await session.run("data", decoy.url())["error"] == Self.denial)
            #expect(decoy.acceptCount == 0)
        }
    }

    @Test func `redirects go through the same policy, hop by hop (X-3)`() async throws {
        let origin = try ScriptedOrigin()
        let decoy = try Decoy()
        var options = Self.noDestination
        options.allowedDestinations = ["127.0.0.1/32:\(origin.port)"]
        let denied = [
            decoy.url(), "http://169.254.169.254/latest/meta-data/", "http://[::1]:\(decoy.port)/",
            "//localhost:\(decoy.port)/", "http://10.0.0.1/", "http://127.0.0.1:22/",
        ]
        let refused = [
            ("file:///etc/passwd", -1002), ("gopher://127.0.0.1:\(decoy.port)/", -1002),
            ("ftp://127.0.0.1/", -1002), ("http://user@127.0.0.1:\(origin.port)/", -1000),
            ("http:///", -1000),
        ]
        for (index, target) in (denied + refused.map(\.0)).enumerated() {
            origin.on("/\(index)", .redirect(to: target))
        }
        try await RunningGateway.alone(options) { gateway in
            let session = try await gateway.client.createSession()
            for (index, target) in denied.enumerated() {
                let task = try await session.run("data", origin.url("/\(index)"))
                #expect(task["error"] == Self.denial, "\(target)")
            }
            for (index, (target, code)) in refused.enumerated() {
                let path = "/\(denied.count + index)"
                let task = try await session.run("data", origin.url(path))
                #expect(task.errorCode == code, "\(target): \(task["error"])")
            }
            #expect(decoy.acceptCount == 0)
        }
    }

    @Test func `no proxy of the environment is used (X-5)`() async throws {
        let decoy = try Decoy()
        let origin = try ScriptedOrigin()
        origin.on("/quick", .fixed(200, [:], "done"))
        var options = RunningGateway.Options()
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            options.environment[name] = decoy.url("")
        }
        try await RunningGateway.alone(options) { gateway in
            let session = try await gateway.client.createSession()
            #expect(try await session.run("data", origin.url("/quick"))["error"].isNull)
            #expect(decoy.acceptCount == 0)
        }
    }
}
