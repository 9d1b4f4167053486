import TestSupport
import Testing

/// The decisions of all the tenant's sessions.
struct DecisionListTests {
    @Test func `they are listed over all sessions, by state and page by page`() async throws {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            var questions: [Question] = []
            for type in ["default", "ephemeral", "default"] {
                let (session, events) = try await client.createAskingSession(
                    "delayedRequest", type: type)
                for _ in 0..<2 {
                    _ = try await session.start(
                        "data", "http://127.0.0.1:1/", ["earliestBeginDate": "2026-01-01T00:00:00Z"]
                    )
                    questions.append(try await events.question())
                }
            }
            func list(_ query: String = "") async throws -> TestJSON {
                try await client.get("/v1/decisions\(query)").json(200, of: "GET decisions")
            }
            func ids(_ query: String = "") async throws -> [String] {
                try await list(query)["decisions"].array?.map(\.id) ?? []
            }
            let all = questions.map(\.id)
            #expect(try await ids() == all)
            #expect(try await list()["nextCursor"].isNull)
            let first = try await list("?limit=4")
            #expect(first["decisions"].array?.map(\.id) == Array(all.prefix(4)))
            let cursor = try #require(first["nextCursor"].string)
            #expect(try await ids("?limit=4&cursor=\(cursor)") == Array(all.suffix(2)))
            // As the session's own list shows it.
            for decision in try await list()["decisions"].array ?? [] {
                #expect(try await client.decision(decision.id) == decision)
            }
            try await client.decide(questions[1], .disposition("cancel"))
            #expect(try await ids() == all.filter { $0 != all[1] })
            #expect(try await ids("?state=answered") == [all[1]])
            #expect(try await ids("?state=answered,pending") == all)
            #expect(try await ids("?state=all&limit=500") == all)
            #expect(try await ids("?state=expired") == [])
            let refused = try await client.get("/v1/decisions?state=open")
            #expect(refused.status == 422 && refused.json["parameter"] == "state")
            // A decision goes with its task.
            let task = try #require(questions[1].event.json["task"].string)
            _ = try await client.completedTask(task)
            #expect(try await client.delete("/v1/tasks/\(task)").status == 204)
            #expect(try await ids("?state=all") == all.filter { $0 != all[1] })
        }
    }
}
