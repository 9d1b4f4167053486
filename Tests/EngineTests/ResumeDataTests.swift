import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Downloads that end early and are gone on with: resume data, checkpoints, changed entities
/// (S-34…S-36, R-2, R-3).
@Suite(.onLoop)
struct ResumeDataTests {
    private static let length = 5_000_001

    @LoopActor
    private final class Scene {
        let harness: TestGateway
        let server = RangeServer(Pattern.bytes(count: ResumeDataTests.length))
        let session: SessionID

        init(_ type: SessionType = .default) async throws {
            harness = try await TestGateway.open()
            session = try await harness.session(type)
            server.serve(harness.network)
        }

        func download(
            _ change: (inout TaskOptions) -> Void = { _ in }
        ) async throws -> TaskID {
            try await harness.create(try harness.spec(.download) { change(&$0) }, in: session)
        }

        /// What the failed task's error has for another one.
        func resumeData(of task: TaskID) async throws -> String {
            let record = try await harness.finished(task)
            return try #require(record.resumeData)
        }

        func resume(
            _ data: String, _ change: (inout TaskOptions) -> Void = { _ in }
        ) async throws -> TaskID {
            try await harness.resume(data, in: session, change)
        }

    }

    @Test(arguments: [1, 1000, 32_768, 32_769, 100_000, 1_000_003, 4_999_999], [true, false])
    @LoopActor
    func `a download that broke off goes on where it was, in another task (S-35, S-36)`(
        cut: Int, isEphemeral: Bool
    ) async throws {
        let scene = try await Scene(isEphemeral ? .ephemeral : .default)
        scene.server.cuts[0] = cut
        let first = try await scene.download()
        let data = try await scene.resumeData(of: first)
        let second = try await scene.resume(data) { $0.computeDigest = true }
        let record = try await scene.harness.finished(second)
        #expect(record.error == nil)
        #expect(scene.server.ranges == [nil, "bytes=\(cut)-"])
        #expect(try await scene.harness.read(second) == scene.server.bytes)
        #expect(record.content?.digest == SumDigests.digest(scene.server.bytes)?.description)
        #expect(record.countOfBytesReceived == Int64(Self.length))
        let events = scene.harness.recorder.events.filter { $0.task == second }.map(\.body)
        let resumed = events.firstIndex(
            of: .didResumeAtOffset(
                fileOffset: Int64(cut), expectedTotalBytes: Int64(Self.length)))
        let answered = events.firstIndex {
            if case .didReceiveResponse = $0 { true } else { false }
        }
        #expect(try #require(resumed) < #require(answered))
    }

    @Test @LoopActor
    func `an entity that changed is fetched from zero, and nothing is said of an offset (S-36)`()
        async throws
    {
        let scene = try await Scene()
        scene.server.cuts[0] = 1_000_000
        let data = try await scene.resumeData(of: try await scene.download())
        scene.server.bytes = Pattern.bytes(count: 3_000_000).reversed()
        scene.server.tag = "\"two\""
        let second = try await scene.resume(data)
        #expect(try await scene.harness.finished(second).error == nil)
        #expect(try await scene.harness.read(second) == scene.server.bytes)
        #expect(!scene.harness.recorder.has("download.didResumeAtOffset", second))
    }

    @Test(arguments: [404, 500, 503]) @LoopActor
    func `an error in the place of the rest uses up no resume data (S-35, S-36)`(
        status: Int
    ) async throws {
        let scene = try await Scene()
        let harness = scene.harness
        scene.server.cuts[0] = 1_000_000
        let data = try await scene.resumeData(of: try await scene.download())
        scene.server.statuses[1] = status
        let second = try await scene.resume(data)
        let next = try await scene.resumeData(of: second)
        let record = try await harness.task(second)
        #expect(record.error?.code == -1011 && record.error?.message.contains("\(status)") == true)
        #expect(!harness.recorder.has("task.didReceiveResponse", second))
        #expect(record.response?.status == status)
        let third = try await scene.resume(next)
        #expect(try await harness.finished(third).error == nil)
        #expect(scene.server.ranges == [nil, "bytes=1000000-", "bytes=1000000-"])
        #expect(try await harness.read(third) == scene.server.bytes)
    }

