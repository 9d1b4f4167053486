import TLS
import TestSupport
import Testing

/// Certificates that are made, and what is read of them.
@Suite struct CertificateTests {
    private let files: TemporaryDirectory
    private let authority: CertificateAuthority

    init() throws {
        files = try TemporaryDirectory()
        authority = try CertificateAuthority(name: "Tests")
        _ = try files.write("ca.pem", authority.pair.certificate)
        _ = try files.write("ca.key", authority.pair.key)
    }

    private func server(_ names: String..., days: Int = 397) throws -> TLSFiles {
        let pair = try authority.issue(.server(names.compactMap { HostName($0) }), days: days)
        return TLSFiles(
            certificate: try files.write("leaf.pem", pair.certificate),
            key: try files.write("leaf.key", pair.key))
    }

    @Test func `A certificate says for whom it is, and until when`() throws {
        let context = try TLSContext(
            try server("a.test", "*.b.test", "10.0.0.1", "2001:db8::1", days: 10), protocols: [])
        let facts = context.certificate
        #expect(facts.names == ["a.test", "*.b.test", "10.0.0.1", "2001:db8::1"])
        #expect(facts.notAfter - facts.notBefore == 10 * 86_400 - 1)
        #expect(facts.isInForce(at: facts.notBefore))
        #expect(facts.isInForce(at: facts.notAfter))
        #expect(!facts.isInForce(at: facts.notBefore - 1))
        #expect(!facts.isInForce(at: facts.notAfter + 1))
        #expect(facts.publicKeyPin.hasPrefix("sha256//"))
        #expect(facts.publicKeyPin.utf8.count == 8 + 44)
        #expect(!context.asksForClientCertificates)
    }

    @Test func `The end is that of the first of the chain to end`() throws {
        let leaf = try server("a.test", days: 20)
        let short = try authority.issue(.client("short"), days: 3)
        let pem = try files.read("leaf.pem") + short.certificate
        let chain = TLSFiles(certificate: try files.write("chain.pem", pem), key: leaf.key)
        #expect(try TLSContext(chain, protocols: []).certificate.notAfter == short.notAfter)
    }

    @Test func `No certificate outlives 397 days, nor its authority`() throws {
        let facts = try TLSContext(try server("a.test", days: 5000), protocols: []).certificate
        #expect(facts.notAfter - facts.notBefore < 397 * 86_400)
        #expect(facts.notAfter < authority.pair.notAfter)
    }

    @Test func `An authority is taken up again, and knows what it has signed`() throws {
        let again = try CertificateAuthority(
            certificate: files.file("ca.pem"), key: files.file("ca.key"))
        #expect(again.pair.certificate == authority.pair.certificate)
        let leaf = try server("a.test")
        #expect(try again.hosts(ofCertificate: leaf.certificate)?.map(\.text) == ["a.test"])
        let other = try CertificateAuthority(name: "Other")
        #expect(try other.hosts(ofCertificate: leaf.certificate) == nil)
    }

    @Test func `What is no authority is not taken for one`() throws {
        let leaf = try server("a.test")
        let error = #expect(throws: TLSFileError.self) {
            try CertificateAuthority(certificate: leaf.certificate, key: leaf.key)
        }
        #expect(error?.description.contains("is not that of an authority") == true)
        #expect(throws: TLSFileError.self) {
            try CertificateAuthority(certificate: files.file("ca.pem"), key: leaf.key)
        }
    }

    @Test func `A key of another certificate is refused, and so is the wrong order`() throws {
        let leaf = try server("a.test")
        let swapped = TLSFiles(certificate: leaf.certificate, key: files.file("ca.key"))
        let mismatch = #expect(throws: TLSFileError.self) {
            try TLSContext(swapped, protocols: [])
        }
        #expect(mismatch?.description.contains("is not that of the certificate") == true)
        #expect(mismatch?.isOfSystem == false)

        let pem = authority.pair.certificate + (try files.read("leaf.pem"))
        let reversed = TLSFiles(certificate: try files.write("order.pem", pem), key: leaf.key)
        let order = #expect(throws: TLSFileError.self) { try TLSContext(reversed, protocols: []) }
        #expect(order?.description.contains("must be the first") == true)
    }

    @Test func `A file that cannot be read is the system's, any part of one is not`() throws {
        let leaf = try server("a.test")
        let missing = #expect(throws: TLSFileError.self) {
            try TLSContext(TLSFiles(certificate: "/no/such", key: leaf.key), protocols: [])
        }
        #expect(missing?.isOfSystem == true)
        let whole = try files.read("leaf.pem")
        for count in stride(from: 0, to: whole.count - 30, by: 37) {
            let path = try files.write("part.pem", Array(whole[..<count]))
            #expect(throws: TLSFileError.self, "\(count) bytes") {
                try TLSContext(TLSFiles(certificate: path, key: leaf.key), protocols: [])
            }
        }
    }
}
