import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

extension TestGateway {
    /// The cookies of a session as clients are shown them, `name=value` each.
    func jar(_ session: SessionID, of tenant: TenantID? = nil) async throws -> [String] {
        try await gateway.memory.cookies(in: session, of: tenant ?? self.tenant).map {
            "\($0.name)=\($0.value)"
        }
    }

    /// Fetches a URL, which sets these cookies, and tells what Cookie field went there.
    @discardableResult
    func visit(
        _ url: String = "http://origin.test/", in session: SessionID, headers: HeaderList = [:],
        setting cookies: String...
    ) async throws -> String? {
        let count = network.attempts.count
        let fields = HeaderList(cookies.map { HeaderField("Set-Cookie", $0) })
        _ = try await fetch(
            try spec(.data, url, headers: headers), in: session, answering: fields)
        return network.attempts[count].cookie
    }
}

extension FakeAttempt {
    /// The only Cookie field, as no request has more.
    var cookie: String? {
        let fields = request.headers.values(of: "Cookie")
        if fields.count > 1 { Issue.record("\(fields.count) Cookie fields") }
        return fields.first
    }

    /// A redirect that sets a cookie on the way.
    func redirect(to target: String, status: Int = 302, setting cookie: String) {
        answer(status, ["Location": target, "Set-Cookie": cookie])
    }
}

/// Cookies of a session: which answers set them, and which requests they go with (S-1, S-21, S-25).
@Suite(.onLoop)
struct CookieStorageTests {
    // MARK: Who sets them

