import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Each part of multipart/x-mixed-replace is a response of its own, and is decided about (S-46,
/// S-82).
@Suite(.onLoop)
struct PartDecisionTests {
    private static let type = "multipart/x-mixed-replace; boundary=b"
    private static let parts =
        "--b\r\nContent-Type: text/plain\r\nX-Part: 1\r\n\r\none\r\n"
        + "--b\r\nX-Part: 2\r\n\r\nsecond\r\n--b\r\nX-Part: 3\r\n\r\nthree\r\n--b--\r\n"

    /// A task whose parts come in pieces of this size, up to the question about its container.
    @LoopActor
    private func ask(
        _ harness: TestGateway, _ type: TaskType = .data, pieces: Int
    ) async throws -> (TaskID, FakeAttempt, DecisionRecord) {
        let session = try await harness.session(delegate: .deciding(.response))
        let task = try await harness.create(
            type == .upload
                ? try harness.spec(.upload, method: "POST", body: .bytes([1])) : try harness.spec(),
            in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Type": Self.type])
        attempt.body(Array(Self.parts.utf8), pieces: pieces)
        attempt.end()
        return (task, attempt, try await harness.asked(task))
    }

    private static func part(_ decision: DecisionRecord) -> String? {
        guard case .didReceiveResponse(let response, _) = decision.question else { return nil }
        return response.headers.first("X-Part")
    }

    @Test(arguments: [TaskType.data, .upload], [1, 7, 16 << 10]) @LoopActor
    func `each part is asked about, and delivered when it is allowed`(
        type: TaskType, pieces: Int
    ) async throws {
        let harness = try await TestGateway.open()
        var (task, attempt, decision) = try await ask(harness, type, pieces: pieces)
        #expect(Self.part(decision) == nil)
        for number in 1...3 {
            try await harness.answer(decision, .response(.allow))
            decision = try await harness.asked(task, after: decision.id)
            #expect(Self.part(decision) == String(number) && attempt.isPaused)
            #expect(
                try await harness.task(task).countOfBytesReceived == [0, 3, 9][number - 1])
        }
        try await harness.answer(decision, .response(.allow))
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.headers.first("X-Part") == "3")
        #expect(try await harness.read(task) == Array("onesecondthree".utf8))
    }

    @Test @LoopActor
    func `parts come no faster than the store takes what is told of them (R-9)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Type": Self.type])
        harness.store.hold()
        let count = 20_000
        let part = Array("--b\r\n\r\nx\r\n".utf8)
        attempt.body(Array(repeatElement(part, count: count).joined()) + Array("--b--\r\n".utf8))
        attempt.end()
        #expect(attempt.isPaused && attempt.deliveredCount < count * part.count / 4)
        harness.store.release()
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.task(task).countOfBytesReceived == Int64(count))
    }

    @Test @LoopActor
    func `a part that is cancelled ends the task`() async throws {
        let harness = try await TestGateway.open()
        let (task, attempt, container) = try await ask(harness, pieces: 9)
        try await harness.answer(container, .response(.allow))
        let first = try await harness.asked(task, after: container.id)
        try await harness.answer(first, .response(.allow))
        let second = try await harness.asked(task, after: first.id)
        try await harness.answer(second, .response(.cancel))
        #expect(try await harness.finished(task).error?.code == -999)
        #expect(attempt.isCancelled)
    }

    @Test @LoopActor
    func `a part that became a download is not fetched again behind a restart (S-56, S-82)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Type": Self.type])
        attempt.body(Array("--b\r\nX-Part: 1\r\n\r\nhalf of i".utf8))
        let container = try await harness.asked(task)
        try await harness.answer(container, .response(.allow))
        let part = try await harness.asked(task, after: container.id)
        try await harness.answer(part, .response(.becomeDownload))
        let heir = try #require(try await harness.task(task).dialogue.becameTask)
        _ = try await harness.gateway.tasks.suspend(heir, of: harness.tenant)
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.finished(heir).error?.code == -997)
        #expect(next.network.attempts.isEmpty)
    }

    @Test(arguments: [1, 2, 3], [1, 16 << 10]) @LoopActor
    func `a part that becomes a download is the whole of it`(
        number: Int, pieces: Int
    ) async throws {
        let harness = try await TestGateway.open()
        var (task, _, decision) = try await ask(harness, pieces: pieces)
        for _ in 1...number {
            try await harness.answer(decision, .response(.allow))
            decision = try await harness.asked(task, after: decision.id)
        }
        try await harness.answer(decision, .response(.becomeDownload))
        let old = try await harness.task(task)
        #expect(old.state == .completed && old.error == nil && old.content == nil)
        let heir = try #require(old.dialogue.becameTask)
        let record = try await harness.finished(heir)
        #expect(record.error == nil)
        #expect(record.response?.headers.first("X-Part") == String(number))
        #expect(try await harness.read(heir) == Array(["one", "second", "three"][number - 1].utf8))
        #expect(harness.recorder.has("task.didBecomeDownloadTask", task))
        #expect(!harness.recorder.has("task.didComplete", task))
    }

    @Test @LoopActor
    func `a part that becomes a download takes the slot along, and gives it back (S-19)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response)) {
            $0.httpMaximumConnectionsPerHost = 1
        }
        let task = try await harness.create(try harness.spec(), in: session)
        let next = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Type": Self.type])
        attempt.body(Array(Self.parts.utf8))
        attempt.end()
        let container = try await harness.asked(task)
        try await harness.answer(container, .response(.allow))
        let part = try await harness.asked(task, after: container.id)
        #expect(harness.network.attempts.count == 1)
        try await harness.answer(part, .response(.becomeDownload))
        try await harness.network.attempt(1).answer()
        try await harness.answer(next, .response(.allow))
        #expect(try await harness.finished(next).error == nil)
    }

    @Test @LoopActor
    func `a task can be suspended while a part is decided about (S-77)`() async throws {
        let harness = try await TestGateway.open()
        let (task, _, container) = try await ask(harness, pieces: 16 << 10)
        try await harness.answer(container, .response(.allow))
        let first = try await harness.asked(task, after: container.id)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await harness.answer(first, .response(.allow))
        await harness.quiet()
        #expect(try await harness.task(task).countOfBytesReceived == 0)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let second = try await harness.asked(task, after: first.id)
        #expect(Self.part(second) == "2")
        #expect(try await harness.task(task).countOfBytesReceived == 3)
    }

    @Test @LoopActor
    func `the parts of a redirect that is stopped are asked about, too`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response, .redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            302, ["Location": "/x", "Content-Type": Self.type], Array(Self.parts.utf8))
        var decision = try await harness.answer(task, .redirect(.stop))
        for _ in 0...3 {
            decision = try await harness.asked(task, after: decision.id)
            try await harness.answer(decision, .response(.allow))
        }
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == Array("onesecondthree".utf8))
    }
}
