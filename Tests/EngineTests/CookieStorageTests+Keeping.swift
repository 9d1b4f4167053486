import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

extension TestGateway {
    /// A cookie of `origin.test` that a client makes of `name=value`.
    func cookie(
        _ text: String, domain: String = "origin.test", path: String = "/",
        expires: Timestamp? = nil, isHostOnly: Bool = true
    ) -> Cookie {
        let parts = text.split(separator: "=", maxSplits: 1)
        return Cookie(
            name: String(parts[0]), value: String(parts[1]), domain: domain, path: path,
            expires: expires, isHostOnly: isHostOnly, creationTime: clock.now)
    }

    func store(_ text: String, in session: SessionID) async throws {
        try await gateway.memory.setCookie(cookie(text), in: session, of: tenant)
    }

    /// What the disk has of a session's cookies, `name=value` each, by their numbers.
    func storedCookies(_ session: SessionID) async throws -> [String] {
        try await store.disk.load().cookies[session, default: []]
            .sorted { $0.sequence < $1.sequence }.map { "\($0.name)=\($0.value)" }
    }

    /// Deletes the cookies of these names.
    @discardableResult
    func deleteCookies(_ names: String..., in session: SessionID) async throws -> Int {
        try await gateway.memory.deleteCookies(in: session, of: tenant) { names.contains($0.name) }
    }

    /// The process dies, and another one is at work.
    func restarted() async throws -> TestGateway {
        let next = try await crash()
        await next.gateway.start()
        return next
    }
}

// What clients do with a jar, and what is kept of it.
extension CookieStorageTests {
    // MARK: The client's hand

