import TestSupport
import Testing

import Semantics

/// A space of an offer, as short as a table wants it.
struct Offer: Equatable, CustomStringConvertible {
    let method: AuthenticationMethod
    let realm: String?

    init(_ method: AuthenticationMethod, _ realm: String? = nil) {
        self.method = method
        self.realm = realm
    }

    init(_ scheme: String, _ realm: String? = nil) { self.init(.other(scheme), realm) }

    var description: String { "\(method.name) \(realm.debugDescription)" }
}

private let url = WebURL(string: "-", scheme: "https", host: "a.example", port: 8443, path: "/")

func offers(_ values: [String]) -> [Offer] {
    ProtectionSpace.offered(by: values, at: url.origin, isProxy: false)
        .map { Offer($0.method, $0.realm) }
}

struct AuthenticationOfferTests {
    @Test(
        arguments: [
            ([], []), ([""], []), ([" , ,, "], []),
            (["Basic realm=\"a\""], [Offer(.basic, "a")]),
            (["bAsIc rEaLm=\"a\""], [Offer(.basic, "a")]),
            (["Basic"], [Offer(.basic)]), (["Basic "], [Offer(.basic)]),
            (["Basic\trealm=a"], [Offer(.basic, "a")]),
            (["Basic realm=a"], [Offer(.basic, "a")]),
            (["Basic realm=Staff only , charset=\"UTF-8\""], [Offer(.basic, "Staff only")]),
            (["Basic realm=\"\""], [Offer(.basic, "")]),
            (["Basic realm=,charset=x"], [Offer(.basic)]),
            (["Basic realm = \t \"a\""], [Offer(.basic, "a")]),
            (["Basic charset=\"UTF-8\", realm=\"a\""], [Offer(.basic, "a")]),
            (["Basic , realm=\"a\""], [Offer(.basic, "a")]),
            (["Basic realm=\"a\", realm=\"b\""], [Offer(.basic, "a")]),
            (["Basic realm=\"a, Bearer realm=b\""], [Offer(.basic, "a, Bearer realm=b")]),
            ([#"Basic realm="a \"b\" \\ \c""#], [Offer(.basic, #"a "b" \ c"#)]),
            (["Basic realm=\"Größe ✓\""], [Offer(.basic, "Größe ✓")]),
            (["Bearer"], [Offer("Bearer")]),
            (["Bearer realm=\"a\", scope=\"x,y\""], [Offer("Bearer", "a")]),
            (["NTLM"], [Offer(.ntlm)]), (["ntlm TlRMTVNTUAAC=="], [Offer(.ntlm)]),
            (["Negotiate"], [Offer(.negotiate)]), (["NEGOTIATE YII/+-._~a="], [Offer(.negotiate)]),
            (
                ["NTLM TlRM= , Negotiate YII=,Basic realm=a"],
                [Offer(.negotiate), Offer(.ntlm), Offer(.basic, "a")]
            ),
        ] as [([String], [Offer])])
    func `S-64: a challenge is read in every form of RFC 9110, 11.3`(
        values: [String], expected: [Offer]
    ) {
        #expect(offers(values) == expected)
    }

    @Test(
        arguments: [
            (
                ["Basic realm=\"a\"", "Digest realm=\"d\", nonce=\"n\"", "Negotiate", "NTLM"],
                [Offer(.negotiate), Offer(.digest, "d"), Offer(.ntlm), Offer(.basic, "a")]
            ),
            (
                [#"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#],
                [Offer(.basic, "simple"), Offer("Newauth", "apps")]
            ),
            (
                ["Zebra, Basic, Bearer realm=\"x\", Apple"],
                [Offer(.basic), Offer("Zebra"), Offer("Bearer", "x"), Offer("Apple")]
            ),
            (
                ["Basic realm=\"a\", Basic realm=\"b\"", "Basic realm=\"a\""],
                [Offer(.basic, "a"), Offer(.basic, "b")]
            ),
            (["Basic", "Basic realm=\"\""], [Offer(.basic), Offer(.basic, "")]),
            (["Bearer, bearer, BEARER realm=x"], [Offer("Bearer"), Offer("BEARER", "x")]),
        ] as [([String], [Offer])])
    func `S-66: spaces come strongest first, then the unknown ones in their order, each once`(
        values: [String], expected: [Offer]
    ) {
        #expect(offers(values) == expected)
    }

    @Test(
        arguments: [
            ("Basic realm=\"a", [Offer(.basic)]),
            ("Basic realm=\"a\\", [Offer(.basic)]), ("Basic realm=\"", [Offer(.basic)]),
            ("NTLM, Basic realm=\"a, Negotiate", [Offer(.ntlm), Offer(.basic)]),
            ("realm=\"a\", Basic", [Offer(.basic)]), ("=, Basic", [Offer(.basic)]),
            ("=a", []), ("\"Basic\"", []), ("\"Basic, NTLM", []), ("@, Basic", [Offer(.basic)]),
            ("Basic@a realm=x, NTLM", [Offer(.ntlm)]), ("Bäsic realm=x", []),
            ("Basic \"a, b\", NTLM", [Offer(.ntlm), Offer(.basic)]),
            ("Basic realm, NTLM", [Offer(.ntlm), Offer(.basic)]),
            ("Basic a b c=d, realm=e", [Offer(.basic, "e")]),
            ("Basic realm=\"a\" \"b, c\" d, NTLM", [Offer(.ntlm), Offer(.basic, "a")]),
            ("Basic realm=\"a\"@\", NTLM", [Offer(.basic, "a")]),
            ("Basic, <realm=\"a\", realm=\"b\"", [Offer(.basic)]),
            ("\0, Basic", [Offer(.basic)]), ("Basic\0", []),
            ("Basic \r\n realm=a", [Offer(.basic)]),
        ] as [(String, [Offer])])
    func `X-9: what fits no grammar is skipped, and an open quote ends the value`(
        value: String, expected: [Offer]
    ) {
        #expect(offers([value]) == expected)
    }

    @Test func `an open quote does not reach the next value`() {
        #expect(offers(["Basic realm=\"a", "NTLM"]) == [Offer(.ntlm), Offer(.basic)])
    }

    @Test(
        arguments: [
            ("a\tb", "a\tb"), ("a\u{0}b", "a\u{fffd}b"),
            ("\r\nevent: x", "\u{fffd}\u{fffd}event: x"),
            ("\u{1b}[2J", "\u{fffd}[2J"), ("\u{7f}", "\u{fffd}"),
            ("\u{85}\u{9b}", "\u{fffd}\u{fffd}"),
            ("\\\u{1}", "\u{fffd}"),
        ])
    func `X-8: a realm is shown without control characters`(sent: String, shown: String) {
        #expect(offers(["Basic realm=\"\(sent)\""]) == [Offer(.basic, shown)])
    }

    @Test func `X-9: realms and schemes of more than 1,024 bytes are not offered`() {
        let long = String(repeating: "x", count: ProtectionSpace.nameByteLimit)
        #expect(offers(["Basic realm=\"\(long)\""]) == [Offer(.basic, long)])
        #expect(offers(["Basic realm=\"\(long)y\", realm=\"z\", NTLM"]) == [Offer(.ntlm)])
        #expect(offers(["\(long) realm=\"a\""]) == [Offer(long, "a")])
        #expect(offers(["\(long)y realm=\"a\", NTLM"]) == [Offer(.ntlm)])
        let widened = String(repeating: "\u{1}", count: 342)
        #expect(offers(["Basic realm=\"\(widened)\""]).isEmpty)
    }

    @Test func `X-9: at most 32 spaces are offered, the strongest ones`() {
        let many = (1...100).map { "Scheme\($0)" }
        let spaces = offers([many.joined(separator: ","), "Basic realm=\"last\""])
        #expect(spaces.count == ProtectionSpace.offerLimit)
        #expect(spaces.prefix(2) == [Offer(.basic, "last"), Offer("Scheme1")])
        #expect(spaces.last == Offer("Scheme31"))
    }

    /// All that one response may have (X-9); a quadratic reader would take many minutes here. The
    /// limit also counts what a case waits for others.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ",", "\"", "=", "a", "a ", "a,", "a =", "a=\"", "\\", "\"\\\"", "Digest,", "a=\"b\",",
            "Basic realm=a ", "/+", "\0", "\"a\",",
        ])
    func `X-9: 64 KiB of anything are read in linear time`(unit: String) {
        let value = String(repeating: unit, count: ResponseHeaderBudget.byteLimit / unit.utf8.count)
        for prefix in ["", "Digest ", "Basic realm=\"x\", "] {
            #expect(offers([prefix + value]).count <= ProtectionSpace.offerLimit)
        }
    }

    @Test func `X-9: no arrangement of the grammar's parts breaks the reader`() {
        let parts = [
            "Basic", "Digest", "Negotiate", "x", " ", "\t", ",", "=", "\"", "\\", "realm", "nonce",
            "qop", "auth", "algorithm", "\u{1}", "é", "==", "@",
        ]
        var generator = SeededGenerator(9)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...12, using: &generator)
            let value = (0..<count)
                .map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
            for offer in offers([value, "NTLM"]) {
                let realm = offer.realm ?? ""
                #expect(!HeaderRules.containsControl(realm), "\(value.debugDescription)")
            }
            #expect(offers([value, "NTLM"]).contains(Offer(.ntlm)), "\(value.debugDescription)")
        }
    }

    @Test func `S-65: a space is of the origin that asks, or of the proxy`() {
        let direct = ProtectionSpace.offered(
            by: ["Basic realm=\"a\""], at: url.origin, isProxy: false)
        #expect(
            direct == [
                ProtectionSpace(
                    host: "a.example", port: 8443, scheme: "https", realm: "a", method: .basic)
            ])
        let proxy = ProxyAddress(host: "proxy.example", port: 3128)
        let proxied = ProtectionSpace.offered(
            by: ["Basic realm=\"a\""], at: proxy.origin, isProxy: true)
        #expect(
            proxied == [
                ProtectionSpace(
                    host: "proxy.example", port: 3128, scheme: "http", realm: "a", method: .basic,
                    isProxy: true)
            ])
    }

    @Test(arguments: [
        "NSURLAuthenticationMethodServerTrust", "NSURLAuthenticationMethodClientCertificate",
        "NSURLAuthenticationMethodHTTPBasic",
    ])
    func `S-75: no server passes a scheme off as a method of Foundation's`(scheme: String) {
        #expect(offers(["\(scheme) realm=\"a\", NTLM"]) == [Offer(.ntlm)])
    }
}
