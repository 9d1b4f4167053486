import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What is asked for when there is a way again: what the task was about, and no more (S-26).
@Suite(.onLoop)
struct WaitingRequestTests {
    @LoopActor
    func open(
        _ delegate: DelegateOptions? = nil
    ) async throws -> (TestGateway, SessionID) {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: delegate) {
            $0.waitsForConnectivity = true
            $0.httpMaximumConnectionsPerHost = 16
        }
        return (harness, session)
    }

    @Test @LoopActor
    func `a body that never left is sent with the next attempt, also of a POST (S-26, R-13)`()
        async throws
    {
        let (harness, session) = try await open()
        let task = try await harness.create(
            try harness.spec(.upload, method: "POST", body: .bytes([1, 2, 3])), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        harness.routes.change()
        let second = try await harness.network.attempt(1)
        #expect(second.request.method == "POST" && second.sentBytes == [1, 2, 3])
        second.answer(201)
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 201)
    }

    @Test @LoopActor
    func `a stream that was begun in vain is asked for again (S-26, S-39)`() async throws {
        let (harness, session) = try await open(.deciding(.bodyStream))
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: .stream(length: unknownSize)),
            in: session)
        for generation in 1...2 {
            let view = try await harness.gateway.tasks.read(task, of: harness.tenant)
            #expect(view.waitingFor == .bodyStream)
            #expect(view.record.bodyGeneration == generation)
            let pipe = try await harness.gateway.tasks.openBody(
                of: task, of: harness.tenant, generation: generation, length: nil)
            let attempt = try await harness.network.attempt(generation - 1)
            if generation == 1 {
                attempt.end(.url(.notConnectedToInternet))
                try await harness.waits(task)
                harness.routes.change()
                try await eventually("the next body to be asked for") {
                    try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor
                        == .bodyStream
                }
            } else {
                try await pipe.finish()
                attempt.answer()
            }
        }
        #expect(try await harness.finished(task).error == nil)
        #expect(harness.recorder.story(of: task).filter { $0 == "needNewBodyStream" }.count == 2)
    }

    @Test @LoopActor
    func `neither a mirror nor a retry is used up for want of a way (S-26)`() async throws {
        let (harness, session) = try await open()
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let mirror = try harness.network.parse("http://mirror.test/a")
        let task = try await harness.create(
            try harness.spec(.download) {
                $0.retry = policy
                $0.mirrors = [mirror]
            }, in: session)
        for number in 0..<3 {
            let attempt = try await harness.network.attempt(number)
            #expect(attempt.request.url.host == "origin.test")
            attempt.end(.url(.notConnectedToInternet))
            try await harness.waits(task)
            harness.routes.change()
        }
        // They are there for a server that fails.
        try await harness.network.attempt(3).answer(503)
        let fifth = try await harness.network.attempt(4)
        #expect(fifth.request.url.host == "mirror.test")
        fifth.end(.url(.cannotConnectToHost))
        let sixth = try await harness.network.attempt(5)
        #expect(sixth.request.url.host == "origin.test")
        sixth.answer()
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.retryCount == 1)
    }

    @Test @LoopActor
    func `a download that loses its way waits, and goes on by range (S-26, R-3)`() async throws {
        let (harness, session) = try await open()
        let server = RangeServer(Pattern.bytes(count: 300_000))
        server.cuts = [0: 100_000]
        server.held = [1]
        server.serve(harness.network)
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        try await harness.network.attempt(1).end(.url(.notConnectedToInternet))
        try await eventually("a wait for connectivity") {
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor
                == .connectivity
        }
        harness.routes.change()
        #expect(try await harness.finished(task).error == nil)
        #expect(server.ranges == [nil, "bytes=100000-", "bytes=100000-"])
        #expect(try await harness.read(task) == server.bytes)
    }

    @Test @LoopActor
    func `a download whose ranges all lose their way waits, and asks for what is missing (R-3)`()
        async throws
    {
        let (harness, session) = try await open()
        let length = 7_000_123
        let server = RangeServer(Pattern.bytes(count: length))
        server.held = [0, 1, 2]
        server.serve(harness.network)
        let task = try await harness.create(
            try harness.spec(.download) { $0.connections = 3 }, in: session)
        let first = try await harness.network.attempt(0)
        first.head(
            200,
            [
                "ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": String(length),
            ])
        first.body(Array(server.bytes[..<1_000_000]))
        let others = [try await harness.network.attempt(1), try await harness.network.attempt(2)]
        for attempt in others { attempt.end(.url(.notConnectedToInternet)) }
        first.end(.url(.notConnectedToInternet))
        try await eventually("a wait for connectivity") {
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor
                == .connectivity
        }
        #expect(harness.network.running.isEmpty)
        harness.routes.change()
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.countOfBytesReceived == Int64(length))
        #expect(try await harness.read(task) == server.bytes)
        #expect(!server.ranges.dropFirst(3).contains(nil))
    }
}