    @Test @LoopActor
    func `a cookie that a client stores is on disk at once, listed and sent (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.store("a=1", in: session)
        #expect(try await harness.storedCookies(session) == ["a=1"])
        harness.store.hold()
        let storing = Task { @LoopActor in try await harness.store("b=2", in: session) }
        try await eventually("the cookie") {
            harness.gateway.sessions.directory[session]?.cookies?.all(at: harness.clock.now).count
                == 2
        }
        await harness.turn()
        #expect(try await harness.storedCookies(session) == ["a=1"])
        harness.store.release()
        try await storing.value
        #expect(try await harness.storedCookies(session) == ["a=1", "b=2"])
        #expect(try await harness.visit(in: session) == "a=1; b=2")
    }

    @Test @LoopActor
    func `overwriting keeps a cookie's place, and one whose time is over deletes`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "a=1; HttpOnly", "b=2")
        let created = harness.clock.now
        harness.clock.advance(by: .seconds(5))
        try await harness.store("a=3", in: session)
        #expect(try await harness.jar(session) == ["a=3", "b=2"])
        #expect(try await harness.storedCookies(session) == ["a=3", "b=2"])
        let kept = try #require(
            try await harness.gateway.memory.cookies(in: session, of: harness.tenant).first)
        #expect(kept.creationTime == created && !kept.isHTTPOnly)
        try await harness.gateway.memory.setCookie(
            harness.cookie("a=0", expires: harness.clock.now), in: session, of: harness.tenant)
        #expect(try await harness.jar(session) == ["b=2"])
        #expect(try await harness.storedCookies(session) == ["b=2"])
    }

    @Test @LoopActor
    func `what no server could set is refused with the reason, and changes nothing`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let refused: [(Cookie, CookieRejection)] = [
            (harness.cookie("a=1", domain: "co.uk", isHostOnly: false), .publicSuffix),
            (harness.cookie("a=1", path: "a"), .malformedPath),
            (harness.cookie("__Secure-a=1"), .securePrefix),
            (harness.cookie("a=\u{1}"), .controlCharacter),
        ]
        for (cookie, reason) in refused {
            await #expect(throws: GatewayError.cookieRefused(reason)) {
                try await harness.gateway.memory.setCookie(cookie, in: session, of: harness.tenant)
            }
        }
        #expect(try await harness.jar(session) == [])
        #expect(harness.store.batches.allSatisfy { $0.cookies.isEmpty })
    }

    @Test @LoopActor
    func `deleting tells how many, and they are gone from the disk when it returns`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "a=1", "b=2", "c=3")
        #expect(try await harness.deleteCookies("a", "c", "d", in: session) == 2)
        #expect(try await harness.storedCookies(session) == ["b=2"])
        #expect(try await harness.deleteCookies("a", in: session) == 0)
        #expect(try await harness.visit(in: session) == "b=2")
    }

    @Test @LoopActor
    func `a file is imported as far as it goes, with the faults of the other lines`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "gone=1")
        let text = """
            # Netscape HTTP Cookie File
            .origin.test\tTRUE\t/\tFALSE\t0\ta\t1
            nonsense
            .co.uk\tTRUE\t/\tFALSE\t0\tsuffix\t1
            #HttpOnly_origin.test\tFALSE\t/\tFALSE\t0\tb\t2
            origin.test\tFALSE\t/\tFALSE\t1\tgone\t2
            origin.test\tFALSE\t/\tmaybe\t0\tc\t3
            """
        let file = NetscapeCookieFile(parsing: text, at: harness.clock.now)
        let (stored, faults) = try await harness.gateway.memory.importCookies(
            file, in: session, of: harness.tenant)
        #expect(stored == 3)  // one of them deletes
        #expect(faults.map(\.line) == [3, 4, 7])
        #expect(
            faults.map(\.reason) == [.columns(1), .cookie(.publicSuffix), .flag(column: 4)])
        #expect(try await harness.jar(session) == ["a=1", "b=2"])
        #expect(try await harness.storedCookies(session) == ["a=1", "b=2"])
        #expect(try await harness.visit("http://www.origin.test/", in: session) == "a=1")
    }

    @Test @LoopActor
    func `a session that is going takes no cookies from clients, but still from servers (S-11)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await harness.store("a=1", in: session)
        }
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await harness.deleteCookies("a", in: session)
        }
        await #expect(throws: GatewayError.sessionInvalidated) {
            _ = try await harness.gateway.memory.importCookies(
                NetscapeCookieFile(parsing: "", at: harness.clock.now), in: session,
                of: harness.tenant)
        }
        try await harness.network.attempt(0).redirect(to: "/b", setting: "a=1")
        let second = try await harness.network.attempt(1)
        #expect(second.cookie == "a=1")
        #expect(try await harness.jar(session) == ["a=1"])
        second.answer()
        _ = try await harness.finished(task)
        try await harness.recorder.end(of: session)
        #expect(try await harness.jar(session) == [])
        await harness.quiet()
        #expect(try await harness.storedCookies(session) == [])
    }

    // MARK: Over restarts

    @Test(arguments: [SessionType.default, .shared]) @LoopActor
    func `cookies outlive the process, those without an end too (S-1)`(
        type: SessionType
    ) async throws {
        let harness = try await TestGateway.open()
        let session =
            type == .shared
            ? try await harness.gateway.sessions.shared(of: harness.tenant)
            : try await harness.session()
        try await harness.visit(
            in: session, setting: "end=1; Max-Age=60", "none=2", "long=3; Path=/a; HttpOnly",
            "wide=4; Domain=origin.test; SameSite=Strict")
        try await harness.store("own=5", in: session)
        let before = try await harness.gateway.memory.cookies(in: session, of: harness.tenant)
        #expect(before.count == 5)
        let next = try await harness.restarted()
        #expect(try await next.gateway.memory.cookies(in: session, of: next.tenant) == before)
        #expect(
            try await next.visit("http://origin.test/a", in: session)
                == "long=3; end=1; none=2; wide=4; own=5")
        next.clock.advance(by: .seconds(60))
        #expect(try await next.jar(session).first == "none=2")
    }

    @Test @LoopActor
    func `nothing of an ephemeral session's cookies reaches the store (S-2)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(.ephemeral)
        try await harness.visit(in: session, setting: "a=1", "b=2; Max-Age=60")
        try await harness.store("c=3", in: session)
        #expect(try await harness.visit(in: session) == "a=1; b=2; c=3")
        try await harness.deleteCookies("b", in: session)
        try await harness.gateway.sessions.flush(session, of: harness.tenant)
        await harness.gateway.housekeeper.makeRound()
        try await harness.gateway.sessions.reset(session, of: harness.tenant)
        await harness.quiet()
        #expect(try await harness.jar(session) == [])
        #expect(harness.store.batches.allSatisfy { $0.cookies.isEmpty })
        let next = try await harness.restarted()
        await #expect(throws: GatewayError.noSuchSession) { try await next.jar(session) }
    }

    // MARK: Housekeeping

    @Test @LoopActor
    func `that a cookie was sent is written by housekeeping, not by each request`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "a=1; Path=/a", "b=2; Path=/b")
        let writes = { harness.store.batches.flatMap(\.cookies) }
        let count = writes().count
        for _ in 0..<3 {
            harness.clock.advance(by: .seconds(10))
            #expect(try await harness.visit("http://origin.test/a", in: session) == "a=1")
        }
        await harness.quiet()
        #expect(writes().count == count)
        await harness.gateway.housekeeper.makeRound()
        await harness.quiet()
        let changes = writes().dropFirst(count)
        #expect(changes.count == 1)
        let stored = try #require(changes.first?.stored.values)
        #expect(stored.map(\.name) == ["a"])
        #expect(stored.first?.lastAccessTime == harness.clock.now)
        await harness.gateway.housekeeper.makeRound()
        await harness.quiet()
        #expect(writes().count == count + 1)
    }

    @Test @LoopActor
    func `an ordered stop keeps which cookies were sent`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "a=1")
        harness.clock.advance(by: .seconds(10))
        try await harness.visit(in: session)
        await harness.gateway.stop()
        let kept = try await harness.store.disk.load().cookies[session]
        #expect(kept?.map(\.lastAccessTime) == [harness.clock.now])
    }

    @Test @LoopActor
    func `a cookie whose time is over is neither shown nor sent, and leaves the disk`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "short=1; Max-Age=10", "long=2; Max-Age=20")
        harness.clock.advance(by: .seconds(10))
        #expect(try await harness.jar(session) == ["long=2"])
        #expect(try await harness.visit(in: session) == "long=2")
        #expect(try await harness.storedCookies(session).count == 2)
        await harness.gateway.housekeeper.makeRound()
        await harness.quiet()
        #expect(try await harness.storedCookies(session) == ["long=2"])
    }

    @Test @LoopActor
    func `a domain has 180 cookies at most, a jar 3000, and the disk no more than the jar`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let lines = (0..<17).flatMap { host in
            (0..<(host == 0 ? 181 : 179)).map {
                "h\(host).test\tFALSE\t/\tFALSE\t0\tn\($0)\t\(host)"
            }
        }
        let file = NetscapeCookieFile(
            parsing: lines.joined(separator: "\n"), at: harness.clock.now)
        let (stored, faults) = try await harness.gateway.memory.importCookies(
            file, in: session, of: harness.tenant)
        #expect(stored == lines.count && faults.isEmpty)
        let all = try await harness.gateway.memory.cookies(in: session, of: harness.tenant)
        #expect(all.count == 3000)
        // What came first is given up first: one for its domain, and 44 for the whole.
        #expect(all.first?.name == "n45")
        #expect(try await harness.storedCookies(session).count == 3000)
        try await harness.visit("http://h16.test/", in: session, setting: "new=1", "newer=1")
        #expect(
            try await harness.gateway.memory.cookies(in: session, of: harness.tenant).count == 3000)
        await harness.quiet()
        #expect(try await harness.storedCookies(session).count == 3000)
    }
}
