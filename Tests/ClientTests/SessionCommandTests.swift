import Foundation
import JSON
import TestSupport
import Testing

@testable import Client

/// What `ferry sessions` asks the gateway, and what it shows of the answers.
struct SessionCommandTests {
    private let gateway: FakeGateway

    init() throws { gateway = try FakeGateway() }

    private static func json(_ id: String, _ members: String = "") -> String {
        """
        {"id":"\(id)","type":"default","state":"active","createdAt":"2026-11-21T07:00:01.250Z",\
        "description":null,"maximumBytesPerSecond":null,\(members)\
        "taskCounts":{"suspended":1,"running":2,"canceling":0,"completed":40},"future":[1]}
        """
    }

    private func session(_ json: String) throws -> RemoteSession {
        try RemoteSession(JSONValue(parsing: Array(json.utf8)))
    }

    // MARK: Lists

    @Test func `all pages of the list are asked for`() async throws {
        gateway.origin.on("/v1/sessions") { exchange in
            let (id, next) =
                exchange.request.attempt == 1 ? ("shared", "\"a+b\"") : ("ses_1", "null")
            try exchange.answer(
                200, [:], "{\"sessions\":[\(Self.json(id))],\"nextCursor\":\(next)}")
        }
        let found = try await onThread { [gateway] () throws(ClientError) in
            try gateway.client().sessions(endedToo: true)
        }
        #expect(found.map { $0["id"]?.string } == ["shared", "ses_1"])
        let queries = gateway.origin.requests(for: "/v1/sessions").map(\.query)
        #expect(queries == ["limit=500&state=all", "limit=500&state=all&cursor=a%2Bb"])
    }

