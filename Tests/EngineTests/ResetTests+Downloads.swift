import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// Downloads that run while their session is reset or flushed.
extension ResetTests {
    static let length = 300_000

    /// A download whose first bytes have come.
    @LoopActor
    final class Scene {
        var harness: TestGateway
        let server = RangeServer(Pattern.bytes(count: ResetTests.length))
        let session: SessionID
        let task: TaskID
        let attempt: FakeAttempt

        init(received: Int, _ type: SessionType = .default) async throws {
            harness = try await TestGateway.open()
            session = try await harness.session(type)
            task = try await harness.create(
                try harness.spec(.download) { $0.computeDigest = true }, in: session)
            attempt = try await harness.network.attempt(0)
            attempt.head(
                200,
                [
                    "ETag": "\"one\"", "Accept-Ranges": "bytes",
                    "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT",
                    "Date": "Tue, 02 Jan 2024 00:00:00 GMT", "Content-Length": "300000",
                ])
            attempt.body(Array(server.bytes[..<received]))
        }

        /// What the disk knows to be there.
        func checkpoint() async throws -> [Range<Int64>]? {
            try await harness.store.disk.task(task, of: harness.tenant)?.checkpoint?.point.received
        }

        func expectWhole(_ task: TaskID) async throws {
            let record = try await harness.finished(task)
            #expect(record.error == nil)
            #expect(record.countOfBytesReceived == Int64(ResetTests.length))
            #expect(try await harness.read(task) == server.bytes)
            if task == self.task {
                #expect(
                    record.content?.digest == SumDigests.digest(server.bytes)?.description)
            }
        }
    }

    @Test(arguments: Call.allCases, [1, 1000, 65_536, 100_001]) @LoopActor
    func `what a running download has is on disk, and it goes on to its end (S-12, S-13)`(
        call: Call, received: Int
    ) async throws {
        let scene = try await Scene(received: received)
        try await scene.harness.call(call, scene.session)
        #expect(try await scene.checkpoint() == [0..<Int64(received)])
        #expect(!scene.attempt.isCancelled && !scene.attempt.isOver)
        #expect(scene.harness.network.pools.map(\.isClosed) == [true])
        // Twice, with more in between.
        let more = received + 777
        scene.attempt.body(Array(scene.server.bytes[received..<more]))
        try await scene.harness.call(call, scene.session)
        #expect(try await scene.checkpoint() == [0..<Int64(more)])
        scene.attempt.body(Array(scene.server.bytes[more...]))
        scene.attempt.end()
        try await scene.expectWhole(scene.task)
        #expect(scene.harness.network.attempts.count == 1)
        #expect(
            scene.harness.recorder.story(of: scene.task).filter { $0 == "didReceiveResponse" }.count
                == 1)
    }

    @Test(arguments: Call.allCases, [1000, 65_536, 100_001]) @LoopActor
    func `after a crash the download goes on from there, byte for byte (S-13, S-35, R-2)`(
        call: Call, received: Int
    ) async throws {
        let scene = try await Scene(received: received)
        try await scene.harness.call(call, scene.session)
        scene.harness = try await scene.harness.restarted()
        let harness = scene.harness
        let record = try await harness.finished(scene.task)
        #expect(record.error?.code == -997)
        let data = try #require(record.resumeData)
        scene.server.serve(harness.network)
        let second = try await harness.resume(data, in: scene.session)
        try await scene.expectWhole(second)
        #expect(scene.server.ranges == ["bytes=\(received)-"])
    }

    @Test(arguments: Call.allCases) @LoopActor
    func `a suspended download that keeps its connection is brought to the disk, too (S-32)`(
        call: Call
    ) async throws {
        let scene = try await Scene(received: 50_000)
        _ = try await scene.harness.gateway.tasks.suspend(scene.task, of: scene.harness.tenant)
        try await scene.harness.call(call, scene.session)
        #expect(try await scene.checkpoint() == [0..<50_000])
        #expect(try await scene.harness.state(scene.task) == .suspended)
        #expect(scene.attempt.isPaused && !scene.attempt.isCancelled)
        _ = try await scene.harness.gateway.tasks.resume(scene.task, of: scene.harness.tenant)
        scene.attempt.body(Array(scene.server.bytes[50_000...]))
        scene.attempt.end()
        try await scene.expectWhole(scene.task)
    }

    @Test(arguments: Call.allCases) @LoopActor
    func `ranges that are fetched side by side are all noted, and later ones have new sockets`(
        call: Call
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 8 }
        let length = 7_000_123
        let server = RangeServer(Pattern.bytes(count: length))
        server.held = [0, 1, 2]
        server.serve(harness.network)
        let task = try await harness.create(
            try harness.spec(.download) { $0.connections = 3 }, in: session)
        let first = try await harness.network.attempt(0)
        first.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "\(length)"])
        let others = [try await harness.network.attempt(1), try await harness.network.attempt(2)]
        first.body(Array(server.bytes[..<70_001]))
        var expected: [Range<Int64>] = [0..<70_001]
        for (number, attempt) in others.enumerated() {
            let field = try #require(attempt.request.headers.first("Range"))
            let ends = field.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            let start = try #require(ends.first)
            let end = ends.count > 1 ? ends[1] : length - 1
            attempt.head(
                206,
                [
                    "ETag": "\"one\"", "Content-Range": "bytes \(start)-\(end)/\(length)",
                    "Content-Length": "\(end - start + 1)",
                ])
            attempt.body(Array(server.bytes[start..<start + 1000 * (number + 1)]))
            expected.append(Int64(start)..<Int64(start + 1000 * (number + 1)))
        }
        try await harness.call(call, session)
        let stored = try await harness.store.disk.task(task, of: harness.tenant)
        #expect(
            stored?.checkpoint?.point.received == expected.sorted { $0.lowerBound < $1.lowerBound })
        // All three are lost: what follows asks for what is missing.
        for attempt in others + [first] { attempt.end(.url(.networkConnectionLost)) }
        let record = try await harness.finished(task)
        #expect(record.error?.code == -1005)
        let data = try #require(record.resumeData)
        let second = try await harness.resume(data, in: session)
        #expect(try await harness.finished(second).error == nil)
        #expect(try await harness.read(second) == server.bytes)
        #expect(harness.network.pools.map(\.isClosed) == [true, false])
    }

    @Test(arguments: Call.allCases) @LoopActor
    func `tasks that wait are left as they are (S-12, S-13)`(call: Call) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge)) {
            $0.httpMaximumConnectionsPerHost = 1
            $0.waitsForConnectivity = true
        }
        let cut = try await harness.create(
            try harness.spec(.download, "http://cut.test/"), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(cut)
        let asked = try await harness.create(
            try harness.spec(.download, "http://asks.test/"), in: session)
        try await harness.network.attempt(1).answer(401, ["WWW-Authenticate": "Basic realm=x"])
        let decision = try await harness.asked(asked)
        let suspended = try await harness.create(
            try harness.spec(.download, resume: false), in: session)
        try await harness.call(call, session)
        #expect(
            try await harness.gateway.tasks.read(cut, of: harness.tenant).waitingFor
                == .connectivity)
        #expect(
            try await harness.gateway.tasks.read(asked, of: harness.tenant).waitingFor == .decision)
        #expect(try await harness.state(suspended) == .suspended)
        #expect(harness.network.attempts.count == 2)
        harness.routes.change()
        try await harness.network.attempt(2).answer()
        try await harness.answer(decision, .password("alice", "1"))
        try await harness.network.attempt(3).answer()
        for task in [cut, asked] { #expect(try await harness.finished(task).error == nil) }
        #expect(harness.network.pools.map(\.isClosed) == [true, false])
    }

    @Test @LoopActor
    func `an ephemeral session's downloads go on, and nothing of them is stored (S-2)`()
        async throws
    {
        let scene = try await Scene(received: 100_000, .ephemeral)
        try await scene.harness.gateway.sessions.reset(scene.session, of: scene.harness.tenant)
        #expect(try await scene.checkpoint() == nil)
        #expect(try scene.harness.files().isEmpty)
        scene.attempt.body(Array(scene.server.bytes[100_000...]))
        scene.attempt.end()
        try await scene.expectWhole(scene.task)
    }

    @Test @LoopActor
    func `calls that meet all return, and the download is whole (S-12, S-13)`() async throws {
        let scene = try await Scene(received: 100_000)
        let calls = (0..<6).map { number in
            Task { @LoopActor in
                try await scene.harness.call(Call.allCases[number % 2], scene.session)
            }
        }
        scene.attempt.body(Array(scene.server.bytes[100_000..<200_000]))
        for call in calls { try await call.value }
        #expect(try await scene.checkpoint()?.first?.upperBound ?? 0 >= 100_000)
        scene.attempt.body(Array(scene.server.bytes[200_000...]))
        scene.attempt.end()
        try await scene.expectWhole(scene.task)
    }
}
