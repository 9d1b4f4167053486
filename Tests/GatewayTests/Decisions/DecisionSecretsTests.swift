import TestSupport
import Testing

/// A password goes to the server that it is for, and nowhere else (security §5, S-65, S-67).
struct DecisionSecretsTests {
    private static let loud: RunningGateway.Options = {
        var options = RunningGateway.Options()
        options.arguments = ["--log-level", "debug"]
        return options
    }()

    @Test(arguments: ["default", "ephemeral"])
    func `a password that was given is never seen again (security §5)`(type: String) async throws {
        let password = Canary("password")
        let wrong = Canary("wrong")
        let header = Canary("header")
        try await RunningGateway.alone(Self.loud) { gateway in
            let origin = try ScriptedOrigin()
            origin.on("/cave", .basic("aladdin", password.text))
            origin.on("/slow") { exchange in
                if exchange.request.headers["Authorization"] != nil { try exchange.stall() }
                try exchange.answer(401, ["WWW-Authenticate": "Basic realm=\"slow\""], "no")
            }
            origin.on("/old", .redirect(to: "/cave"))
            origin.on("/locked", .basic("aladdin", "another one"))
            let client = gateway.client
            let (session, events) = try await client.createAskingSession(
                "challenge", "redirect", type: type)
            var answers: [String] = []

            // Wrong, then right and remembered, behind a redirect that another request has taken.
            let id = try await session.start("data", origin.url("/old"))
            let request: TestJSON = [
                "url": .string(origin.url("/cave")), "headers": ["X-Api-Key": .string(header.text)],
                "sensitiveHeaders": ["X-Api-Key"],
            ]
            let redirect = try await events.question()
            try await client.decide(redirect, ["disposition": "follow", "request": request])
            for (canary, persistence) in [(wrong, nil), (password, "forSession")] {
                let question = try await events.question()
                let refused = try await client.answer(
                    question, .password("aladdin", canary.text + "\n"))
                #expect(refused.status == 422)
                answers.append(refused.text)
                try await client.decide(
                    question, .password("aladdin", canary.text, persistence: persistence))
                answers.append(try await client.get("/v1/decisions/\(question.id)").text)
            }
            let task = try await client.completedTask(id)
            #expect(task["response"]["status"].int == 200)
            #expect(origin.requests(for: "/cave").last?.headers["X-Api-Key"] == header.text)
            // One whose question waits, one that waits for its answer, one that failed.
            _ = try await session.start("data", origin.url("/locked"))
            let proposing = try await events.question()
            #expect(proposing.challenge["proposedCredential"]["user"].string == "aladdin")
            let slow = try await session.start("data", origin.url("/slow"))
            try await client.decide(
                try await events.question(), .password("sindbad", password.text))
            _ = try await origin.waitForRequests(2, for: "/slow")
            _ = try await client.tell(slow, "cancel")
            _ = try await client.completedTask(slow)

            for path in [
                "/v1/tasks?state=all", "/v1/sessions", session.path, session.path + "/decisions",
                "/v1/decisions/\(proposing.id)", "/v1/tasks/\(id)", "/metrics",
            ] { answers.append(try await client.get(path).text) }
            let replay = try await session.allEvents()
            try await eventually("the replay") { replay.events.count >= events.events.count }
            answers += (events.events + replay.events).map(\.data)
            #expect(answers.contains { $0.contains("aladdin") })
            for answer in answers {
                #expect(![password, wrong, header].contains { $0.isIn(answer) }, "\(answer)")
            }
            try nothing(of: [password, wrong, header], in: gateway)
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
            try nothing(of: [password, wrong, header], in: gateway)
        }
    }

    /// Looks through the disk and the log.
    private func nothing(of canaries: [Canary], in gateway: RunningGateway) throws {
        let log = gateway.process.errorText + gateway.process.outputText
        #expect(!log.isEmpty)
        for canary in canaries {
            #expect(try canary.places(below: gateway.directory.path) == [])
            #expect(!canary.isIn(log))
        }
    }
}
