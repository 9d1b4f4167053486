import Testing

import Semantics

/// RFC 6265bis §5.5, §5.6.1, §5.6.2, §5.7 step 6.
struct CookieLifetimeTests {
    private static let url = "http://example.org/"
    private static let day: Int64 = 86_400

    /// Now is the beginning of 2026.
    @Test(
        arguments: [
            ("a=b", nil), ("a=b; Max-Age=1", 1), ("a=b; Max-Age=3600", 3600),
            ("a=b; Expires=Thu, 01 Jan 2026 00:00:10 GMT", 10),
            ("a=b; Expires=Thu, 01-Jan-26 00:00:10 GMT", 10),
            ("a=b; Expires=Jan 1 2026 00:00:10", 10),
            // Max-Age comes before Expires, in any order.
            ("a=b; Max-Age=60; Expires=Fri, 02 Jan 2026 00:00:00 GMT", 60),
            ("a=b; Expires=Fri, 02 Jan 2026 00:00:00 GMT; Max-Age=60", 60),
            ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", 60),
            // What cannot be read is not there.
            ("a=b; Max-Age=x; Expires=Thu, 01 Jan 2026 00:00:10 GMT", 10),
            ("a=b; Max-Age=; Expires=Thu, 01 Jan 2026 00:00:10 GMT", 10),
            ("a=b; Max-Age=60; Expires=never", 60), ("a=b; Expires=never", nil),
            ("a=b; Expires=", nil), ("a=b; Max-Age=soon", nil),
            ("a=b; Expires=Thu, 01 Jan 2026 00:00:10 GMT; Expires=never", 10),
            ("a=b; Expires=Fri, 02 Jan 2026 00:00:00 GMT; Expires=Jan 1 2026 00:00:10", 10),
            ("a=b; Expires=\"Thu, 01 Jan 2026 00:00:10 GMT\"", 10),
            // 400 days and no more.
            ("a=b; Max-Age=34560000", 400 * day), ("a=b; Max-Age=34560001", 400 * day),
            ("a=b; Max-Age=99999999999999999999", 400 * day),
            ("a=b; Expires=Thu, 04 Feb 2027 00:00:00 GMT", 399 * day),
            ("a=b; Expires=Fri, 05 Feb 2027 00:00:00 GMT", 400 * day),
            ("a=b; Expires=Fri, 05 Feb 2027 00:00:01 GMT", 400 * day),
            ("a=b; Expires=Fri, 31 Dec 9999 23:59:59 GMT", 400 * day),
        ] as [(String, Int64?)])
    func `a life is Max-Age, else Expires, else the session, and 400 days at most`(
        field: String, seconds: Int64?
    ) throws {
        var trial = CookieTrial()
        #expect(trial.answer([field], from: Self.url) == [])
        let cookie = try #require(trial.jar.all(at: trial.now).first)
        #expect(cookie.isPersistent == (seconds != nil))
        #expect(
            cookie.expires?.milliseconds
                == seconds.map { CookieTrial.start.milliseconds + $0 * 1000 })
        if let seconds {
            trial.now.milliseconds += seconds * 1000 - 1
            #expect(trial.field(for: Self.url) == "a=b")
            trial.now.milliseconds += 1
        }
        #expect((trial.field(for: Self.url) == nil) == (seconds != nil))
        #expect(trial.jar.all(at: trial.now).isEmpty == (seconds != nil))
    }

    @Test(arguments: [
        "a=; Max-Age=0", "a=b; Max-Age=-1", "a=b; Max-Age=-99999999999999999999",
        "a=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=x; Expires=Mon, 01-Jan-01 00:00:00 GMT",
        "a=x; expires=Thu, 01 Jan 2026 00:00:00 GMT", "a=x; Expires=01 Jan 1601 00:00:00",
        "a=x; Max-Age=0; Expires=Fri, 02 Jan 2026 00:00:00 GMT", "a=x; Max-Age=60; Max-Age=0",
        "a=x; HttpOnly; Max-Age=0",
    ])
    func `what is over deletes the cookie of its identity, and no other`(field: String) throws {
        var trial = CookieTrial()
        trial.answer(["a=1; Path=/", "b=2", "a=3; Path=/x"], from: Self.url)
        let old = try #require(trial.jar.all(at: trial.now).first)
        let reception = trial.jar.receive(
            [field], from: CookieTrial.url(Self.url), mainDocument: CookieTrial.url(Self.url),
            policy: trial.policy, at: trial.now)
        #expect(reception.changes.removed == [old] && reception.changes.stored == [])
        #expect(reception.rejections == [:])
        #expect(trial.field(for: "http://example.org/x") == "a=3; b=2")
        #expect(trial.jar.count == 2)
        trial.answer([field], from: Self.url)  // a second time there is nothing to delete
        #expect(trial.jar.count == 2)
    }

    @Test func `the ended leave with the next change, and are told`() throws {
        var trial = CookieTrial()
        trial.answer(["a=1; Max-Age=10", "b=2; Max-Age=20", "c=3"], from: Self.url)
        trial.pass(seconds: 10)
        #expect(trial.jar.count == 3 && trial.field(for: Self.url) == "b=2; c=3")
        let reception = trial.jar.receive(
            ["d=4"], from: CookieTrial.url(Self.url), mainDocument: CookieTrial.url(Self.url),
            policy: trial.policy, at: trial.now)
        #expect(reception.changes.removed.map(\.name) == ["a"])
        #expect(reception.changes.stored.map(\.name) == ["d"])
        #expect(trial.jar.evictExpired(at: trial.now).isEmpty)
        trial.pass(seconds: 10)
        #expect(trial.jar.evictExpired(at: trial.now).removed.map(\.name) == ["b"])
        #expect(trial.jar.count == 2)
    }

    @Test func `an ended cookie of a name does not give its age to the next one`() throws {
        var trial = CookieTrial()
        trial.answer(["a=1; Max-Age=10", "b=2"], from: Self.url)
        trial.pass(seconds: 11)
        trial.answer(["a=3"], from: Self.url)
        #expect(trial.field(for: Self.url) == "b=2; a=3")
    }

    @Test func `a cookie that is set again lives as the new field says`() {
        var trial = CookieTrial()
        trial.answer(["a=1; Max-Age=10"], from: Self.url)
        trial.answer(["a=2"], from: Self.url)
        trial.pass(seconds: 1000)
        #expect(trial.field(for: Self.url) == "a=2")
        trial.answer(["a=3; Max-Age=10"], from: Self.url)
        trial.pass(seconds: 10)
        #expect(trial.field(for: Self.url) == nil)
    }

    @Test func `the session's end takes what has no time of its own`() {
        var trial = CookieTrial()
        trial.answer(["a=1", "b=2; Max-Age=10", "c=3; Expires=x"], from: Self.url)
        #expect(trial.jar.endSession().removed.map(\.name) == ["a", "c"])
        #expect(trial.field(for: Self.url) == "b=2")
    }
}
