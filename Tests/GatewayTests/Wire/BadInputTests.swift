import TestSupport
import Testing

/// What is wrong is refused with its own code and the place of the mistake; nothing of it reaches
/// an origin (X-7, X-10, X-11).
@Suite(.sharedGateway)
struct BadInputTests {
    @Test(arguments: BadInput.all)
    func `each mistake has its problem`(input: BadInput) async throws {
        let client = try RunningGateway.shared.client
        let decoy = try Decoy()
        let body = input.body?.replacing("ORIGIN", with: decoy.url("/x"))
        let answer = try await client.send(
            input.method, input.path, input.headers, body: body.map { Array($0.utf8) })
        #expect(answer.status == input.status, "\(answer.text)")
        #expect(answer.headers["Content-Type"] == "application/problem+json")
        let problem = answer.json
        #expect(problem["code"].string == input.code)
        #expect(problem["type"].string == "/problems/\(input.code)")
        #expect(problem["status"].int == input.status)
        #expect(problem["title"].string?.isEmpty == false)
        #expect(problem["pointer"].string == input.pointer)
        #expect(decoy.acceptCount == 0)
    }

    @Test func `a position that no event can have is refused wherever one is taken`() async throws {
        let client = try RunningGateway.shared.client
        let hook = try await client.post(
            "/v1/webhooks", ["url": "http://127.0.0.1:9/", "events": ["session.didFinishEvents"]]
        ).json(201, of: "POST webhooks")
        let path = "/v1/webhooks/\(hook.id)"
        for number in [Int64.max, .min, -1] {
            let id = "t.\(number)"
            let retry = try await client.post("\(path)/deliveries/\(id)/retry")
            #expect(retry.status == 404 && retry.problem == "not-found", "\(retry.text)")
            let list = try await client.get("\(path)/deliveries?cursor=\(id)")
            #expect(list.status == 422 && list.problem == "invalid-value", "\(list.text)")
            let replay = try await client.post("\(path)/replay", ["after": .string(id)])
            #expect(replay.status == 422 && replay.json["pointer"].string == "/after")
            let reader = try await client.events("/v1/events", lastEventID: id)
            let reset = try await reader.collect(until: "reset")
            #expect(reset.last?.json["reason"].string == "unknown")
            reader.close()
        }
        // One that could be some event's is looked for.
        for number in [0, Int64.max - 1] {
            let retry = try await client.post("\(path)/deliveries/t.\(number)/retry")
            #expect(retry.status == 404 && retry.problem == "not-found", "\(retry.text)")
        }
        #expect(try await client.delete(path).status == 204)
    }

    @Test func `a method that a path does not have is told the others`() async throws {
        let client = try RunningGateway.shared.client
        let answer = try await client.send("PUT", "/v1/sessions/shared")
        let allowed = answer.headers["Allow"]?.split(separator: ", ").map(String.init) ?? []
        #expect(Set(allowed) == ["GET", "HEAD", "OPTIONS", "PATCH"])
    }

    @Test(arguments: ["resume", "suspend"])
    func `an operation without a description takes none`(verb: String) async throws {
        let client = try RunningGateway.shared.client
        let id = try await client.sharedSession.create("data", "http://127.0.0.1:9/").id
        let plain = try await client.post("/v1/tasks/\(id)/suspend", [:])
        #expect(plain.status == 200)
        let answer = try await client.post("/v1/tasks/\(id)/\(verb)", ["now": true])
        #expect(answer.status == 422 && answer.problem == "unknown-member")
        #expect(try await client.task(id)["state"].string == "suspended")
    }

