import Testing

import Semantics

/// RFC 6265bis §5.4, §5.7 steps 12–22.
struct CookieSecurityTests {
    private static let http = "http://www.example.org/"
    private static let https = "https://www.example.org/"

    @Test func `Secure cookies are set and sent over https only, others over both`() {
        var trial = CookieTrial()
        trial.answer(["s=1; Secure", "o=2"], from: Self.https)
        #expect(trial.field(for: Self.https) == "s=1; o=2" && trial.field(for: Self.http) == "o=2")
        #expect(trial.answer(["t=3; secure"], from: Self.http) == [.secureFromInsecure])
        #expect(trial.field(for: Self.https) == "s=1; o=2")
        #expect(trial.answer(["u=4; Secure"], from: "http://localhost/") == [.secureFromInsecure])
    }

    @Test func `schemes and ports do not part cookies`() {
        var trial = CookieTrial()
        trial.answer(["a=1"], from: "http://www.example.org:8080/")
        #expect(trial.field(for: "https://www.example.org:8443/") == "a=1")
        trial.answer(["a=2"], from: "https://www.example.org:1/")
        #expect(trial.field(for: "http://www.example.org:2/") == "a=2")
    }

    /// The secure cookie, what http tries to set beside it, and whether that is refused.
    @Test(arguments: [
        ("a=1; Secure; Path=/login", "a=2; Path=/login", true),
        ("a=1; Secure; Path=/login", "a=2; Path=/login/en", true),
        ("a=1; Secure; Path=/login", "a=2; Path=/", false),
        ("a=1; Secure; Path=/login", "a=2; Path=/foo", false),
        ("a=1; Secure; Path=/login", "a=2; Path=/login2", false),
        ("a=1; Secure; Path=/", "a=2; Path=/foo", true),
        ("a=1; Secure; Path=/", "A=2; Path=/", false), ("a=1; Secure", "b=2", false),
        ("a=1", "a=2", false), ("a=1; Secure; Domain=example.org", "a=2", true),
        ("a=1; Secure; Domain=example.org", "a=2; Domain=example.org", true),
        ("a=1; Secure", "a=2; Domain=example.org", true),
        ("a=1; Secure; Max-Age=0", "a=2", false), ("a=1; Secure", "a=; Max-Age=0", true),
        ("a=; Secure", "a=2", true),
    ])
    func `http cannot cover a Secure cookie (step 16)`(
        secure: String, insecure: String, isRefused: Bool
    ) {
        var trial = CookieTrial()
        trial.answer([secure], from: Self.https)
        let before = trial.jar.all(at: trial.now)
        let rejections = trial.answer([insecure], from: Self.http)
        #expect(rejections == (isRefused ? [.coversSecure] : []))
        #expect((trial.jar.all(at: trial.now) == before) == isRefused)
        #expect(trial.answer([insecure], from: Self.https) == [])
    }

    @Test func `sisters and strangers do not guard each other (step 16)`() {
        var trial = CookieTrial()
        trial.answer(["a=1; Secure"], from: "https://one.example.org/")
        #expect(trial.answer(["a=2"], from: "http://two.example.org/") == [])
        #expect(trial.answer(["a=2"], from: "http://bone.example.org/") == [])
        #expect(trial.answer(["a=2"], from: "http://sub.one.example.org/") == [.coversSecure])
        #expect(
            trial.answer(["a=2; Domain=example.org"], from: "http://two.example.org/")
                == [.coversSecure])
        trial.answer(["a=1; Secure; Max-Age=10"], from: "https://one.example.org/")
        trial.pass(seconds: 10)
        #expect(trial.answer(["a=2"], from: "http://sub.one.example.org/") == [])
    }

    @Test(
        arguments: [
            ("__Secure-a=1; Secure", nil), ("__secure-a=1; Secure; Domain=example.org", nil),
            ("__SECURE-a=1; Secure; Path=/x", nil), ("__Secure-=1; Secure", nil),
            ("__Secure-a=1", .securePrefix), ("__SeCuRe-a=1; HttpOnly", .securePrefix),
            ("__Secure-a=1; Domain=example.org", .securePrefix), ("__Secure=1", nil),
            ("_Secure-a=1", nil), ("x__Secure-a=1", nil),
            ("__Host-a=1; Secure; Path=/", nil), ("__host-a=1; Path=/; Secure; HttpOnly", nil),
            ("__HOST-a=1; Secure; Path=/; Domain=", nil), ("__Host-a=1; Secure; Path=", nil),
            ("__Host-a=1; Secure; Path=/x; Path=/", nil),
            ("__Host-a=1", .hostPrefix), ("__Host-a=1; Secure", .hostPrefix),
            ("__Host-a=1; Path=/", .hostPrefix), ("__hOsT-a=1; Secure", .hostPrefix),
            ("__Host-a=1; Secure; Path=/x", .hostPrefix),
            ("__Host-a=1; Secure; Path=/; Path=/x", .hostPrefix),
            ("__Host-a=1; Secure; Path=/; Domain=www.example.org", .hostPrefix),
            ("__Host-a=1; Domain=example.org; Path=/", .hostPrefix), ("__Host=1", nil),
            ("__Host-Http-a=1; Secure; Path=/; HttpOnly", nil),
            // A value alone, which servers would read as a pair, is no cookie in the first place.
            ("=__Secure-a=1; Secure", .empty), ("__Host-a; Secure", .empty),
            ("a=__Host-b=1", nil), ("x__Host-a=1", nil),
            ("a=1; SameSite=None", .sameSiteNoneInsecure),
            ("a=1; SameSite=none; HttpOnly", .sameSiteNoneInsecure),
            ("a=1; SameSite=None; Secure", nil), ("a=1; SameSite=None; SameSite=x", nil),
        ] as [(String, CookieRejection?)])
    func `prefixes and SameSite=None promise what they say (steps 19 to 22)`(
        field: String, rejection: CookieRejection?
    ) {
        var trial = CookieTrial()
        #expect(trial.answer([field], from: Self.https) == (rejection.map { [$0] } ?? []))
        #expect(trial.jar.count == (rejection == nil ? 1 : 0))
    }

    @Test func `a prefixed cookie over http is refused for Secure first`() {
        var trial = CookieTrial()
        let fields = ["__Secure-a=1; Secure", "__Host-a=1; Secure; Path=/", "__Secure-a=1"]
        #expect(
            trial.answer(fields, from: Self.http)
                == [.secureFromInsecure, .secureFromInsecure, .securePrefix])
    }

    @Test func `HttpOnly and SameSite are kept and shown, and withhold nothing from requests`() {
        var trial = CookieTrial()
        trial.answer(
            [
                "a=1; HttpOnly", "b=2; SameSite=Strict", "c=3; SameSite=Lax",
                "d=4; SameSite=None; Secure", "e=5",
            ], from: Self.https)
        let cookies = trial.jar.all(at: trial.now)
        #expect(cookies.map(\.isHTTPOnly) == [true, false, false, false, false])
        #expect(cookies.map(\.sameSite) == [.default, .strict, .lax, .none, .default])
        #expect(trial.field(for: Self.https) == "a=1; b=2; c=3; d=4; e=5")
    }
}
