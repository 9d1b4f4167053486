import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// The trace that the creation of a task belongs to: kept, and told to origins and receivers.
@Suite(.onLoop)
struct TraceTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private func traced(_ spec: TaskSpec) -> TaskSpec {
        var spec = spec
        spec.requestID = "r1"
        spec.traceContext = TraceContext(parent: Self.parent, states: ["a=1"])
        return spec
    }

    private func sent(_ headers: HeaderList) throws -> TraceContext {
        let parent = try #require(headers.first("traceparent"))
        return try #require(TraceContext(parent: parent, states: headers.values(of: "tracestate")))
    }

    @Test @LoopActor
    func `an origin is told of it where the session wants that, each attempt a span of its own`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.propagatesTraceContext = true }
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await harness.create(
            traced(try harness.spec { $0.retry = policy }), in: session)
        let first = try await harness.network.attempt(0)
        first.answer(503)
        let second = try await harness.network.attempt(1)
        second.answer(302, ["Location": "http://other.test/b"])
        let third = try await harness.network.attempt(2)
        third.answer(200)
        let record = try await harness.finished(task)
        #expect(record.requestID == "r1" && record.traceContext?.parent == Self.parent)
        let contexts = try [first, second, third].map { try sent($0.request.headers) }
        for context in contexts {
            #expect(context.traceID == record.traceContext?.traceID && context.state == "a=1")
        }
        #expect(Set(contexts.map(\.parentID)).count == 3)
        #expect(!contexts.map(\.parentID).contains("00f067aa0ba902b7"))
    }

    @Test @LoopActor
    func `no origin hears of it elsewhere, nor of a trace that there is not`() async throws {
        let harness = try await TestGateway.open()
        let silent = try await harness.session()
        _ = try await harness.create(traced(try harness.spec()), in: silent)
        let telling = try await harness.session { $0.propagatesTraceContext = true }
        _ = try await harness.create(try harness.spec(), in: telling)
        for index in 0..<2 {
            let headers = try await harness.network.attempt(index).request.headers
            #expect(!headers.contains("traceparent") && !headers.contains("tracestate"))
        }
    }

    @Test @LoopActor
    func `a field of the client's own stays as it is`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.propagatesTraceContext = true }
        _ = try await harness.create(
            traced(try harness.spec(headers: ["Traceparent": "mine", "tracestate": "b=2"])),
            in: session)
        let headers = try await harness.network.attempt(0).request.headers
        #expect(headers.values(of: "traceparent") == ["mine"])
        #expect(headers.values(of: "tracestate") == ["b=2"])
    }

    @Test(arguments: [false, true]) @LoopActor
    func `a receiver is told of it, also when the task is in the store only`(
        isForgotten: Bool
    ) async throws {
        let stage = try await WebhookStage()
        let webhook = try await stage.webhook(.some(["task.didCreate"]))
        let session = try await stage.harness.session()
        let task = try await stage.harness.create(
            traced(try stage.harness.spec(resume: false)), in: session)
        let first = try await stage.post()
        if isForgotten { stage.harness.gateway.tasks.directory.dropRecords() }
        first.answer(503)
        try await eventually("the try is kept") {
            try await stage.deliveries(webhook, .pending).count == 1
        }
        try await stage.pass(.seconds(3600), in: session)
        // That of the task with which time passes comes, too.
        let id = first.request.headers.first("webhook-id")
        var second = try await stage.post()
        if second.request.headers.first("webhook-id") != id { second = try await stage.post() }
        let contexts = try [first, second].map { try sent($0.request.headers) }
        #expect(Set(contexts.map(\.parentID)).count == 2)
        #expect(Set(contexts.map(\.traceID)) == ["4bf92f3577b34da6a3ce929d0e0e4736"])
        #expect(try await stage.harness.task(task).traceContext?.parent == Self.parent)
    }
}
