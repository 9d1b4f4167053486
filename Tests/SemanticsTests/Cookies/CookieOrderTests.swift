import Testing

import Semantics

/// RFC 6265bis §5.8.3 and the identity of §5.7 step 23.
struct CookieOrderTests {
    private static let deep = "http://home.example.org/a/b/c"

    @Test(arguments: [
        CookieCase("a=1", "b=2", "c=3", sends: "a=1; b=2; c=3"),
        CookieCase("c=1", "b=2", "a=3", sends: "c=1; b=2; a=3"),
        CookieCase(
            "a=1; Path=/", "b=2; Path=/a/b", "c=3; Path=/a", from: deep, sends: "b=2; c=3; a=1"),
        CookieCase(
            "a=1; Path=/", "a=2; Path=/a/", "a=3; Path=/a", from: deep, sends: "a=2; a=3; a=1"),
        CookieCase(
            "a=1; Domain=example.org", "a=2", "a=3; Domain=home.example.org", from: deep,
            sends: "a=1; a=2; a=3"),
        // Setting again changes the value, not the place.
        CookieCase("a=1", "b=2", "a=3", sends: "a=3; b=2"),
        CookieCase("a=1", "b=2", "a=3; HttpOnly; Max-Age=5", sends: "a=3; b=2"),
        CookieCase("a=1", "b=2", "a=; Max-Age=0", "a=3", sends: "b=2; a=3"),
        CookieCase("a=1", "A=2", "a=3", sends: "a=3; A=2"),
        // Without a value it is a cookie, without a name it is none, and leaves the others alone.
        CookieCase("a=", sends: "a="), CookieCase("a", sends: nil), CookieCase("=a", sends: nil),
        CookieCase("a", "=b", "c=d", sends: "c=d"), CookieCase("=a=b", sends: nil),
        CookieCase("a=", "", "=", "b=1", sends: "a=; b=1"),
        CookieCase("a=1", "=a=2", "a", sends: "a=1"),
        CookieCase("a=1", "a; Max-Age=0", "=1; Max-Age=0", sends: "a=1"),
        // Equal only by Unicode: two cookies.
        CookieCase("\u{e9}=1", "e\u{301}=2", sends: "\u{e9}=1; e\u{301}=2"),
        // One field is one cookie, commas or not; what cannot be taken takes nothing along.
        CookieCase("a=1, b=2", sends: "a=1, b=2"), CookieCase("a=1,b=2; Path=/x, c=3", sends: nil),
        CookieCase("a=1", "b=2; Domain=example.com", "c=3", sends: "a=1; c=3"),
        CookieCase("a=\"1; b=2\"", sends: "a=\"1"), CookieCase("a=1;b=2", sends: "a=1"),
        CookieCase("foo bar=1 2", sends: "foo bar=1 2"), CookieCase("a=1\t2", sends: "a=1\t2"),
    ])
    func `longer paths go first, then older cookies`(given: CookieCase) throws {
        #expect(given.field.map { Array($0.utf8) } == given.sent.map { Array($0.utf8) })
    }

    @Test func `the host-only flag, domain and path are of the identity`() {
        var trial = CookieTrial()
        trial.answer(
            [
                "a=1", "a=2; Domain=home.example.org", "a=3; Domain=example.org", "a=4; Path=/a",
                "a=5; Path=/a/", "a=6; Domain=.HOME.example.org", "a=7; Path=/",
            ], from: "http://home.example.org/")
        #expect(trial.field(for: Self.deep) == "a=5; a=4; a=7; a=6; a=3")
        #expect(trial.jar.count == 5)
    }

    @Test func `creation counts by time, then by order, and is kept when a cookie is set again`() {
        var trial = CookieTrial()
        trial.pass(seconds: 10)
        trial.answer(["late=1", "later=2"], from: Self.deep)
        trial.pass(seconds: -10)  // a clock that was put back
        trial.answer(["early=3"], from: Self.deep)
        #expect(trial.field(for: Self.deep) == "early=3; late=1; later=2")
        trial.pass(seconds: 60)
        trial.answer(["later=4", "early=5"], from: Self.deep)
        #expect(trial.field(for: Self.deep) == "early=5; late=1; later=4")
        let cookies = trial.jar.all(at: trial.now)
        #expect(
            cookies.map(\.creationTime.milliseconds)
                == [0, 10_000, 10_000].map {
                    CookieTrial.start.milliseconds + $0
                })
        #expect(
            cookies.map(\.lastAccessTime.milliseconds)
                == [60_000, 10_000, 60_000].map {
                    CookieTrial.start.milliseconds + $0
                })
    }

    @Test func `a jar of many cookies of one instant keeps their order`() {
        var trial = CookieTrial()
        let names = (0..<180).map { "n\($0 * 7919 % 180)" }
        trial.answer(names.map { "\($0)=v" }, from: Self.deep)
        #expect(trial.field(for: Self.deep) == names.map { "\($0)=v" }.joined(separator: "; "))
    }

    @Test func `without a cookie there is no field`() {
        #expect([Cookie]().cookieField == nil)
        #expect(CookieTrial().field(for: Self.deep) == nil)
    }
}
