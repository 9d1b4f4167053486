import REST
import TestSupport
import Testing

/// A stream that ends while a reader is between the store and what comes live (S-57, R-8).
struct HandOverTests {
    @Test(arguments: ["task", "session"])
    func `a stream that ends while the store is asked is told to its end, and closes`(
        kind: String
    ) async throws {
        let token = AccessToken.make()
        let store = ScriptedStore()
        let gateway = try await InProcessGateway.open(
            [(token, .operator)], in: try TemporaryDirectory(), on: store)
        let client = TestClient(gateway.endpoint, token: token.text)
        let session = try await client.createSession()
        let task = try await session.create("data", "http://192.0.2.1/")
        let path = kind == "task" ? "/v1/tasks/\(task.id)" : session.path
        store.holdReads()
        let reading = Task { try await client.events(path + "/events?replay=all") }
        try await eventually("the store to be asked") { store.heldReadCount == 1 }
        if kind == "task" {
            _ = try await client.tell(task.id, "cancel")
        } else {
            _ = try await client.post(session.path + "/invalidate", ["mode": "cancelTasks"])
        }
        try await eventually("the end") {
            let state = try await client.get(path).json["state"].string
            return state == "completed" || state == "invalid"
        }
        store.releaseReads()
        let told = try await reading.value.waitForEnd()
        let last = kind == "task" ? "task.didComplete" : "session.didBecomeInvalid"
        #expect(told.last?.event == last)
        await gateway.close()
    }
}
