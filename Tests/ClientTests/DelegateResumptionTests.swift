import JSON
import TestSupport
import Testing

@testable import Client

/// Sessions of a command's own, and downloads that go on (S-9, S-34, S-36).
struct DelegateResumptionTests {
    let bench: DelegateBench
    var gateway: FakeGateway { bench.gateway }
    private let left = "a.iso.resume"

    init() throws {
        bench = try DelegateBench()
    }

    private func resumePoint() throws -> ResumeFile? {
        try ResumeFile.read(for: bench.folder.file("a.iso"))
    }

    @Test func `without a password a resumed download loses nothing (S-34)`() async throws {
        try ResumeFile(url: "http://host/a.iso", resumeData: "old")
            .write(for: bench.folder.file("a.iso"))
        let decision = ScriptedDecision.password()
        gateway.serveOwnSession([decision])
        gateway.task.update { $0.resumeData = "new" }
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.ask(decision)
        }
        let run = bench.get()
        try await bench.answer("User name for Staff at host:80:", "")
        await #expect(throws: ClientError.resumable(.serverAnswered(status: 401))) {
            try await run.value
        }
        #expect(try decision.answers.isEmpty)
        #expect(try resumePoint()?.resumeData == "new")
        #expect(try resumePoint()?.task == nil)
        #expect(gateway.task.isDeleted)
        bench.expectOrder()
    }

    @Test func `Ctrl-C leaves resume data, which another session goes on with (S-36)`()
        async throws
    {
        gateway.serveOwnSession()
        gateway.task.update { $0.resumeData = "b64" }
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.response(length: 5)
            try exchange.stall()
        }
        gateway.onContent { try $0.answer(409) }
        let first = bench.get()
        try await gateway.origin.waitForRequests(1, for: FakeGateway.taskPath + "/content")
        bench.bench.interrupt()
        await #expect(throws: ClientError.resumable(.interrupted)) { try await first.value }
        bench.expectOrder()
        #expect(try resumePoint()?.session == nil)

        let second = try DelegateBench(bench)
        gateway.onQuestions([], gateway.second)
        _ = try await second.get().value
        let bodies = try gateway.requests("POST", FakeGateway.ownCreation).map {
            try JSONValue(parsing: $0.body)["resumeData"]?.string
        }
        #expect(bodies == [nil, "b64"])
        #expect(gateway.requests("POST", "/v1/sessions").count == 2)
        #expect(gateway.endings.count == 2)
    }

    @Test func `a task that had to be left keeps its session until it is taken up`() async throws {
        gateway.serveOwnSession()
        gateway.origin.on("/v1/sessions/ses_own/invalidate") { exchange in
            try exchange.readWholeBody()
            guard exchange.request.attempt > 1 else { return exchange.reset() }
            try exchange.answer(202)
        }
        gateway.onEvents { exchange in
            guard exchange.request.attempt == 1 else { return exchange.reset() }
            try exchange.openStream()
            try exchange.response(length: 5)
            exchange.reset()
        }
        gateway.onContent { $0.reset() }
        let first = bench.get(persistence: { $0.events.absence = .milliseconds(50) })
        await #expect {
            try await first.value
        } throws: { error in
            guard case ClientError.resumable(.unreachable) = error else { return false }
            return true
        }
        #expect(gateway.endings == [#"{"mode":"finishTasks"}"#])
        #expect(try resumePoint()?.task == "tsk_1")
        #expect(try resumePoint()?.session == "ses_own")

        let second = try DelegateBench(bench)
        let decision = ScriptedDecision.password()
        decision.serve(on: gateway.origin)
        gateway.onQuestions([decision])
        let run = second.get()
        try await second.answer("User name for Staff at host:80:", "a")
        try await second.answer("Password:", "b")
        _ = try await run.value
        #expect(try login(decision.answers.first) == "a:b")
        #expect(gateway.requests("POST", "/v1/sessions").count == 1)
        #expect(gateway.endings.last == #"{"mode":"cancelTasks"}"#)
        #expect(try bench.folder.contents() == ["a.iso"])
    }
}
