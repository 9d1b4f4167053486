import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What a session's cache does for its tasks, with an origin that counts what reaches it (S-15, RFC
/// 9111).
@Suite(.onLoop)
struct CacheTests {
    static let fresh: HeaderList = ["Cache-Control": "max-age=60", "ETag": "\"1\""]

    @Test(arguments: [TaskType.data, .download], [10, 40_000, 900_000]) @LoopActor
    func `a fresh response answers without the origin, byte by byte (S-15, S-24)`(
        type: TaskType, count: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let first = try await harness.fetch(
            try harness.spec(), in: session, answering: Self.fresh, body)
        #expect(first.cacheStatus == "Ferry; fwd=uri-miss; fwd-status=200; stored")
        #expect(first.fetchTypes == [.networkLoad])
        harness.clock.advance(by: .seconds(20))
        let second = try await harness.recall(try harness.spec(type), in: session)
        #expect(second.requests == 0 && second.record.error == nil)
        #expect(second.record.cacheStatus == "Ferry; hit; ttl=40")
        #expect(second.record.fetchTypes == [.localCache])
        #expect(second.record.response?.headers.first("Age") == "20")
        #expect(second.record.response?.status == 200)
        #expect(second.record.countOfBytesReceived == Int64(count))
        #expect(try await harness.read(second.record.id) == body)
    }

