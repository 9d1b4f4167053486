import TestSupport
import Testing

/// `GET T/content` of a completed task: ranges and conditions (RFC 9110 §13, §14), and of a running
/// one: followed to its end.
@Suite(.sharedGateway)
struct ContentTests {
    private static let length = 100_000
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/file", .large(Self.length, ["Content-Type": "text/plain"]))
    }

    private func completed(_ type: String = "default") async throws -> String {
        let task = try await client.createSession(type).run("download", origin.url("/file"))
        #expect(task["error"].isNull)
        return "/v1/tasks/\(task.id)/content"
    }

    // MARK: Completed

    @Test(arguments: [
        ("bytes=0-0", 0..<1), ("bytes=100-199", 100..<200), ("bytes=99990-", 99_990..<100_000),
        ("bytes=-5", 99_995..<100_000), ("bytes=99999-200000", 99_999..<100_000),
        ("bytes=-200000", 0..<100_000),
    ])
    func `one range is answered by 206`(range: String, expected: Range<Int>) async throws {
        let path = try await completed()
        let answer = try await client.get(path, ["Range": range])
        #expect(answer.status == 206)
        let place = "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(Self.length)"
        #expect(answer.headers["Content-Range"] == place)
        #expect(answer.headers["Content-Length"] == "\(expected.count)")
        #expect(answer.body.count == expected.count)
        #expect(Pattern.firstDifference(in: answer.body, at: expected.lowerBound) == nil)
    }

    @Test(arguments: ["bytes=0-1,5-6", "bytes=", "bytes=5-1", "lines=0-1", "bytes=x-y"])
    func `several ranges, and what is none, are answered by the whole`(range: String) async throws {
        let answer = try await client.get(completed("ephemeral"), ["Range": range])
        #expect(answer.status == 200)
        #expect(answer.body.count == Self.length)
    }

    @Test func `a range outside is 416 with the length`() async throws {
        let answer = try await client.get(completed(), ["Range": "bytes=100000-"])
        #expect(answer.status == 416 && answer.problem == "range-not-satisfiable")
        #expect(answer.headers["Content-Range"] == "bytes */100000")
    }

    @Test func `what still comes has no entity tag (RFC 9110 13.1.1)`() async throws {
        let gate = Gate()
        origin.on("/gated-tag", .stall(after: 1, of: 2, until: gate))
        let session = try await client.createSession("ephemeral")
        let task = try await session.start("data", origin.url("/gated-tag"))
        _ = try await client.task(task) { $0["countOfBytesReceived"].int == 1 }
        let path = "/v1/tasks/\(task)/content"
        let refused = try await client.get(path, ["If-Match": "\"\(task)\""])
        #expect(refused.status == 412 && refused.problem == "precondition-failed")
        async let any = client.get(path, ["If-Match": "*"])
        gate.open()
        #expect(try await any.body.count == 2)
    }

    @Test func `the entity tag is strong and decides`() async throws {
        let path = try await completed()
        let whole = try await client.get(path)
        let tag = try #require(whole.headers["ETag"])
        #expect(tag.hasPrefix("\""))
        #expect(whole.headers["Accept-Ranges"] == "bytes")

        #expect(try await client.get(path, ["If-None-Match": tag]).status == 304)
        #expect(try await client.get(path, ["If-None-Match": "\"other\", W/\(tag)"]).status == 304)
        #expect(try await client.get(path, ["If-None-Match": "\"other\""]).status == 200)
        #expect(try await client.get(path, ["If-Match": tag]).status == 200)
        let failed = try await client.get(path, ["If-Match": "\"other\""])
        #expect(failed.status == 412 && failed.problem == "precondition-failed")

        let matching = try await client.get(path, ["Range": "bytes=0-9", "If-Range": tag])
        #expect(matching.status == 206 && matching.body.count == 10)
        let other = try await client.get(path, ["Range": "bytes=0-9", "If-Range": "\"other\""])
        #expect(other.status == 200 && other.body.count == Self.length)
        // RFC 9110 §13.1.5: a weak tag never matches here.
        let weak = try await client.get(path, ["Range": "bytes=0-9", "If-Range": "W/\(tag)"])
        #expect(weak.status == 200)
    }

    @Test func `HEAD tells what GET would, without a body and without ranges`() async throws {
        let path = try await completed()
        let whole = try await client.get(path)
        let head = try await client.send("HEAD", path, ["Range": "bytes=0-9"])
        #expect(head.status == 200 && head.body.isEmpty)
        for name in ["Content-Length", "Content-Type", "ETag", "Content-Disposition"] {
            #expect(head.headers[name] == whole.headers[name], "\(name)")
        }
    }

    @Test func `a file name is the client's, else the origin's, and never a header's end (X-8)`()
        async throws
    {
        let session = try await client.createSession()
        let given = try await session.run(
            "download", origin.url("/file"), ["fileName": "über uns.txt"])
        let answer = try await client.get("/v1/tasks/\(given.id)/content")
        #expect(
            answer.headers["Content-Disposition"]
                == "attachment; filename*=UTF-8''%C3%BCber%20uns.txt")
        let odd: HeaderLines = [
            "Content-Disposition": #"attachment; filename="../a\"\;b.txt""#,
            "Content-Type": "text/html\u{1}",
        ]
        origin.on("/odd", .fixed(200, odd, "x"))
        let task = try await session.run("download", origin.url("/odd"))
        let served = try await client.get("/v1/tasks/\(task.id)/content")
        #expect(served.headers["Content-Type"] == "application/octet-stream")
        let name = served.headers["Content-Disposition"] ?? ""
        #expect(name.hasPrefix("attachment; filename") && !name.contains("../"))
        #expect(served.headers["Content-Security-Policy"]?.contains("sandbox") == true)
    }

    // MARK: Running

    @Test(arguments: ["default", "ephemeral"])
    func `a running task's content is followed to its end`(type: String) async throws {
        let gate = Gate()
        origin.on("/growing", .stall(after: 40_000, of: 2_000_000, until: gate))
        let session = try await client.createSession(type)
        let id = try await session.start("download", origin.url("/growing"))
        let stream = try await client.stream("/v1/tasks/\(id)/content")
        #expect(stream.head.status == 200)
        #expect(stream.head.headers["ETag"] == nil)
        var bytes: [UInt8] = []
        while bytes.count < 40_000 { bytes += try await stream.next() }

        let range = try await client.get("/v1/tasks/\(id)/content", ["Range": "bytes=0-9"])
        #expect(range.status == 409 && range.problem == "not-complete")
        let head = try await client.send("HEAD", "/v1/tasks/\(id)/content")
        #expect(head.status == 200 && head.body.isEmpty)
        // Nobody knows how long it is (RFC 9110 §8.6).
        #expect(head.headers["Content-Length"] == nil)
        #expect(try await client.delete("/v1/tasks/\(id)").problem == "task-running")

        gate.open()
        bytes += try await stream.rest()
        #expect(bytes.count == 2_000_000)
        #expect(Pattern.firstDifference(in: bytes) == nil)
    }

    @Test func `a follower of a task that fails is cut without the last chunk`() async throws {
        let gate = Gate()
        origin.on("/fails") { exchange in
            try exchange.head(200, ["Content-Length": "100000"])
            try exchange.patternBody(count: 50_000)
            try exchange.stall(until: gate)
            exchange.reset()
        }
        let session = try await client.createSession()
        let id = try await session.start("download", origin.url("/fails"))
        let stream = try await client.stream("/v1/tasks/\(id)/content")
        #expect(try await !stream.next().isEmpty)
        gate.open()
        await #expect(throws: (any Error).self) { try await stream.rest() }
        #expect(try await client.completedTask(id).errorCode == -1005)
        let gone = try await client.get("/v1/tasks/\(id)/content")
        #expect(gone.status == 409 && gone.problem == "no-content")
    }

    @Test func `a follower of a task that is cancelled is cut too`() async throws {
        origin.on("/stuck", .stall(after: 50_000, of: 100_000))
        let session = try await client.createSession("ephemeral")
        let id = try await session.start("download", origin.url("/stuck"))
        let stream = try await client.stream("/v1/tasks/\(id)/content")
        #expect(try await !stream.next().isEmpty)
        _ = try await client.tell(id, "cancel")
        await #expect(throws: (any Error).self) { try await stream.rest() }
    }

    @Test func `a suspended task has no content to wait for`() async throws {
        let session = try await client.createSession()
        let id = try await session.create("download", origin.url("/file")).id
        let answer = try await client.get("/v1/tasks/\(id)/content")
        #expect(answer.status == 409 && answer.problem == "no-content")
    }

    @Test func `who asks before the response waits for it`() async throws {
        let gate = Gate()
        origin.on("/late") { exchange in
            try exchange.stall(until: gate)
            try exchange.answer(200, [:], "late")
        }
        let session = try await client.createSession()
        let id = try await session.start("data", origin.url("/late"))
        try await origin.waitForRequests(1, for: "/late")
        async let content = client.content(id)
        gate.open()
        #expect(try await content == Array("late".utf8))
    }
}
