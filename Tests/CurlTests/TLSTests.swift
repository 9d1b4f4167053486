import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// S-22 and the verification of servers.
@Suite struct Security {
    init() { TestLoop.start() }

    @LoopActor
    @Test(arguments: [
        ("-tls1_2", TLSVersion.tls12 ... .tls13, true), ("-tls1_3", .tls12 ... .tls13, true),
        ("-tls1_2", .tls13 ... .tls13, false), ("-tls1_3", .tls12 ... .tls12, false),
        ("-tls1_1", .tls12 ... .tls13, false), ("-tls1_1", .tls10 ... .tls13, true),
        ("-tls1", .tls10 ... .tls10, true), ("-tls1", .tls11 ... .tls12, false),
    ])
    func `a server outside of the range is refused (S-22)`(
        server: String, range: ClosedRange<TLSVersion>, isTaken: Bool
    ) async throws {
        let forge = try await CertificateForge()
        let arguments = [server, "-cipher", "ALL:@SECLEVEL=0"]
        let origin = try await SecureOrigin(forge.leaf(), arguments)
        let network = Network(tls: range, trustedCertificates: forge.authorityPath)
        let probe = try await network.fetch(origin.url())
        if isTaken {
            #expect(probe.error == nil)
            #expect(probe.head?.status == 200)
            let metrics = probe.ends[0].metrics
            #expect(metrics.secureConnectionStart ?? 0 > metrics.connectStart ?? .max)
            #expect(metrics.secureConnectionEnd == metrics.connectEnd)
        } else {
            #expect(probe.error?.kind == .url(.secureConnectionFailed))
        }
    }

    @LoopActor
    @Test(arguments: [
        (CertificateForge.Flaw.selfSigned, URLErrorCode.serverCertificateHasUnknownRoot),
        (.expired, .serverCertificateHasBadDate), (.wrongHost, .serverCertificateUntrusted),
    ])
    func `a certificate that does not verify is refused (S-75)`(
        flaw: CertificateForge.Flaw, code: URLErrorCode
    ) async throws {
        let forge = try await CertificateForge()
        let origin = try await SecureOrigin(forge.leaf("leaf", flaw))
        let network = Network(trustedCertificates: forge.authorityPath)
        let probe = try await network.fetch(origin.url())
        #expect(probe.error?.kind == .url(code))
        #expect(probe.offeredHeads.isEmpty)
    }

    @LoopActor
    @Test func `an authority of one's own is not trusted by default (S-75)`() async throws {
        let forge = try await CertificateForge()
        let origin = try await SecureOrigin(forge.leaf())
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error?.kind == .url(.serverCertificateHasUnknownRoot))
        #expect(probe.error?.underlying?.layer == .tls)
    }
}
