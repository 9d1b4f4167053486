import Loop
import REST
import TestSupport
import Testing

/// Long lists, large arrays and large bodies keep the loop from nobody.
struct LongListTests {
    private static let headers = (100..<200).map { "X\($0)" }

    /// A task with as many headers as there may be, each of them sensitive.
    private static let spec: TestJSON = [
        "type": "data",
        "request": [
            "url": "http://127.0.0.1:9/",
            "headers": .object(Dictionary(uniqueKeysWithValues: headers.map { ($0, "v") })),
            "sensitiveHeaders": .array(headers.map { .string($0) }),
        ],
    ]

    /// Without optimisation this took seconds at a time; now it takes tens of milliseconds. It is
    /// the processor's time that is measured, of the thread that all tests of this kind share.
    private static let longestTurn = Duration.seconds(1)

    @Test(.timeLimit(.minutes(5)))
    func `500 tasks of 100 headers each are created and listed in slices`() async throws {
        let token = AccessToken.make()
        try await InProcessGateway.run([(token, .operator)]) { gateway in
            let client = TestClient(gateway.endpoint, token: token.text)
            let session = try await client.createSession("ephemeral")
            let gauge = await LoopGauge()
            let created = try await client.post(
                session.path + "/tasks", .array(Array(repeating: Self.spec, count: 500)),
                within: .seconds(120)
            ).json(200, of: "POST tasks")
            let results = try #require(created["results"].array)
            #expect(results.map { $0["status"].int } == Array(repeating: 201, count: 500))
            let numbers = results.map { $0["task"]["number"].int ?? 0 }
            #expect(numbers == Array(1...500))
            let listed = try await client.get(
                session.path + "/tasks?limit=500", within: .seconds(120)
            ).json(200, of: "GET tasks")
            #expect(listed["tasks"].array == results.map { $0["task"] })
            let hidden = listed["tasks"].array?.last?["originalRequest"]["headers"].object
            #expect(Set(hidden?.values.map(\.string) ?? []) == ["<redacted>"])
            #expect(hidden?.count == 100)
            let longest = await gauge.longestTurn
            #expect(longest < Self.longestTurn)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `a body with tens of thousands of escaped names is refused meanwhile`() async throws {
        let token = AccessToken.make()
        let names = (0..<60_000).map { "\"\\u0061\($0)\":1" }.joined(separator: ",")
        try await InProcessGateway.run([(token, .operator)]) { gateway in
            let client = TestClient(gateway.endpoint, token: token.text)
            let gauge = await LoopGauge()
            let answer = try await client.send(
                "POST", "/v1/sessions", ["Content-Type": "application/json"],
                body: Array("{\(names)}".utf8), within: .seconds(120))
            #expect(answer.status == 422 && answer.problem == "unknown-member")
            let longest = await gauge.longestTurn
            #expect(longest < Self.longestTurn)
        }
    }
}
