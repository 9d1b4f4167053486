import TestSupport
import Testing

/// What becomes of decisions when the gateway is killed while they wait (S-56, S-74, R-1).
struct DecisionCrashTests {
    @Test func `a decision that waits survives kill -9, with its whole time once more (S-56)`()
        async throws
    {
        try await RunningGateway.alone { first in
            let origin = try ScriptedOrigin()
            origin.on("/cave", .basic())
            origin.on("/old", .redirect(307, to: "/new"))
            origin.on("/new", .fixed(200, [:], "new"))
            let (session, events) = try await first.client.createAskingSession(
                "challenge", "redirect", "delayedRequest")
            let locked = try await session.start("data", origin.url("/cave"))
            let challenge = try await events.question()
            let moved = try await session.start("data", origin.url("/old"))
            let redirect = try await events.question()
            let later = try await session.start(
                "data", origin.url("/new"), ["earliestBeginDate": "2026-01-01T00:00:00Z"])
            let delay = try await events.question()
            let cancelled = try await session.start("data", origin.url("/cave"))
            let withdrawn = try await events.question()
            _ = try await first.client.tell(cancelled, "cancel")
            _ = try await first.client.completedTask(cancelled)
            let before = try await session.decisions()
            #expect(before.map(\.id) == [challenge, redirect, delay].map(\.id))
            try await first.kill9()

            let gateway = try await first.restarted()
            let client = gateway.client
            let again = TestSession(client: client, id: session.id, json: session.json)
            let after = try await again.decisions()
            #expect(after.map(\.id) == before.map(\.id))
            for (old, new) in zip(before, after) {
                #expect(new["event"] == old["event"] && new["createdAt"] == old["createdAt"])
                #expect(new["deadline"].string ?? "" > old["deadline"].string ?? "~")
            }
            for task in [locked, moved, later] {
                let now = try await client.task(task)
                #expect(now["waitingFor"].string == "decision" && now["error"].isNull)
            }
            let late = try await client.answer(withdrawn, .disposition("performDefaultHandling"))
            #expect(late.status == 410 && late.problem == "decision-withdrawn")

            try await client.decide(challenge, .password("aladdin", "open sesame"))
            try await client.decide(redirect, .disposition("follow"))
            try await client.decide(delay, .disposition("continue"))
            for (task, content) in [(locked, "treasure"), (moved, "new"), (later, "new")] {
                #expect(try await client.completedTask(task)["error"].isNull)
                #expect(try await client.content(task) == Array(content.utf8))
            }
            try await gateway.kill9()
        }
    }

    @Test func `an answer that was acknowledged is in force after kill -9 (R-1, S-74)`()
        async throws
    {
        try await RunningGateway.alone { first in
            let origin = try ScriptedOrigin()
            origin.on("/old", .redirect(307, to: "/new"))
            origin.on("/new", .fixed(200, [:], "new"))
            let (session, events) = try await first.client.createAskingSession("redirect")
            let id = try await session.start("data", origin.url("/old"))
            let question = try await events.question()
            try await first.client.decide(question, .disposition("stop"))
            try await first.kill9()

            let gateway = try await first.restarted()
            let again = try await gateway.client.answer(question, .disposition("follow"))
            #expect(again.status == 409 && again.problem == "decision-answered")
            let task = try await gateway.client.completedTask(id)
            #expect(task["error"].isNull && task["response"]["status"].int == 307)
            #expect(origin.requests(for: "/new").isEmpty)
            try await gateway.kill9()
        }
    }
}
