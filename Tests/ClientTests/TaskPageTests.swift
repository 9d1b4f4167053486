import Foundation
import JSON
import TestSupport
import Testing

@testable import Client

/// `ferry show`.
struct TaskPageTests {
    let gateway: FakeGateway

    init() throws {
        gateway = try FakeGateway()
    }

    private func happened() async throws -> [String] {
        let gateway = gateway
        let lines = try await onThread { () throws(ClientError) in
            try TaskPage(of: "tsk_1", from: gateway.client()).lines
        }
        return Array(lines.drop { $0 != "what happened" }.dropFirst())
    }

    @Test func `it tells what happened, however long the gateway takes to answer`() async throws {
        gateway.onEvents { exchange in
            // Longer than a stream rests that has no news.
            Thread.sleep(forTimeInterval: 0.8)
            try exchange.openStream()
            try exchange.event("task.didCreate", "\"n\":1", id: "1.1")
            try exchange.stall()
        }
        #expect(try await happened() == ["  task.didCreate"])
    }

    @Test(arguments: [
        (#"{"length": -1, "digest": null, "complete": false}"#, "content   a.iso"),
        (#"{"length": 20971520, "digest": null, "complete": false}"#, "content   20.0 MiB, a.iso"),
        (#"{"length": 0, "digest": "sha-256=:x:"}"#, "content   0 B, a.iso, sha-256=:x:"),
    ])
    func `a length that is not known yet is not told`(content: String, line: String) throws {
        let json = try JSONValue(
            parsing: Array(
                """
                {"id": "tsk_1", "state": "running", "content": \(content),
                 "response": {"status": 200, "suggestedFilename": "a.iso"}}
                """.utf8))
        #expect(try TaskPage(json, timeline: []).lines.contains(line))
    }

    @Test func `it ends with the newest event that there was`() async throws {
        gateway.onEvents { exchange in
            let headers: HeaderLines = [
                "Content-Type": "text/event-stream", "Transfer-Encoding": "chunked",
                "Ferry-Last-Event-ID": "1.10",
            ]
            try exchange.head(200, headers)
            // As the events of a task that moves: they never rest.
            for number in 9..<200 {
                try exchange.event("task.didChange", "\"n\":1", id: "1.\(number)")
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
        #expect(try await happened().count == 2)
    }
}
