import Sealing
import Semantics
import Testing

struct DigestProofTests {
    private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    private static let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"

    private func value(
        _ challenge: DigestChallenge, _ user: String, _ password: String, method: String = "GET",
        uri: String = "/dir/index.html", count: UInt32 = 1, clientNonce: String = "c"
    ) -> String {
        DigestProof(method: method, uri: uri, count: count, clientNonce: clientNonce)
            .value(answering: challenge, user: user, password: password) {
                SHADigests().hash($1, by: $0)
            }
    }

    @Test(
        arguments: [
            (DigestProof.Algorithm.md5, "8ca523f5e9506fed4657c9700eebdbec"),
            (.sha256, "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
            // Not of the RFC: computed by Python's hashlib.
            (.md5Session, "e783283f46242139c486a698fec7211d"),
            (.sha256Session, "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"),
        ])
    func `RFC 7616 §3.9.1: Mufasa may see the index`(
        algorithm: DigestProof.Algorithm, response: String
    ) {
        let challenge = DigestChallenge(
            realm: "http-auth@example.org", nonce: Self.nonce, opaque: Self.opaque,
            algorithm: algorithm, algorithmName: algorithm.rawValue, countsRequests: true)
        #expect(
            value(challenge, "Mufasa", "Circle of Life", clientNonce: Self.clientNonce)
                == "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "
                + "nonce=\"\(Self.nonce)\", uri=\"/dir/index.html\", "
                + "cnonce=\"\(Self.clientNonce)\", nc=00000001, qop=auth, "
                + "response=\"\(response)\", opaque=\"\(Self.opaque)\", "
                + "algorithm=\(algorithm.rawValue)")
    }

    @Test(
        arguments: [
            // RFC 2617 §3.5; and RFC 2069 §2.4 as its erratum 749 has it, without a count.
            (true, "Circle Of Life", "6629fae49393a05397450978507c4ef1"),
            (false, "CircleOfLife", "1949323746fe6a43ef61f9606e7febea"),
        ])
    func `older RFCs have the same Mufasa`(counts: Bool, password: String, response: String) {
        let challenge = DigestChallenge(
            realm: "testrealm@host.com", nonce: "dcd98b7102dd2f0e8b11d0f600bfb0c093",
            countsRequests: counts)
        let value = value(challenge, "Mufasa", password, clientNonce: "0a4f113b")
        #expect(value.contains("response=\"\(response)\""))
        for name in ["cnonce=", "nc=", "qop="] { #expect(value.contains(name) == counts) }
        #expect(!value.contains("algorithm") && !value.contains("opaque"))
    }

    @Test func `RFC 7616 §3.9.2: who hides his name sends its hash`() {
        let challenge = DigestChallenge(
            realm: "api@example.org", nonce: "5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK",
            algorithm: .sha256, algorithmName: "SHA-256", countsRequests: true, hashesUser: true,
            isUTF8: true)
        let value = value(
            challenge, "Jäsøn Doe", "Secret, or not?", uri: "/doe.json",
            clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm")
        // Computed by Python's hashlib: the RFC's example is of SHA-512-256.
        let name = "5a1a8a47df5c298551b9b42ba9b05835174a5bd7d511ff7fe9191d8e946fc4e7"
        let response = "06d0c14162099f487a92ebceaf71097534ee5f90d858386449c337ab69f7f6b8"
        #expect(value.hasPrefix("Digest username=\"\(name)\", "))
        #expect(value.contains("response=\"\(response)\"") && value.hasSuffix("userhash=true"))
        #expect(!value.contains("Doe"))
    }

    @Test(
        arguments: [
            (false, "ann", "username=\"ann\""), (true, "ann", "username=\"ann\""),
            (false, "änn", "username=\"änn\""),
            (true, "Jäsøn Doe", "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe"),
            (true, "ä'*%\"", "username*=UTF-8''%C3%A4%27%2A%25%22"),
        ])
    func `RFC 7616 §3.4: a name beyond ASCII goes encoded to who reads UTF-8`(
        isUTF8: Bool, user: String, field: String
    ) {
        let challenge = DigestChallenge(realm: "r", nonce: "n", isUTF8: isUTF8)
        #expect(value(challenge, user, "p").hasPrefix("Digest \(field), realm="))
    }

    @Test func `quotes and backslashes are escaped, and hashed as they are meant`() {
        let challenge = DigestChallenge(
            realm: #"r"\"#, nonce: "n", opaque: #"\o""#, algorithmName: "md5", countsRequests: true)
        let value = value(challenge, #"a"b\c"#, "p", uri: "/", count: 255)
        #expect(value.hasPrefix(#"Digest username="a\"b\\c", realm="r\"\\", nonce="n", uri="/","#))
        #expect(value.contains("nc=000000ff"))
        #expect(value.contains("response=\"f108aabf176fdf66e643b565dc64b1f6\""))
        #expect(value.hasSuffix(#"opaque="\\o\"", algorithm=md5"#))
    }
}
