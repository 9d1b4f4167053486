import Foundation
import Loop
import Semantics
import Syntax
import TestSupport
import Testing

@testable import Engine

/// Where a session's stored responses are, and who never sees them (S-1, S-2, S-24).
@Suite(.onLoop)
struct CacheStorageTests {
    private static let fresh = CacheTests.fresh
    private static let small = Array("content".utf8)
    private static let large = [UInt8](repeating: 7, count: 400_000)

    @Test(arguments: [small, large]) @LoopActor
    func `stored responses outlive the process in a default session (S-1)`(body: [UInt8])
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        _ = try await harness.fetch(
            try harness.spec(), in: session, answering: Self.fresh, body)
        let next = try await harness.crash()
        await next.gateway.start()
        let again = try await next.recall(try next.spec(), in: session)
        #expect(again.requests == 0 && again.record.cacheStatus == "Ferry; hit; ttl=60")
        #expect(try await next.read(again.record.id) == body)
    }

    @Test(arguments: [small, large]) @LoopActor
    func `nothing of an ephemeral session's cache reaches the store or the disk (S-2)`(
        body: [UInt8]
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(.ephemeral) {
            $0.urlCache.memoryCapacity = 20 << 20
        }
        _ = try await harness.fetch(try harness.spec(), in: session, answering: Self.fresh, body)
        let again = try await harness.recall(try harness.spec(.download), in: session)
        #expect(again.requests == 0)
        #expect(try await harness.read(again.record.id) == body)
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.diskUsage == 0 && usage.memoryUsage > Int64(body.count))
        await harness.quiet()
        #expect(harness.store.batches.allSatisfy { $0.cacheEntries.isEmpty })
        #expect(try harness.files().isEmpty)
    }

    @Test @LoopActor
    func `no session answers from another one's cache, not even the shared one's (S-1, S-4)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let shared = try await harness.gateway.sessions.shared(of: harness.tenant)
        let sessions = [
            shared, try await harness.cachingSession(), try await harness.cachingSession(),
            try await harness.cachingSession(.ephemeral),
        ]
        for (number, session) in sessions.enumerated() {
            let record = try await harness.fetch(
                try harness.spec(), in: session, answering: Self.fresh, [UInt8(number)])
            #expect(record.cacheStatus == "Ferry; fwd=uri-miss; fwd-status=200; stored")
        }
        for (number, session) in sessions.enumerated() {
            let again = try await harness.recall(try harness.spec(), in: session)
            #expect(again.requests == 0)
            #expect(try await harness.read(again.record.id) == [UInt8(number)])
        }
        try await harness.gateway.memory.emptyCache(in: sessions[1], of: harness.tenant)
        #expect(try await harness.recall(try harness.spec(), in: sessions[2]).requests == 0)
    }

    @Test @LoopActor
    func `a stored response whose file is gone, or has another length, is not there`() async throws
    {
        for isCut in [false, true] {
            let harness = try await TestGateway.open()
            let session = try await harness.cachingSession { $0.urlCache.memoryCapacity = 0 }
            let first = try await harness.fetch(
                try harness.spec(), in: session, answering: Self.fresh, Self.large)
            try await harness.gateway.tasks.delete(first.id, of: harness.tenant)
            try await eventually("one file") { try harness.files().count == 1 }
            let name = try #require(try harness.files().first)
            if isCut {
                _ = try harness.directory.write(name, Array(Self.large.dropLast()))
            } else {
                try FileManager.default.removeItem(atPath: harness.directory.file(name))
            }
            let again = try await harness.fetch(
                try harness.spec(), in: session, answering: Self.fresh, Self.large)
            #expect(again.cacheStatus == "Ferry; fwd=uri-miss; fwd-status=200; stored")
        }
    }

    @Test @LoopActor
    func `a task that is forgotten takes nothing from the cache, nor the other way round`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let first = try await harness.fetch(
            try harness.spec(), in: session, answering: Self.fresh, Self.large)
        try await harness.gateway.tasks.delete(first.id, of: harness.tenant)
        let second = try await harness.recall(try harness.spec(.download), in: session)
        #expect(second.requests == 0)
        try await harness.gateway.memory.emptyCache(in: session, of: harness.tenant)
        #expect(try await harness.read(second.record.id) == Self.large)
    }

    @Test @LoopActor
    func `what was not used for the longest time makes room, in either tier (S-24)`() async throws {
        let harness = try await TestGateway.open()
        for isOnDisk in [false, true] {
            let session = try await harness.cachingSession {
                $0.urlCache.memoryCapacity = isOnDisk ? 0 : 25_000
                $0.urlCache.diskCapacity = isOnDisk ? 25_000 : 0
            }
            // Each counts about 1,100 of 25,000 bytes: 22 have room.
            for number in 0..<22 {
                _ = try await harness.fetch(
                    try harness.spec(.data, "http://origin.test/\(number)"), in: session,
                    answering: Self.fresh, [UInt8](repeating: 1, count: 500))
            }
            #expect(
                try await harness.recall(
                    try harness.spec(.data, "http://origin.test/0"), in: session
                ).requests == 0)
            for number in 22..<30 {
                _ = try await harness.fetch(
                    try harness.spec(.data, "http://origin.test/\(number)"), in: session,
                    answering: Self.fresh, [UInt8](repeating: 1, count: 500))
            }
            let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
            #expect((isOnDisk ? usage.diskUsage : usage.memoryUsage) <= 25_000)
            #expect(usage.entryCount < 30)
            var spec = try harness.spec(.data, "http://origin.test/0")
            spec.request.cachePolicy = .returnCacheDataDontLoad
            #expect(try await harness.recall(spec, in: session).record.error == nil)
            spec = try harness.spec(.data, "http://origin.test/1")
            spec.request.cachePolicy = .returnCacheDataDontLoad
            #expect(try await harness.recall(spec, in: session).record.error != nil)
        }
    }

    @Test @LoopActor
    func `no-store stores nothing, and neither does what did not come whole`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        _ = try await harness.fetch(
            try harness.spec(), in: session, answering: ["Cache-Control": "no-store, max-age=60"])
        for isTruncated in [false, true] {
            let task = try await harness.create(
                try harness.spec(.data, "http://origin.test/b"), in: session)
            let attempt = try await harness.network.attempt(harness.network.attempts.count - 1)
            attempt.head(200, Self.fresh)
            attempt.body([1, 2, 3])
            attempt.end(isTruncated ? .url(.networkConnectionLost) : nil, lengthVerified: false)
            _ = try await harness.finished(task)
        }
        _ = try await harness.fetch(
            try harness.spec(.data, "http://origin.test/c") { $0.delivery = .stream }, in: session,
            answering: Self.fresh, [])
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 0
        )
        await harness.quiet()
        #expect(harness.store.batches.allSatisfy { $0.cacheEntries.isEmpty })
    }

    @Test @LoopActor
    func `tasks that fetch one URL side by side leave one whole response`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let tasks = try await [
            harness.create(try harness.spec(), in: session),
            harness.create(try harness.spec(), in: session),
        ]
        let attempts = try await [harness.network.attempt(0), harness.network.attempt(1)]
        let bodies = [Self.large, Self.large.map { $0 &+ 1 }]
        for attempt in attempts { attempt.head(200, Self.fresh) }
        for start in stride(from: 0, to: Self.large.count, by: 100_000) {
            for (attempt, body) in zip(attempts, bodies) {
                attempt.body(Array(body[start..<start + 100_000]))
            }
        }
        for attempt in attempts { attempt.end() }
        for task in tasks { _ = try await harness.finished(task) }
        let again = try await harness.recall(try harness.spec(), in: session)
        #expect(again.requests == 0)
        #expect(bodies.contains(try await harness.read(again.record.id)))
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 1
        )
    }

    @Test @LoopActor
    func `what is stored while another looks for what it replaces is replaced, too`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession { $0.urlCache.memoryCapacity = 0 }
        var anew = try harness.spec()
        anew.request.cachePolicy = .reloadIgnoringLocalCacheData
        let store = harness.store
        _ = try await harness.fetch(anew, in: session, answering: Self.fresh, Self.large)
        let slow = try await harness.create(anew, in: session)
        store.holdReads()
        try await harness.network.attempt(1).answer(200, Self.fresh, Self.large)
        try await eventually("it looks for the first") { store.heldReadCount == 1 }
        store.passReads()
        _ = try await harness.fetch(anew, in: session, answering: Self.fresh, Self.large)
        await harness.quiet()
        store.releaseReads()
        _ = try await harness.finished(slow)
        try await eventually("one response") {
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 1
        }
    }

    @Test @LoopActor
    func `a cache that another node has by now finds nothing on the disk`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession { $0.urlCache.memoryCapacity = 0 }
        let spec = try harness.spec()
        _ = try await harness.fetch(spec, in: session, answering: Self.fresh, Self.large)
        let cache = try #require(harness.gateway.sessions.directory[session]?.cache)
        let key = CacheKey(spec.request.url)
        #expect(await cache.candidates(for: key).count == 1)
        cache.leave()
        #expect(await cache.candidates(for: key).isEmpty)
    }

    @Test @LoopActor
    func `a hit waits for no slot of its host, and asks the store for nothing (S-19)`() async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession { $0.httpMaximumConnectionsPerHost = 1 }
        _ = try await harness.fetch(try harness.spec(), in: session, answering: Self.fresh)
        let slow = try await harness.create(
            try harness.spec(.data, "http://origin.test/slow"), in: session)
        let attempt = try await harness.network.attempt(1)
        for _ in 0..<3 {
            #expect(try await harness.recall(try harness.spec(), in: session).requests == 0)
        }
        let waiting = try await harness.create(
            try harness.spec(.data, "http://origin.test/waiting"), in: session)
        await harness.quiet()
        #expect(
            harness.network.attempts.count == 2, "hits have given no slot back that they had not")
        attempt.answer()
        try await harness.network.attempt(2).answer()
        for task in [slow, waiting] { _ = try await harness.finished(task) }
        #expect(harness.store.cacheReadCount == 0)
    }

    @Test @LoopActor
    func `nor does one whose content is a file, while not many do`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession {
            $0.httpMaximumConnectionsPerHost = 1
            $0.urlCache.memoryCapacity = 0
        }
        for number in 0..<2 {
            _ = try await harness.fetch(
                try harness.spec(.data, "http://origin.test/\(number)"), in: session,
                answering: Self.fresh, Self.large)
        }
        let slow = try await harness.create(
            try harness.spec(.data, "http://origin.test/slow"), in: session)
        let attempt = try await harness.network.attempt(2)
        let spec = try harness.spec(.data, "http://origin.test/0")
        for _ in 0..<3 {
            let task = try await harness.create(spec, in: session)
            #expect(try await harness.finished(task).fetchTypes == [.localCache])
        }
        #expect(harness.network.attempts.count == 3)
        attempt.answer()
        _ = try await harness.finished(slow)
    }

    @Test @LoopActor
    func `an answer that was overtaken takes nobody's place (RFC 9111 4)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let spec = try harness.spec()
        let now = harness.clock.now.milliseconds / 1000
        let dates = (0..<2).map { HTTPDate(secondsSince1970: now - 2 + $0).description }
        let tasks = [
            try await harness.create(spec, in: session),
            try await harness.create(spec, in: session),
        ]
        for number in [1, 0] {
            harness.clock.advance(by: .milliseconds(10))
            try await harness.network.attempt(number).answer(
                200, Self.fresh.merging(additional: ["Date": dates[number]]),
                Array("\(number)".utf8))
            _ = try await harness.finished(tasks[number])
        }
        let (record, requests) = try await harness.recall(spec, in: session)
        #expect(requests == 0 && record.response?.headers.first("Date") == dates[1])
        // What is asked for later is newer, whatever its date.
        var reload = spec
        reload.request.cachePolicy = .reloadIgnoringLocalCacheData
        _ = try await harness.fetch(
            reload, in: session, answering: Self.fresh.merging(additional: ["Date": dates[0]]))
        let last = try await harness.recall(spec, in: session)
        #expect(last.requests == 0 && last.record.response?.headers.first("Date") == dates[0])
    }

    @Test @LoopActor
    func `all caches together have so much memory`() async throws {
        var limits = GatewayLimits()
        limits.cacheBytes = 1 << 20
        let harness = try await TestGateway.open(limits: limits)
        let body = [UInt8](repeating: 7, count: 40_000)
        var sessions: [SessionID] = []
        for _ in 0..<3 {
            let session = try await harness.cachingSession(.ephemeral) {
                $0.urlCache.memoryCapacity = 1 << 50
            }
            sessions.append(session)
            for number in 0..<30 {
                _ = try await harness.fetch(
                    try harness.spec(.data, "http://origin.test/\(number)"), in: session,
                    answering: Self.fresh, body)
            }
            // More than a twentieth of all is too large.
            let large = try harness.spec(.data, "http://origin.test/large")
            for _ in 0..<2 {
                _ = try await harness.fetch(large, in: session, answering: Self.fresh, body + body)
            }
        }
        let caches = sessions.compactMap { harness.gateway.sessions.directory[$0]?.cache }
        var usage: Int64 = 0
        for cache in caches { usage += await cache.usage().memoryUsage }
        #expect((500_000..<(1 << 20)).contains(usage))
        // The newest are there.
        let last = try harness.spec(.data, "http://origin.test/29")
        #expect(try await harness.recall(last, in: sessions[0]).requests == 0)
    }
}

