import Testing

import Semantics

/// The jar as clients see it: listing, storing, deleting, keeping.
struct CookieJarTests {
    private static func cookie(
        _ name: String = "a", _ value: String = "b", domain: String = "example.org",
        path: String = "/", expires: Timestamp? = nil, isSecure: Bool = false,
        sameSite: Cookie.SameSite = .default, isHostOnly: Bool = true
    ) -> Cookie {
        Cookie(
            name: name, value: value, domain: domain, path: path, expires: expires,
            isSecure: isSecure, sameSite: sameSite, isHostOnly: isHostOnly,
            creationTime: CookieTrial.start)
    }

    @Test func `a list has everything that is not over, in the order of creation`() throws {
        var trial = CookieTrial()
        trial.answer(["b=1; Path=/x", "a=2; Max-Age=5"], from: "https://www.example.org/")
        trial.answer(["c=3; Domain=example.org; Secure"], from: "https://www.example.org/")
        let cookies = trial.jar.all(at: trial.now)
        #expect(cookies.map(\.name) == ["b", "a", "c"])
        #expect(cookies.map(\.domain) == ["www.example.org", "www.example.org", "example.org"])
        #expect(cookies.map(\.isHostOnly) == [true, true, false])
        #expect(cookies.map(\.path) == ["/x", "/", "/"])
        #expect(cookies.map(\.isPersistent) == [false, true, false])
        trial.pass(seconds: 5)
        #expect(trial.jar.all(at: trial.now).map(\.name) == ["b", "c"])
    }

    @Test func `what a client stores is sent as if a response had set it`() throws {
        var trial = CookieTrial()
        trial.answer(["a=1; HttpOnly", "z=0"], from: "http://example.org/")
        trial.pass(seconds: 1)
        let changes = try trial.jar.store(
            Self.cookie("a", "2"), policy: trial.policy, at: trial.now)
        #expect(changes.stored.first?.creationTime == CookieTrial.start && changes.removed == [])
        #expect(trial.field(for: "http://example.org/") == "a=2; z=0")
        let wide = Self.cookie("w", "3", isHostOnly: false)
        _ = try trial.jar.store(wide, policy: trial.policy, at: trial.now)
        #expect(trial.field(for: "http://sub.example.org/") == "w=3")
        var over = Self.cookie("z")
        over.expires = trial.now
        let deleted = try trial.jar.store(over, policy: trial.policy, at: trial.now)
        #expect(deleted.removed.map(\.value) == ["0"] && deleted.stored == [])
    }

