import Foundation
import TestSupport
import Testing

/// What a gateway is given to keep and to seal, and whether it still has it all.
struct KeyWork: Sendable {
    /// The whole gateway as a client sees it.
    private let tasks: [String: TestJSON]
    private let events: [String: [ServerEvent]]
    /// The session that remembers something, and what.
    private let memory: String
    private let cookies: [TestJSON]
    private let credentials: [TestJSON]
    /// A task that has not begun, whose request has a secret.
    private let waiting: String
    /// A download that was cut, and what its client noted to go on with.
    private let cut: (id: String, resumeData: String)
    private let secret: String
    private let origin: ScriptedOrigin

    /// Fills a gateway with `count` tasks and their contents, and with all else that is sealed.
    init(_ count: Int = 12, at client: TestClient) async throws {
        let secret = Canary("key").text
        self.secret = secret
        origin = try KeyWork.makeOrigin(asking: secret)
        let session = try await client.createSession(
            "default",
            [
                "configuration": [
                    "httpAdditionalHeaders": ["Authorization": .string("Basic " + secret)]
                ]
            ])
        let request: [String: TestJSON] = [
            "method": "POST", "headers": ["Cookie": .string("a=" + secret)],
        ]
        for number in 0..<count {
            let path = number % 6 == 5 ? "/reset" : "/content"
            _ = try await session.run(
                number % 3 == 2 ? "download" : "data", origin.url(path),
                ["body": ["text": .string(secret)]], request: request)
        }
        waiting = try await session.create(
            "upload", origin.url("/take"), ["body": ["text": .string(secret)]], request: request
        ).id
        let failed = try await session.run("download", origin.url("/part"))
        cut = (failed.id, try #require(failed.resumeData))

        let memory = try await client.createSession()
        self.memory = memory.id
        let inAMonth = Date(timeIntervalSinceNow: 30 * 86400).ISO8601Format()
        try await memory.add(.cookie("jar", secret, with: ["expires": .string(inAMonth)]))
        let stored = try await memory.put(
            .stored("alice", secret, for: origin, ["persistence": "permanent"]))
        try #require(stored.status == 204)
        _ = try await memory.run("data", origin.url("/cached"))
        cookies = try await memory.cookies()
        credentials = try await memory.credentials()
        try #require(try await memory.cache()["entryCount"].int == 1)

        let report = try await InvariantChecker(client).check()
        try #require(report.violations.isEmpty)
        tasks = report.tasks
        events = report.events
    }

    private static func makeOrigin(asking secret: String) throws -> ScriptedOrigin {
        let origin = try ScriptedOrigin()
        let content = Pattern.bytes(count: 20_000)
        origin.on("/content", .bytes(content, ["Set-Cookie": "a=b", "X-Answer": "1"]))
        origin.on("/cached", .bytes(content, ["Cache-Control": "max-age=86400"]))
        origin.on("/take", .fixed(200, [:], "taken"))
        origin.on("/reset", .reset())
        var part = Resource(200_000)
        part.resetsAfter = 150_000
        origin.on("/part", .resource(part))
        let password = "Basic " + Base64Text.text(Array("alice:\(secret)".utf8))
        origin.on("/vault") { exchange in
            if exchange.request.headers["Authorization"] == password {
                try exchange.answer(200, [:], "open")
            } else {
                try exchange.answer(401, ["WWW-Authenticate": "Basic realm=\"cave\""])
            }
        }
        return origin
    }

    /// Proves that tasks, contents, events and what sessions remember are as they were.
    func verify(at client: TestClient, _ comment: Comment = "") async throws {
        let report = try await InvariantChecker(client).check()
        #expect(report.violations.isEmpty, comment)
        #expect(report.tasks.keys.sorted() == tasks.keys.sorted(), comment)
        for (id, task) in tasks {
            #expect(report.tasks[id]?.withoutResumeData == task.withoutResumeData, comment)
        }
        #expect(report.events.keys.sorted() == events.keys.sorted(), comment)
        for (session, shown) in events {
            let replayed = report.events[session] ?? []
            #expect(replayed.count == shown.count, comment)
            for (now, before) in zip(replayed, shown) {
                #expect(now.id == before.id, comment)
                #expect(now.json.withoutResumeData == before.json.withoutResumeData, comment)
            }
        }
        let expected = Pattern.bytes(count: 20_000)
        for task in tasks.values where !task["content"].isNull {
            #expect(try await client.content(task.id) == expected, comment)
        }
        let memory = TestSession(client: client, id: memory, json: .null)
        #expect(try await memory.cookies() == cookies, comment)
        #expect(try await memory.credentials() == credentials, comment)
        #expect(try await memory.cache()["entryCount"].int == 1, comment)
    }

    /// Proves that what was sealed can still be sent, which ends the work.
    ///
    /// After a rotation, what clients have noted of downloads is of no use any more, but what the
    /// gateway shows is.
    func verifySecrets(at client: TestClient, isRotated: Bool = true) async throws {
        _ = try await client.tell(waiting, "resume")
        #expect(try await client.completedTask(waiting)["error"].isNull)
        let sent = try #require(origin.requests(for: "/take").last)
        #expect(sent.headers["Cookie"] == "a=" + secret)
        #expect(sent.headers["Authorization"] == "Basic " + secret)
        #expect(String(decoding: sent.body, as: UTF8.self) == secret)
        try await verifyMemory(at: client)

        origin.on("/part", .resource(Resource(200_000)))
        let shown = try #require(try await client.task(cut.id).resumeData)
        #expect((shown != cut.resumeData) == isRotated)
        if isRotated {
            let noted = try await resume(from: cut.resumeData, at: client)
            #expect(noted.status == 422 && noted.problem == "invalid-resume-data")
        }
        let resumed = try await resume(from: shown, at: client).json(201, of: "POST task")
        let whole = try await client.completedTask(resumed.id)
        #expect(whole["error"].isNull, "\(whole["error"])")
        let content = try await client.content(resumed.id)
        #expect(content.count == 200_000 && Pattern.firstDifference(in: content) == nil)
        let range = try #require(origin.requests(for: "/part").last?.headers["Range"])
        #expect(range.hasPrefix("bytes=") && range != "bytes=0-")
    }

    private func resume(from data: String, at client: TestClient) async throws -> TestResponse {
        try await client.post(
            client.sharedSession.path + "/tasks",
            ["type": "download", "resume": true, "resumeData": .string(data)])
    }

    /// The cookie and the password are sent, the stored response is shown.
    private func verifyMemory(at client: TestClient) async throws {
        let memory = TestSession(client: client, id: memory, json: .null)
        let open = try await memory.run("data", origin.url("/vault"))
        #expect(open["response"]["status"].int == 200)
        #expect(origin.requests(for: "/vault").last?.headers["Cookie"] == "jar=" + secret)
        let cached = try await memory.run(
            "data", origin.url("/cached"), request: ["cachePolicy": "returnCacheDataDontLoad"])
        #expect(cached["error"].isNull, "\(cached["error"])")
        #expect(try await client.content(cached.id) == Pattern.bytes(count: 20_000))
        #expect(origin.requests(for: "/cached").count == 1)
    }
}

extension TestJSON {
    private static let resumeDataName = "NSURLSessionDownloadTaskResumeData"

    /// The resume data in a task's error; nil where there is none.
    var resumeData: String? {
        self["error"]["userInfo"][TestJSON.resumeDataName].string
    }

    /// The same with a mark in place of resume data: it is sealed anew with each key.
    fileprivate var withoutResumeData: TestJSON {
        switch self {
        case .object(let members):
            .object(
                members.reduce(into: [:]) { result, member in
                    let isMarked = member.key == TestJSON.resumeDataName && !member.value.isNull
                    result[member.key] = isMarked ? "…" : member.value.withoutResumeData
                })
        case .array(let elements): .array(elements.map(\.withoutResumeData))
        default: self
        }
    }
}
