import Curl
import Engine
import Foundation
import Loop
import Semantics
import TestSupport
import Testing

/// What servers write into certificates comes out as short, printable text (S-75, X-8).
@Suite(.serialized) struct HostileCertificates {
    init() { TestLoop.start() }

    /// A certificate that is signed by itself, with a subject and further lines of openssl's
    /// configuration.
    private func forge(
        _ directory: TemporaryDirectory, subject: String, _ extensions: String = ""
    ) async throws {
        let text = """
            [req]
            distinguished_name=name
            x509_extensions=extensions
            [name]
            [extensions]
            basicConstraints=CA:false
            \(extensions)
            """
        let file = try directory.write("leaf.cnf", Array(text.utf8))
        try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-config", file, "-keyout", directory.file("leaf.key"), "-out",
                directory.file("leaf.pem"), "-days", "30", "-utf8", "-subj", subject,
            ])
    }

    @LoopActor
    private func trust(in directory: TemporaryDirectory) async throws -> ServerTrust {
        let origin = try await TLSOrigin(
            certificate: directory.file("leaf.pem"), key: directory.file("leaf.key"))
        let probe = try await Network().run(origin.url()) { $0.trust = .known([]) }
        return try #require(probe.ends[0].serverTrust)
    }

    @Test func `control characters and other alphabets are escaped as RFC 2253 does`() async throws
    {
        let directory = try TemporaryDirectory()
        try await forge(
            directory, subject: #"/O=a, b \+ "c""# + "/CN=evil\nevent: x\u{1b}[2Jé",
            """
            subjectAltName=@names
            [names]
            DNS.1=bad\\nname
            DNS.2=good.example
            email.1=a@b.example
            IP.1=2001:db8::1
            """)
        let record = try #require(try await trust(in: directory).chain.first)
        #expect(
            record.subject == #"CN=evil\0Aevent: x\1B[2J\C3\A9,O=a\, b \+ \"c\""#)
        #expect(record.issuer == record.subject)
        #expect(record.alternativeNames == [#"bad\0Aname"#, "good.example", "2001:db8::1"])
    }

    @Test func `names of the old alphabets become UTF-8, and are escaped`() async throws {
        let directory = try TemporaryDirectory()
        try await forge(directory, subject: "/CN=héllo")
        // The key stays the certificate's; that the signature breaks is one more thing to tell.
        let pem = String(
            decoding: try directory.read("leaf.pem"), as: UTF8.self)
        let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        var der = Array(try #require(Data(base64Encoded: base64)))
        let name: [UInt8] = [0x0c, 6] + "héllo".utf8
        for index in der.indices where der[index...].starts(with: name) {
            der[index] = 0x14  // From UTF8String to T61String, whose bytes mean anything.
        }
        let lines = Data(der).base64EncodedString(options: .lineLength64Characters)
            .replacingOccurrences(of: "\r\n", with: "\n")
        try directory.write(
            "leaf.pem",
            Array("-----BEGIN CERTIFICATE-----\n\(lines)\n-----END CERTIFICATE-----\n".utf8))
        let trust = try await trust(in: directory)
        #expect(trust.chain.first?.subject == #"CN=h\C3\83\C2\A9llo"#)
        #expect(!trust.isTrusted)
    }

    @Test func `names are counted and cut`() async throws {
        let directory = try TemporaryDirectory()
        let names = (0..<150).map { "DNS:host\($0).example" }.joined(separator: ",")
        try await forge(
            directory, subject: "/CN=many", "subjectAltName=\(names)")
        let record = try #require(try await trust(in: directory).chain.first)
        #expect(record.alternativeNames.count == 100)
        #expect(record.alternativeNames.last == "host99.example")
    }

    @Test func `a long chain is cut, and a large one too`() async throws {
        let directory = try TemporaryDirectory()
        try await forge(directory, subject: "/CN=localhost")
        let own = try directory.read("leaf.pem")
        let authority = try await CertificateForge()
        var long = own
        for number in 0..<20 {
            let other = try await authority.leaf("other\(number)")
            long += Array(try Data(contentsOf: URL(filePath: other.certificatePath)))
        }
        try directory.write("leaf.pem", long)
        #expect(try await trust(in: directory).chain.count == 16)

        let wide = try TemporaryDirectory()
        let names = (0..<900).map { "DNS:a-long-name-of-a-host-\($0).example" }
            .joined(separator: ",")
        try await forge(
            wide, subject: "/CN=large", "subjectAltName=\(names)")
        let bytes = try wide.read("leaf.pem")
        try directory.write("leaf.pem", own + bytes + bytes)
        let chain = try await trust(in: directory).chain
        #expect(chain.count == 2 && chain[1].subject == "CN=large")
        #expect(chain.reduce(0) { $0 + $1.pem.utf8.count } <= 65_536)
    }
}