    @Test func `a stored cookie lives 400 days at most`() throws {
        var trial = CookieTrial()
        let forever = Self.cookie(expires: Timestamp(milliseconds: .max))
        let changes = try trial.jar.store(forever, policy: trial.policy, at: trial.now)
        #expect(
            changes.stored.map(\.expires?.milliseconds)
                == [CookieTrial.start.milliseconds + Cookie.longestLife * 1000])
    }

    private static let long = String(repeating: "x", count: 1024)

    @Test(
        arguments: [
            (cookie("", ""), .empty), (cookie("a\n", "b"), .controlCharacter),
            (cookie("a", "b\u{0}"), .controlCharacter),
            (cookie(path: "/\u{7f}"), .controlCharacter),
            (cookie("a", "b;c"), .notExpressible), (cookie("a;", "b"), .notExpressible),
            (cookie("a=b", "c"), .notExpressible), (cookie(" a", "b"), .notExpressible),
            (cookie("a", "b\t"), .notExpressible), (cookie(path: "/a;b"), .notExpressible),
            (cookie("a", String(repeating: "x", count: 4096)), .tooLong),
            (cookie(path: ""), .malformedPath), (cookie(path: "a/b"), .malformedPath),
            (cookie(path: "/" + long), .pathTooLong),
            (cookie(domain: ""), .malformedDomain), (cookie(domain: "."), .malformedDomain),
            (cookie(domain: ".example.org"), .malformedDomain),
            (cookie(domain: "Example.org"), .malformedDomain),
            (cookie(domain: "a b.org"), .malformedDomain),
            (cookie(domain: "example.org/"), .malformedDomain),
            (cookie(domain: "#example.org"), .malformedDomain),
            (cookie(domain: "[::1]"), .malformedDomain), (cookie(domain: "0::1"), .malformedDomain),
            (cookie(domain: long + "x"), .malformedDomain),
            (cookie(domain: "exämple.org"), .domainNotASCII),
            (cookie(domain: "co.uk", isHostOnly: false), .publicSuffix),
            (cookie(domain: "org.", isHostOnly: false), .publicSuffix),
            (cookie(sameSite: .none), .sameSiteNoneInsecure),
            (cookie("__Secure-a"), .securePrefix), (cookie("__host-a"), .hostPrefix),
            (cookie("__Host-a", path: "/x", isSecure: true), .hostPrefix),
            (cookie("__Host-a", isSecure: true, isHostOnly: false), .hostPrefix),
            (cookie("", "b"), .empty), (cookie("", "__Host-a"), .empty),
        ] as [(Cookie, CookieRejection)])
    func `what no response could set is not stored`(cookie: Cookie, rejection: CookieRejection) {
        var trial = CookieTrial()
        #expect(throws: rejection) {
            try trial.jar.store(cookie, policy: trial.policy, at: trial.now)
        }
        #expect(trial.jar.count == 0)
    }

    @Test(arguments: [
        cookie("a", ""), cookie("a", "="), cookie("a b", "c\td"), cookie("é", "春"),
        cookie("a", "a=b"), cookie("__Host-a", isSecure: true), cookie(domain: "co.uk"),
        cookie(domain: "127.0.0.1"), cookie(domain: "::1", isHostOnly: false),
        cookie(domain: "fe80::1%eth0"), cookie(domain: "x_y.example."), cookie(domain: "localhost"),
        cookie("a", sameSite: .strict), cookie(path: "/a b/é"),
        cookie("a", String(repeating: "x", count: 4095)),
    ])
    func `what a response could set is stored`(cookie: Cookie) throws {
        var trial = CookieTrial()
        let changes = try trial.jar.store(cookie, policy: trial.policy, at: trial.now)
        #expect(changes.stored.first?.hasIdentity(of: cookie) == true)
    }

    @Test func `deleting tells what is gone, and leaves the rest`() {
        var trial = CookieTrial()
        trial.answer(["a=1", "b=2", "c=3; Path=/x"], from: "http://example.org/")
        trial.answer(["a=4; Secure"], from: "https://example.com/")
        let removed = trial.jar.remove { $0.name == "a" }
        #expect(removed.map(\.value) == ["1", "4"] && trial.jar.count == 2)
        #expect(trial.field(for: "https://example.com/") == nil)
        #expect(trial.jar.remove { $0.name == "a" }.isEmpty)
        trial.jar.removeAll()
        #expect(trial.jar.count == 0 && trial.jar.all(at: trial.now).isEmpty)
    }

    @Test func `a cookie that is deleted and set at once is told as both`() {
        var trial = CookieTrial()
        let url = CookieTrial.url("http://example.org/")
        trial.answer(["a=1"], from: "http://example.org/")
        let reception = trial.jar.receive(
            ["a=; Max-Age=0", "a=2", "b=3", "b=; Max-Age=0"], from: url, mainDocument: url,
            policy: trial.policy, at: trial.now)
        #expect(reception.changes.removed.map(\.value) == ["1", "3"])
        #expect(reception.changes.stored.map(\.value) == ["2"] && !reception.changes.isEmpty)
        #expect(CookieChanges().isEmpty)
    }

    @Test func `a deleted Secure cookie guards nothing any more`() {
        var trial = CookieTrial()
        trial.answer(["a=1; Secure", "b=2; Secure"], from: "https://example.org/")
        _ = trial.jar.remove { $0.name == "a" }
        #expect(trial.answer(["a=3", "b=4"], from: "http://example.org/") == [.coversSecure])
        trial.answer(["b=5"], from: "https://example.org/")
        #expect(trial.answer(["b=6"], from: "http://example.org/") == [])
    }

    @Test func `a jar comes back from its cookies, in any order, with times and order`() {
        var trial = CookieTrial()
        trial.answer(
            ["a=1", "b=2; Max-Age=5", "c=3; Path=/x; HttpOnly", "d=4; Domain=example.org"],
            from: "http://www.example.org/")
        trial.pass(seconds: 9)
        trial.answer(["e=5", "a=6"], from: "http://www.example.org/")
        let kept = trial.jar.all(at: trial.now)
        let jar = CookieJar(restoring: kept.reversed(), policy: trial.policy, at: trial.now)
        let url = CookieTrial.url("http://www.example.org/x")
        #expect(jar.cookies(for: url, at: trial.now).cookieField == "c=3; a=6; d=4; e=5")
        #expect(jar.all(at: trial.now).map(\.creationTime) == kept.map(\.creationTime))
        #expect(jar.all(at: trial.now).map(\.lastAccessTime) == kept.map(\.lastAccessTime))
    }

    @Test func `what may not be kept does not come back`() {
        let trial = CookieTrial()
        let cookies = [
            Self.cookie("a", domain: "co.uk", isHostOnly: false),  // a public suffix by now
            Self.cookie("b", expires: trial.now), Self.cookie("c\n"), Self.cookie("d"),
            Self.cookie("e"), Self.cookie("f"),
        ]
        let jar = CookieJar(
            restoring: cookies, limits: CookieLimits(perDomain: 2, total: 9), policy: trial.policy,
            at: trial.now)
        #expect(jar.all(at: trial.now).map(\.name) == ["e", "f"])
    }
}
