import Loop
import TestSupport
import Testing

@testable import REST

/// A parameter that a route does not read is refused, as a member of a body is that it does not
/// know.
struct QueryParameterTests {
    @Test func `every route refuses what it does not read`() async throws {
        let directory = try TemporaryDirectory()
        LoopActor.loop.start()
        let routes = try await Self.routes(in: directory)
        #expect(routes.count > 50)
        try await RunningGateway.alone { gateway in
            for (method, pattern) in routes {
                let path = pattern.replacing(/\{\w+\}/, with: "x")
                let refused = try await gateway.client.send(method, path + "?sattte=1")
                #expect(
                    refused.status == 422 && refused.problem == "unknown-parameter",
                    "\(method) \(pattern): \(refused.status)")
                #expect(refused.json["parameter"] == "sattte")
                #expect(refused.json["detail"].string?.contains("sattte") == true)
            }
        }
    }

    @LoopActor
    private static func routes(
        in directory: TemporaryDirectory
    ) throws -> [(method: String, pattern: String)] {
        try InProcessGateway.makeService(in: directory).endpoints.map { ($0.method, $0.pattern) }
    }

    @Test func `a misspelt one is told with what may have been meant`() async throws {
        try await RunningGateway.alone { gateway in
            for (query, hint) in [
                ("satte=all", "Did you mean state?"), ("State=all", "Did you mean state?"),
                ("statee=all", "Did you mean state?"), ("stat=all", "Did you mean state?"),
                ("creatdAfter=x", "Did you mean createdAfter?"),
                ("metadata=x", "Did you mean metadata.*?"),
                ("metadata.=x", "Did you mean metadata.*?"), ("=x", "Known are limit, cursor"),
                ("something=else", "Known are limit, cursor"),
                ("%F0%9F%9A%A2=1", "Known are limit, cursor"),
            ] {
                let refused = try await gateway.client.get("/v1/tasks?limit=1&\(query)")
                #expect(refused.status == 422 && refused.problem == "unknown-parameter", "\(query)")
                #expect(refused.json["detail"].string?.contains(hint) == true, "\(refused.text)")
            }
            let none = try await gateway.client.get("/v1/gateway?verbose")
            #expect(none.json["detail"].string?.hasSuffix("There are none here.") == true)
            let long = try await gateway.client.get(
                "/v1/tasks?" + String(repeating: "x", count: 2000))
            #expect(long.json["parameter"].string?.count == 64)
            let twice = try await gateway.client.get("/v1/tasks?state=running&state=suspended")
            #expect(twice.status == 422 && twice.problem == "invalid-value")
            #expect(twice.json["parameter"] == "state")
            for query in ["", "?", "?&", "?&&limit=1&", "?state=all"] {
                #expect(try await gateway.client.get("/v1/tasks\(query)").status == 200, "\(query)")
            }
        }
    }

    @Test func `who may not call is told that first (X-13)`() async throws {
        try await RunningGateway.alone { gateway in
            let refused = try await gateway.client.with(token: nil).get("/v1/tasks?satte=all")
            #expect(refused.status == 401)
        }
    }

    @Test(arguments: [
        ("satte", "state"), ("cursro", "cursor"), ("LIMIT", "limit"), ("ordr", "order"),
        ("q1", "q"), ("", nil), ("zzzzzz", nil), ("tpye", "type"),
    ])
    func `the nearest name is the one of the fewest slips`(text: String, near: String?) {
        let names = ["state", "cursor", "limit", "order", "q", "type"]
        #expect(NearestName.of(text, in: names) == near)
    }
}
