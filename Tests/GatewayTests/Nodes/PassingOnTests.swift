import Foundation
import Loop
import Semantics
import TestSupport
import Testing

/// A request is answered by the node that has its tenant, whichever node is asked.
struct PassingOnTests {
    @Test func `sessions and tasks are made, shown and changed through the wrong node`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let session = try await nodes.away.createSession()
            let task = try await session.create("data", "http://192.0.2.1/")
            let changed = try await nodes.away.patch("/v1/tasks/\(task.id)", ["priority": 0.75])
                .json(200, of: "PATCH task")
            #expect(changed["priority"].double == 0.75)
            let shown = try await nodes.away.get("/v1/tasks/\(task.id)", ["X-Request-Id": "mine"])
            #expect(shown.headers["Ferry-Request-Id"] == "mine")
            #expect(shown.json["priority"].double == 0.75)
            #expect(shown.headers.values(of: "Date").count == 1)
            let none = try await nodes.away.send("DELETE", "/v1/tasks/\(task.id)")
            #expect([202, 204, 409].contains(none.status), "\(none.text)")
            let listed = try await nodes.away.get("/v1/sessions?q=%22%5C&limit=5")
            #expect(listed.status == 200)
            #expect(try await nodes.away.get("/v1/tasks/%2e%2e").status == 404)
            #expect(try await nodes.away.get("/v1/tasks/tsk_000000000000").status == 404)
            // What it has is at the second node alone.
            #expect(await nodes.second.has(session, of: TwoNodes.there))
            #expect(await !nodes.first.has(session, of: TwoNodes.there))
            let metrics = try await nodes.owner.get("/metrics").text
            #expect(metrics.contains("ferry_passed_on_requests_total{outcome=\"answered\"}"))
            #expect(metrics.contains("\nferry_nodes 2\n"))
            #expect(metrics.contains("\nferry_node_tenants 2\n"))
        }
    }

    @Test func `another tenant's things are not seen through a node, nor without the scope`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let session = try await nodes.away.createSession()
            #expect(try await nodes.home.get(session.path).status == 404)
            #expect(try await nodes.reader.get(session.path).status == 200)
            let refused = try await nodes.reader.post("/v1/sessions", ["type": "default"])
            #expect(refused.status == 403 && refused.problem == "forbidden")
            #expect(try await nodes.away.get("/v1/tenants").status == 403)
            #expect(try await nodes.away.with(token: "fry_").get("/v1/tasks").status == 401)
        }
    }

    @Test func `20 MB go up and down through the wrong node`() async throws {
        try await TwoNodes.run { nodes in
            let bytes = Pattern.bytes(count: 20_000_000)
            let made = try await nodes.away.send(
                "POST", "/v1/files", ["Upload-Complete": "?1"], body: bytes)
            let path = try #require(made.headers["Location"])
            #expect(made.status == 201)
            let whole = try await nodes.away.get(path, within: .seconds(60))
            #expect(whole.status == 200 && whole.body.count == bytes.count)
            #expect(Pattern.firstDifference(in: whole.body) == nil)
            let part = try await nodes.away.get(path, ["Range": "bytes=10-19"])
            #expect(part.status == 206 && part.body == Array(bytes[10..<20]))
            let head = try await nodes.away.send("HEAD", path)
            #expect(head.status == 204 && head.headers["Upload-Complete"] == "?1")
            let file = try await nodes.away.get("/v1/files")
            #expect(file.json["files"].array?.count == 1)
        }
    }

    @Test func `what a client does not take stays at the other node (R-9)`() async throws {
        try await TwoNodes.run { nodes in
            let length = 100 << 20
            let node = try await ScriptedNode(.stall(after: length, of: length))
            try await nodes.replaceSecond(by: node)
            let connection = try await nodes.away.connect(receiveBuffer: 64 << 10)
            try await connection.send(nodes.away.requestHead("GET", "/v1/tasks"))
            _ = try await connection.bytes(100_000)
            let stopped = try await Stillness.of { await node.bytesSent }
            let room = try 2 * SocketBuffers.largest() + (4 << 20)
            #expect(stopped < room)
            // Whoever takes what it asks for gets it meanwhile, over the same connection.
            #expect(try await nodes.away.send("HEAD", "/v1/tasks").status == 200)
            connection.close()
            try await node.waitUntilIdle()
        }
    }

    @Test func `a body is pulled as the other node takes it (R-9)`() async throws {
        try await TwoNodes.run { nodes in
            let gate = Gate()
            let node = try await ScriptedNode(.count(gate))
            try await nodes.replaceSecond(by: node)
            let count = 40_000_000
            let client = nodes.away
            async let answer = client.send(
                "POST", "/v1/files", [:], body: Pattern.bytes(count: count), within: .seconds(60))
            try await node.waitForRequests(1)
            gate.open()
            let got = try await answer
            #expect(got.status == 201 && got.text == "\(count)")
            let asked = try #require(await node.requests.first)
            #expect(asked.headers["Content-Length"] == "\(count)")
            #expect(Pattern.firstDifference(in: asked.body) == nil)
        }
    }

    @Test func `a body that the other node does not take stays with its client (R-9)`() async throws
    {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(.late(nil))
            try await nodes.replaceSecond(by: node)
            let connection = try await nodes.away.connect()
            try await connection.send(
                nodes.away.requestHead("POST", "/v1/files", bodyLength: 200 << 20))
            let piece = Pattern.bytes(count: 1 << 20)
            var count = 0
            while count < 200,
                (try? await connection.send(piece, within: .seconds(2))) != nil
            {
                count += 1
            }
            #expect(UInt64(count) << 20 < (try 2 * SocketBuffers.largest() + (4 << 20)))
            connection.reset()
            await node.dropConnections()
            try await eventually("the exchange to end") {
                try await nodes.owner.get("/metrics").text
                    .contains("\nferry_passed_on_requests_running 0\n")
            }
        }
    }

    @Test func `an answer that comes before the body's end ends the body`() async throws {
        try await TwoNodes.run { nodes in
            let connection = try await nodes.away.connect()
            try await connection.send(
                nodes.away.requestHead(
                    "PATCH", "/v1/files/fil_000000000000",
                    ["Upload-Offset": "0", "Upload-Complete": "?1"], bodyLength: 30_000_000))
            try await connection.send(Pattern.bytes(count: 100_000))
            #expect(try await connection.response().status == 404)
        }
    }

    @Test func `only what is meant for the other node goes along`() async throws {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(
                .fixed(200, ["ETag": "\"a\"", "Ferry-Moved": "1", "X-Own-Name": "a"], "yes"))
            try await nodes.replaceSecond(by: node)
            let answer = try await nodes.away.get(
                "/v1/tasks?limit=5",
                [
                    "Connection": "X-Secret", "X-Secret": "a", "Cookie": "a=b",
                    "Origin": "http://a",
                    "Prefer": "wait=1", "Ferry-Caller": "tenant=1", "Ferry-Node": "2", "TE": "gzip",
                ])
            #expect(answer.status == 200 && answer.text == "yes")
            let names = answer.headers.lines.map(\.name)
            #expect(names.contains("ETag") && names.contains("X-Own-Name"))
            for name in ["Ferry-Moved", "Ferry-Proof"] {
                #expect(answer.headers[name] == nil, "\(name)")
            }
            #expect(answer.headers.values(of: "Ferry-Request-Id").count == 1)
            let asked = try #require(await node.requests.first)
            #expect(asked.target == "/v1/tasks?limit=5")
            for name in ["X-Secret", "Cookie", "Origin", "TE"] {
                #expect(asked.headers[name] == nil, "\(name)")
            }
            #expect(asked.headers["Prefer"] == "wait=1")
            #expect(asked.headers.values(of: "Ferry-Node") == ["1"])
            let callers = asked.headers.values(of: "Ferry-Caller")
            #expect(callers.count == 1)
            #expect(callers.first?.hasPrefix("tenant=3; scopes=sessions,tasks,") == true)
            #expect(callers.first?.hasSuffix("; peer=127.0.0.1") == true)
            let signature = asked.headers["Authorization"] ?? ""
            #expect(signature.hasPrefix("Ferry-Node ") && signature.count == 11 + 32 + 1 + 64)
            #expect(!signature.contains("070707"))
        }
    }

    @Test func `what is as large as a request may be passes through the wrong node`() async throws {
        try await TwoNodes.run { nodes in
            var fields = HeaderLines()
            for number in 0..<96 {
                fields.append("X-\(number)", String(repeating: "a", count: 320))
            }
            let target = "/v1/tasks/" + String(repeating: "a", count: 8100)
            for client in [nodes.home, nodes.away] {
                let answer = try await client.get(target, fields)
                #expect(answer.status == 404)
            }
            fields.append("X-More", String(repeating: "a", count: 3000))
            let refused = try await nodes.away.get("/v1/tasks", fields)
            #expect(refused.status == 431)
        }
    }

    @Test func `the usage of another tenant is told by the node that has it`() async throws {
        try await TwoNodes.run { nodes in
            _ = try await nodes.away.createSession()
            _ = try await nodes.away.createSession()
            let name = "tenant-\(TwoNodes.there.rawValue)"
            let usage = try await nodes.owner.get("/v1/usage?tenant=\(name)")
                .json(200, of: "GET usage")
            let sessions = usage["quotas"]["sessions"]["used"].int
            let own = try await nodes.away.get("/v1/usage").json["quotas"]
            #expect(own["sessions"]["used"].int == sessions)
            #expect((sessions ?? 0) >= 2)
            #expect(try await nodes.owner.get("/v1/usage").status == 200)
            #expect(try await nodes.owner.get("/v1/usage?tenant=none").status == 404)
            #expect(try await nodes.away.get("/v1/usage?tenant=\(name)").status == 403)
        }
    }

    // MARK: Who is believed

    @Test func `a node is believed with the right key only`() async throws {
        try await TwoNodes.run { nodes in
            let client = TestClient(nodes.second.endpoint)
            let right = TwoNodes.fields(of: TwoNodes.there)
            #expect(try await client.get("/v1/tasks", right).status == 200)
            let wrong = TwoNodes.fields(
                of: TwoNodes.there, key: [UInt8](repeating: 8, count: 32))
            #expect(try await client.get("/v1/tasks", wrong).status == 401)
            for caller in [
                "", "tenant=3", "tenant=3; scopes=all; peer=a", "tenant=3;scopes=tasks; peer=a",
                "tenant=0; scopes=tasks; peer=a", "tenant=3; scopes=tasks; peer=a; more=b",
                "scopes=tasks; tenant=3; peer=a", "tenant=3; scopes=tasks; token=x; peer=a",
            ] {
                let fields = TwoNodes.fields(caller)
                #expect(try await client.get("/v1/tasks", fields).status == 401, "\(caller)")
            }
            // What it may do is what the first node says.
            let elsewhere = TwoNodes.fields(of: TwoNodes.there, target: "/v1/sessions")
            let refused = try await client.get("/v1/sessions", elsewhere)
            #expect(refused.status == 403)
            let proof = TwoNodes.proof(String(repeating: "0a", count: 16))
            #expect(refused.headers.values(of: "Ferry-Proof") == [proof])
            // By an address of its own choice, which others may not have.
            let named = right.appending(["Host": "node-2.internal:8080"])
            #expect(try await client.get("/v1/tasks", named).status == 200)
            let other = try await client.get("/v1/tasks", ["Host": "node-2.internal:8080"])
            #expect(other.status == 421)
        }
    }

    @Test func `a node of another version is told so, and its new fields are passed over`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let client = TestClient(nodes.second.endpoint)
            let later = TwoNodes.fields(of: TwoNodes.there, protocol: 2)
            let refused = try await client.get("/v1/tasks", later)
            #expect(refused.status == 401 && refused.text.contains("another version"))
            #expect(refused.headers.values(of: "Ferry-Proof").isEmpty)
            let more = TwoNodes.fields(of: TwoNodes.there).appending(["Ferry-Later": "a"])
            let answer = try await client.get("/v1/tasks", more)
            #expect(answer.status == 200)
            let proof = TwoNodes.proof(String(repeating: "0a", count: 16))
            #expect(answer.headers.values(of: "Ferry-Proof") == [proof])
        }
    }

    @Test func `a token that a node does not know, or not any more, does nothing there (X-13)`()
        async throws
    {
        try await TwoNodes.run { nodes in
            try await nodes.book.give(.operatorTenant, to: 2)
            let name = "tenant-\(TwoNodes.there.rawValue)"
            let token = try await nodes.owner.makeToken([.tasks], ["tenant": .string(name)])
            let client = TestClient(nodes.second.endpoint)
            let fields = TwoNodes.fields(of: TwoNodes.there, token: token.id)
            #expect(try await client.get("/v1/tasks", fields).status == 200)
            #expect(await nodes.book.looks == 0)
            #expect(try await nodes.owner.delete("/v1/tokens/\(token.id)").status == 204)
            let answer = try await client.get("/v1/tasks", fields)
            #expect(answer.status == 503 && answer.problem == "unavailable")
            #expect(answer.headers["Ferry-Moved"] == "1")
            #expect(await nodes.book.looks == 1)
        }
    }

    @Test
    func `a node that is cut off answers for no tenant, whoever asks, and says how it stands`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let session = try await nodes.home.createSession()
            let client = TestClient(nodes.second.endpoint)
            await nodes.book.cutOff(true)
            for (caller, path) in [
                (nodes.home, session.path), (nodes.home, "/v1/events"), (nodes.away, "/v1/tasks"),
                (nodes.owner, "/v1/usage"), (nodes.home.with(token: "fry_"), "/v1/tasks"),
            ] {
                let answer = try await caller.get(path)
                #expect(answer.status == 503 && answer.problem == "unavailable", "\(path)")
                #expect(answer.headers["Retry-After"] == "1")
                #expect(answer.headers["Ferry-Moved"] == nil)
            }
            // Another node asks again, until somebody knows.
            let passedOn = try await client.get("/v1/tasks", TwoNodes.fields(of: TwoNodes.there))
            #expect(passedOn.status == 503 && passedOn.headers["Ferry-Moved"] == "1")
            for path in ["/metrics", "/v1/gateway", "/v1/nodes"] {
                #expect(try await nodes.owner.get(path).status == 200)
            }
            #expect(try await nodes.home.get("/healthz").status == 200)
            await nodes.book.cutOff(false)
            #expect(try await nodes.home.get(session.path).status == 200)
            #expect(try await nodes.away.get("/v1/tasks").status == 200)
        }
    }

    @Test func `whoever has changed the gateway through a node finds it changed there`()
        async throws
    {
        try await TwoNodes.run { nodes in
            try await nodes.book.give(.operatorTenant, to: 2)
            _ = try await nodes.owner.makeToken([.tasks])
            #expect(await nodes.book.catchUps == 1)
            #expect(try await nodes.owner.get("/v1/tokens").status == 200)
            #expect(try await nodes.owner.post("/v1/tokens", ["a": 1]).status == 422)
            _ = try await nodes.away.createSession()
            #expect(await nodes.book.catchUps == 1)
        }
    }

    @Test func `a recorded signature is good for that request to that node alone`() async throws {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(.fixed(200))
            let address = "http://\(nodes.second.endpoint)"
            try await nodes.replaceSecond(by: node)
            #expect(try await nodes.away.get("/v1/tasks?limit=5").status == 200)
            let asked = try #require(await node.requests.first)
            var fields = HeaderLines()
            for name in ["Authorization", "Ferry-Caller", "Ferry-Node"] {
                fields.append(name, asked.headers[name] ?? "")
            }
            try await nodes.book.join(2, at: address)
            let client = TestClient(nodes.second.endpoint)
            let path = "/v1/tasks?limit=5"
            #expect(try await client.get(path, fields).status == 200)
            for target in ["/v1/tasks", "/v1/tasks?limit=6", "/v1/sessions"] {
                let answer = try await client.get(target, fields)
                #expect(answer.status == 401 && answer.headers["Ferry-Proof"] == nil, "\(target)")
            }
            #expect(try await client.send("DELETE", path, fields).status != 200)
            let caller = fields["Ferry-Caller"] ?? ""
            for (name, value) in [
                ("Ferry-Caller", caller.replacingOccurrences(of: "tenant=3", with: "tenant=1")),
                ("Ferry-Node", "3"),
            ] {
                var changed = HeaderLines()
                for line in fields.lines {
                    changed.append(line.name, line.name == name ? value : line.value)
                }
                #expect(try await client.get(path, changed).status == 401, "\(name)")
            }
            let first = TestClient(nodes.first.endpoint)
            #expect(try await first.get(path, fields).status == 401)
        }
    }

    @Test func `targets are signed as they are sent`() async throws {
        try await TwoNodes.run { nodes in
            for target in ["/v1/tasks?", "/v1/tasks?limit=%35", "/v1/tasks?q=%c3%a4|{}&limit=1"] {
                let answer = try await nodes.away.get(target)
                #expect([200, 422].contains(answer.status), "\(target): \(answer.text)")
            }
            #expect(try await nodes.away.get("/v1/tasks/%7e%5B%5d").status == 404)
        }
    }

    @Test(arguments: [nil, String(repeating: "0a", count: 32)])
    func `a stranger's answer is shown to nobody`(proof: String?) async throws {
        try await TwoNodes.run { nodes in
            let fields: HeaderLines = proof.map { ["Ferry-Proof": $0] } ?? [:]
            let node = try await ScriptedNode(.fixed(200, fields, "a stranger's"), proves: false)
            try await nodes.replaceSecond(by: node)
            let made = try await nodes.away.post("/v1/sessions", ["type": "default"])
            #expect(made.status == 503 && made.problem == "unavailable")
            #expect(!made.text.contains("stranger"))
            #expect(await node.requests.count == 1)
            let shown = try await nodes.away.get("/v1/tasks", within: .seconds(30))
            #expect(shown.status == 503 && shown.problem == "unavailable")
            #expect(shown.headers["Ferry-Proof"] == nil)
            #expect(await node.requests.count > 2)
        }
    }

    @Test func `a token that lets nobody in any more ends event streams that were passed on`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let events = try await nodes.away.events("/v1/events")
            #expect(events.head.status == 200)
            await nodes.first.letNobodyIn()
            try await events.waitForEnd()
            #expect(events.endedProperly)
        }
    }

    @Test func `what was passed on is never passed on again`() async throws {
        try await TwoNodes.run { nodes in
            let client = TestClient(nodes.second.endpoint)
            try await expectOnce(within: .seconds(9)) {
                let begin = ContinuousClock.now
                for node in [Int64(1), 2] {
                    let tenant = node == 1 ? TwoNodes.here : TwoNodes.there
                    // The second one has asked itself, or is asked for what it does not have.
                    let answer = try await client.get(
                        "/v1/tasks",
                        TwoNodes.fields(of: node == 1 ? tenant : TwoNodes.here, node: node)
                    )
                    #expect(answer.status == 503 && answer.problem == "unavailable")
                    #expect(answer.headers["Ferry-Moved"] == "1")
                    #expect(answer.headers["Retry-After"] == "1")
                }
                return .now - begin
            }
            #expect(await nodes.first.requestCount == 0)
        }
    }
}
