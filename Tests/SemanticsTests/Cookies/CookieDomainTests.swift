import Testing

import Semantics

/// RFC 6265bis §5.1.2, §5.1.3, §5.7 steps 7–10.
struct CookieDomainTests {
    private static let home = "http://home.example.org:8888/x"

    @Test(arguments: [
        // To the host alone.
        CookieCase("a=b", from: home, to: "http://home.example.org/x", sends: "a=b"),
        CookieCase("a=b", from: home, to: "http://sub.home.example.org/x", sends: nil),
        CookieCase("a=b", from: home, to: "http://example.org/x", sends: nil),
        CookieCase("a=b", from: home, to: "http://HOME.Example.ORG/x", sends: "a=b"),
        CookieCase("a=b", from: home, to: "http://athome.example.org/x", sends: nil),
        CookieCase("a=b; Domain=", from: home, to: "http://sub.home.example.org/", sends: nil),
        CookieCase("a=b; Domain=", from: home, sends: "a=b"),
        CookieCase("a=b; Domain", from: home, sends: "a=b"),
        CookieCase("a=b; Domain=.", from: home, sends: "a=b"),
        CookieCase("a=b; Domain=\"\"", from: home, sends: nil),
        // To a domain and the hosts below it.
        CookieCase("a=b; Domain=home.example.org", from: home, sends: "a=b"),
        CookieCase("a=b; domain=.home.example.org", from: home, sends: "a=b"),
        CookieCase("a=b; Domain=HOME.example.ORG", from: home, sends: "a=b"),
        CookieCase("a=b; Domain = example.org ", from: home, sends: "a=b"),
        CookieCase(
            "a=b; Domain=.example.org", from: home, to: "http://example.org/", sends: "a=b"),
        CookieCase(
            "a=b; Domain=example.org", from: home, to: "http://a.b.c.example.org/", sends: "a=b"),
        CookieCase("a=b; Domain=example.org", from: home, to: "http://badexample.org/", sends: nil),
        CookieCase("a=b; Domain=example.org", from: home, to: "http://example.org.uk/", sends: nil),
        CookieCase(
            "a=b; Domain=home.example.org", from: home, to: "http://example.org/", sends: nil),
        // Foreign ones.
        CookieCase("a=b; Domain=sub.home.example.org", from: home, sends: nil),
        CookieCase("a=b; Domain=other.example.org", from: home, sends: nil),
        CookieCase("a=b; Domain=ome.example.org", from: home, sends: nil),
        CookieCase("a=b; Domain=example.com", from: home, sends: nil),
        CookieCase("a=b; Domain=..example.org", from: home, sends: nil),
        CookieCase("a=b; Domain=home.example.org.", from: home, sends: nil),
        CookieCase("a=b; Domain=.home.example.org.", from: home, sends: nil),
        CookieCase("a=b; Domain=home.example.org:8888", from: home, sends: nil),
        CookieCase("a=b; Domain=http://home.example.org", from: home, sends: nil),
        CookieCase("a=b; Domain=home.example.org/", from: home, sends: nil),
        CookieCase("a=b; Domain=*.example.org", from: home, sends: nil),
        CookieCase("a=b; Domain=home.example.org, example.org", from: home, sends: nil),
        CookieCase("a=b; Domain=\"home.example.org\"", from: home, sends: nil),
        CookieCase("a=b; Domain=hôme.example.org", from: home, sends: nil),
        CookieCase("a=b; Domain=example.org\u{3002}", from: home, sends: nil),
        // Of several the last one counts, also when it is empty or foreign.
        CookieCase("a=b; Domain=example.com; Domain=example.org", from: home, sends: "a=b"),
        CookieCase("a=b; Domain=example.org; Domain=example.com", from: home, sends: nil),
        CookieCase("a=b; Domain=example.com; Domain=", from: home, sends: "a=b"),
        CookieCase(
            "a=b; Domain=example.org; Domain=", from: home, to: "http://example.org/", sends: nil),
        CookieCase(
            "a=b; Domain=; Domain=example.org", from: home, to: "http://example.org/",
            sends: "a=b"),
        // Names with the root's dot are names of their own.
        CookieCase(
            "a=b; Domain=example.org.", from: "http://home.example.org./",
            to: "http://x.example.org./", sends: "a=b"),
        CookieCase("a=b; Domain=example.org", from: "http://home.example.org./", sends: nil),
        CookieCase("a=b", from: "http://example.org./", to: "http://example.org/", sends: nil),
        CookieCase("a=b; Domain=org.", from: "http://home.example.org./", sends: nil),
        // Other names.
        CookieCase("a=b; Domain=localhost", from: "http://localhost/", sends: "a=b"),
        CookieCase("a=b; Domain=.local", from: "http://printer.local/", sends: nil),
        CookieCase(
            "a=b; Domain=xn--strae-oqa.example", from: "http://a.xn--strae-oqa.example/",
            to: "http://b.xn--strae-oqa.example/", sends: "a=b"),
        CookieCase("a=b; Domain=x_y.example", from: "http://a.x_y.example/", sends: "a=b"),
    ])
    func `a cookie goes to its host, or to its domain and what is below`(given: CookieCase) {
        #expect(given.field == given.sent)
    }