/// Cookies and the cache together.
@Suite(.onLoop)
struct CacheCookieTests {
    @Test @LoopActor
    func
        `a request that waits goes out with the cookies of the moment in which it goes (S-12, S-21)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession { $0.httpMaximumConnectionsPerHost = 1 }
        let cookie = Cookie(
            name: "id", value: "old", domain: "origin.test", creationTime: harness.clock.now)
        try await harness.gateway.memory.setCookie(cookie, in: session, of: harness.tenant)
        _ = try await harness.create(try harness.spec(), in: session)
        _ = try await harness.create(try harness.spec(.data, "http://origin.test/b"), in: session)
        let first = try await harness.network.attempt(0)
        #expect(first.request.headers.first("Cookie") == "id=old")
        first.answer(200, ["Set-Cookie": "id=new"])
        #expect(
            try await harness.network.attempt(1).request.headers.values(of: "Cookie") == ["id=new"])
        harness.network.attempts[1].answer()
    }

    @Test @LoopActor
    func `a session without a disk tier stores what is small, also by way of a file (S-24)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession { $0.urlCache.diskCapacity = 0 }
        let body = [UInt8](repeating: 5, count: 100_000)
        _ = try await harness.fetch(
            try harness.spec(), in: session, answering: CacheTests.fresh, body)
        let again = try await harness.recall(try harness.spec(), in: session)
        #expect(again.requests == 0)
        #expect(try await harness.read(again.record.id) == body)
    }
}
