import TestSupport
import Testing

/// A proxy in force, and its challenges (S-23, S-64).
@Suite(.sharedGateway)
struct ProxyTests {
    private let proxy: ScriptedOrigin
    private let client: TestClient

    init() throws {
        proxy = try ScriptedOrigin()
        client = try RunningGateway.shared.client
    }

    private func session(
        _ handles: [TestJSON], _ scheme: String = "HTTP"
    ) async throws -> (session: TestSession, events: EventStreamReader) {
        let proxies: [String: TestJSON] = [
            scheme + "Enable": true, scheme + "Proxy": "127.0.0.1",
            scheme + "Port": .int(Int(proxy.port)),
        ]
        let session = try await client.createSession(
            "default",
            [
                "configuration": ["connectionProxyDictionary": .object(proxies)],
                "delegate": ["handles": .array(handles)],
            ])
        return (session, try await session.allEvents())
    }

    @Test func `http goes by the proxy, whose 407 asks for a password of its own (S-64)`()
        async throws
    {
        let right = "Basic " + Base64Text.text(Array("porter:open".utf8))
        proxy.otherwise(
            Behaviour { exchange in
                guard exchange.request.headers["Proxy-Authorization"] == right else {
                    return try exchange.answer(
                        407, ["Proxy-Authenticate": "Basic realm=\"gate\""], "closed")
                }
                try exchange.answer(200, [:], exchange.request.target)
            })
        let (session, events) = try await session(["taskChallenge"])
        let url = "http://127.0.0.1:9/through?a=b"
        let id = try await session.start("data", url)
        let question = try await events.question()
        #expect(question.event.event == "task.didReceiveChallenge")
        #expect(question.space["isProxy"].bool == true)
        #expect(question.space["host"].string == "127.0.0.1")
        #expect(question.space["port"].int == Int(proxy.port))
        #expect(question.space["realm"].string == "gate")
        #expect(question.challenge["failureResponse"]["status"].int == 407)
        try await client.decide(question, .password("porter", "open"))
        let task = try await client.completedTask(id)
        #expect(task["response"]["status"].int == 200)
        #expect(try await client.content(id) == Array(url.utf8))
        #expect(proxy.requests.allSatisfy { $0.headers["Authorization"] == nil })
    }

    @Test func `https has a proxy of its own (S-23)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/direct", .fixed(200, [:], "direct"))
        let (session, _) = try await session([], "HTTPS")
        let task = try await session.run("data", origin.url("/direct"))
        #expect(task["error"].isNull && proxy.requests.isEmpty)
        proxy.otherwise(.fixed(403))
        let tunnel = try await session.run("data", "https://127.0.0.1:9/")
        #expect(!tunnel["error"].isNull)
        #expect(proxy.requests.map(\.method) == ["CONNECT"])
        #expect(proxy.requests.first?.target == "127.0.0.1:9")
    }

    @Test func `a destination that is denied is denied behind a proxy, too (X-1)`() async throws {
        proxy.otherwise(.fixed(200))
        let (session, _) = try await session([])
        let task = try await session.run("data", "http://192.0.2.1/")
        #expect(task["error"]["name"].string == "destinationDenied")
        #expect(proxy.requests.isEmpty)
    }
}
