import REST
import Semantics
import TestSupport
import Testing

/// Browsers that are signed in are limited in number, all tenants together, and fairly.
struct BrowserSessionShareTests {
    private func signIn(_ client: TestClient) async throws -> String {
        let answer = try await client.post("/v1/browser-session")
        #expect(answer.status == 204)
        return try #require(answer.cookie)
    }

    private func isSignedIn(_ cookie: String, _ client: TestClient) async throws -> Bool {
        try await client.with(token: nil).get("/v1/tasks", ["Cookie": cookie]).status == 200
    }

    @Test func `one tenant's many sessions end by its own, and never another's few`() async throws {
        let token = AccessToken.make()
        let gateway = try await InProcessGateway.open(
            [(token, .operator)], in: TemporaryDirectory()
        ) { $0.browserSessionLimit = 4 }
        let owner = TestClient(gateway.endpoint, token: token.text)
        let crowd = try await owner.makeTenant("crowd")
        let few = try await owner.makeTenant("few")
        var cookies: [String] = []
        for _ in 0..<4 { cookies.append(try await signIn(crowd)) }
        let followed = try await crowd.with(token: nil).events(
            "/v1/events", ["Cookie": cookies[0]])
        let own = try await signIn(few)
        try await followed.waitForEnd(within: .seconds(30))
        #expect(try await !isSignedIn(cookies[0], crowd))
        for cookie in cookies.dropFirst() { #expect(try await isSignedIn(cookie, crowd)) }
        for _ in 0..<8 { cookies.append(try await signIn(crowd)) }
        #expect(try await isSignedIn(own, few))
        for (number, cookie) in cookies.enumerated() {
            #expect(try await isSignedIn(cookie, crowd) == (number >= 9), "\(number)")
        }
        // Who has signed out is counted no more.
        let another = try await signIn(few)
        let answer = try await few.with(token: nil).send(
            "DELETE", "/v1/browser-session",
            ["Cookie": another, "Origin": "http://\(owner.endpoint)"])
        #expect(answer.status == 204)
        #expect(try await !isSignedIn(another, few))
        #expect(try await isSignedIn(own, few))
        let last = try await signIn(crowd)
        #expect(try await isSignedIn(last, crowd))
        #expect(try await isSignedIn(cookies[10], crowd))
        await gateway.close()
    }
}
