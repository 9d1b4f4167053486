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
        _ house: House, _ type: TaskType = .data, pieces: Int
    ) async throws -> (TaskID, FakeAttempt, DecisionRecord) {
        let session = try await house.session(delegate: .deciding(.response))
        let task = try await house.create(
            type == .upload
                ? try house.spec(.upload, method: "POST", body: .bytes([1])) : try house.spec(),
            in: session)
        let attempt = try await house.network.attempt(0)
        attempt.head(200, ["Content-Type": Self.type])
        attempt.body(Array(Self.parts.utf8), pieces: pieces)
        attempt.end()
        return (task, attempt, try await house.asked(task))
    }

    private static func part(_ decision: DecisionRecord) -> String? {
        guard case .didReceiveResponse(let response, _) = decision.question else { return nil }
        return response.headers.first("X-Part")
    }

    @Test(arguments: [TaskType.data, .upload], [1, 7, 16 << 10]) @LoopActor
    func `each part is asked about, and delivered when it is allowed`(
        type: TaskType, pieces: Int
    ) async throws {
        let house = try await House.open()
        var (task, attempt, decision) = try await ask(house, type, pieces: pieces)
        #expect(Self.part(decision) == nil)
        for number in 1...3 {
            try await house.answer(decision, .response(.allow))
            decision = try await house.asked(task, after: decision.id)
            #expect(Self.part(decision) == String(number) && attempt.isPaused)
            #expect(
                try await house.task(task).countOfBytesReceived == [0, 3, 9][number - 1])
        }
        try await house.answer(decision, .response(.allow))
        let record = try await house.finished(task)
        #expect(record.error == nil && record.response?.headers.first("X-Part") == "3")
        #expect(try await house.read(task) == Array("onesecondthree".utf8))
    }

    @Test @LoopActor
    func `a part that is cancelled ends the task`() async throws {
        let house = try await House.open()
        let (task, attempt, container) = try await ask(house, pieces: 9)
        try await house.answer(container, .response(.allow))
        let first = try await house.asked(task, after: container.id)
        try await house.answer(first, .response(.allow))
        let second = try await house.asked(task, after: first.id)
        try await house.answer(second, .response(.cancel))
        #expect(try await house.finished(task).error?.code == -999)
        #expect(attempt.isCancelled)
    }

    @Test(arguments: [1, 2, 3], [1, 16 << 10]) @LoopActor
    func `a part that becomes a download is the whole of it`(
        number: Int, pieces: Int
    ) async throws {
        let house = try await House.open()
        var (task, _, decision) = try await ask(house, pieces: pieces)
        for _ in 1...number {
            try await house.answer(decision, .response(.allow))
            decision = try await house.asked(task, after: decision.id)
        }
        try await house.answer(decision, .response(.becomeDownload))
        let old = try await house.task(task)
        #expect(old.state == .completed && old.error == nil && old.content == nil)
        let heir = try #require(old.dialogue.becameTask)
        let record = try await house.finished(heir)
        #expect(record.error == nil)
        #expect(record.response?.headers.first("X-Part") == String(number))
        #expect(try await house.read(heir) == Array(["one", "second", "three"][number - 1].utf8))
        #expect(house.recorder.has("task.didBecomeDownloadTask", task))
        #expect(!house.recorder.has("task.didComplete", task))
    }

    @Test @LoopActor
    func `a part that becomes a download takes the slot along, and gives it back (S-19)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session(delegate: .deciding(.response)) {
            $0.httpMaximumConnectionsPerHost = 1
        }
        let task = try await house.create(try house.spec(), in: session)
        let next = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(0)
        attempt.head(200, ["Content-Type": Self.type])
        attempt.body(Array(Self.parts.utf8))
        attempt.end()
        let container = try await house.asked(task)
        try await house.answer(container, .response(.allow))
        let part = try await house.asked(task, after: container.id)
        #expect(house.network.attempts.count == 1)
        try await house.answer(part, .response(.becomeDownload))
        try await house.network.attempt(1).answer()
        try await house.answer(next, .response(.allow))
        #expect(try await house.finished(next).error == nil)
    }

    @Test @LoopActor
    func `a task can be suspended while a part is decided about (S-77)`() async throws {
        let house = try await House.open()
        let (task, _, container) = try await ask(house, pieces: 16 << 10)
        try await house.answer(container, .response(.allow))
        let first = try await house.asked(task, after: container.id)
        _ = try await house.gateway.tasks.suspend(task, of: house.tenant)
        try await house.answer(first, .response(.allow))
        await house.quiet()
        #expect(try await house.task(task).countOfBytesReceived == 0)
        _ = try await house.gateway.tasks.resume(task, of: house.tenant)
        let second = try await house.asked(task, after: first.id)
        #expect(Self.part(second) == "2")
        #expect(try await house.task(task).countOfBytesReceived == 3)
    }

    @Test @LoopActor
    func `the parts of a redirect that is stopped are asked about, too`() async throws {
        let house = try await House.open()
        let session = try await house.session(delegate: .deciding(.response, .redirect))
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(
            302, ["Location": "/x", "Content-Type": Self.type], Array(Self.parts.utf8))
        var decision = try await house.answer(task, .redirect(.stop))
        for _ in 0...3 {
            decision = try await house.asked(task, after: decision.id)
            try await house.answer(decision, .response(.allow))
        }
        #expect(try await house.finished(task).error == nil)
        #expect(try await house.read(task) == Array("onesecondthree".utf8))
    }
}
