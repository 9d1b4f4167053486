import Curl
import Engine
import Foundation
import Loop
import Semantics
import TestSupport
import Testing

/// S-63: certificates of the client's.
@Suite(.serialized) struct ClientCertificates {
    init() { TestLoop.start() }

    /// A server with its authority, and an authority for clients.
    private struct Scene {
        let origin: TLSOrigin
        let network: Network

        @LoopActor init(_ version: String, _ demand: TLSOrigin.Demand) async throws {
            network = try await Network.trusting
            origin = try await TLSOrigin(
                SharedForge.servers.leaf(), version: version, demand: demand,
                authority: SharedForge.clients.authorityPath)
        }

        func identity(
            _ flaw: CertificateForge.Flaw = .none
        ) async throws -> ClientIdentity {
            try .pem(await SharedForge.clients.leaf(flaw))
        }
    }

    @LoopActor
    @Test(arguments: ["-tls1_2", "-tls1_3"], ["-verify", "-Verify"])
    func `the names of the authorities come with the question`(
        version: String, demand: String
    ) async throws {
        let origin = try await SecureOrigin(
            SharedForge.servers.leaf(),
            [version, demand, "1", "-CAfile", SharedForge.clients.authorityPath])
        let network = try await Network.trusting
        let probe = try await network.run(origin.url()) { $0.identity = .ask }
        let names = ["CN=Test Authority"]
        #expect(probe.ends[0].question == .clientCertificate(distinguishedNames: names))
        #expect(probe.offeredHeads.isEmpty)
    }

    @LoopActor
    @Test(arguments: ["1.2", "1.3"], [TLSOrigin.Demand.optional, .required])
    func `a server that wants a certificate is asked about`(
        version: String, demand: TLSOrigin.Demand
    ) async throws {
        let scene = try await Scene(version, demand)
        let probe = try await scene.network.run(scene.origin.url()) { $0.identity = .ask }
        let end = probe.ends[0]
        #expect(end.question == .clientCertificate(distinguishedNames: []))
        #expect(end.error?.kind == .url(.clientCertificateRequired))
        try await scene.origin.waitForFailure()
        #expect(end.metrics.requestStart == nil)
        #expect(try await scene.origin.requests.isEmpty)
    }

    @LoopActor
    @Test(arguments: ["1.2", "1.3"])
    func `both questions come, the server's certificate first`(version: String) async throws {
        let scene = try await Scene(version, .required)
        let network = Network()
        let first = try await network.run(scene.origin.url()) {
            $0.trust = .known([])
            $0.identity = .ask
        }
        let leaf = try #require(first.ends[0].serverTrust?.chain.first?.fingerprint)
        let trust = TrustPolicy.known([scene.origin.leaf(leaf, mustVerify: false)])
        let second = try await network.run(scene.origin.url()) {
            $0.trust = trust
            $0.identity = .ask
        }
        #expect(second.error?.kind == .url(.clientCertificateRequired))
        let identity = try await scene.identity()
        let third = try await network.run(scene.origin.url()) {
            $0.trust = trust
            $0.identity = .certificate(identity)
        }
        #expect(third.error == nil && third.text == "localhost")
        #expect(try await scene.origin.requests.count == 1)
    }

