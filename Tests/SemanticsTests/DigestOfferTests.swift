import Testing

import Semantics

struct DigestOfferTests {
    @Test(
        arguments: [
            ("", true), (", algorithm=MD5", true), (", algorithm=\"md5\"", true),
            (", algorithm=SHA-256", true), (", algorithm=sha-256, qop=\"auth\"", true),
            (", qop=\"auth\"", true), (", qop=auth", true), (", qop=\"auth-int, AUTH\"", true),
            (", qop=\"auth-int,auth\", algorithm=MD5-sess", true),
            (", qop=\"auth\", algorithm=SHA-256-sess", true),
            (", algorithm=MD5-sess", false), (", algorithm=SHA-256-sess", false),
            (", algorithm=SHA-512-256", false), (", algorithm=SHA-512-256-sess, qop=auth", false),
            (", algorithm=AKAv1-MD5", false), (", algorithm=\"\"", false),
            (", qop=\"auth-int\"", false), (", qop=\"\"", false), (", qop=\"xauth\"", false),
            (", qop=\"auth-int\", qop=\"auth\"", false),
        ])
    func `S-64: a Digest that libcurl cannot answer is a scheme that Ferry cannot speak`(
        rest: String, isAnswerable: Bool
    ) {
        let expected = isAnswerable ? Offer(.digest, "r") : Offer("DIGEST", "r")
        #expect(offers(["DIGEST realm=\"r\", nonce=\"n\"\(rest)"]) == [expected])
    }

    @Test func `a Digest needs a nonce, and values that libcurl does not cut off`() {
        #expect(offers(["Digest realm=\"r\""]) == [Offer("Digest", "r")])
        #expect(offers(["Digest nonce=\"n\""]) == [Offer(.digest)])
        let long = String(repeating: "n", count: 1_023)
        #expect(offers(["Digest realm=\"r\", nonce=\"\(long)\""]) == [Offer(.digest, "r")])
        #expect(offers(["Digest realm=\"r\", nonce=\"\(long)n\""]) == [Offer("Digest", "r")])
    }

    private static let md5 = #"Digest realm="r", nonce="n""#
    private static let sha256 = #"Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth""#
    private static let sha512 = #"Digest realm="r", nonce="n", algorithm=SHA-512-256"#
    private static let elsewhere = #"Digest realm="s", nonce="n""#
    private static let basic = #"Basic realm="b""#

    @Test(
        arguments: [
            // RFC 7616 §3.9.1: the better algorithm first, in a value each, or in one.
            ([sha256, md5], [Offer(.digest, "r")]),
            (["\(sha256), \(md5)"], [Offer(.digest, "r")]),
            // Only the first one is answered, …
            ([md5, elsewhere], [Offer(.digest, "r"), Offer("Digest", "s")]),
            ([md5, sha512], [Offer(.digest, "r")]),
            ([sha512, md5], [Offer("Digest", "r")]),
            ([basic, sha512], [Offer(.basic, "b"), Offer("Digest", "r")]),
            // … and what follows it in its value is read into it.
            (["\(md5), \(sha512)"], [Offer("Digest", "r")]),
            (["\(md5), \(elsewhere)"], [Offer("Digest", "r"), Offer("Digest", "s")]),
            (["\(md5), \(basic)"], [Offer(.digest, "r"), Offer(.basic, "b")]),
        ] as [([String], [Offer])])
    func `of several Digest challenges, the one that libcurl takes decides`(
        values: [String], expected: [Offer]
    ) {
        #expect(offers(values) == expected)
    }
}