    @Test(arguments: ["cookies", "credentials", "cache"])
    func `what deletes everything without a filter takes no filter in a body`(store: String)
        async throws
    {
        let client = try RunningGateway.shared.client
        let session = try await client.createSession()
        let added = try await client.post(session.path + "/cookies", .cookie("kept"))
        #expect(added.status == 201, "\(added.text)")
        let filter = Array(#"{"domain":"elsewhere.example"}"#.utf8)
        let json: HeaderLines = ["Content-Type": "application/json"]
        let path = "\(session.path)/\(store)"
        let answer = try await client.send("DELETE", path, json, body: filter)
        #expect(answer.status == 422 && answer.problem == "unknown-member")
        let form = try await client.send(
            "DELETE", path, ["Content-Type": "text/plain"], body: Array("all".utf8))
        #expect(form.status == 415)
        let cookies = try await client.get(session.path + "/cookies").json["cookies"].array
        #expect(cookies?.count == 1)
        #expect(try await client.send("DELETE", path, json, body: Array("{}".utf8)).status == 204)
    }

    @Test(arguments: ["rotate-secret", "test"])
    func `what is done again when it is sent again takes no key, and no body`(verb: String)
        async throws
    {
        let client = try RunningGateway.shared.client
        let hook = try await client.post(
            "/v1/webhooks", ["url": "http://127.0.0.1:9/", "events": ["task.didComplete"]]
        ).json(201, of: "POST /v1/webhooks")
        let path = "/v1/webhooks/\(hook.id)"
        let keyed = try await client.post(path + "/" + verb, nil, ["Idempotency-Key": "once"])
        #expect(keyed.status == 422 && keyed.problem == "invalid-header")
        let told = try await client.post(path + "/" + verb, ["secret": "whsec_AAAA"])
        #expect(told.status == 422 && told.problem == "unknown-member")
        #expect(try await client.delete(path).status == 204)
    }

    @Test(arguments: ["suspend", "resume", "cancel"])
    func `what a key would not have done once takes none`(verb: String) async throws {
        let client = try RunningGateway.shared.client
        let task = try await client.createSession("ephemeral")
            .create("data", "http://127.0.0.1:9/")
        let path = "/v1/tasks/\(task.id)/\(verb)"
        let keyed = try await client.post(path, nil, ["Idempotency-Key": "once"])
        #expect(keyed.status == 422 && keyed.problem == "invalid-header")
        #expect(try await client.task(task.id)["state"].string == "suspended")
        #expect(try await client.post(path).status == 200)
    }

    @Test func `the largest body that is taken is 1 MiB`() async throws {
        let client = try RunningGateway.shared.client
        let frame =
            #"{"type":"data","request":{"url":"http://127.0.0.1:9/","method":"PUT"},"body":{"text":""}}"#
        let fill = String(repeating: "x", count: (1 << 20) - frame.utf8.count)
        let whole = frame.replacing(#""text":"""#, with: #""text":"\#(fill)""#)
        #expect(whole.utf8.count == 1 << 20)
        let headers: HeaderLines = ["Content-Type": "application/json"]
        let path = "/v1/sessions/shared/tasks"
        let taken = try await client.send("POST", path, headers, body: Array(whole.utf8))
        #expect(taken.status == 201)
        let over = try await client.send("POST", path, headers, body: Array(whole.utf8) + [0x20])
        #expect(over.status == 413 && over.problem == "body-too-large")
    }

    @Test func `no token and a wrong token are 401 and say how (RFC 6750)`() async throws {
        let gateway = try RunningGateway.shared
        let none = try await gateway.client.with(token: nil).get("/v1/tasks")
        #expect(none.status == 401 && none.problem == "unauthenticated")
        #expect(none.headers["WWW-Authenticate"] == #"Bearer realm="ferry""#)
        for token in ["fry_wrong", String(gateway.token.dropLast()) + "!", ""] {
            let wrong = try await gateway.client.with(token: token).get("/v1/tasks")
            #expect(wrong.status == 401 && wrong.problem == "unauthenticated")
            #expect(wrong.headers["WWW-Authenticate"]?.contains("invalid_token") == true)
        }
        let basic = try await gateway.client.with(token: nil)
            .get("/v1/tasks", ["Authorization": "Basic eDp5"])
        #expect(basic.status == 401)
    }
}
