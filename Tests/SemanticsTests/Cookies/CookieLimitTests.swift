import Testing

import Semantics

/// RFC 6265bis §5.7 ("remove excess cookies"), §6.1.
struct CookieLimitTests {
    private static let url = "https://www.example.org/"

    private static func names(_ trial: CookieTrial) -> [String] {
        trial.jar.all(at: trial.now).map(\.name)
    }

    @Test func `the limits are the RFC's or more`() {
        var trial = CookieTrial()
        trial.answer((0..<200).map { "n\($0)=v" }, from: Self.url)
        #expect(trial.jar.count == 180 && trial.field(for: Self.url)?.hasPrefix("n20=v;") == true)
        for host in 0..<61 {
            trial.answer((0..<50).map { "n\($0)=v" }, from: "http://h\(host).example.org/")
        }
        #expect(trial.jar.count == 3000)
        #expect(trial.field(for: "http://h60.example.org/")?.hasPrefix("n0=v;") == true)
    }

    @Test func `in a full domain the one goes that was not accessed for the longest time`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 3, total: 100))
        trial.answer(["a=1; Path=/a", "b=2; Path=/b", "c=3; Path=/c"], from: Self.url)
        trial.pass(seconds: 1)
        _ = trial.jar.send(to: CookieTrial.url("https://www.example.org/a"), at: trial.now)
        trial.pass(seconds: 1)
        trial.answer(["d=4"], from: Self.url)
        #expect(Self.names(trial) == ["a", "c", "d"])
        trial.answer(["c=5; Path=/c"], from: Self.url)  // setting is an access, too
        trial.answer(["e=6"], from: Self.url)
        #expect(Self.names(trial) == ["c", "d", "e"])
    }

    @Test func `looking is no access, sending is`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 2, total: 100))
        trial.answer(["a=1; Path=/a", "b=2; Path=/b"], from: Self.url)
        trial.pass(seconds: 1)
        _ = trial.field(for: "https://www.example.org/a")
        trial.answer(["c=3; Path=/c"], from: Self.url)
        #expect(Self.names(trial) == ["b", "c"])
        let sent = trial.jar.send(to: CookieTrial.url("https://www.example.org/b"), at: trial.now)
        #expect(sent.map(\.name) == ["b"] && sent.map(\.lastAccessTime) == [trial.now])
        #expect(trial.jar.all(at: trial.now).first == sent.first)
    }

    @Test func `in a full domain those go first that are not Secure`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 3, total: 100))
        trial.answer(["s=1; Secure", "t=2; Secure", "a=3"], from: Self.url)
        trial.pass(seconds: 1)
        trial.answer(["u=4; Secure"], from: Self.url)
        #expect(Self.names(trial) == ["s", "t", "u"])
        trial.answer(["b=5"], from: Self.url)  // the only one that is not Secure is the new one
        #expect(Self.names(trial) == ["s", "t", "u"])
        trial.answer(["v=6; Secure"], from: Self.url)
        #expect(Self.names(trial) == ["t", "u", "v"])
    }

    @Test func `a domain's cookies are those of its own value, its hosts' do not count`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 2, total: 100))
        trial.answer(["a=1", "b=2", "c=3; Domain=example.org", "d=4"], from: Self.url)
        #expect(Self.names(trial) == ["b", "c", "d"])
        trial.answer(["e=5; Domain=www.example.org"], from: Self.url)
        #expect(Self.names(trial) == ["c", "d", "e"])
    }

    @Test func `in a full jar the one goes that was not accessed for the longest time`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 2, total: 3))
        for (name, host) in [("a", "1"), ("b", "2"), ("c", "3")] {
            trial.answer(["\(name)=1; Secure"], from: "https://h\(host).example/")
            trial.pass(seconds: 1)
        }
        _ = trial.jar.send(to: CookieTrial.url("https://h1.example/"), at: trial.now)
        trial.answer(["d=1"], from: "https://h4.example/")
        #expect(Self.names(trial) == ["a", "c", "d"])
    }

    @Test func `what is over goes before anything else`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 2, total: 2))
        trial.answer(["a=1", "b=2; Secure; Max-Age=5"], from: Self.url)
        trial.pass(seconds: 5)
        trial.answer(["c=3"], from: Self.url)
        #expect(Self.names(trial) == ["a", "c"] && trial.jar.count == 2)
    }

    @Test func `a cookie that is set again pushes nothing out`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 2, total: 2))
        trial.answer(["a=1", "b=2", "a=3", "b=4", "x=; Max-Age=0"], from: Self.url)
        #expect(trial.field(for: Self.url) == "a=3; b=4")
    }

    @Test func `what was given up is told, and what did not stay is not told as stored`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 2, total: 2))
        let url = CookieTrial.url(Self.url)
        trial.answer(["a=1"], from: Self.url)
        let reception = trial.jar.receive(
            ["b=2", "c=3", "b=4", "d=5", "e=; Domain=x"], from: url, mainDocument: url,
            policy: trial.policy, at: trial.now)
        #expect(trial.field(for: Self.url) == "c=3; d=5")
        #expect(reception.changes.stored == trial.jar.all(at: trial.now))
        #expect(reception.changes.removed.map(\.name) == ["a", "b"])
        #expect(reception.rejections == [4: .publicSuffix])
    }
}
