import Foundation
import Semantics
import TestSupport
import Testing

/// A row that cannot be read costs itself: it is told of, the gateway starts, everything else
/// works, and nothing of it is removed unless somebody deletes it.
struct DamagedRowTests {
    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin()
        origin.on("/large", .fixed(200, [:], String(repeating: "x", count: 100_000)))
        origin.on("/never", .stall())
    }

    /// Runs statements on the database of a gateway that has ended, and starts another one.
    private func damaging(
        _ gateway: RunningGateway, _ statements: String...
    ) async throws -> RunningGateway {
        try await gateway.kill9()
        try gateway.damage(statements)
        let stray = try gateway.makeStray()
        let next = try await gateway.restarted()
        // What has no row has been looked for.
        try await eventually("the sweep") { !FileManager.default.fileExists(atPath: stray) }
        return next
    }

    private static func row(_ id: String) throws -> Int64 {
        try #require(TaskID(id)?.rawValue ?? SessionID(id)?.rawValue)
    }

    @Test func `a damaged task is told of, can be deleted, and keeps no session from its end`()
        async throws
    {
        try await RunningGateway.alone { first in
            let session = try await first.client.createSession()
            let whole = try await session.run("download", origin.url("/large"))
            let bad = try await session.run("download", origin.url("/large"))
            let running = try await session.create("data", origin.url("/never"))
            let file = try #require(try first.files(of: bad.id).first)
            let gateway = try await damaging(
                first,
                "UPDATE task SET request = x'FFFF' WHERE id = \(try Self.row(bad.id))",
                "UPDATE task SET request = x'FFFF' WHERE id = \(try Self.row(running.id))")
            let client = gateway.client

            let list = try await client.get("/v1/tasks?state=all").json(200, of: "GET tasks")
            #expect(list["tasks"].array?.map(\.id) == [whole.id])
            #expect(list["damaged"].array?.map(\.string) == [bad.id, running.id])
            let data = try await client.get("/v1/tasks?state=completed&type=data")
            #expect(data.json["damaged"].isNull)
            for path in ["", "/content"] {
                let answer = try await client.get("/v1/tasks/\(bad.id)\(path)")
                #expect(answer.status == 500 && answer.problem == "damaged", "\(answer.text)")
            }
            #expect(try await client.content(whole.id).count == 100_000)

            let again = TestSession(client: client, id: session.id, json: .null)
            try await again.invalidate("cancelTasks")
            try await eventually("the session's end") {
                try await again.now()["state"].string == "invalid"
            }
            #expect(try gateway.files(of: bad.id) == [file])
            #expect(try await client.delete("/v1/tasks/\(bad.id)").status == 204)
            #expect(try await client.delete("/v1/tasks/\(running.id)").status == 204)
            #expect(try await client.get("/v1/tasks/\(bad.id)").status == 404)
            try await eventually("its file to go") { try gateway.files(of: bad.id).isEmpty }
            #expect(try await client.get("/v1/tasks?state=all").json["damaged"].isNull)
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
        }
    }

    @Test func `what belongs to a damaged session stays, and does not run`() async throws {
        try await RunningGateway.alone { first in
            let session = try await first.client.createSession()
            let other = try await first.client.createSession()
            let whole = try await session.run("download", origin.url("/large"))
            let waiting = try await session.start("data", origin.url("/never"))
            try await eventually { !origin.requests(for: "/never").isEmpty }
            let gateway = try await damaging(
                first,
                "UPDATE session SET constants = x'0AFF01' WHERE id = "
                    + "\(try Self.row(session.id))")
            let client = gateway.client
            for path in ["", "/cookies", "/tasks", "/events"] {
                let answer = try await client.get("/v1/sessions/\(session.id)\(path)")
                #expect(answer.status == 500 && answer.problem == "damaged", "\(answer.text)")
            }
            let sessions = try await client.get("/v1/sessions").json(200, of: "GET sessions")
            #expect(sessions["sessions"].array?.map(\.id).contains(other.id) == true)
            #expect(sessions["sessions"].array?.map(\.id).contains(session.id) == false)
            #expect(try await client.task(waiting)["state"].string == "running")
            #expect(try await client.content(whole.id).count == 100_000)
            for verb in ["resume", "suspend", "cancel"] {
                let answer = try await client.post("/v1/tasks/\(waiting)/\(verb)")
                #expect(answer.status == 500 && answer.problem == "damaged", "\(answer.text)")
            }
            let events = try await client.events("/v1/events?replay=all")
            try await eventually { events.names.contains("task.didComplete") }
            let next = try await TestSession(client: client, id: other.id, json: .null).run(
                "download", origin.url("/large"))
            #expect(try await client.content(next.id).count == 100_000)
            #expect(origin.requests(for: "/never").count == 1)
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
        }
    }

    @Test func `a damaged staged file keeps its bytes until it is deleted`() async throws {
        try await RunningGateway.alone { first in
            let made = try await first.client.send(
                "POST", "/v1/files", ["Upload-Complete": "?1"], body: Array("hello".utf8))
            #expect(made.status == 201, "\(made.text)")
            let id = try #require(made.headers["Location"]?.split(separator: "/").last)
            let gateway = try await damaging(
                first, "UPDATE file SET expectedDigest = 'odd'",
                "UPDATE tenant SET lastSequence = 'odd'")
            let path = "/v1/files/\(id)"
            let answer = try await gateway.client.get(path)
            #expect(answer.status == 500 && answer.problem == "damaged", "\(answer.text)")
            #expect(try gateway.files(of: String(id)).count == 1)
            #expect(try await gateway.client.delete(path).status == 204)
            #expect(try await gateway.client.get(path).status == 404)
            #expect(try gateway.files(of: String(id)).isEmpty)
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
        }
    }
}
