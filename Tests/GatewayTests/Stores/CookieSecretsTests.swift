import TestSupport
import Testing

/// A cookie's value is for the jar's owner and for the origin alone (security §5).
struct CookieSecretsTests {
    @Test func `events, decisions, lists, figures, the log and the disk have no cookie's value`()
        async throws
    {
        let given = Canary("given")
        let received = Canary("received")
        var options = RunningGateway.Options()
        options.arguments = ["--log-level", "debug"]
        try await RunningGateway.alone(options) { gateway in
            let client = gateway.client
            let origin = try ScriptedOrigin()
            let cookie = "got=\(received.text); HttpOnly"
            origin.on(
                "/set", .fixed(200, ["Set-Cookie": cookie, "Cache-Control": "max-age=9"], "x"))
            origin.on("/moved") { exchange in
                try exchange.answer(302, ["Location": "/set", "Set-Cookie": cookie])
            }
            origin.on("/reset", .reset())
            let (session, events) = try await client.createAskingSession("redirect", "cache")
            try await session.add(.cookie("mine", given.text))
            _ = try await session.send("127.0.0.1\tFALSE\t/\tno\t0\tmine\t\(given.text)\n")

            let id = try await session.start("data", origin.url("/moved"))
            for disposition in ["follow", "store"] {
                let question = try await events.question()
                let lists = ["/v1/decisions/\(question.id)", session.path + "/decisions"]
                for path in lists {
                    let shown = try await client.get(path).text
                    #expect(!given.isIn(shown) && !received.isIn(shown), "\(path)")
                }
                try await client.decide(question, .disposition(disposition))
            }
            #expect(try await client.completedTask(id)["error"].isNull)
            _ = try await session.run("data", origin.url("/reset"))
            // The origin and the jar have both, …
            let sent = try #require(origin.requests.last?.headers["Cookie"])
            #expect(given.isIn(sent) && received.isIn(sent))
            let jar = try await client.get(session.path + "/cookies").text
            #expect(given.isIn(jar) && received.isIn(jar))
            // … and nobody else: not what is live, not what is replayed,
            let replayed = try await session.allEvents()
            try await eventually { replayed.names.count { $0 == "task.didComplete" } == 2 }
            let told = (events.events + replayed.events).map(\.data).joined()
            #expect(told.contains("got="))
            #expect(!given.isIn(told) && !received.isIn(told))
            for path in ["/v1/sessions", session.path, "/metrics"] {
                let shown = try await client.get(path).text
                #expect(!given.isIn(shown) && !received.isIn(shown), "\(path)")
            }
            // nor the disk and the log.
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
            for canary in [given, received] {
                #expect(try canary.places(below: gateway.dataDirectory) == [])
                #expect(!canary.isIn(gateway.process.errorText + gateway.process.outputText))
            }
        }
    }

    @Test func `a reset shows what is outstanding without the values of cookies (R-8)`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            let canary = Canary("received")
            let origin = try ScriptedOrigin()
            origin.on("/slow") { exchange in
                try exchange.head(200, ["Set-Cookie": "got=\(canary.text); HttpOnly"])
                try exchange.stall()
            }
            let session = try await client.createSession()
            let id = try await session.start("data", origin.url("/slow"))
            // The task's own answer has it …
            let task = try await client.task(id) { !$0["response"].isNull }
            #expect(canary.isIn("\(task["response"])"))
            // … and no stream.
            for path in ["/v1/tasks/\(id)", session.path, "/v1"] {
                let reader = try await client.events(path + "/events", lastEventID: "bogus")
                let reset = try await reader.next()
                #expect(reset.event == "reset" && reset.data.contains("got=<redacted>; HttpOnly"))
                #expect(!canary.isIn(reset.data), "\(path)")
            }
        }
    }
}
