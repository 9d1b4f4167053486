@testable import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// S-75: the client sees the server's certificates before a byte of its request is sent.
@Suite(.serialized) struct ServerTrusts {
    init() { TestLoop.start() }

    private static let flaws: [(CertificateForge.Flaw, URLErrorCode)] = [
        (.none, .secureConnectionFailed), (.selfSigned, .serverCertificateHasUnknownRoot),
        (.expired, .serverCertificateHasBadDate), (.wrongHost, .serverCertificateUntrusted),
    ]

    @LoopActor
    @Test(arguments: flaws, ["1.2", "1.3"])
    func `a leaf that nobody knows is asked about, with all that is wrong`(
        flaw: (CertificateForge.Flaw, URLErrorCode), version: String
    ) async throws {
        let origin = try await TLSOrigin(SharedForge.servers.leaf(flaw.0), version: version)
        let network = try await Network.trusting
        let probe = try await network.run(origin.url()) { $0.trust = .known([]) }
        let end = probe.ends[0]
        #expect(end.error?.kind == .url(flaw.1))
        #expect(end.error?.failingURL == origin.url())
        let trust = try #require(end.serverTrust)
        #expect(trust.failures.map(\.code) == (flaw.0.failure.map { [$0.code] } ?? []))
        #expect(trust.failures.map(\.message) == (flaw.0.failure.map { [$0.words] } ?? []))
        #expect(trust.failures.allSatisfy { $0.depth == 0 })
        #expect(trust.isTrusted == (flaw.0 == .none))
        #expect(end.error?.underlying?.code == flaw.0.failure?.code)
        try await origin.waitForFailure()
        #expect(try await origin.requests.isEmpty && probe.offeredHeads.isEmpty)
        #expect(end.metrics.requestStart == nil)
    }

