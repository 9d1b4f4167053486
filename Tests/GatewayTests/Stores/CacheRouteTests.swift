import TestSupport
import Testing

/// The cache as clients see it, and what they decide about it (S-15, S-24, S-71).
@Suite(.sharedGateway)
struct CacheRouteTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        let fresh: HeaderLines = [
            "Cache-Control": "max-age=600", "Content-Type": "text/plain", "ETag": "\"7\"",
        ]
        origin.on("/news", .fixed(200, fresh, "nothing new"))
        origin.on("/blue", .fixed(200, fresh.appending(["Vary": "X-Colour"]), "blue"))
    }

    /// Where the last transaction of a task was answered from.
    private func source(of task: TestJSON) -> String? {
        task["metrics"]["transactions"].array?.last?["resourceFetchType"].string
    }

    @Test func `what was fetched once is there, told, and gone when the cache is emptied`()
        async throws
    {
        let session = try await client.createSession()
        let empty = try await session.cache()
        #expect(
            empty == [
                "memoryUsage": 0, "memoryCapacity": 4_194_304, "diskUsage": 0,
                "diskCapacity": 268_435_456, "entryCount": 0,
            ])
        let url = origin.url("/news")
        #expect(try await source(of: session.run("data", url)) == "networkLoad")
        let hit = try await session.run("data", url)
        #expect(source(of: hit) == "localCache" && hit["response"]["status"].int == 200)
        #expect(try await client.content(hit.id) == Array("nothing new".utf8))
        #expect(origin.requests.count == 1)

        let full = try await session.cache("?url=" + url)
        #expect(full["entryCount"].int == 1)
        #expect((full["memoryUsage"].int ?? 0) + (full["diskUsage"].int ?? 0) > 11)
        let responses = full["responses"].array ?? []
        #expect(responses.count == 1)
        let stored = try #require(responses.first)
        #expect(stored["url"].string == url && stored["status"].int == 200)
        #expect(stored["length"].int == 11 && stored["userInfo"] == [:])
        #expect(stored["headers"].array?.contains(["ETag", "\"7\""]) == true)
        for instant in ["storedAt", "usedAt"] {
            #expect(stored[instant].string?.hasSuffix("Z") == true)
        }
        #expect(try await session.cache("?url=http://127.0.0.1/other")["responses"] == [])
        #expect(try await session.cache()["responses"].isNull)

        #expect(try await session.tell("DELETE", "cache").status == 204)
        #expect(try await session.cache() == empty)
        #expect(try await source(of: session.run("data", url)) == "networkLoad")
    }

    @Test func `the request's fields that Vary names are not told`() async throws {
        let session = try await client.createSession("ephemeral")
        let canary = Canary("colour")
        let colours = [canary.text, "blue"]
        for colour in colours {
            _ = try await session.run(
                "data", origin.url("/blue"), request: ["headers": ["X-Colour": .string(colour)]])
        }
        let told = try await client.get(session.path + "/cache?url=" + origin.url("/blue"))
        #expect(told.json["responses"].array?.count == 2)
        #expect(!canary.isIn(told.body))
    }

    @Test func `a session without a cache has an empty one (S-24)`() async throws {
        let session = try await client.createSession(
            "default", ["configuration": ["urlCache": nil]])
        for _ in 1...2 { _ = try await session.run("data", origin.url("/news")) }
        #expect(origin.requests.count == 2)
        #expect(
            try await session.cache("?url=" + origin.url("/news")) == [
                "memoryUsage": 0, "memoryCapacity": 0, "diskUsage": 0, "diskCapacity": 0,
                "entryCount": 0, "responses": [],
            ])
        #expect(try await session.tell("DELETE", "cache").status == 204)
    }

    @Test(
        arguments: [
            ("GET", "?url=nonsense", "invalid-url", "url"),
            ("GET", "?url=ftp://host/", "unsupported-url", "url"),
            ("GET", "?uri=http://host/", "unknown-parameter", "uri"),
            ("DELETE", "?url=http://host/", "unknown-parameter", "url"),
        ])
    func `a query that is wrong is refused`(
        method: String, query: String, code: String, name: String
    ) async throws {
        let session = try await client.createSession("ephemeral")
        let refused = try await session.tell(method, "cache" + query)
        #expect(refused.status == 422 && refused.problem == code, "\(refused.text)")
        #expect(refused.json["parameter"].string == name)
    }

    // MARK: Decisions

    @Test func `who decides sees how it would be stored, and may add to it or refuse (S-71)`()
        async throws
    {
        let (session, events) = try await client.createAskingSession("cache")
        let url = origin.url("/news")
        for disposition in ["refuse", "store"] {
            let id = try await session.start("data", url)
            let question = try await events.question()
            #expect(question.event.event == "task.willCacheResponse" && question.kind == "cache")
            let told = question.event.json
            #expect(told["storagePolicy"].string == "allowed" && told["userInfo"] == [:])
            #expect(told["response"]["status"].int == 200)
            var answer: [String: TestJSON] = ["disposition": .string(disposition)]
            if disposition == "store" {
                answer["storagePolicy"] = "allowedInMemoryOnly"
                answer["userInfo"] = ["seen": "yes", "by": "me"]
            }
            try await client.decide(question, .object(answer))
            #expect(try await client.completedTask(id)["error"].isNull)
        }
        #expect(origin.requests.count == 2)
        let stored = try await session.cache("?url=" + url)["responses"]
        #expect(stored.array?.count == 1)
        #expect(stored[0]["tier"].string == "memory")
        #expect(stored[0]["userInfo"] == ["seen": "yes", "by": "me"])
        #expect(try await source(of: session.run("data", url)) == "localCache")
    }

    @Test func `user info is small, and text (S-71)`() async throws {
        let (session, events) = try await client.createAskingSession("cache")
        let id = try await session.start("data", origin.url("/news"))
        let question = try await events.question()
        let many = Dictionary(uniqueKeysWithValues: (0...64).map { ("\($0)", TestJSON("")) })
        let long = TestJSON.string(String(repeating: "x", count: 4096))
        let refused: [(TestJSON, String)] = [
            (["a": 1], "/userInfo/a"), ("text", "/userInfo"), (["a": long], "/userInfo/a"),
        ]
        for (userInfo, pointer) in refused {
            let answer = try await client.answer(
                question, ["disposition": "store", "userInfo": userInfo])
            #expect(answer.status == 422 && answer.problem == "invalid-value", "\(answer.text)")
            #expect(answer.json["pointer"].string == pointer)
        }
        let crowd = try await client.answer(
            question, ["disposition": "store", "userInfo": .object(many)])
        #expect(crowd.status == 422 && crowd.problem == "invalid-value")
        let policy = try await client.answer(
            question, ["disposition": "store", "storagePolicy": "sometimes"])
        #expect(policy.status == 422 && policy.json["pointer"].string == "/storagePolicy")
        #expect(try await client.decision(question.id)["state"].string == "pending")
        let most = TestJSON.string(String(repeating: "x", count: 4095))
        try await client.decide(question, ["disposition": "store", "userInfo": ["a": most]])
        #expect(try await client.completedTask(id)["error"].isNull)
        let stored = try await session.cache("?url=" + origin.url("/news"))["responses"]
        #expect(stored[0]["userInfo"] == ["a": most])
    }
}
