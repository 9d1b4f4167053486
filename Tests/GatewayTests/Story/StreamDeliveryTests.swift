import TestSupport
import Testing

/// `delivery: "stream"` (S-41): nothing is kept, and the reader's pace is the origin's.
@Suite(.sharedGateway)
struct StreamDeliveryTests {
    @Test func `one reader gets all bytes, a second gets 409`() async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        origin.on("/stream", .large(3_000_000))
        let session = try await client.createSession()
        let id = try await session.start(
            "data", origin.url("/stream"), ["delivery": "stream"])
        let reader = try await client.stream("/v1/tasks/\(id)/content")
        #expect(reader.head.status == 200)
        let second = try await client.get("/v1/tasks/\(id)/content")
        #expect(second.status == 409 && second.problem == "already-read")
        let bytes = try await reader.rest()
        #expect(bytes.count == 3_000_000 && Pattern.firstDifference(in: bytes) == nil)

        let task = try await client.completedTask(id)
        #expect(task["error"].isNull && task["content"].isNull)
        #expect(task["countOfBytesReceived"].int == 3_000_000)
        let later = try await client.get("/v1/tasks/\(id)/content")
        #expect(later.status == 409 && later.problem == "already-read")
    }

    @Test func `a reader that leaves cancels the task`() async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        origin.on("/stream", .large(50_000_000))
        let session = try await client.createSession("ephemeral")
        let id = try await session.start(
            "data", origin.url("/stream"), ["delivery": "stream"])
        let reader = try await client.stream("/v1/tasks/\(id)/content")
        #expect(try await !reader.next().isEmpty)
        reader.close()
        #expect(try await client.completedTask(id).errorCode == -999)
    }

    @Test func `the pace of a slow reader is no silence of the origin (S-16, S-18)`() async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        let length = 30 << 20
        origin.on("/stream", .large(length))
        origin.on("/silent", .stall())
        let session = try await client.createSession(
            "default", ["configuration": ["timeoutIntervalForRequest": 4]])
        let id = try await session.start("data", origin.url("/stream"), ["delivery": "stream"])
        let reader = try await client.stream("/v1/tasks/\(id)/content")
        let first = try await reader.next()
        _ = try await Stillness.of { origin.bytesSent }
        // From now on it is as silent as one that times out.
        #expect(try await session.run("data", origin.url("/silent")).errorCode == -1001)
        #expect(try await client.task(id)["state"].string == "running")
        let rest = try await reader.rest()
        #expect(first.count + rest.count == length)
        #expect(Pattern.firstDifference(in: rest, at: first.count) == nil)
        #expect(try await client.completedTask(id)["error"].isNull)
    }

    @Test(arguments: ["default", "ephemeral"])
    func `a reader that stops reading stops the origin (R-9)`(type: String) async throws {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            let origin = try ScriptedOrigin(sendBuffer: 64 << 10)
            let length = 100 << 20
            origin.on("/huge", .large(length))
            let session = try await client.createSession(type)
            let id = try await session.start(
                "data", origin.url("/huge"), ["delivery": "stream"])
            let reader = try await client.connect(receiveBuffer: 64 << 10)
            try await reader.send(client.requestHead("GET", "/v1/tasks/\(id)/content"))
            _ = try await reader.bytes(100_000)
            let before = try gateway.process.residentBytes()

            let stopped = try await Stillness.of { origin.bytesSent }
            // The gateway's own share is 1 MiB; the rest waits in the kernel's socket buffers.
            let kernel = try SocketBuffers.largest()
            #expect(stopped < (2 << 20) + kernel, "the origin went on to \(stopped)")
            #expect(try await client.task(id)["state"].string == "running")
            #expect(try gateway.process.residentBytes() - before < 8 << 20)
            reader.reset()
            #expect(try await client.completedTask(id).errorCode == -999)
        }
    }
}