    @LoopActor
    @Test func `certificates are told as people look at them`() async throws {
        let leaf = try await SharedForge.servers.leaf()
        let origin = try await TLSOrigin(leaf)
        let probe = try await Network().run(origin.url()) { $0.trust = .known([]) }
        let trust = try #require(probe.ends[0].serverTrust)
        #expect(trust.failures.map(\.code) == [20])
        #expect(trust.chain.count == 1)
        let record = trust.chain[0]
        #expect(record.subject == "CN=localhost" && record.issuer == "CN=Test Authority")
        #expect(record.alternativeNames == ["localhost", "127.0.0.1", "::1"])
        #expect(record.notAfter.milliseconds - record.notBefore.milliseconds == 30 * 86_400_000)
        let told = try await ChildProcess.run(
            "openssl",
            ["x509", "-in", leaf.certificatePath, "-noout", "-serial", "-fingerprint", "-sha256"])
        let lines = told.split(separator: "\n")
        #expect(lines.first.map { $0.dropFirst("serial=".count) } == record.serialNumber[...])
        let hex = record.fingerprint.map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count < 2 ? "0" + digits : digits
        }
        #expect(lines.last?.hasSuffix("=" + hex.joined(separator: ":")) == true)
        let file = try await ChildProcess.run("openssl", ["x509", "-in", leaf.certificatePath])
        #expect(record.pem == file)
    }

    @LoopActor
    @Test(arguments: flaws.map(\.0), ["1.2", "1.3"])
    func `exactly the leaf that was accepted is trusted`(
        flaw: CertificateForge.Flaw, version: String
    ) async throws {
        let origin = try await TLSOrigin(SharedForge.servers.leaf(flaw), version: version)
        let network = Network()
        let asked = try await network.run(origin.url()) { $0.trust = .known([]) }
        let leaf = try #require(asked.ends[0].serverTrust?.chain.first?.fingerprint)
        let known = TrustPolicy.known([origin.leaf(leaf, mustVerify: false)])
        let probe = try await network.run(origin.url()) { $0.trust = known }
        #expect(probe.error == nil && probe.text == "nobody")
        #expect(probe.ends[0].question == nil)

        var other = leaf
        other[31] ^= 1
        let wrong = TrustPolicy.known([origin.leaf(other, mustVerify: false)])
        let refused = try await Network().run(origin.url()) { $0.trust = wrong }
        #expect(refused.ends[0].serverTrust?.chain.first?.fingerprint == leaf)
        #expect(refused.error != nil)
        #expect(try await origin.requests.count == 1)
    }

    @LoopActor
    @Test(arguments: flaws)
    func `a leaf that was left to default handling must verify, and is not asked about again`(
        flaw: CertificateForge.Flaw, code: URLErrorCode
    ) async throws {
        let origin = try await TLSOrigin(SharedForge.servers.leaf(flaw))
        let network = try await Network.trusting
        let asked = try await network.run(origin.url()) { $0.trust = .known([]) }
        let leaf = try #require(asked.ends[0].serverTrust?.chain.first?.fingerprint)
        let known = TrustPolicy.known([origin.leaf(leaf, mustVerify: true)])
        let probe = try await network.run(origin.url()) { $0.trust = known }
        #expect(probe.ends[0].question == nil)
        if flaw == .none {
            #expect(probe.error == nil && probe.text == "nobody")
        } else {
            #expect(probe.error?.kind == .url(code))
            #expect(probe.error?.underlying?.code == flaw.failure?.code)
            #expect(try await origin.requests.isEmpty)
        }
    }

    @LoopActor
    @Test func `a certificate for other names is told of by address as by name`() async throws {
        let origin = try await TLSOrigin(SharedForge.servers.leaf(.wrongHost))
        let network = try await Network.trusting
        for (host, code) in [("localhost", 62), ("127.0.0.1", 64)] {
            let probe = try await network.run(origin.url(host: host)) { $0.trust = .known([]) }
            #expect(probe.ends[0].serverTrust?.failures.map(\.code) == [code], "\(host)")
        }
        let right = try await TLSOrigin(SharedForge.servers.leaf())
        for host in ["localhost", "127.0.0.1"] {
            let probe = try await network.run(right.url(host: host)) { $0.trust = .known([]) }
            #expect(probe.ends[0].serverTrust?.isTrusted == true, "\(host)")
        }
    }

    // MARK: Connections that are kept

    @LoopActor
    @Test func `a kept connection serves those only who trust its leaf`() async throws {
        let origin = try await TLSOrigin(SharedForge.servers.leaf(.selfSigned))
        let network = Network()
        let asked = try await network.run(origin.url()) { $0.trust = .known([]) }
        let leaf = try #require(asked.ends[0].serverTrust?.chain.first?.fingerprint)
        let accepted = TrustPolicy.known([origin.leaf(leaf, mustVerify: false)])
        let first = try await network.run(origin.url("/first")) { $0.trust = accepted }
        let second = try await network.run(origin.url("/second")) { $0.trust = accepted }
        #expect(!first.ends[0].metrics.isReusedConnection)
        #expect(second.ends[0].metrics.isReusedConnection && second.error == nil)

        // The session has forgotten it, or has it verified, or never knew: none of them rides
        // along.
        let forgotten = try await network.run(origin.url("/no")) { $0.trust = .known([]) }
        #expect(forgotten.ends[0].serverTrust != nil)
        let strict = TrustPolicy.known([origin.leaf(leaf, mustVerify: true)])
        let verified = try await network.run(origin.url("/no")) { $0.trust = strict }
        #expect(verified.error?.kind == .url(.serverCertificateHasUnknownRoot))
        #expect(verified.ends[0].question == nil)
        let system = try await network.fetch(origin.url("/no"))
        #expect(system.error?.kind == .url(.serverCertificateHasUnknownRoot))
        #expect(try await origin.requests == ["request 2 GET /first", "request 2 GET /second"])

        // The kept connection is still there for those whom it serves.
        let third = try await network.run(origin.url("/third")) { $0.trust = accepted }
        #expect(third.error == nil)
        #expect(try await origin.requests.count == 3)
    }

    @LoopActor
    @Test func `an attempt that is refused a kept connection goes on, on another one`() async throws
    {
        let origin = try await TLSOrigin(SharedForge.servers.leaf())
        let network = try await Network.trusting
        let asked = try await network.run(origin.url()) { $0.trust = .known([]) }
        let leaf = try #require(asked.ends[0].serverTrust?.chain.first?.fingerprint)
        let accepted = TrustPolicy.known([origin.leaf(leaf, mustVerify: false)])
        let strict = TrustPolicy.known([origin.leaf(leaf, mustVerify: true)])
        _ = try await network.run(origin.url("/a")) { $0.trust = accepted }
        let source = PatternSource(0)
        let body = AttemptBody.source(source, length: nil)
        let probe = try await network.run(origin.url("/b"), method: "PUT", body: body) {
            $0.trust = strict
        }
        let end = probe.ends[0]
        #expect(source.reads == 1 && source.rewinds == 0)
        #expect(end.error == nil && probe.head?.status == 200)
        #expect(!end.metrics.isReusedConnection)
        #expect(end.metrics.connectStart ?? 0 >= end.metrics.fetchStart)
        #expect(try await origin.requests == ["request 2 GET /a", "request 3 PUT /b"])
    }

    @LoopActor
    @Test func `what is known of a connection lives as long as the connection`() async throws {
        let origin = try await TLSOrigin(SharedForge.servers.leaf())
        var network: Network? = try await Network.trusting
        weak var handshake: Handshake?
        var probe: Probe? = try network?.begin(origin.url()) { $0.identity = .ask }
        try await probe?.end()
        handshake = (probe?.attempt as? CurlAttempt)?.handshake
        probe = nil
        #expect(handshake != nil)
        network = nil
        try await eventually { handshake == nil }
    }

    @LoopActor
    @Test func `a proof of several requests does not come back to a connection that is refused`()
        async throws
    {
        let origin = try await TLSOrigin(SharedForge.servers.leaf())
        let network = try await Network.trusting
        let asked = try await network.run(origin.url()) { $0.trust = .known([]) }
        let leaf = try #require(asked.ends[0].serverTrust?.chain.first?.fingerprint)
        let accepted = TrustPolicy.known([origin.leaf(leaf, mustVerify: false)])
        let strict = TrustPolicy.known([origin.leaf(leaf, mustVerify: true)])
        _ = try await network.run(origin.url("/a")) { $0.trust = accepted }
        let body = AttemptBody.source(PatternSource(0), length: nil)
        let probe = try await network.run(origin.url("/b"), method: "PUT", body: body) {
            $0.trust = strict
            $0.credential = AttemptCredential(.ntlm, user: "a", password: "b")
        }
        #expect(probe.error == nil && probe.offeredHeads.map(\.status) == [200])
        let proof = ["request 3 PUT /b", "request 3 PUT /b"]
        #expect(try await origin.requests == ["request 2 GET /a"] + proof)
    }

    @LoopActor
    @Test func `an attempt that only connects sends nothing, and asks like any other`() async throws
    {
        let origin = try await TLSOrigin(SharedForge.servers.leaf())
        let network = Network()
        let asked = try await network.run(origin.url(), method: "PUT") {
            $0.trust = .known([])
            $0.onlyConnects = true
        }
        let leaf = try #require(asked.ends[0].serverTrust?.chain.first?.fingerprint)
        let probe = try await network.run(origin.url(), method: "PUT") {
            $0.trust = .known([origin.leaf(leaf, mustVerify: false)])
            $0.onlyConnects = true
        }
        #expect(probe.error == nil && probe.offeredHeads.isEmpty)
        #expect(probe.ends[0].metrics.requestStart == nil)
        #expect(try await origin.requests.isEmpty)
        let refused = try await network.run("http://127.0.0.1:\(try Endpoint.freePort())/") {
            $0.onlyConnects = true
        }
        #expect(refused.error?.kind == .url(.cannotConnectToHost))
    }
}

extension AttemptEnd {
    /// What the server has shown, if that is the question.
    var serverTrust: ServerTrust? {
        if case .serverTrust(let trust)? = question { trust } else { nil }
    }
}

extension TLSOrigin {
    /// A leaf of this server's, by the name `localhost`.
    func leaf(_ fingerprint: [UInt8], mustVerify: Bool) -> KnownLeaf {
        KnownLeaf(
            host: "localhost", port: Int(port), fingerprint: fingerprint, mustVerify: mustVerify)
    }
}