    @Test @LoopActor
    func `without a cache a policy counts all the same (S-15)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        func spec(_ policy: RequestCachePolicy) throws -> TaskSpec {
            var spec = try harness.spec()
            spec.request.cachePolicy = policy
            return spec
        }
        let forbidden = try await harness.recall(
            try spec(.returnCacheDataDontLoad), in: session)
        #expect(forbidden.requests == 0 && forbidden.record.error?.code == -1008)
        for (number, (policy, field)) in [
            (RequestCachePolicy.reloadIgnoringLocalAndRemoteCacheData, "no-cache"),
            (.reloadRevalidatingCacheData, "max-age=0"), (.useProtocolCachePolicy, nil),
        ].enumerated() {
            let task = try await harness.create(try spec(policy), in: session)
            let attempt = try await harness.network.attempt(number)
            #expect(attempt.request.headers.first("Cache-Control") == field, "\(policy)")
            attempt.answer(200, Self.fresh)
            let record = try await harness.finished(task)
            #expect(record.error == nil && record.cacheStatus == nil)
        }
    }

    @Test @LoopActor
    func `what was answered to nobody is not for who proves who he is (§4.1, S-83)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(delegate: .deciding(.taskChallenge))
        var head = Self.fresh
        head.append("Vary", "Accept, Authorization")
        let url = "http://origin.test/x"
        _ = try await harness.fetch(try harness.spec(.data, url), in: session, answering: head)
        #expect(try await harness.recall(try harness.spec(.data, url), in: session).requests == 0)
        try await harness.open("http://origin.test/login", in: session)
        #expect(try await harness.caller(of: url, in: session) == "alice:secret")
    }

    @Test @LoopActor
    func `a second try that brings the whole is stored (S-71, S-84)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await harness.create(
            try harness.spec { $0.retry = policy }, in: session)
        let first = try await harness.network.attempt(0)
        first.head(200, Self.fresh)
        first.body([1, 2, 3])
        first.end(.url(.networkConnectionLost))
        try await harness.network.attempt(1).answer(200, Self.fresh, Array("content".utf8))
        let record = try await harness.finished(task)
        #expect(record.cacheStatus == "Ferry; fwd=uri-miss; fwd-status=200; stored")
        #expect(try await harness.read(task) == Array("content".utf8))
        #expect(try await harness.recall(try harness.spec(), in: session).requests == 0)
    }

    @Test @LoopActor
    func `a response that is cut is not stored, and nothing says that it is (RFC 9211 §2.5)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, Self.fresh)
        attempt.body([1, 2, 3])
        attempt.end(.url(.networkConnectionLost))
        let record = try await harness.finished(task)
        #expect(record.cacheStatus == "Ferry; fwd=uri-miss; fwd-status=200")
        for event in harness.recorder.events(of: task) {
            guard case .didReceiveResponse(let response, _) = event.body else { continue }
            #expect(
                response.headers.first("Cache-Status") == "Ferry; fwd=uri-miss; fwd-status=200")
        }
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.entryCount == 0)
    }

    @Test @LoopActor
    func `a stale response is asked about, and a 304 delivers it as 200 with newer fields`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let head: HeaderList = [
            "Cache-Control": "max-age=5", "ETag": "\"1\"",
            "Last-Modified": "Thu, 14 Jan 2027 08:00:00 GMT", "X-Note": "old",
        ]
        _ = try await harness.fetch(try harness.spec(), in: session, answering: head)
        harness.clock.advance(by: .seconds(6))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(1)
        #expect(attempt.request.headers.first("If-None-Match") == "\"1\"")
        #expect(
            attempt.request.headers.first("If-Modified-Since") == "Thu, 14 Jan 2027 08:00:00 GMT")
        attempt.head(304, ["ETag": "\"1\"", "Cache-Control": "max-age=50", "X-Note": "new"])
        attempt.end()
        let record = try await harness.finished(task)
        #expect(record.response?.status == 200)
        #expect(record.response?.headers.values(of: "X-Note") == ["new"])
        #expect(record.cacheStatus == "Ferry; fwd=stale; fwd-status=304; stored; ttl=50")
        #expect(record.fetchTypes == [.networkLoad, .localCache])
        #expect(try await harness.read(task) == Array("content".utf8))
        let responses = harness.recorder.events(of: task).count {
            $0.body.name.hasSuffix("Response")
        }
        #expect(responses == 1, "the 304 is nobody's response")
        #expect(try await harness.recall(try harness.spec(), in: session).requests == 0)
    }

    @Test @LoopActor
    func `a changed response takes the place of what was stored`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        _ = try await harness.fetch(
            try harness.spec(), in: session,
            answering: ["ETag": "\"1\"", "Cache-Control": "max-age=9, no-cache"])
        let second = try await harness.fetch(
            try harness.spec(), in: session, answering: Self.fresh, Array("other".utf8))
        #expect(second.cacheStatus == "Ferry; fwd=request; fwd-status=200; stored")
        let third = try await harness.recall(try harness.spec(), in: session)
        #expect(third.requests == 0)
        #expect(try await harness.read(third.record.id) == Array("other".utf8))
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 1
        )
    }

    @Test @LoopActor
    func `the client's own conditions are answered by the cache, and a 304 is the client's`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        _ = try await harness.fetch(try harness.spec(), in: session, answering: Self.fresh)
        let known = try await harness.recall(
            try harness.spec(headers: ["If-None-Match": "\"1\""]), in: session)
        #expect(known.requests == 0 && known.record.response?.status == 304)
        #expect(known.record.countOfBytesReceived == 0)
        let part = try await harness.recall(
            try harness.spec(headers: ["Range": "bytes=2-4"]), in: session)
        #expect(part.requests == 0 && part.record.response?.status == 206)
        #expect(part.record.response?.headers.first("Content-Range") == "bytes 2-4/7")
        #expect(try await harness.read(part.record.id) == Array("nte".utf8))
        let head = try await harness.recall(try harness.spec(method: "HEAD"), in: session)
        #expect(head.requests == 0 && head.record.countOfBytesReceived == 0)
        let only = try await harness.recall(
            try harness.spec(
                .data, "http://origin.test/b", headers: ["Cache-Control": "only-if-cached"]),
            in: session)
        #expect(only.requests == 0 && only.record.response?.status == 504)
    }

    @Test @LoopActor
    func `responses are told apart by the fields that Vary names`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let head: HeaderList = ["Cache-Control": "max-age=60", "Vary": "Accept-Language"]
        for language in ["de", "en"] {
            let answer = try await harness.fetch(
                try harness.spec(headers: ["Accept-Language": language]), in: session,
                answering: head, Array(language.utf8))
            #expect(answer.error == nil)
        }
        for language in ["en", "de"] {
            let again = try await harness.recall(
                try harness.spec(headers: ["Accept-Language": language]), in: session)
            #expect(again.requests == 0)
            #expect(try await harness.read(again.record.id) == Array(language.utf8))
        }
        let third = try await harness.fetch(
            try harness.spec(headers: ["Accept-Language": "fr"]), in: session, answering: head)
        #expect(third.cacheStatus == "Ferry; fwd=vary-miss; fwd-status=200; stored")
    }

    @Test(arguments: [
        (RequestCachePolicy.useProtocolCachePolicy, true, 0), (.useProtocolCachePolicy, false, 1),
        (.reloadIgnoringLocalCacheData, true, 1),
        (.reloadIgnoringLocalAndRemoteCacheData, true, 1), (.returnCacheDataElseLoad, false, 0),
        (.returnCacheDataDontLoad, false, 0), (.reloadRevalidatingCacheData, true, 1),
    ]) @LoopActor
    func `the six policies, of the session or of the request (S-15)`(
        policy: RequestCachePolicy, isFresh: Bool, requests: Int
    ) async throws {
        let harness = try await TestGateway.open()
        for isOfRequest in [false, true] {
            let session = try await harness.cachingSession {
                if !isOfRequest { $0.requestCachePolicy = policy }
            }
            var first = try harness.spec()
            if !isOfRequest { first.request.cachePolicy = .useProtocolCachePolicy }
            _ = try await harness.fetch(first, in: session, answering: Self.fresh)
            if !isFresh { harness.clock.advance(by: .seconds(61)) }
            var spec = try harness.spec()
            if isOfRequest { spec.request.cachePolicy = policy }
            let count = harness.network.attempts.count
            harness.network.onStart = { $0.answer(200, Self.fresh, Array("content".utf8)) }
            let task = try await harness.finished(try await harness.create(spec, in: session))
            harness.network.onStart = nil
            #expect(task.error == nil && harness.network.attempts.count - count == requests)
            let sent = harness.network.attempts.last?.request.headers
            let reloads = policy == .reloadIgnoringLocalAndRemoteCacheData
            #expect((sent?.first("Cache-Control") == "no-cache") == reloads)
        }
    }

    @Test @LoopActor
    func `what is not stored cannot be had without the origin: -1008`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        var spec = try harness.spec()
        spec.request.cachePolicy = .returnCacheDataDontLoad
        let task = try await harness.recall(spec, in: session)
        #expect(task.requests == 0)
        #expect(task.record.error?.kind == .url(.resourceUnavailable))
    }

    @Test(arguments: [503, 0]) @LoopActor
    func `a stale response stands in for an error where it may (RFC 5861 §4)`(status: Int)
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        _ = try await harness.fetch(
            try harness.spec(), in: session,
            answering: ["Cache-Control": "max-age=1, stale-if-error=60"])
        harness.clock.advance(by: .seconds(10))
        harness.network.onStart = { attempt in
            if status > 0 {
                attempt.answer(status, [:], Array("broken".utf8))
            } else {
                attempt.end(.url(.cannotConnectToHost))
            }
        }
        let stale = try await harness.recall(try harness.spec(), in: session)
        #expect(stale.requests == 1 && stale.record.error == nil)
        #expect(stale.record.response?.status == 200)
        #expect(try await harness.read(stale.record.id) == Array("content".utf8))
        harness.clock.advance(by: .seconds(60))
        let late = try await harness.recall(try harness.spec(), in: session)
        #expect(late.record.response?.status == (status > 0 ? status : nil))
        #expect(late.record.error?.kind == (status > 0 ? nil : .url(.cannotConnectToHost)))
    }

    @Test @LoopActor
    func `a stale response is used while one request validates it (RFC 5861 §3)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let head: HeaderList = [
            "Cache-Control": "max-age=10, stale-while-revalidate=60", "ETag": "\"1\"",
        ]
        _ = try await harness.fetch(try harness.spec(), in: session, answering: head)
        harness.clock.advance(by: .seconds(20))
        for _ in 0..<3 {
            let task = try await harness.finished(
                try await harness.create(try harness.spec(), in: session))
            #expect(task.cacheStatus == "Ferry; hit; ttl=-10")
        }
        #expect(harness.network.attempts.count == 2, "one validation for all of them")
        let validation = try await harness.network.attempt(1)
        #expect(validation.request.headers.first("If-None-Match") == "\"1\"")
        validation.answer(200, head, Array("newer".utf8))
        await harness.quiet()
        let after = try await harness.recall(try harness.spec(), in: session)
        #expect(after.requests == 0 && after.record.cacheStatus == "Ferry; hit; ttl=10")
        #expect(try await harness.read(after.record.id) == Array("newer".utf8))
    }

    @Test @LoopActor
    func `an unsafe method makes what is stored invalid, and what is on its way (RFC 9111 §4.4)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        for path in ["a", "b"] {
            _ = try await harness.fetch(
                try harness.spec(.data, "http://origin.test/\(path)"), in: session,
                answering: Self.fresh)
        }
        let slow = try await harness.create(
            try harness.spec(.data, "http://origin.test/b", headers: ["Cache-Control": "no-cache"]),
            in: session)
        let slowAttempt = try await harness.network.attempt(2)
        _ = try await harness.fetch(
            try harness.spec(method: "POST", body: .bytes([1])), in: session,
            answering: ["Location": "/b"], status: 201)
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 0
        )
        slowAttempt.answer(200, Self.fresh, Array("before".utf8))
        _ = try await harness.finished(slow)
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 0
        )
    }

    @Test @LoopActor
    func `a stored redirect is followed without asking, and cookies of a hit set nothing`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            301, ["Location": "/b", "Cache-Control": "max-age=60", "Set-Cookie": "a=b"])
        try await harness.network.attempt(1).answer(
            200, ["Cache-Control": "max-age=60", "Set-Cookie": "c=d"])
        _ = try await harness.finished(task)
        _ = try await harness.gateway.memory.deleteCookies(in: session, of: harness.tenant) { _ in
            true
        }
        let again = try await harness.recall(try harness.spec(), in: session)
        #expect(again.requests == 0 && again.record.metrics.redirectCount == 1)
        #expect(again.record.currentRequest.url.path == "/b")
        #expect(try await harness.gateway.memory.cookies(in: session, of: harness.tenant).isEmpty)
    }
}