    @Test(arguments: [200, 201, 203, 301, 404, 410, 500]) @LoopActor
    func `every answer sets cookies, in their order, and later tasks send them (S-21)`(
        status: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let record = try await harness.fetch(
            try harness.spec(), in: session,
            answering: ["Set-Cookie": "a=1", "set-cookie": "b=2; HttpOnly", "SET-COOKIE": "a=3"],
            status: status)
        #expect(record.response?.status == status)
        #expect(try await harness.jar(session) == ["a=3", "b=2"])
        for type in [TaskType.data, .download, .upload] {
            let count = harness.network.attempts.count
            let task = try await harness.create(
                try harness.spec(
                    type, method: type == .upload ? "POST" : "GET",
                    body: type == .upload ? .bytes([1]) : nil), in: session)
            let attempt = try await harness.network.attempt(count)
            #expect(attempt.cookie == "a=3; b=2")
            attempt.answer()
            _ = try await harness.finished(task)
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308]) @LoopActor
    func `each hop sets cookies, and has its own, across origins too (S-21, S-69)`(
        status: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpCookieAcceptPolicy = .always }
        let task = try await harness.create(try harness.spec(), in: session)
        let hops = [
            ("http://origin.test/a", "first=1", nil),
            ("http://origin.test/b", "second=2", "first=1"),
            ("http://other.test/c", "third=3", nil),
            ("http://other.test/d", "third=4", "third=3"),
            ("http://origin.test/e", "first=; Max-Age=0", "first=1; second=2"),
        ]
        for (number, hop) in hops.enumerated() {
            let attempt = try await harness.network.attempt(number)
            #expect(attempt.request.url.string == hop.0)
            #expect(attempt.cookie == hop.2)
            let next = number + 1 < hops.count ? hops[number + 1].0 : "http://origin.test/f"
            attempt.redirect(to: next, status: status, setting: hop.1)
        }
        let last = try await harness.network.attempt(hops.count)
        #expect(last.cookie == "second=2")
        last.answer()
        let record = try await harness.finished(task)
        #expect(record.response?.status == 200)
        #expect(try await harness.jar(session) == ["second=2", "third=4"])
        // They are of the jar, not of the request.
        #expect(!record.currentRequest.headers.contains("Cookie"))
    }

    @Test @LoopActor
    func `a refused redirect sets cookies as any answer does (S-21, S-68)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).redirect(to: "/b", setting: "a=1")
        try await harness.answer(task, .redirect(.stop))
        #expect(try await harness.finished(task).response?.status == 302)
        #expect(try await harness.jar(session) == ["a=1"])
    }

    @Test @LoopActor
    func `a 401 that is answered sets cookies for the attempt with the credential (S-21, S-64)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            401, ["WWW-Authenticate": "Basic realm=x", "Set-Cookie": "visit=1"])
        try await harness.answer(task, .password("alice", "secret"))
        let second = try await harness.network.attempt(1)
        #expect(second.cookie == "visit=1" && second.request.credential?.user == "alice")
        second.answer()
        _ = try await harness.finished(task)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `what a proxy answers sets no cookie, what it passes on does (S-21)`(
        isRefused: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge)) {
            var proxies = ProxyConfiguration()
            proxies.http = ProxyAddress(host: "proxy.test", port: 3128)
            $0.connectionProxyDictionary = proxies
        }
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            407, ["Proxy-Authenticate": "Basic realm=p", "Set-Cookie": "proxy=1"])
        if isRefused {
            try await harness.answer(task, .challenge(.rejectProtectionSpace))
            #expect(try await harness.finished(task).response?.status == 407)
            #expect(try await harness.jar(session) == [])
        } else {
            try await harness.answer(task, .password("alice", "secret"))
            let second = try await harness.network.attempt(1)
            #expect(second.cookie == nil)
            second.answer(200, ["Set-Cookie": "origin=1"])
            _ = try await harness.finished(task)
            #expect(try await harness.jar(session) == ["origin=1"])
        }
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a 304 sets cookies, whether the client or the cache has asked (S-21, RFC 9111 §4.3.4)`(
        isOfCache: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        if isOfCache {
            _ = try await harness.fetch(
                try harness.spec(), in: session,
                answering: ["ETag": "\"one\"", "Cache-Control": "no-cache"])
        }
        let spec = try harness.spec(headers: isOfCache ? [:] : ["If-None-Match": "\"one\""])
        let record = try await harness.fetch(
            spec, in: session, answering: ["ETag": "\"one\"", "Set-Cookie": "seen=1"], [],
            status: 304)
        #expect(record.response?.status == (isOfCache ? 200 : 304))
        #expect(try await harness.jar(session) == ["seen=1"])
        #expect(try await harness.visit("http://origin.test/b", in: session) == "seen=1")
    }

    @Test @LoopActor
    func `what the cache answers sets nothing: its cookies are those of another day (S-21)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        _ = try await harness.fetch(
            try harness.spec(), in: session,
            answering: ["Cache-Control": "max-age=60", "Set-Cookie": "a=1"])
        _ = try await harness.gateway.memory.deleteCookies(in: session, of: harness.tenant) { _ in
            true
        }
        #expect(try await harness.recall(try harness.spec(), in: session).requests == 0)
        #expect(try await harness.jar(session) == [])
    }

    @Test @LoopActor
    func `a download that goes on by range sends the cookies that its first answer set (S-21)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let server = RangeServer(Pattern.bytes(count: 300_000))
        server.cuts = [0: 100_000]
        server.extraFields = ["Set-Cookie": "visit=1"]
        server.serve(harness.network)
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        #expect(try await harness.finished(task).error == nil)
        #expect(server.ranges == [nil, "bytes=100000-"])
        #expect(harness.network.attempts.map(\.cookie) == [nil, "visit=1"])
    }

    // MARK: Which are taken

    @Test(arguments: [
        (CookieAcceptPolicy.always, ["first=1", "third=1", "below=1"]), (.never, []),
        (.onlyFromMainDocumentDomain, ["first=1", "below=1"]),
    ]) @LoopActor
    func `the accept policy looks at the task's own URL, whichever hop answers (S-21)`(
        policy: CookieAcceptPolicy, taken: [String]
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpCookieAcceptPolicy = policy }
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).redirect(
            to: "http://ads.example/x", setting: "first=1")
        try await harness.network.attempt(1).redirect(
            to: "http://www.origin.test/", setting: "third=1")
        try await harness.network.attempt(2).answer(200, ["Set-Cookie": "below=1"])
        _ = try await harness.finished(task)
        #expect(try await harness.jar(session) == taken)
        // A task of its own is no third party.
        try await harness.visit("http://ads.example/", in: session, setting: "own=1")
        #expect(try await harness.jar(session).contains("own=1") == (policy != .never))
    }

    @Test @LoopActor
    func `the policy is for what servers set, not for what the client stores (S-21)`() async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpCookieAcceptPolicy = .never }
        try await harness.store("a=1", in: session)
        #expect(try await harness.visit(in: session, setting: "b=2") == "a=1")
        #expect(try await harness.jar(session) == ["a=1"])
    }

    @Test @LoopActor
    func `httpShouldSetCookies false keeps cookies, and sends none (S-21)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpShouldSetCookies = false }
        try await harness.visit(in: session, setting: "a=1")
        #expect(try await harness.jar(session) == ["a=1"])
        #expect(try await harness.visit(in: session) == nil)
        #expect(try await harness.visit(in: session, headers: ["Cookie": "own=1"]) == "own=1")
    }

    @Test @LoopActor
    func `without a storage nothing is kept, nothing is sent, and nobody can put in (S-25)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.hasCookieStorage = false }
        try await harness.visit(in: session, setting: "a=1")
        #expect(try await harness.visit(in: session) == nil)
        #expect(try await harness.visit(in: session, headers: ["Cookie": "own=1"]) == "own=1")
        #expect(try await harness.jar(session) == [])
        await #expect(throws: GatewayError.noStorage) {
            try await harness.store("a=1", in: session)
        }
        await #expect(throws: GatewayError.noStorage) {
            _ = try await harness.gateway.memory.deleteCookies(in: session, of: harness.tenant) {
                _ in
                true
            }
        }
        await #expect(throws: GatewayError.noStorage) {
            _ = try await harness.gateway.memory.importCookies(
                NetscapeCookieFile(parsing: "", at: harness.clock.now), in: session,
                of: harness.tenant)
        }
        try await harness.gateway.sessions.reset(session, of: harness.tenant)
        #expect(harness.store.batches.allSatisfy { $0.cookies.isEmpty })
    }

    // MARK: What is sent

    @Test @LoopActor
    func `the client's own Cookie field wins up to the border of its origin (S-20, S-21, S-69)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpCookieAcceptPolicy = .always }
        try await harness.visit("http://origin.test/", in: session, setting: "jar=1")
        try await harness.visit("http://other.test/", in: session, setting: "jar=2")
        let count = harness.network.attempts.count
        let task = try await harness.create(
            try harness.spec(headers: ["cookie": "own=1"]), in: session)
        let hops = [
            ("own=1", "/same"), ("own=1", "http://other.test/"), ("jar=2", "http://origin.test/"),
            ("jar=1", "/end"),
        ]
        for (number, hop) in hops.enumerated() {
            let attempt = try await harness.network.attempt(count + number)
            #expect(attempt.cookie == hop.0)
            attempt.answer(307, ["Location": hop.1])
        }
        let last = try await harness.network.attempt(count + hops.count)
        #expect(last.cookie == "jar=1")
        last.answer()
        _ = try await harness.finished(task)
    }

    @Test @LoopActor
    func `a Cookie among the session's additional headers is the client's own, too (S-20, S-69)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpAdditionalHeaders = ["Cookie": "mine=1"] }
        #expect(try await harness.visit(in: session, setting: "jar=1") == "mine=1")
        let count = harness.network.attempts.count
        let task = try await harness.create(
            try harness.spec(.data, "http://other.test/"), in: session)
        let first = try await harness.network.attempt(count)
        #expect(first.cookie == "mine=1")
        first.answer(307, ["Location": "http://origin.test/"])
        let second = try await harness.network.attempt(count + 1)
        #expect(second.cookie == "jar=1")
        second.answer()
        _ = try await harness.finished(task)
    }

    @Test @LoopActor
    func `Secure cookies go to https only, path and host as they were set (S-21)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(
            "https://www.origin.test/a/b", in: session,
            setting: "safe=1; Secure; Path=/", "below=1; Domain=origin.test; Path=/",
            "here=1", "host=1; Path=/")
        let expected: [(String, String?)] = [
            ("https://www.origin.test/", "safe=1; below=1; host=1"),
            ("http://www.origin.test/", "below=1; host=1"),
            ("http://www.origin.test/a/c", "here=1; below=1; host=1"),
            ("http://origin.test/a/c", "below=1"), ("http://origin2.test/", nil),
        ]
        for (url, cookie) in expected {
            #expect(try await harness.visit(url, in: session) == cookie, "\(url)")
        }
    }

    @Test @LoopActor
    func `no session sees another one's cookies, the shared one included (S-1, S-4)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let stranger = TenantID(rawValue: 2)
        let sessions = [
            try await harness.session(), try await harness.session(),
            try await harness.session(.ephemeral), try await harness.session(.ephemeral),
            try await harness.gateway.sessions.shared(of: harness.tenant),
        ]
        harness.admit(stranger)
        let foreign = try await harness.gateway.sessions.shared(of: stranger)
        for (number, session) in sessions.enumerated() {
            #expect(try await harness.visit(in: session, setting: "number=\(number)") == nil)
        }
        for (number, session) in sessions.enumerated() {
            #expect(try await harness.visit(in: session) == "number=\(number)")
            #expect(try await harness.jar(session) == ["number=\(number)"])
            await #expect(throws: GatewayError.noSuchSession) {
                try await harness.jar(session, of: stranger)
            }
        }
        #expect(try await harness.jar(foreign, of: stranger) == [])
    }
}
