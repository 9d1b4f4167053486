import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// One download over several connections: every byte once, of one entity, or not at all.
@Suite(.onLoop)
struct SegmentTests {
    private static let length = 7_000_123

    @LoopActor
    private final class Scene {
        let harness: TestGateway
        let server = RangeServer(Pattern.bytes(count: SegmentTests.length))
        let session: SessionID

        init(perHost: Int = 16) async throws {
            harness = try await TestGateway.open()
            session = try await harness.session { $0.httpMaximumConnectionsPerHost = perHost }
            server.serve(harness.network)
        }

        func download(
            connections: Int, _ change: (inout TaskOptions) -> Void = { _ in }
        ) async throws -> TaskID {
            try await harness.create(
                try harness.spec(.download) {
                    $0.connections = connections
                    change(&$0)
                }, in: session)
        }

        /// The task's answer has begun, and no byte of it has come.
        func beginFirst() async throws -> FakeAttempt {
            let attempt = try await harness.network.attempt(0)
            attempt.head(
                200,
                [
                    "ETag": "\"one\"", "Accept-Ranges": "bytes",
                    "Content-Length": String(SegmentTests.length),
                ])
            return attempt
        }

        func expectWhole(_ task: TaskID) async throws {
            let record = try await harness.finished(task)
            #expect(record.error == nil)
            #expect(record.countOfBytesReceived == Int64(SegmentTests.length))
            #expect(try await harness.read(task) == server.bytes)
        }
    }

