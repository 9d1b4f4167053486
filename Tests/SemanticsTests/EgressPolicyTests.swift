import Testing

import Semantics

struct EgressPolicyTests {
    private func policy(_ allowed: String..., own: [String] = []) throws -> EgressPolicy {
        EgressPolicy(
            allowed: try allowed.map { try AllowedDestination(parsing: $0) },
            ownAddresses: Set(own.compactMap { IPAddress($0) }))
    }

    @Test(arguments: [
        (0, false), (1, false), (22, false), (25, false), (79, false), (80, true), (81, false),
        (442, false), (443, true), (444, false), (1023, false), (1024, true), (8080, true),
        (65_535, true), (65_536, false), (-1, false),
    ])
    func `X-2: public addresses are open on 80, 443 and from 1024 on`(port: Int, isOpen: Bool)
        throws
    {
        let policy = EgressPolicy()
        #expect(policy.permits(address: .v4(0x0808_0808), port: port) == isOpen)
        #expect(
            policy.permits(address: try address("2606:4700::1111"), port: port)
                == isOpen)
        #expect(
            policy.verdict(onHost: "example.com", port: port)
                == (isOpen ? .needsResolution : .denied))
    }

    @Test func `X-1: what is allowed outranks every denied range and port`() throws {
        let policy = try policy(
            "127.0.0.1/32:9000", "10.0.0.0/8", "[::1]/128:22", own: ["10.1.1.1"])
        let rows: [(String, Int, Bool)] = [
            ("127.0.0.1", 9000, true), ("127.0.0.1", 9001, false), ("127.0.0.2", 9000, false),
            ("10.0.0.0", 22, true), ("10.255.255.255", 1, true), ("11.0.0.0", 22, false),
            ("10.1.1.1", 80, true), ("::1", 22, true), ("::1", 80, false),
            ("::ffff:10.0.0.1", 80, false), ("::ffff:127.0.0.1", 9000, false),
        ]
        for (text, port, isOpen) in rows {
            let place = try address(text)
            #expect(policy.permits(address: place, port: port) == isOpen, "\(text) \(port)")
        }
    }

    @Test func `X-2: the machine's own addresses are denied, public ones too`() throws {
        let policy = try policy(own: ["8.8.8.8", "2606:4700::1111"])
        #expect(!policy.permits(address: .v4(0x0808_0808), port: 443))
        #expect(!policy.permits(address: try address("2606:4700::1111"), port: 443))
        #expect(policy.permits(address: .v4(0x0808_0809), port: 443))
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1.", "2130706433", "0x7f000001", "017700000001", "127.1", "0", "::",
        "::1",
        "[::1]", "::ffff:7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1%eth0",
        "[fe80::1%25eth0]",
        "169.254.169.254", "localhost", "LOCALHOST", "localhost.", "localhost..", "a.localhost",
        "a.b.LocalHost.", ".localhost", "168.63.129.16",
    ])
    func `X-1: places of this machine and network are denied before any resolution`(host: String) {
        #expect(EgressPolicy().verdict(onHost: host, port: 80) == .denied)
    }

    @Test(arguments: [
        ("example.com", HostVerdict.needsResolution), ("notlocalhost", .needsResolution),
        ("localhost.example.com", .needsResolution), ("127.0.0.1.example", .needsResolution),
        ("256.256.256.256", .needsResolution), ("1.2.3.4.5", .needsResolution),
        ("8.8.8.8", .permitted),
        ("134744072", .permitted), ("[2606:4700::1111]", .permitted),
        ("example.com.", .needsResolution),
        ("cafe", .needsResolution),
    ])
    func `X-1: names are left to their addresses`(host: String, verdict: HostVerdict) {
        #expect(EgressPolicy().verdict(onHost: host, port: 80) == verdict)
    }

    @Test func `X-1: localhost is permitted where one of its addresses is`() throws {
        #expect(try policy("127.0.0.1").verdict(onHost: "localhost", port: 22) == .permitted)
        #expect(try policy("::1").verdict(onHost: "x.localhost.", port: 22) == .permitted)
        #expect(try policy("127.0.0.1:9000").verdict(onHost: "localhost", port: 9001) == .denied)
        #expect(try policy("127.0.0.2").verdict(onHost: "localhost", port: 80) == .denied)
    }

    @Test func `X-2: a name on a closed port is resolved only where a rule may open it`() throws {
        #expect(
            try policy("10.0.0.0/8:22").verdict(onHost: "git.example", port: 22) == .needsResolution
        )
        #expect(try policy("10.0.0.0/8:22").verdict(onHost: "git.example", port: 23) == .denied)
        #expect(
            try policy("10.0.0.0/8").verdict(onHost: "git.example", port: 23) == .needsResolution)
    }
}

struct AllowedDestinationTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0/8"), ("10.0.0.0/8:8080", "10.0.0.0/8:8080"),
        ("127.0.0.1/32:9000", "127.0.0.1/32:9000"), ("127.0.0.1", "127.0.0.1/32"),
        ("127.0.0.1:9000", "127.0.0.1/32:9000"), ("[::1]/128:8080", "[::1]/128:8080"),
        ("[::1]:8080", "[::1]/128:8080"), ("[::1]", "::1/128"), ("[::1]/128", "::1/128"),
        ("::1", "::1/128"),
        ("fd00::/8", "fd00::/8"), ("fd00::/8:443", "[fd00::]/8:443"), ("0.0.0.0/0", "0.0.0.0/0"),
        ("::/0", "::/0"), ("127.0.0.1:65535", "127.0.0.1/32:65535"),
    ])
    func `an operator's text is read, and written so that it reads the same`(
        text: String, canonical: String
    ) throws {
        let allowed = try AllowedDestination(parsing: text)
        #expect(allowed.description == canonical)
        #expect(try AllowedDestination(parsing: canonical) == allowed)
    }

    @Test(arguments: [
        ("", AllowedDestination.SyntaxError.notAnAddress("")),
        ("localhost", .notAnAddress("localhost")),
        ("localhost:80", .notAnAddress("localhost")), ("10.0.0/8", .notAnAddress("10.0.0")),
        ("*", .notAnAddress("*")), ("10.0.0.0/33", .invalidPrefixLength("33", maximum: 32)),
        ("10.0.0.0/", .invalidPrefixLength("", maximum: 32)),
        ("10.0.0.0/-1", .invalidPrefixLength("-1", maximum: 32)),
        ("10.0.0.0/255.0.0.0", .invalidPrefixLength("255.0.0.0", maximum: 32)),
        ("::1/129", .invalidPrefixLength("129", maximum: 128)),
        ("10.1.2.3/8", .addressInsideBlock("10.1.2.3/8", block: "10.0.0.0/8")),
        ("10.0.0.0/8:0", .invalidPort("0")), ("10.0.0.0/8:65536", .invalidPort("65536")),
        ("10.0.0.0/8:", .invalidPort("")), ("10.0.0.0/8:http", .invalidPort("http")),
        ("127.0.0.1:99999999999999999999", .invalidPort("99999999999999999999")),
        ("[::1", .unbalancedBrackets("[::1")), ("[::1]x", .unbalancedBrackets("[::1]x")),
        ("[127.0.0.1]", .unbalancedBrackets("[127.0.0.1]")),
        ("[fe80::1%eth0]", .notAnAddress("fe80::1%eth0")),
    ])
    func `a wrong text says what is wrong`(text: String, error: AllowedDestination.SyntaxError) {
        #expect(throws: error) { try AllowedDestination(parsing: text) }
    }
}
