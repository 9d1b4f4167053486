import Semantics
import TestSupport
import Testing

@testable import REST

/// Events of what a session remembers, as JSON.
struct StoreEventTests {
    private static func data(_ body: EventBody, task: TaskID?) throws -> TestJSON {
        let event = Event(
            tenant: TenantID(rawValue: 1), session: SessionID(rawValue: 2), task: task,
            at: Timestamp(milliseconds: 1), body: body)
        return try TestJSON(parsing: event.data(sharedSession: true))
    }

    @Test func `who waits for a route is told, and nothing more (S-26)`() throws {
        let task = TaskID(rawValue: 3)
        let told: TestJSON = [
            "session": "shared", "task": .string(task.description),
            "at": "1970-01-01T00:00:00.001Z",
        ]
        #expect(try Self.data(.isWaitingForConnectivity, task: task) == told)
        #expect(EventBody.isWaitingForConnectivity.name == "task.isWaitingForConnectivity")
    }

    @Test func `changed credentials are told without a word of them (S-67)`() throws {
        let told: TestJSON = ["session": "shared", "at": "1970-01-01T00:00:00.001Z"]
        #expect(try Self.data(.didChangeCredentialStorage, task: nil) == told)
    }

    @Test(arguments: [ResourceFetchType.networkLoad, .localCache])
    func `a transaction tells where its answer came from`(source: ResourceFetchType) throws {
        var transaction = TransactionMetrics()
        transaction.resourceFetchType = source
        var metrics = TaskMetrics()
        metrics.transactions = [transaction]
        let told = try Self.data(.didFinishCollectingMetrics(metrics), task: TaskID(rawValue: 3))
        #expect(
            told["metrics"]["transactions"][0]["resourceFetchType"].string == "\(source)")
    }
}