    @Test(arguments: ["{}", #"{"sessions":[],"nextCursor":"a"}"#])
    func `a list that makes no sense is an error`(body: String) async throws {
        gateway.origin.on("/v1/sessions", .fixed(200, [:], body))
        await #expect {
            try await onThread { [gateway] () throws(ClientError) in
                try gateway.client().sessions()
            }
        } throws: { error in
            guard case ClientError.unexpectedAnswer = error else { return false }
            return true
        }
    }

    @Test func `the table counts outstanding tasks and is fit for a terminal (X-8)`() throws {
        var hostile = Self.json("ses_2", #""state2":0,"#)
        hostile = hostile.replacing("\"description\":null", with: #""description":"a\u001b[2Jb""#)
            .replacing("2026-11-21T07:00:01.250Z", with: #"now\n"#)
        let sessions = [try session(Self.json("shared")), try session(hostile)]
        #expect(
            SessionTable.lines(sessions) == [
                "SESSION  TYPE     STATE   TASKS  CREATED               DESCRIPTION",
                "shared   default  active      3  2026-11-21 07:00:01Z  ",
                "ses_2    default  active      3  now\\u{a}              a\\u{1b}[2Jb",
            ])
        for line in SessionTable.lines(sessions, width: 30) {
            #expect(DisplayText.columns(of: line) <= 30)
        }
        #expect(SessionTable.summary(sessions[0]) == "shared  default  active  3 tasks")
        let none = try session(#"{"id":"a\u0007"}"#)
        #expect(SessionTable.summary(none).hasPrefix("a\\u{7}"))
        #expect(SessionTable.summary(none).hasSuffix("0 tasks"))
    }

    @Test func `a session is shown with all that it remembers`() async throws {
        gateway.origin.on(
            "/v1/sessions/ses_1",
            .fixed(
                200, [:],
                Self.json("ses_1").replacing(
                    "\"maximumBytesPerSecond\":null", with: "\"maximumBytesPerSecond\":1048576")))
        gateway.origin.on(
            "/v1/sessions/ses_1/cookies",
            .fixed(200, [:], #"{"cookies":[{"name":"a","domain":"b"},{"name":"c","domain":"d"}]}"#))
        gateway.origin.on(
            "/v1/sessions/ses_1/credentials", .fixed(200, [:], #"{"credentials":[{}]}"#))
        gateway.origin.on(
            "/v1/sessions/ses_1/cache",
            .fixed(
                200, [:],
                """
                {"entryCount":1,"memoryUsage":1024,"memoryCapacity":4194304,"diskUsage":0,\
                "diskCapacity":0}
                """))
        let page = try await onThread { [gateway] () throws(ClientError) in
            try SessionPage(of: "ses_1", from: gateway.client())
        }
        #expect(
            page.lines == [
                "session      ses_1",
                "type         default",
                "state        active",
                "created      2026-11-21 07:00:01Z",
                "limit        1.00 MiB/s",
                "tasks        1 suspended, 2 running, 40 completed",
                "cookies      2",
                "credentials  1",
                "cache        1 response",
                "in memory    1.00 KiB of 4.00 MiB",
                "on disk      off",
            ])
    }

    // MARK: Creation

    @Test func `a session is made once, however often it is asked for (R-10)`() async throws {
        gateway.origin.on("/v1/sessions") { exchange in
            try exchange.readWholeBody()
            if exchange.request.attempt == 1 { return try exchange.answer(503) }
            try exchange.answer(201, [:], Self.json("ses_1"))
        }
        let made = try await onThread { [gateway] () throws(ClientError) in
            var order = SessionOrder()
            order.isEphemeral = true
            order.description = "a \"b\""
            order.maximumBytesPerSecond = 5
            return try gateway.client().createSession(order)
        }
        #expect(made["id"]?.string == "ses_1")
        let requests = gateway.requests("POST", "/v1/sessions")
        let keys = requests.map { $0.headers["Idempotency-Key"] }
        #expect(requests.count == 2 && keys[0] != nil && keys[0] == keys[1])
        for request in requests {
            #expect(request.headers["Content-Type"] == "application/json")
            #expect(
                String(decoding: request.body, as: UTF8.self)
                    == #"{"type":"ephemeral","description":"a \"b\"","maximumBytesPerSecond":5}"#)
        }
    }

    @Test func `a configuration is a file's JSON object`() throws {
        let folder = try TemporaryDirectory()
        var order = SessionOrder()
        let good = try folder.write("good", Array(#" {"httpShouldSetCookies": false} "#.utf8))
        try order.readConfiguration(good)
        #expect(
            String(decoding: order.json, as: UTF8.self)
                == #"{"type":"default","configuration":{"httpShouldSetCookies":false}}"#)
        for text in ["[]", "{", ""] {
            let bad = try folder.write("bad", Array(text.utf8))
            #expect {
                try order.readConfiguration(bad)
            } throws: { error in
                (error as? ClientError)?.exitStatus == .usage && "\(error)".hasPrefix(bad)
            }
        }
        #expect {
            try order.readConfiguration(folder.file("none"))
        } throws: { error in
            (error as? ClientError)?.exitStatus == .cannotRead
        }
    }

    // MARK: Verbs

    @Test func `what is asked of a session goes to it alone`() async throws {
        let paths = ["/reset", "/flush", "/invalidate"].map { "/v1/sessions/a%2F..%2Fb" + $0 }
        for path in paths.dropLast() { gateway.origin.on(path, .fixed(204)) }
        gateway.origin.on(paths[2]) { exchange in
            try exchange.readWholeBody()
            try exchange.answer(202, [:], Self.json("ses_1"))
        }
        let state = try await onThread { [gateway] () throws(ClientError) in
            let client = try gateway.client()
            try client.resetSession("a/../b")
            try client.flushSession("a/../b")
            _ = try client.invalidateSession("a/../b", .finishTasks)
            return try client.invalidateSession("a/../b", .cancelTasks)["state"]?.string
        }
        #expect(state == "active")
        let requests = gateway.origin.requests
        #expect(requests.map(\.method) == ["POST", "POST", "POST", "POST"])
        #expect(requests.map(\.path) == paths + [paths[2]])
        #expect(
            requests.map { String(decoding: $0.body, as: UTF8.self) }
                == ["", "", #"{"mode":"finishTasks"}"#, #"{"mode":"cancelTasks"}"#])
    }

    @Test func `a refusal is told, and not tried again`() async throws {
        let problem = #"{"code":"session-invalidated","detail":"It is over.","status":410}"#
        gateway.origin.on("/v1/sessions/ses_1/reset", .fixed(410, [:], problem))
        await #expect {
            try await onThread { [gateway] () throws(ClientError) in
                try gateway.client().resetSession("ses_1")
            }
        } throws: { error in
            (error as? ClientError)?.exitStatus == .failure
                && "\(error)" == "It is over (session-invalidated, 410)"
        }
        #expect(gateway.origin.requests.count == 1)
    }
}
