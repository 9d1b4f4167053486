import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Progress, and data told inline (S-58, S-59).
@Suite(.onLoop)
struct ProgressTests {
    @Test @LoopActor
    func
        `progress comes four times a second at most, newest figures, and a last one before the end (S-59)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "1000000"])
        let begun = ContinuousClock.now
        var sent = 0
        try await eventually("four reports", isolation: LoopActor.shared) {
            attempt.body(Pattern.bytes(from: sent, count: 1000))
            sent += 1000
            return harness.recorder.events(of: task).count { $0.body.isProgress } == 4
        }
        #expect(ContinuousClock.now - begun >= .milliseconds(990))
        attempt.body(Pattern.bytes(from: sent, count: 1_000_000 - sent))
        attempt.end()
        let record = try await harness.finished(task)
        var total: Int64 = 0
        for event in harness.recorder.events(of: task) {
            guard case .didWriteData(let new, let whole, let expected) = event.body else {
                continue
            }
            total += new
            #expect(new > 0 && whole == total && expected == 1_000_000)
        }
        #expect(total == 1_000_000 && record.countOfBytesReceived == 1_000_000)
        #expect(harness.store.batches.allSatisfy { $0.events.allSatisfy { !$0.body.isProgress } })
    }

    @Test @LoopActor
    func `a data task tells offsets and lengths without gaps (S-58)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        attempt.body(Pattern.bytes(count: 100_000))
        try await eventually("progress") {
            harness.recorder.events(of: task).contains { $0.body.isProgress }
        }
        attempt.body(Pattern.bytes(from: 100_000, count: 50_000))
        attempt.end()
        try await harness.recorder.end(of: task)
        var next: Int64 = 0
        for event in harness.recorder.events(of: task) {
            guard case .didReceiveData(let offset, let length, false, nil) = event.body else {
                continue
            }
            #expect(offset == next && length > 0)
            next += Int64(length)
        }
        #expect(next == 150_000)
    }

    @Test @LoopActor
    func `what was sent is told before what is answered (§5)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes(Pattern.bytes(count: 1000))), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.sent(400)
        attempt.sent(1000)
        attempt.answer(200, [:], [1])
        try await harness.recorder.end(of: task)
        #expect(
            harness.recorder.events(of: task).contains {
                $0.body
                    == .didSendBodyData(
                        bytesSent: 1000, totalBytesSent: 1000, totalBytesExpectedToSend: 1000)
            })
        #expect(
            harness.recorder.story(of: task).prefix(3) == [
                "didCreate", "didSendBodyData", "didReceiveResponse",
            ])
    }

    @Test @LoopActor
    func `an upload that is answered by 303 has told what was sent, and keeps its figures (S-59)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes(Pattern.bytes(count: 1000))), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.sent(1000)
        attempt.answer(303, ["Location": "/done"])
        try await harness.network.attempt(1).answer(200, [:], [1])
        let record = try await harness.finished(task)
        #expect(record.countOfBytesSent == 1000 && record.countOfBytesExpectedToSend == 1000)
        #expect(
            harness.recorder.events(of: task).map(\.body).contains(
                .didSendBodyData(
                    bytesSent: 1000, totalBytesSent: 1000, totalBytesExpectedToSend: 1000)))
    }

    @Test @LoopActor
    func `a body that is sent again is counted again (S-59)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes(Pattern.bytes(count: 1000))), in: session)
        let first = try await harness.network.attempt(0)
        first.sent(600)
        first.answer(307, ["Location": "/again"])
        let second = try await harness.network.attempt(1)
        #expect(try await harness.task(task).countOfBytesSent == 0)
        second.sent(1000)
        second.answer(200)
        _ = try await harness.finished(task)
        let told = harness.recorder.events(of: task).compactMap { event -> [Int64]? in
            guard case .didSendBodyData(let new, let total, _) = event.body else { return nil }
            return [new, total]
        }
        #expect(told == [[600, 600], [1000, 1000]])
    }

    @Test @LoopActor
    func `nobody who listens, no progress; it stands in no one's way`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        harness.gateway.hub.setListener(nil, for: .tenant(harness.tenant))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        attempt.body(Pattern.bytes(count: 1000))
        let listener = Listener()
        harness.gateway.hub.setListener(listener, for: .task(task, session: session))
        attempt.body(Pattern.bytes(count: 1000))
        attempt.end()
        try await eventually("the end") { listener.events.last?.body.isTerminal == true }
        #expect(
            listener.events.map(\.body.name) == [
                "task.didReceiveResponse", "task.didReceiveData", "task.didFinishCollectingMetrics",
                "task.didComplete",
            ])
        #expect(
            listener.events[1].body
                == .didReceiveData(offset: 0, length: 2000, inline: false, bytes: nil))
    }

    // MARK: Inline

    @LoopActor
    private func inlineSession(_ harness: TestGateway) async throws -> SessionID {
        var delegate = DelegateOptions()
        delegate.data = .inline
        return try await harness.session(delegate: delegate)
    }

    @Test @LoopActor
    func
        `inline data is numbered, in pieces of 64 KiB at most, without a gap, and replayed whole (S-58)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await inlineSession(harness)
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        let bytes = Pattern.bytes(count: 700_000)
        attempt.head(200)
        attempt.body(bytes, pieces: 200_000)
        // Replayed while the task runs …
        try await eventually("some data") { harness.recorder.events(of: task).count > 5 }
        let running = try await replay(task, session, harness)
        #expect(!running.isEmpty && running == Array(bytes[..<running.count]))
        attempt.end()
        try await harness.recorder.end(of: task)
        var told: [UInt8] = []
        for event in harness.recorder.events(of: task) {
            guard case .didReceiveData(let offset, let length, let inline, let piece) = event.body
            else {
                continue
            }
            #expect(inline && event.sequence > 0 && length <= 64 << 10 && length > 0)
            #expect(offset == told.count && piece?.count == length)
            told += piece ?? []
        }
        #expect(told == bytes)
        // … and when it is over. What is stored has no bytes.
        #expect(try await replay(task, session, harness) == bytes)
        let stored = harness.store.batches.flatMap(\.events)
        #expect(
            stored.allSatisfy {
                if case .didReceiveData(_, _, _, .some) = $0.body { false } else { true }
            })
    }

    /// The bytes of all stored inline events of a task.
    @LoopActor
    private func replay(
        _ task: TaskID, _ session: SessionID, _ harness: TestGateway
    ) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        let events = try await harness.gateway.events.page(
            of: .task(task, session: session), after: 0, limit: 1000)
        for event in events {
            guard case .didReceiveData(let offset, let length, true, nil) = event.body else {
                continue
            }
            let piece = await harness.gateway.contents.bytes(
                of: task, of: harness.tenant, from: offset, count: length)
            bytes += try #require(piece)
        }
        return bytes
    }

    @Test(
        arguments: [SessionType.default, .ephemeral],
        [(1000, false), (300_000, false), (300_000, true)])
    @LoopActor
    func `what a failed or cancelled task has told of is replayed, and can be read (S-8, S-58)`(
        type: SessionType, end: (byteCount: Int, isCancelled: Bool)
    ) async throws {
        let harness = try await TestGateway.open()
        var delegate = DelegateOptions()
        delegate.data = .inline
        let session = try await harness.session(type, delegate: delegate)
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        let bytes = Pattern.bytes(count: end.byteCount)
        attempt.head(200, ["Content-Length": "1000000"])
        attempt.body(bytes)
        if end.isCancelled {
            let view = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
            #expect(view.record.state == .completed)
        } else {
            attempt.end(.url(.networkConnectionLost))
        }
        let record = try await harness.finished(task)
        #expect(record.error?.code == (end.isCancelled ? -999 : -1005))
        #expect(record.content?.isPart == true && record.content?.length == Int64(bytes.count))
        #expect(record.content?.lengthVerified == false)
        #expect(try await replay(task, session, harness) == bytes)
        #expect(try await harness.read(task) == bytes)
        try await harness.gateway.tasks.delete(task, of: harness.tenant)
        try await eventually("the part to go") { try harness.files().isEmpty }
    }

    @Test @LoopActor
    func `an event whose bytes are gone does not tell of others (S-58)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await inlineSession(harness)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: 1000))
        _ = try await harness.finished(task)
        try await harness.gateway.tasks.delete(task, of: harness.tenant)
        #expect(
            await harness.gateway.contents.bytes(of: task, of: harness.tenant, from: 0, count: 1000)
                == nil)
    }

    @Test @LoopActor
    func `an inline transfer waits for the store, and goes on with it (S-58, R-9)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await inlineSession(harness)
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        await harness.quiet()
        harness.store.hold()
        attempt.head(200)
        attempt.body(Pattern.bytes(count: 5_000_000))
        attempt.end()
        #expect(attempt.isPaused && attempt.deliveredCount <= 2 << 20)
        for _ in 0..<20 { await Task.yield() }
        #expect(attempt.isPaused)
        harness.store.release()
        #expect(try await harness.recorder.end(of: task) == nil)
        #expect(try await harness.read(task) == Pattern.bytes(count: 5_000_000))
    }

    @Test @LoopActor
    func `an inline task can be cancelled while it waits for the store (S-33)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await inlineSession(harness)
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        await harness.quiet()
        harness.store.hold()
        attempt.head(200)
        attempt.body(Pattern.bytes(count: 5_000_000))
        let cancel = Task { @LoopActor in
            try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        }
        try await eventually("the attempt to end") { attempt.isCancelled }
        harness.store.release()
        #expect(try await cancel.value.record.error?.code == -999)
        try await harness.recorder.end(of: task)
        #expect(attempt.resumeCount == 0)
    }
}

/// Keeps what it hears.
@LoopActor
final class Listener: EventListener {
    private(set) var events: [Event] = []
    func hear(_ event: Event) { events.append(event) }
}
