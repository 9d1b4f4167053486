import TestSupport
import Testing

/// Origins that misbehave: a typed error each, bounded memory, and a gateway that goes on
/// (S-61, S-62, X-9, R-3).
@Suite(.sharedGateway)
struct FailureTests {
    /// A way to go wrong and what it must be called.
    struct Failure: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let behaviour: Behaviour
        let code: Int

        init(_ name: String, _ code: Int, _ behaviour: Behaviour) {
            (testDescription, self.code, self.behaviour) = (name, code, behaviour)
        }
    }

    private static let failures = [
        Failure("reset before the head", -1005, .reset()),
        Failure("reset in the body", -1005, .reset(after: 5000)),
        Failure("truncated body", -1005, .truncated(after: 5000, of: 100_000)),
        Failure("truncated chunks", -1005, .truncatedChunks(after: 5000)),
        Failure("closed without an answer", -1005, Behaviour { $0.close() }),
        Failure("not HTTP", -1017, Behaviour { try $0.send("SSH-2.0-OpenSSH_9\r\n\r\n") }),
        Failure("conflicting lengths", -1011, .conflictingLengths(10, 20)),
        Failure("20,000 header fields", -1011, .manyHeaders()),
        Failure("header of 1 MiB", -1011, .manyHeaders(200, valueSize: 5000)),
        Failure("redirect loop", -1007, .redirectLoop()),
        Failure("redirect to nothing", -1000, .redirect(to: "http://")),
        Failure("redirect to file:", -1002, .redirect(to: "file:///etc/passwd")),
        Failure("broken gzip", -1015, .fixed(200, ["Content-Encoding": "gzip"], "not gzip at all")),
    ]

    @Test(arguments: failures)
    func `each failure has its NSURLError (S-61)`(failure: Failure) async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        origin.on("/fails", failure.behaviour)
        let session = try await client.createSession("ephemeral")
        let task = try await session.run("data", origin.url("/fails"))
        #expect(task.errorCode == failure.code, "\(task["error"])")
        #expect(task["error"]["domain"].string == "NSURLErrorDomain")
        #expect(task["error"]["message"].string?.isEmpty == false)
        #expect(task["error"]["failingURL"].string?.hasPrefix(origin.url("/fails")) == true)
        #expect(task["state"].string == "completed")
        // What had come is a part, and says so (S-58); where nothing had, there is no content.
        let content = try await client.get("/v1/tasks/\(task.id)/content")
        if task["countOfBytesReceived"].int == 0 {
            #expect(task["content"].isNull && content.problem == "no-content")
        } else {
            #expect(task["content"]["complete"].bool == false)
            #expect(task["content"]["length"].int == content.body.count)
            #expect(content.body.count == 5000)
        }
    }

    @Test func `a refused connection is -1004, an unknown host -1003`() async throws {
        let client = try RunningGateway.shared.client
        let session = try await client.createSession()
        let port = try Endpoint.freePort()
        let refused = try await session.run("data", "http://127.0.0.1:\(port)/")
        #expect(refused.errorCode == -1004)
        #expect(refused["error"]["name"].string == "cannotConnectToHost")
        #expect(refused["error"]["underlying"]["layer"].string == "curl")
        let unknown = try await session.run("data", "http://no-such-host.invalid/")
        #expect(unknown.errorCode == -1003)
        #expect(unknown["error"]["name"].string == "cannotFindHost")
    }

    @Test func `twenty redirects are followed and no more (S-62)`() async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        for hop in 0..<20 { origin.on("/\(hop)", .redirect(to: "/\(hop + 1)")) }
        origin.on("/20", .fixed(200, [:], "there"))
        origin.on("/longer", .redirect(to: "/0"))
        let session = try await client.createSession()
        let task = try await session.run("data", origin.url("/0"))
        #expect(task["error"].isNull && task["metrics"]["redirectCount"].int == 20)
        #expect(try await session.run("data", origin.url("/longer")).errorCode == -1007)
    }

    @Test func `a gzip bomb costs neither memory nor the gateway (X-9)`() async throws {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            let origin = try ScriptedOrigin()
            origin.on("/bomb", .gzipBomb(256 << 20))
            let session = try await client.createSession(
                "ephemeral", ["delegate": ["data": "reference"]])
            let before = try gateway.process.residentBytes()
            let id = try await session.start("data", origin.url("/bomb"), ["delivery": "stream"])
            let reader = try await client.stream("/v1/tasks/\(id)/content")
            var count = 0
            var most = 0
            while case let piece = try await reader.next(), !piece.isEmpty {
                count += piece.count
                if count % (1 << 20) < piece.count {
                    most = max(most, try gateway.process.residentBytes() - before)
                }
            }
            #expect(count == 256 << 20)
            #expect(most < 32 << 20)
            #expect(try await client.completedTask(id)["countOfBytesReceived"].int == 256 << 20)
        }
    }

    @Test func `bytes beyond the length are not taken`() async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        origin.on("/more") { exchange in
            try exchange.head(200, ["Content-Length": "4"])
            try exchange.send("four and more")
        }
        let task = try await client.createSession().run("download", origin.url("/more"))
        #expect(task["error"].isNull)
        #expect(try await client.content(task.id) == Array("four".utf8))
    }
}
