import Glibc
import TestSupport
import Testing

/// A process that stood still finds that nobody was silent but itself.
struct StandstillTests {
    /// Longer than any limit below, and than the time for a request's header.
    private static let standstill = Duration.seconds(24)

    @Test func `a gateway that was stopped goes on as if no time had gone by (R-14, S-16, X-11)`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            let (answers, ends) = (Gate(), Gate())
            origin.on("/drip", .drip(600, by: 10, every: .milliseconds(100)))
            origin.on(
                "/late",
                Behaviour { exchange in
                    try exchange.stall(until: answers)
                    try exchange.answer(200, [:], "late")
                })
            origin.on("/silent", .stall())
            origin.on("/gated", .stall(after: 4, of: 8, until: ends))
            origin.on("/moved", .fixed(302, ["Location": "/late"]))
            let client = gateway.client
            let (session, events) = try await client.createAskingSession("redirect", timeout: 20)
            let quick: [String: TestJSON] = ["timeoutInterval": 20]
            // Bytes keep coming; the head comes while nobody is there to see it; the end comes
            // afterwards.
            let dripping = try await session.start("data", origin.url("/drip"), request: quick)
            let waiting = try await session.start("download", origin.url("/late"), request: quick)
            let gated = try await session.start("data", origin.url("/gated"))
            let silent = try await session.start("data", origin.url("/silent"), request: quick)
            let moved = try await session.start("data", origin.url("/moved"), request: quick)
            let question = try await events.question()
            try await origin.waitForRequests(1, for: "/silent")
            // A server that has yet to say a word of TLS.
            let deaf = try Decoy(keepsVisitors: true)
            let connecting = try await session.start(
                "data", "https://\(deaf.endpoint)/", request: quick)
            try await eventually("the connection") { deaf.acceptCount == 1 }
            try await origin.waitForRequests(1, for: "/late")
            try await origin.waitForRequests(1, for: "/drip")
            // Half a request, and a client that waits for the end of a task.
            let half = try await client.connect()
            let head = Array(client.requestHead("GET", "/v1/tasks/\(gated)").utf8)
            try await half.send(Array(head.prefix(head.count / 2)))
            let patient = try await client.connect()
            try await patient.send(
                client.requestHead("GET", "/v1/tasks/\(gated)", ["Prefer": "wait=20"]))

            gateway.process.send(SIGSTOP)
            answers.open()
            try await Task.sleep(for: Self.standstill)
            gateway.process.send(SIGCONT)

            try await half.send(Array(head.dropFirst(head.count / 2)))
            #expect(try await half.response().json["state"].string == "running")
            #expect(try await client.task(connecting)["state"].string == "running")
            try await client.decide(question, .disposition("follow"))
            ends.open()
            let answer = try await patient.response()
            #expect(answer.json["state"].string == "completed", "\(answer.text)")
            for (task, length) in [(dripping, 600), (waiting, 4), (gated, 8), (moved, 4)] {
                let end = try await client.completedTask(task)
                #expect(end["error"].isNull)
                #expect(try await client.content(task).count == length)
            }
            // Whoever is silent afterwards, too, is judged as ever.
            for task in [silent, connecting] {
                #expect(try await client.completedTask(task).errorCode == -1001)
            }
        }
    }
}
