import Contract
import Engine
import JSON
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
            "event": "task.isWaitingForConnectivity", "session": "shared",
            "task": .string(task.description),
            "at": "1970-01-01T00:00:00.001Z",
        ]
        #expect(try Self.data(.isWaitingForConnectivity, task: task) == told)
        #expect(EventBody.isWaitingForConnectivity.name == "task.isWaitingForConnectivity")
    }

    @Test func `changed credentials are told without a word of them (S-67)`() throws {
        let told: TestJSON = [
            "event": "session.didChangeCredentialStorage", "session": "shared",
            "at": "1970-01-01T00:00:00.001Z",
        ]
        #expect(try Self.data(.didChangeCredentialStorage, task: nil) == told)
    }

    private static let response = ResponseRecord(
        url: "http://host/", status: 401, httpVersion: "1.1",
        headers: HeaderList([HeaderField("Set-Cookie", "a=secret; HttpOnly")]),
        expectedContentLength: 0, mimeType: nil, textEncodingName: nil, suggestedFilename: "host")
    private static let notice = DecisionNotice(
        id: DecisionID(rawValue: 1), kind: .redirect, deadline: Timestamp(milliseconds: 2))

    /// What a version wrote down that did not hide the values yet.
    private static let told: [EventBody] = [
        .didReceiveResponse(response, decision: nil),
        .didReceiveInformationalResponse(status: 103, headers: response.headers),
        .willCacheResponse(response, decision: notice),
        .willPerformHTTPRedirection(
            response,
            request: RequestRecord(
                url: WebURL(
                    string: "http://host/", scheme: "http", host: "host", port: 80, path: "/")),
            decision: notice),
        .didReceiveChallenge(
            Challenge(
                ProtectionSpace(host: "host", port: 80, scheme: "http", method: .basic),
                failureResponse: response), decision: notice),
    ]

    @Test(arguments: told)
    func `what an earlier version stored shows no cookie's value (security 5)`(
        body: EventBody
    ) throws {
        let task = TaskID(rawValue: 3)
        let decision = DecisionRecord(
            id: Self.notice.id, tenant: TenantID(rawValue: 1), session: SessionID(rawValue: 2),
            task: task, kind: .redirect, createdAt: Timestamp(milliseconds: 1),
            deadline: Self.notice.deadline, question: body)
        var json = JSONWriter()
        decision.write(to: &json, sharedSession: false)
        let shown = [
            String(decoding: json.finish(), as: UTF8.self),
            "\(try Self.data(body, task: task))",
        ]
        for text in shown {
            #expect(text.contains("a=<redacted>; HttpOnly") && !text.contains("secret"))
        }
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