    @Test(arguments: [
        CookieCase("a=b", from: "http://127.0.0.1/", sends: "a=b"),
        CookieCase("a=b; Domain=127.0.0.1", from: "http://127.0.0.1:80/", sends: "a=b"),
        CookieCase("a=b; Domain=.127.0.0.1", from: "http://127.0.0.1/", sends: "a=b"),
        CookieCase("a=b; Domain=0.0.1", from: "http://127.0.0.1/", sends: nil),
        CookieCase("a=b; Domain=.1", from: "http://127.0.0.1/", sends: nil),
        CookieCase("a=b; Domain=1", from: "http://127.0.0.1/", sends: nil),
        CookieCase("a=b; Domain=0.0.1.", from: "http://127.0.0.1./", sends: nil),
        CookieCase("a=b", from: "http://127.0.0.1/", to: "http://127.0.0.2/", sends: nil),
        CookieCase(
            "a=b; Domain=127.0.0.1", from: "http://127.0.0.1/", to: "http://x.127.0.0.1/",
            sends: nil),
        CookieCase("a=b; Domain=127.0.0.1", from: "http://x.127.0.0.1/", sends: nil),
        CookieCase("a=b", from: "http://[::1]/", sends: "a=b"),
        CookieCase("a=b", from: "http://[::1]/", to: "http://[0:0::1]/", sends: "a=b"),
        CookieCase("a=b", from: "http://[::1]/", to: "http://[::2]/", sends: nil),
        CookieCase("a=b; Domain=[::1]", from: "http://[::1]:8080/", sends: "a=b"),
        CookieCase("a=b; Domain=::1", from: "http://[::1]/", sends: "a=b"),
        CookieCase("a=b; Domain=1", from: "http://[::1]/", sends: nil),
        CookieCase("a=b; Domain=1.2.3.4", from: "http://[::ffff:1.2.3.4]/", sends: nil),
    ])
    func `an address is its own domain only`(given: CookieCase) {
        #expect(given.field == given.sent)
    }

    @Test func `a link-local address on another link is another host`() {
        let urls = ["eth0", "eth1"].map { (zone: String) in
            WebURL(
                string: "http://[fe80::1%25\(zone)]/", scheme: "http", host: "fe80::1", zone: zone,
                port: 80, path: "/")
        }
        var trial = CookieTrial()
        let reception = trial.jar.receive(
            ["a=b"], from: urls[0], mainDocument: urls[0], policy: trial.policy, at: trial.now)
        #expect(reception.changes.stored.map(\.domain) == ["fe80::1%eth0"])
        #expect(trial.jar.cookies(for: urls[0], at: trial.now).count == 1)
        #expect(trial.jar.cookies(for: urls[1], at: trial.now).isEmpty)
    }

    @Test(arguments: [
        ("http://home.example.org/", "org", CookieRejection.publicSuffix),
        ("http://home.example.org/", ".ORG", .publicSuffix),
        ("http://www.example.co.uk/", "co.uk", .publicSuffix),
        ("http://www.example.co.uk/", "uk", .publicSuffix),
        ("http://a.b.ck/", "b.ck", .publicSuffix), ("http://www.ck/", "ck", .publicSuffix),
        ("http://x.example.org./", "org.", .publicSuffix),
        ("http://example.org/", "co.uk", .publicSuffix),
        ("http://example.org/", "example.com", .foreignDomain),
        ("http://example.org/", "föö", .domainNotASCII),
    ])
    func `a public suffix is no domain for cookies (step 9)`(
        url: String, domain: String, rejection: CookieRejection
    ) {
        var trial = CookieTrial()
        #expect(trial.answer(["a=b; Domain=\(domain)"], from: url) == [rejection])
        #expect(trial.jar.count == 0)
    }

    @Test(arguments: [
        ("http://co.uk/", "co.uk", "http://x.co.uk/"), ("http://b.ck/", ".b.ck", "http://a.b.ck/"),
        ("http://localhost/", "localhost", "http://x.localhost/"),
    ])
    func `a host that is a public suffix sets cookies for itself alone (step 9.1)`(
        url: String, domain: String, other: String
    ) {
        var trial = CookieTrial()
        #expect(trial.answer(["a=b; Domain=\(domain)"], from: url) == [])
        #expect(trial.field(for: url) == "a=b" && trial.field(for: other) == nil)
        #expect(trial.jar.all(at: trial.now).map(\.isHostOnly) == [true])
    }

    @Test(arguments: [
        ("http://www.example.co.uk/", "example.co.uk"), ("http://example.org/", "example.org"),
        ("http://a.b.c.example.org/", "example.org"), ("http://x.www.ck/", "www.ck"),
        ("http://a.b.ck/", "a.b.ck"), ("http://www.b.ck/", "www.b.ck"),
        ("http://x.a.b.ck/", "a.b.ck"), ("http://co.uk/", "co.uk"), ("http://org/", "org"),
        ("http://localhost/", "localhost"), ("http://A.Example.Org./", "example.org"),
        ("http://10.1.2.3/", "10.1.2.3"), ("http://[2001:DB8::1]/", "2001:db8::1"),
    ])
    func `a site is the registrable domain (S-21)`(url: String, site: String) {
        let host = CookieHost(CookieTrial.url(url))
        #expect(host.site(isPublicSuffix: CookieTrial.isPublicSuffix) == site)
    }

    @Test func `a host of very many labels costs no more than its length`() {
        let host = String(repeating: "a.", count: 100_000) + "example.org"
        var trial = CookieTrial()
        trial.answer(["a=b; Domain=example.org"], from: "http://www.example.org/")
        #expect(trial.field(for: "http://\(host)/") == "a=b")
    }
}