    @Test(arguments: [
        DecisionAnswer.challenge(.performDefaultHandling), .challenge(.useCredential(nil)),
        .challenge(.rejectProtectionSpace),
    ]) @LoopActor
    func `nor does a challenge that nobody meets (S-35, S-36, S-66)`(
        answer: DecisionAnswer
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let bytes = Pattern.bytes(count: 300_000)
        let task = try await harness.create(try harness.spec(.download), in: session)
        try await breakOff(try await harness.network.attempt(0), bytes)
        let second = try await resume(after: task, harness, in: session)
        try await harness.network.attempt(1).answer(
            401, ["WWW-Authenticate": "Basic realm=a"], Array("who are you?".utf8))
        let decision = try await harness.asked(second)
        try await harness.answer(decision, answer)
        #expect(try await harness.finished(second).error?.code == -1011)
        let third = try await resume(after: second, harness, in: session)
        let last = try await harness.network.attempt(2)
        #expect(last.request.headers.first("Range") == "bytes=100000-")
        last.answer(
            206, ["ETag": "\"one\"", "Content-Range": "bytes 100000-299999/300000"],
            Array(bytes[100_000...]))
        #expect(try await harness.finished(third).error == nil)
        #expect(try await harness.read(third) == bytes)
    }

    /// 100,000 bytes of a content come, and then nothing.
    @LoopActor
    private func breakOff(_ attempt: FakeAttempt, _ bytes: [UInt8]) async throws {
        attempt.head(
            200,
            ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "\(bytes.count)"])
        attempt.body(Array(bytes[..<100_000]))
        attempt.end(.url(.networkConnectionLost))
    }

    /// A task that goes on from what another one has left.
    @LoopActor
    private func resume(
        after task: TaskID, _ harness: TestGateway, in session: SessionID
    ) async throws -> TaskID {
        let data = try #require(try await harness.finished(task).resumeData)
        return try await harness.resume(data, in: session)
    }

    @Test @LoopActor
    func `what a mirror has left is gone on with there (S-34, R-3)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            $0.httpAdditionalHeaders = ["Cookie": "a=b", "X-B": "2", "X-Secret": "3"]
        }
        let mirror = try harness.network.parse("http://mirror.test/copy")
        var spec = try harness.spec(.download, headers: ["Authorization": "Bearer x", "X-A": "1"])
        spec.request.sensitiveHeaders = ["X-Secret"]
        spec.options.mirrors = [mirror]
        let task = try await harness.create(spec, in: session)
        try await harness.network.attempt(0).end(.url(.cannotConnectToHost))
        try await breakOff(
            try await harness.network.attempt(1), Pattern.bytes(count: 300_000))
        _ = try await resume(after: task, harness, in: session)
        let third = try await harness.network.attempt(2)
        #expect(third.request.url == mirror)
        #expect(third.request.headers.first("Range") == "bytes=100000-")
        #expect(third.request.headers.first("X-A") == "1")
        #expect(third.request.headers.first("X-B") == "2")
        for secret in ["Authorization", "Cookie", "X-Secret"] {
            #expect(third.request.headers.first(secret) == nil)
        }
        // A repetition begins with the first source, whose bytes these are not.
        let again = try await harness.gateway.tasks.retry(task, of: harness.tenant).record.id
        let fourth = try await harness.network.attempt(3)
        #expect(fourth.request.url == spec.request.url)
        #expect(fourth.request.headers.first("Range") == nil)
        _ = try await harness.gateway.tasks.cancel(again, of: harness.tenant)
    }

    @Test @LoopActor
    func `of the answer to a POST there is nothing to go on from (S-34)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(.download, method: "POST", body: .bytes([1])), in: session)
        try await harness.network.attempt(0).answer(303, ["Location": "/made"])
        try await breakOff(
            try await harness.network.attempt(1), Pattern.bytes(count: 300_000))
        let record = try await harness.finished(task)
        #expect(record.error?.code == -1005)
        #expect(record.error?.userInfo[TransferError.resumeDataKey] == nil)
    }

    @Test(arguments: [149_999, 299_999]) @LoopActor
    func `of a range that is longer than it says nothing is used (R-3, S-36)`(
        last: Int
    ) async throws {
        let bytes = Pattern.bytes(count: 300_000)
        for isWrongAgain in [false, true] {
            let harness = try await TestGateway.open()
            let session = try await harness.session()
            let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
            let task = try await harness.create(
                try harness.spec(.download) { $0.retry = policy }, in: session)
            let whole: HeaderList = [
                "ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "300000",
            ]
            let first = try await harness.network.attempt(0)
            first.head(200, whole)
            first.body(Array(bytes[..<100_000]))
            first.end(.url(.networkConnectionLost))
            let second = try await harness.network.attempt(1)
            let start = try #require(second.request.headers.first("Range")).split(separator: "=")
                .last.flatMap { Int($0.dropLast()) }
            second.head(
                206,
                ["ETag": "\"one\"", "Content-Range": "bytes \(start ?? 0)-\(last)/300000"])
            second.body(Array(bytes[(start ?? 0)...last]) + [1, 2, 3, 4, 5])
            second.end(lengthVerified: false)
            let third = try await harness.network.attempt(2)
            #expect(third.request.headers.first("Range") == nil)
            if isWrongAgain {
                third.head(200, whole)
                third.body(Array(bytes[..<50_000]))
                third.end(.url(.networkConnectionLost))
                #expect(try await harness.finished(task).error?.code == -1005)
            } else {
                third.answer(200, ["ETag": "\"one\""], bytes)
                #expect(try await harness.finished(task).error == nil)
                #expect(try await harness.read(task) == bytes)
            }
        }
    }

    @Test @LoopActor
    func `a server that does not honour a tag is asked once more by date (S-36)`() async throws {
        let scene = try await Scene()
        scene.server.cuts[0] = 1_000_000
        let data = try await scene.resumeData(of: try await scene.download())
        scene.server.refusesTags = true
        let second = try await scene.resume(data)
        #expect(try await scene.harness.finished(second).error == nil)
        #expect(try await scene.harness.read(second) == scene.server.bytes)
        #expect(scene.server.ranges == [nil, "bytes=1000000-", "bytes=1000000-"])
        let conditions = scene.harness.network.attempts.map { $0.request.headers.first("If-Range") }
        #expect(conditions == [nil, "\"one\"", "Mon, 01 Jan 2024 00:00:00 GMT"])
        #expect(scene.harness.recorder.has("download.didResumeAtOffset", second))
    }

    @Test @LoopActor
    func `a download of which nothing is missing is done at a 416 with the same length (S-36)`()
        async throws
    {
        let scene = try await Scene()
        scene.server.cuts[0] = Self.length
        let data = try await scene.resumeData(of: try await scene.download())
        let second = try await scene.resume(data)
        #expect(try await scene.harness.finished(second).error == nil)
        #expect(scene.server.ranges == [nil, "bytes=\(Self.length)-"])
        #expect(try await scene.harness.read(second) == scene.server.bytes)
    }

    @Test(arguments: [
        "bytes 999999-5000000/5000001", "bytes 1000000-5000000/5000002", "bytes 1000000-4999999/*x",
        "items 1-2/3",
    ]) @LoopActor
    func `an answer that lies about its range is not used: all begins anew (X-9, R-3)`(
        lie: String
    ) async throws {
        let scene = try await Scene()
        scene.server.cuts[0] = 1_000_000
        let data = try await scene.resumeData(of: try await scene.download())
        scene.server.held = [1]
        let second = try await scene.resume(data)
        let attempt = try await scene.harness.network.attempt(1)
        attempt.head(206, ["Content-Range": lie, "ETag": "\"one\""])
        attempt.body(Pattern.bytes(count: 4_000_001))
        attempt.end()
        #expect(try await scene.harness.finished(second).error == nil)
        #expect(scene.server.ranges == [nil, "bytes=1000000-", nil])
        #expect(try await scene.harness.read(second) == scene.server.bytes)
        #expect(!scene.harness.recorder.has("download.didResumeAtOffset", second))
    }

    @Test @LoopActor
    func `another tenant's, a damaged and an invented blob are refused (S-36)`() async throws {
        let scene = try await Scene()
        scene.server.cuts[0] = 1_000_000
        let data = try await scene.resumeData(of: try await scene.download())
        let stranger = TenantID(rawValue: 77)
        #expect(throws: GatewayError.badResumeData) {
            try scene.harness.gateway.tasks.checkpoint(in: data, of: stranger)
        }
        for blob in ["", "AAAA", "!", data + "A", String(data.dropLast(3)), "A" + data.dropFirst()]
        {
            #expect(throws: GatewayError.badResumeData) {
                try scene.harness.gateway.tasks.checkpoint(in: blob, of: scene.harness.tenant)
            }
        }
    }

    @Test @LoopActor
    func `a part that is gone is done without (S-36)`() async throws {
        let scene = try await Scene()
        scene.server.cuts[0] = 1_000_000
        let data = try await scene.resumeData(of: try await scene.download())
        let once = try await scene.resume(data)
        #expect(try await scene.harness.finished(once).error == nil)
        let again = try await scene.resume(data)
        #expect(try await scene.harness.finished(again).error == nil)
        #expect(scene.server.ranges == [nil, "bytes=1000000-", nil])
        #expect(try await scene.harness.read(again) == scene.server.bytes)
    }

    @Test(arguments: [nil, "W/\"weak\""]) @LoopActor
    func `without a strong validator there is no resume data (S-34)`(tag: String?) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        var fields: HeaderList = ["Accept-Ranges": "bytes", "Content-Length": "1000000"]
        if let tag { fields.append("ETag", tag) }
        attempt.head(200, fields)
        attempt.body(Pattern.bytes(count: 100_000))
        attempt.end(.url(.networkConnectionLost))
        #expect(try await harness.finished(task).error?.userInfo == [:])
        await harness.quiet()
        try await eventually("the part to go") { try harness.files().isEmpty }
    }

    @Test @LoopActor
    func `cancelling with resume data ends the task with -999, once the part is safe (S-34)`()
        async throws
    {
        let scene = try await Scene()
        scene.server.held = [0]
        let task = try await scene.download()
        let attempt = try await scene.harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "5000001"])
        attempt.body(Array(scene.server.bytes.prefix(2_000_000)))
        let view = try await scene.harness.gateway.tasks.cancelProducingResumeData(
            task, of: scene.harness.tenant)
        #expect(view.record.state == .completed && view.record.error?.code == -999)
        let data = try await scene.resumeData(of: task)
        let second = try await scene.resume(data)
        #expect(try await scene.harness.finished(second).error == nil)
        #expect(try await scene.harness.read(second) == scene.server.bytes)
        #expect(scene.server.ranges[1] == "bytes=2000000-")
    }

    @Test @LoopActor
    func `cancelling without resume data leaves no file (S-33)`() async throws {
        let scene = try await Scene()
        scene.server.held = [0]
        let task = try await scene.download()
        let attempt = try await scene.harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "5000001"])
        attempt.body(Array(scene.server.bytes.prefix(2_000_000)))
        _ = try await scene.harness.gateway.tasks.cancel(task, of: scene.harness.tenant)
        #expect(try await scene.harness.finished(task).error?.userInfo == [:])
        try await eventually("the file to go") { try scene.harness.files().isEmpty }
    }

    @Test @LoopActor
    func
        `a suspended download that a crash left on disk gives its resume data when it is cancelled (S-34, S-56)`()
        async throws
    {
        var limits = GatewayLimits()
        limits.suspensionGrace = .milliseconds(1)
        let harness = try await TestGateway.open(limits: limits)
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let bytes = Pattern.bytes(count: Self.length)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "5000001"])
        attempt.body(Array(bytes.prefix(100_001)))
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await eventually("the part to be safe") {
            try await harness.store.disk.task(task, of: harness.tenant)?.hasLiveAttempt == false
        }
        let next = try await harness.crash()
        await next.gateway.start()
        let view = try await next.gateway.tasks.cancelProducingResumeData(task, of: next.tenant)
        #expect(view.record.error?.code == -999)
        let data = try #require(view.record.resumeData)
        let server = RangeServer(bytes)
        server.serve(next.network)
        let second = try await next.resume(data, in: session)
        #expect(try await next.finished(second).error == nil)
        #expect(server.ranges == ["bytes=100001-"])
        #expect(try await next.read(second) == bytes)
    }

    @Test @LoopActor
    func `a server that gives next to nothing of each range is not asked for ever (X-9)`()
        async throws
    {
        let scene = try await Scene()
        scene.server.cuts[0] = 1_000_000
        let data = try await scene.resumeData(of: try await scene.download())
        scene.server.held = Set(1..<100)
        scene.harness.network.onStart = { attempt in
            let start = attempt.request.headers.first("Range")?.dropFirst(6).dropLast() ?? "0"
            attempt.head(
                206,
                [
                    "ETag": "\"one\"", "Content-Range": "bytes \(start)-\(start)/\(Self.length)",
                    "Content-Length": "1",
                ])
            attempt.body([1])
            attempt.end()
        }
        let second = try await scene.resume(data)
        let record = try await scene.harness.finished(second)
        #expect(record.error?.code == -1011)
        #expect(scene.harness.network.attempts.count < 30)
    }

    @Test(arguments: [false, true]) @LoopActor
    func
        `a download that a stop or a crash interrupts ends with -997 and its resume data (S-56, R-2, R-12)`(
            isCrash: Bool
        ) async throws
    {
        let scene = try await Scene()
        scene.server.held = [0]
        let task = try await scene.download()
        let attempt = try await scene.harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "5000001"])
        attempt.body(Array(scene.server.bytes.prefix(3_000_000)))
        let next: TestGateway
        if isCrash {
            try await eventually("a checkpoint") {
                try await scene.harness.store.disk.task(task, of: scene.harness.tenant)?.checkpoint
                    != nil
            }
            next = try await scene.harness.crash()
        } else {
            await scene.harness.gateway.stop()
            next = try await scene.harness.crash()
        }
        await next.gateway.start()
        let record = try await next.task(task)
        #expect(record.state == .completed && record.error?.code == -997)
        let data = try #require(record.resumeData)
        let server = RangeServer(scene.server.bytes)
        server.serve(next.network)
        let second = try await next.resume(data, in: scene.session)
        #expect(try await next.finished(second).error == nil)
        #expect(try await next.read(second) == server.bytes)
        let offset = try #require(server.ranges[0]?.dropFirst(6).dropLast()).description
        // A stop loses nothing; a crash what the disk had not got at the last checkpoint.
        #expect(isCrash ? try #require(Int(offset)) > 0 : offset == "3000000")
    }
}
