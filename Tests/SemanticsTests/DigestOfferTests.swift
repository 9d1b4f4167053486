import Semantics
import Testing

struct DigestOfferTests {
    private static let origin = WebURL(
        string: "-", scheme: "http", host: "a.example", port: 80, path: "/"
    ).origin

    private func offer(_ values: String..., realm: String? = "r") -> DigestOffer? {
        DigestOffer(in: values, for: ProtectionSpace(Self.origin, realm: realm, method: .digest))
    }

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
    func `S-64: a Digest that cannot be answered is a scheme that Ferry cannot speak`(
        rest: String, isAnswerable: Bool
    ) {
        let value = "DIGEST realm=\"r\", nonce=\"n\"\(rest)"
        #expect(offers([value]) == [isAnswerable ? Offer(.digest, "r") : Offer("DIGEST", "r")])
        #expect((offer(value) != nil) == isAnswerable)
    }

    @Test func `a Digest needs a nonce, and values of a decent length`() {
        #expect(offers(["Digest realm=\"r\""]) == [Offer("Digest", "r")])
        #expect(offers(["Digest nonce=\"n\""]) == [Offer(.digest)])
        let long = String(repeating: "n", count: 4_096)
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
            ([sha256, md5], [Offer(.digest, "r")]), (["\(sha256), \(md5)"], [Offer(.digest, "r")]),
            ([md5, sha512], [Offer(.digest, "r")]), ([sha512, md5], [Offer(.digest, "r")]),
            (["\(sha512), \(md5)"], [Offer(.digest, "r")]),
            ([md5, elsewhere], [Offer(.digest, "r"), Offer(.digest, "s")]),
            (["\(md5), \(elsewhere)"], [Offer(.digest, "r"), Offer(.digest, "s")]),
            ([basic, sha512], [Offer(.basic, "b"), Offer("Digest", "r")]),
            (["\(md5), \(basic)"], [Offer(.digest, "r"), Offer(.basic, "b")]),
        ] as [([String], [Offer])])
    func `RFC 7616 §3.7: of several algorithms of a realm, one is enough`(
        values: [String], expected: [Offer]
    ) {
        #expect(offers(values) == expected)
    }

    @Test func `the first algorithm that can be answered is the server's choice`() {
        #expect(offer(Self.sha512, Self.sha256, Self.md5)?.challenge.algorithm == .sha256)
        #expect(offer(Self.md5 + ", " + Self.sha256)?.challenge.algorithm == .md5)
        #expect(offer(Self.md5, realm: "s") == nil)
        #expect(
            offer("Digest realm=\"r\u{1}\", nonce=n", realm: "r\u{fffd}")?
                .challenge.realm == "r\u{1}")
    }

    @Test func `everything of a challenge is read, in any form`() {
        let value =
            #"Digest realm = "a \"b\"" , nonce= "n,\\1", opaque ="", algorithm=sha-256 ,"#
            + #" qop = "auth", userhash=TRUE, charset=utf-8, stale= True, domain="/a  http://b/c""#
        let offer = offer(value, realm: #"a "b""#)
        #expect(
            offer?.challenge
                == DigestChallenge(
                    realm: #"a "b""#, nonce: #"n,\1"#, opaque: "", algorithm: .sha256,
                    algorithmName: "sha-256", countsRequests: true, hashesUser: true, isUTF8: true))
        #expect(offer?.isStale == true && offer?.domain == ["/a", "http://b/c"])
        #expect(self.offer("Digest realm=r, nonce=n, stale=false")?.isStale == false)
        #expect(self.offer("Digest realm=r, nonce=n, domain=\"\"")?.domain == [])
    }

    @Test(
        arguments: [
            ([], nil), (["nextnonce=\"x\""], "x"), (["qop=auth, nextnonce = \"a\\\"b\""], "a\"b"),
            (["rspauth=\"1\", cnonce=\"c\", nc=00000001"], nil), (["nextnonce=\"\""], nil),
            (["NextNonce=x, nextnonce=y"], "x"), (["", "nextnonce=z"], "z"),
        ] as [([String], String?)])
    func `RFC 7616 §3.5: a server may name the next nonce`(values: [String], next: String?) {
        #expect(DigestChallenge.nextNonce(in: values) == next)
    }
}