    @Test(arguments: [2, 3, 8, 16]) @LoopActor
    func `ranges are fetched side by side, and make one file with one digest`(
        connections: Int
    ) async throws {
        let scene = try await Scene()
        scene.server.held = [0]
        let task = try await scene.download(connections: connections) { $0.computeDigest = true }
        let first = try await scene.beginFirst()
        try await eventually("other connections") {
            scene.harness.network.attempts.count >= min(connections, 3)
        }
        first.body(scene.server.bytes)
        first.end()
        try await scene.expectWhole(task)
        let digest = try await scene.harness.task(task).content?.digest
        #expect(digest == SumDigests.digest(scene.server.bytes)?.description)
        #expect(scene.server.ranges.dropFirst().allSatisfy { $0 != nil })
        #expect(
            scene.harness.network.attempts.dropFirst().allSatisfy {
                $0.request.headers.first("If-Range") == "\"one\""
            })
    }

    /// How a server may answer a range wrongly.
    enum WrongRange: CaseIterable, Sendable {
        case withoutContentRange, otherRange, otherTotal, refused, refusedInSilence, parts, coded
        /// More comes than the answer has promised, which is less than was asked for.
        case longer

        @LoopActor
        func answer(_ attempt: FakeAttempt, _ total: Int) {
            let tag = HeaderList([HeaderField("ETag", "\"one\"")])
            func part(_ fields: [(String, String)]) {
                var headers = tag
                for (name, value) in fields { headers.append(name, value) }
                attempt.answer(206, headers, Array("wrong".utf8))
            }
            switch self {
            case .withoutContentRange: part([])
            case .otherRange: part([("Content-Range", "bytes 0-4/\(total)")])
            case .otherTotal: part([("Content-Range", "bytes 0-4/5")])
            case .refused: attempt.answer(416, ["Content-Range": "bytes */\(total)"])
            case .refusedInSilence: attempt.answer(416)
            case .parts: part([("Content-Type", "multipart/byteranges; boundary=x")])
            case .coded:
                part([("Content-Range", "bytes 0-4/\(total)"), ("Content-Encoding", "gzip")])
            case .longer:
                var headers = tag
                let start = attempt.request.headers.first("Range").flatMap { field in
                    Int(field.dropFirst("bytes=".count).prefix { $0 != "-" })
                }
                headers.append(
                    "Content-Range", "bytes \(start ?? 0)-\((start ?? 0) + 999)/\(total)")
                attempt.head(206, headers)
                attempt.body(Array(repeating: UInt8(ascii: "x"), count: 5000))
                attempt.end()
            }
        }
    }

    @Test(arguments: WrongRange.allCases, [true, false]) @LoopActor
    func `a server that answers ranges wrongly is asked by one connection, for all of it (R-3)`(
        wrong: WrongRange, isSlow: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let bytes = Pattern.bytes(count: Self.length)
        var attempts: [FakeAttempt] = []
        harness.network.onStart = { attempt in
            attempts.append(attempt)
            guard attempt.request.headers.first("Range") == nil else {
                wrong.answer(attempt, Self.length)
                return
            }
            attempt.head(
                200,
                [
                    "ETag": "\"one\"", "Accept-Ranges": "bytes",
                    "Content-Length": String(Self.length),
                ])
            // The first one may still be on its way, or all there but its end.
            guard !isSlow || attempts.count > 1 else { return }
            attempt.body(bytes)
            attempt.end()
        }
        let task = try await harness.create(
            try harness.spec(.download) { $0.connections = 4 }, in: session)
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.countOfBytesReceived == Int64(Self.length))
        #expect(try await harness.read(task) == bytes)
        #expect(attempts.count(where: { $0.request.headers.first("Range") == nil }) <= 2)
        harness.network.onStart = nil
    }

    @Test @LoopActor
    func `connections never are more than the host may have (S-19)`() async throws {
        let scene = try await Scene(perHost: 3)
        scene.server.held = Set(0..<100)
        let task = try await scene.download(connections: 8)
        _ = try await scene.beginFirst()
        try await eventually("three connections") { scene.harness.network.attempts.count == 3 }
        await scene.harness.quiet()
        #expect(scene.harness.network.running.count == 3)
        _ = try await scene.harness.gateway.tasks.cancel(task, of: scene.harness.tenant)
        await scene.harness.quiet()
        #expect(scene.harness.network.running.isEmpty)
        // Every slot is free again.
        scene.server.held = []
        let next = try await scene.download(connections: 3)
        try await scene.expectWhole(next)
    }

    @Test @LoopActor
    func `a priority that is changed holds for connections in line, too (S-43)`() async throws {
        let scene = try await Scene(perHost: 2)
        scene.server.held = Set(0..<100)
        let harness = scene.harness
        let task = try await scene.download(connections: 3) { $0.priority = 0.1 }
        _ = try await scene.beginFirst()
        try await eventually("two connections") { harness.network.attempts.count == 2 }
        var change = TaskChange()
        change.priority = 1
        _ = try await harness.gateway.tasks.change(task, of: harness.tenant, change)
        let other = try await harness.create(
            try harness.spec(.download, "http://origin.test/other"), in: scene.session)
        // The task's second connection gives its slot back.
        try await harness.network.attempt(1).end(.url(.networkConnectionLost))
        let third = try await harness.network.attempt(2)
        #expect(third.request.headers.first("Range") != nil)
        for id in [task, other] {
            _ = try await harness.gateway.tasks.cancel(id, of: harness.tenant)
        }
    }

    @Test @LoopActor
    func `a connection that fails is not missed: the others fetch its range`() async throws {
        let scene = try await Scene()
        scene.server.held = [0]
        scene.server.cuts = [1: 100_000, 2: 0, 3: 1_000_001]
        let task = try await scene.download(connections: 4)
        let first = try await scene.beginFirst()
        try await eventually("other connections") { scene.harness.network.attempts.count >= 4 }
        await scene.harness.quiet()
        first.body(scene.server.bytes)
        first.end()
        try await scene.expectWhole(task)
    }

    @Test @LoopActor
    func
        `when the last connection has failed the task fails, with resume data for all ranges (S-35)`()
        async throws
    {
        let scene = try await Scene()
        scene.server.held = [0]
        scene.server.cuts = [1: 700_000, 2: 500_001, 3: 600_001]
        let task = try await scene.download(connections: 4)
        let first = try await scene.beginFirst()
        try await eventually("other connections") { scene.harness.network.attempts.count >= 4 }
        first.body(Array(scene.server.bytes.prefix(1_000_003)))
        first.end(.url(.networkConnectionLost))
        let record = try await scene.harness.finished(task)
        #expect(record.error?.code == -1005)
        let data = try #require(record.resumeData)
        let (request, checkpoint) = try scene.harness.gateway.tasks.checkpoint(
            in: data, of: scene.harness.tenant)
        let had = checkpoint.point.receivedCount
        #expect(had == record.countOfBytesReceived && checkpoint.point.received.count > 1)
        scene.server.cuts = [:]
        for connections in [1] {
            var options = TaskOptions()
            options.connections = connections
            options.computeDigest = true
            let second = try await scene.harness.create(
                TaskSpec(
                    type: .download, request: request, options: options, resume: true,
                    checkpoint: checkpoint), in: scene.session)
            try await scene.expectWhole(second)
            #expect(
                scene.harness.recorder.events.contains {
                    $0.body
                        == .didResumeAtOffset(
                            fileOffset: had, expectedTotalBytes: Int64(Self.length))
                })
            let digest = try await scene.harness.task(second).content?.digest
            #expect(digest == SumDigests.digest(scene.server.bytes)?.description)
        }
    }

    @Test @LoopActor
    func `an entity that changes between two ranges is fetched from zero, never spliced (R-3)`()
        async throws
    {
        let scene = try await Scene()
        scene.server.held = [0]
        let task = try await scene.download(connections: 4)
        let old = scene.server.bytes
        scene.server.bytes = Pattern.bytes(count: Self.length).reversed()
        scene.server.tag = "\"two\""
        let first = try await scene.harness.network.attempt(0)
        first.head(
            200,
            [
                "ETag": "\"one\"", "Accept-Ranges": "bytes",
                "Content-Length": String(Self.length),
            ])
        first.body(Array(old.prefix(1_000_000)))
        try await scene.expectWhole(task)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a download that splits up while it stands still begins no connection until it goes on`(
        isSuspended: Bool
    ) async throws {
        let scene = try await Scene()
        scene.server.held = [0]
        let gateway = scene.harness.gateway
        let task = try await scene.download(connections: 3)
        let first = try await scene.harness.network.attempt(0)
        let directory = gateway.tasks.directory
        if isSuspended {
            _ = try await gateway.tasks.suspend(task, of: scene.harness.tenant)
        } else {
            directory.setStandstill(true)  // as of a node, but for the slots
        }
        first.lateHead(
            200,
            [
                "ETag": "\"one\"", "Accept-Ranges": "bytes",
                "Content-Length": String(SegmentTests.length),
            ])
        await LoopActor.nextTurn(after: .milliseconds(100))
        #expect(first.isPaused && scene.harness.network.attempts.count == 1)
        if isSuspended {
            _ = try await gateway.tasks.resume(task, of: scene.harness.tenant)
        } else {
            directory.setStandstill(false)
        }
        try await eventually("other connections") {
            scene.harness.network.attempts.count > 1
        }
        first.body(scene.server.bytes)
        first.end()
        try await scene.expectWhole(task)
    }

    @Test @LoopActor
    func `a long suspension gives all connections back, and resuming fills the holes (S-32)`()
        async throws
    {
        var limits = GatewayLimits()
        limits.suspensionGrace = .milliseconds(1)
        let harness = try await TestGateway.open(limits: limits)
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 8 }
        let server = RangeServer(Pattern.bytes(count: Self.length))
        server.serve(harness.network)
        server.held = Set(0..<4)
        let task = try await harness.create(
            try harness.spec(.download) { $0.connections = 4 }, in: session)
        let first = try await harness.network.attempt(0)
        first.head(
            200,
            [
                "ETag": "\"one\"", "Accept-Ranges": "bytes",
                "Content-Length": String(Self.length),
            ])
        _ = try await harness.network.attempt(3)
        for (number, attempt) in harness.network.attempts.enumerated() {
            if number > 0, let range = attempt.request.headers.first("Range") {
                let start = try #require(Int(range.dropFirst(6).prefix { $0 != "-" }))
                let end = try #require(Int(range.split(separator: "-")[1]))
                attempt.head(
                    206,
                    ["ETag": "\"one\"", "Content-Range": "bytes \(start)-\(end)/\(Self.length)"])
                attempt.body(Array(server.bytes[start..<start + 700_001]))
            } else {
                attempt.body(Array(server.bytes.prefix(900_001)))
            }
        }
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await eventually("the connections to be given back") {
            harness.network.running.isEmpty
        }
        try await eventually("all that came to be on disk") {
            let stored = try await harness.store.disk.task(task, of: harness.tenant)
            return stored?.hasLiveAttempt == false
                && stored?.checkpoint?.point.receivedCount == stored?.countOfBytesReceived
        }
        // A connection that the disk held up has got less than it was sent.
        let kept = try await harness.task(task).countOfBytesReceived
        #expect(kept > 1_000_000 && kept <= 900_001 + 3 * 700_001)
        // It is kept as it is over a crash: a task without a live attempt (S-56).
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.state(task) == .suspended)
        let again = RangeServer(server.bytes)
        again.serve(next.network)
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        let record = try await next.finished(task)
        #expect(record.error == nil)
        #expect(try await next.read(task) == server.bytes)
        #expect(again.ranges.allSatisfy { $0 != nil })
    }

    @Test @LoopActor
    func `bytes that the task's own range has not promised are not kept, nor those of the others`()
        async throws
    {
        var limits = GatewayLimits()
        limits.suspensionGrace = .milliseconds(1)
        let harness = try await TestGateway.open(limits: limits)
        let session = try await harness.session()
        let server = RangeServer(Pattern.bytes(count: Self.length))
        server.held = Set(0..<100)
        server.serve(harness.network)
        let task = try await harness.create(
            try harness.spec(.download) { $0.connections = 3 }, in: session)
        let first = try await harness.network.attempt(0)
        first.head(
            200,
            [
                "ETag": "\"one\"", "Accept-Ranges": "bytes",
                "Content-Length": String(Self.length),
            ])
        first.body(Array(server.bytes.prefix(1 << 20)))
        _ = try await harness.network.attempt(2)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await eventually("the connections to be given back") {
            harness.network.running.isEmpty
        }
        await harness.quiet()
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let own = try await harness.network.attempt(3)
        let range = try #require(own.request.headers.first("Range"))
        let start = try #require(Int(range.dropFirst(6).prefix { $0 != "-" }))
        own.head(
            206,
            ["ETag": "\"one\"", "Content-Range": "bytes \(start)-\(start + 999)/\(Self.length)"])
        let others = [
            try await harness.network.attempt(4), try await harness.network.attempt(5),
        ]
        own.body(Array(repeating: UInt8(ascii: "x"), count: 5000))
        let whole = try await harness.network.attempt(6)
        #expect(whole.request.headers.first("Range") == nil)
        #expect(others.allSatisfy { $0.isCancelled })
        server.answer(whole, 6)
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == server.bytes)
        #expect(harness.network.attempts.count == 7)
    }

    @Test @LoopActor
    func `small contents and servers without ranges take one connection`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        for headers: HeaderList in [
            ["Content-Length": "1000000", "ETag": "\"one\"", "Accept-Ranges": "bytes"],
            ["Content-Length": "9000000", "ETag": "\"one\""],
            ["Content-Length": "9000000", "Accept-Ranges": "bytes"],
            ["Content-Length": "9000000", "ETag": "W/\"one\"", "Accept-Ranges": "bytes"],
        ] {
            let count = harness.network.attempts.count
            let task = try await harness.create(
                try harness.spec(.download) { $0.connections = 8 }, in: session)
            let attempt = try await harness.network.attempt(count)
            attempt.head(200, headers)
            let length = try #require(Int(headers.first("Content-Length") ?? ""))
            attempt.body(Pattern.bytes(count: length))
            attempt.end()
            #expect(try await harness.finished(task).error == nil)
            #expect(harness.network.attempts.count == count + 1)
        }
    }
}