    @LoopActor
    @Test(arguments: ["1.2", "1.3"], [true, false])
    func `a certificate is presented from PEM and from PKCS 12`(
        version: String, isPEM: Bool
    ) async throws {
        let scene = try await Scene(version, .required)
        let network = scene.network
        let leaf = try await SharedForge.clients.leaf()
        let identity = try await isPEM ? .pem(leaf) : ClientIdentity.pkcs12(leaf, "päss wörd")
        let prepared = try await network.transport.prepare(identity)
        if isPEM { #expect(prepared == identity) }
        for form in [identity, prepared] {
            let probe = try await network.run(scene.origin.url()) {
                $0.identity = .certificate(form)
            }
            #expect(probe.error == nil && probe.text == "localhost")
        }
        let again = try await network.run(scene.origin.url()) {
            $0.identity = .certificate(identity)
        }
        #expect(again.error == nil && again.ends[0].metrics.isReusedConnection)
    }

    @LoopActor
    @Test(arguments: ["1.2", "1.3"])
    func `without a certificate the server says what it thinks of that`(
        version: String
    ) async throws {
        let optional = try await Scene(version, .optional)
        let network = optional.network
        let probe = try await network.run(optional.origin.url()) { $0.identity = .without }
        #expect(probe.error == nil && probe.text == "nobody")
        // The next one is asked by the server again: nothing of this connection is left.
        let next = try await network.run(optional.origin.url()) { $0.identity = .ask }
        #expect(next.ends[0].question != nil)

        let required = try await Scene(version, .required)
        let refused = try await required.network.run(required.origin.url()) {
            $0.identity = .without
        }
        #expect(refused.error?.kind == .url(.clientCertificateRequired))
        #expect(refused.error?.underlying?.layer == .tls)
        #expect(refused.ends[0].question == nil && refused.offeredHeads.isEmpty)
    }

    @LoopActor
    @Test(arguments: ["1.2", "1.3"], [true, false])
    func `a certificate that the server refuses is told from one that is missing`(
        version: String, isExpired: Bool
    ) async throws {
        let scene = try await Scene(version, .required)
        let identity =
            try await isExpired ? scene.identity(.expired) : scene.identity(.selfSigned)
        // Expired is for the server to say.
        _ = try await scene.network.transport.prepare(identity)
        let probe = try await scene.network.run(scene.origin.url()) {
            $0.identity = .certificate(identity)
        }
        #expect(probe.error?.kind == .url(.clientCertificateRejected))
        #expect(probe.error?.underlying?.layer == .tls)
        #expect(probe.error?.underlying?.code == (isExpired ? 45 : 48))
    }

    @LoopActor
    @Test func `connections with a certificate are not shared with attempts without it`()
        async throws
    {
        let scene = try await Scene("1.3", .optional)
        let network = scene.network
        let (first, second) = try await (scene.identity(), scene.identity(.wrongHost))
        func fetch(_ policy: IdentityPolicy) async throws -> Probe {
            try await network.run(scene.origin.url()) { $0.identity = policy }
        }
        #expect(try await fetch(.certificate(first)).text == "localhost")
        #expect(try await fetch(.without).text == "nobody")
        #expect(try await fetch(.ask).ends[0].question != nil)
        let other = try await fetch(.certificate(second))
        #expect(other.text == "wrong.example" && !other.ends[0].metrics.isReusedConnection)
        let again = try await fetch(.certificate(first))
        #expect(again.text == "localhost" && again.ends[0].metrics.isReusedConnection)
    }

    @LoopActor
    @Test func `a server that asks behind the request is answered in the next attempt`()
        async throws
    {
        let scene = try await Scene("1.3", .later)
        let network = scene.network
        let open = try await network.run(scene.origin.url()) { $0.identity = .ask }
        #expect(open.error == nil && open.text == "nobody")
        let asked = try await network.run(scene.origin.url("/private")) { $0.identity = .ask }
        #expect(asked.ends[0].question != nil && asked.offeredHeads.isEmpty)
        let identity = try await scene.identity()
        let probe = try await network.run(scene.origin.url("/private")) {
            $0.identity = .certificate(identity)
        }
        #expect(probe.error == nil)
    }

    // MARK: Checks

    @Test func `what is no certificate with its key is refused in a sentence`() async throws {
        let transport = CurlTransport(CurlSettings(egress: EgressPolicy(), userAgent: "t"))
        let (mine, other) = try await (
            SharedForge.clients.leaf(), SharedForge.clients.leaf(.wrongHost)
        )
        let (mineText, otherText) = (try PEMText(mine), try PEMText(other))
        let locked = try await ChildProcess.run(
            "openssl", ["ec", "-aes256", "-passout", "pass:x", "-in", mine.keyPath])
        let file = try await ClientIdentity.pkcs12Bytes(mine, "right")
        let keyless = try await ClientIdentity.pkcs12Bytes(mine, "right", ["-nokeys"])
        let cases: [(ClientIdentity, String)] = [
            (
                .pem(certificate: mineText.certificate, key: otherText.key),
                "The private key does not belong to the certificate."
            ),
            (
                .pem(certificate: "no", key: mineText.key),
                "The certificate is not a certificate in PEM form."
            ),
            (
                .pem(certificate: mineText.certificate, key: "no"),
                "The private key is not a private key in PEM form."
            ),
            (
                .pem(certificate: mineText.certificate, key: locked),
                "The private key has a passphrase; send it without one."
            ),
            (
                .pkcs12(bytes: file, passphrase: "wrong"),
                "The passphrase does not open the PKCS #12 file."
            ),
            (.pkcs12(bytes: [1, 2], passphrase: ""), "The bytes are not a PKCS #12 file."),
            (
                .pkcs12(bytes: keyless, passphrase: "right"),
                "The PKCS #12 file has no certificate for its private key."
            ),
        ]
        for (identity, sentence) in cases {
            await #expect(throws: IdentityRejection(sentence)) {
                try await transport.prepare(identity)
            }
        }
        let pem = ClientIdentity.pem(certificate: mineText.certificate, key: mineText.key)
        #expect(try await transport.prepare(pem) == pem)
        let opened = try await transport.prepare(.pkcs12(bytes: file, passphrase: "right"))
        #expect(try await transport.prepare(opened) == opened)
    }
}

/// The texts of an identity's files.
private struct PEMText {
    let certificate: String
    let key: String

    init(_ identity: CertificateForge.Identity) throws {
        certificate = try String(contentsOfFile: identity.certificatePath, encoding: .utf8)
        key = try String(contentsOfFile: identity.keyPath, encoding: .utf8)
    }
}

extension ClientIdentity {
    fileprivate static func pem(_ identity: CertificateForge.Identity) throws -> ClientIdentity {
        let text = try PEMText(identity)
        return .pem(certificate: text.certificate, key: text.key)
    }

    fileprivate static func pkcs12(
        _ identity: CertificateForge.Identity, _ passphrase: String
    ) async throws -> ClientIdentity {
        .pkcs12(bytes: try await pkcs12Bytes(identity, passphrase), passphrase: passphrase)
    }

    fileprivate static func pkcs12Bytes(
        _ identity: CertificateForge.Identity, _ passphrase: String, _ more: [String] = []
    ) async throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        var arguments = ["pkcs12", "-export", "-in", identity.certificatePath]
        if !more.contains("-nokeys") { arguments += ["-inkey", identity.keyPath] }
        arguments += ["-out", directory.file("p12"), "-passout", "pass:" + passphrase]
        try await ChildProcess.run("openssl", arguments + more)
        return try directory.read("p12")
    }
}
