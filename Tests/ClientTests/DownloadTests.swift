import Glibc
import JSON
import Synchronization
import TestSupport
import Testing

@testable import Client

struct DownloadTests {
    let gateway: FakeGateway
    let folder: TemporaryDirectory
    let size = 300_000
    var path: String { folder.file("a.iso") }

    init() throws {
        gateway = try FakeGateway()
        folder = try TemporaryDirectory()
    }

    /// Downloads into the folder.
    private func run(
        output: String? = nil, interrupts: Interrupts = .none,
        _ change: @escaping @Sendable (inout DownloadOrder) -> Void = { _ in }
    ) async throws -> DownloadReceipt {
        let (gateway, output) = (gateway, output ?? path)
        return try await onThread { () throws(ClientError) in
            var order = DownloadOrder(url: "http://host/a.iso")
            order.output = output
            change(&order)
            let display = ProgressDisplay(
                on: Screen(descriptor: STDERR_FILENO, environment: [:]), isQuiet: true)
            let client = try gateway.client(interrupts: interrupts)
            return try Download(order, client: client, display: display).run()
        }
    }

    /// A task that gets its response, waits for `gate` and completes.
    private func script(until gate: Gate? = nil) {
        let (task, size) = (gateway.task, size)
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.event("task.didCreate", "\"n\":0", id: "1.1")
            try exchange.response(length: size)
            try exchange.event(
                "download.didWriteData",
                "\"totalBytesWritten\":5,\"totalBytesExpectedToWrite\":\(size)")
            if let gate { try exchange.stall(until: gate) }
            task.complete(length: size)
            try exchange.complete()
        }
    }

    private func expectWholeFile(_ name: String = "a.iso") throws {
        #expect(try folder.contents() == [name])
        let bytes = try folder.read(name)
        #expect(bytes.count == size)
        #expect(Pattern.firstDifference(in: bytes) == nil)
        #expect(gateway.task.isDeleted)
    }

    private func contents() -> [RecordedRequest] {
        gateway.requests("GET", FakeGateway.taskPath + "/content")
    }

    @Test func `the file follows the running transfer`() async throws {
        let gate = Gate()
        script(until: gate)
        gateway.onContent { [size] exchange in
            try exchange.head(200, ["Transfer-Encoding": "chunked"])
            try exchange.chunk(Pattern.bytes(count: size / 2))
            gate.open()
            try exchange.chunk(Pattern.bytes(from: size / 2, count: size - size / 2))
            try exchange.endChunks()
        }
        let receipt = try await run()
        #expect(receipt.length == Int64(size))
        #expect(receipt.path == path)
        #expect(receipt.status == 200)
        try expectWholeFile()
        #expect(contents().count == 1)
    }

    @Test func `where following is refused the whole comes at the end`() async throws {
        let gate = Gate()
        script(until: gate)
        gateway.onContent { [size] exchange in
            guard exchange.request.attempt > 1 else {
                try exchange.answer(409, [:], #"{"code":"no-content"}"#)
                return gate.open()
            }
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: size)
        }
        _ = try await run()
        try expectWholeFile()
        #expect(contents().count == 2)
    }

    @Test func `a cut content is fetched again, whole`() async throws {
        script()
        gateway.onContent { [size] exchange in
            try exchange.head(200, ["Content-Length": "\(size)"])
            guard exchange.request.attempt > 3 else {
                try exchange.patternBody(count: 1000 * exchange.request.attempt)
                return exchange.reset()
            }
            try exchange.patternBody(count: size)
        }
        _ = try await run()
        try expectWholeFile()
        #expect(contents().count == 4)
    }

    @Test func `content of another length than the task's is no success (R-3)`() async throws {
        script()
        gateway.onContent { try $0.answer(200, [:], "too short") }
        await #expect {
            try await run()
        } throws: { error in
            guard case ClientError.resumable(.unexpectedAnswer) = error else { return false }
            return true
        }
        // Whatever has answered so: the gateway has the content still.
        #expect(try folder.contents() == ["a.iso.resume"])
        #expect(!gateway.task.isDeleted)
    }

    @Test func `content that began anew is not mixed with the first`() async throws {
        let gate = Gate()
        let (task, size) = (gateway.task, size)
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.response(length: size)
            try exchange.stall(until: gate)
            try exchange.response(length: size, id: "1.3")
            task.complete(length: size)
            try exchange.complete()
        }
        gateway.onContent { exchange in
            if exchange.request.attempt == 1 {
                try exchange.head(200, ["Content-Length": "\(size)"])
                try exchange.body([UInt8](repeating: 0, count: size - 1))
                gate.open()
                return try exchange.stall()
            }
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: size)
        }
        _ = try await run()
        try expectWholeFile()
    }

    @Test func `an empty body is an empty file`() async throws {
        gateway.onEvents { [task = gateway.task] exchange in
            try exchange.openStream()
            try exchange.response(204)
            task.update {
                $0.state = "completed"
                $0.status = 204
            }
            try exchange.complete()
        }
        gateway.onContent { try $0.answer(409, [:], #"{"code":"no-content"}"#) }
        let receipt = try await run()
        #expect(receipt.length == 0)
        #expect(receipt.status == 204)
        #expect(try folder.contents() == ["a.iso"])
        #expect(try folder.read("a.iso") == [])
    }

    @Test func `a status of 400 or more is a failure, and no file (S-49)`() async throws {
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.response(404)
            try exchange.stall()
        }
        await #expect(throws: ClientError.serverAnswered(status: 404)) { try await run() }
        #expect(ClientError.serverAnswered(status: 404).description == "the server answered 404")
        #expect(ClientError.serverAnswered(status: 404).exitStatus.rawValue == 22)
        #expect(try folder.contents() == [])
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").count == 1)
        #expect(gateway.task.isDeleted)
    }

    @Test func `an NSURLError is told in words (S-61)`() async throws {
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.complete(error: FakeGateway.notFound)
        }
        await #expect {
            try await run()
        } throws: { error in
            guard let error = error as? ClientError else { return false }
            return error.description == "cannotFindHost (-1003): no such host"
                && error.exitStatus == .transferFailed
        }
        #expect(try folder.contents() == [])
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").isEmpty)
        #expect(gateway.task.isDeleted)
    }

    @Test func `an interrupt cancels the task and leaves nothing`() async throws {
        let pressed = Atomic(0)
        let interrupts = Interrupts { pressed.load(ordering: .relaxed) }
        gateway.onEvents { [size] exchange in
            try exchange.openStream()
            try exchange.response(length: size)
            try exchange.stall()
        }
        gateway.onContent { [size] exchange in
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: 1000)
            try exchange.stall()
        }
        let outcome = Task { try await run(interrupts: interrupts) }
        try await eventually {
            try folder.contents() == ["a.iso.part", "a.iso.resume"] && contents().count == 1
        }
        pressed.add(1, ordering: .relaxed)
        await #expect(throws: ClientError.interrupted) { try await outcome.value }
        #expect(ClientError.interrupted.exitStatus.rawValue == 130)
        #expect(try folder.contents() == [])
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").count == 1)
        #expect(gateway.task.isDeleted)
    }

    @Test func `an interrupt while the task is created cancels it all the same`() async throws {
        let pressed = Atomic(0)
        let interrupts = Interrupts { pressed.load(ordering: .relaxed) }
        let gate = Gate()
        gateway.origin.on(FakeGateway.creation) { [task = gateway.task] exchange in
            try exchange.readWholeBody()
            try exchange.stall(until: gate)
            try exchange.answer(201, [:], task.json)
        }
        let outcome = Task { try await run(interrupts: interrupts) }
        try await gateway.origin.waitForRequests(1, for: FakeGateway.creation)
        pressed.add(1, ordering: .relaxed)
        gate.open()
        await #expect(throws: ClientError.interrupted) { try await outcome.value }
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").count == 1)
        #expect(gateway.task.isDeleted)
    }

    @Test func `a file that is there stops it before any task is made`() async throws {
        try folder.write("a.iso", [1])
        await #expect(throws: ClientError.fileExists(path: path)) { try await run() }
        #expect(gateway.origin.requests.isEmpty)
        #expect(try folder.contents() == ["a.iso"])
    }

    @Test func `in a folder the file gets the suggested name, made harmless (X-8)`() async throws {
        let (task, size) = (gateway.task, size)
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.event(
                "task.didReceiveResponse",
                #""response":{"status":200,"suggestedFilename":"../../.a\u001b.iso"}"#, id: "1.2")
            task.complete(length: size)
            try exchange.complete()
        }
        gateway.onContent { exchange in
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: size)
        }
        let receipt = try await run(output: folder.path)
        #expect(receipt.path == path)
        try expectWholeFile()
    }

    @Test func `events that were lost are made up for by asking`() async throws {
        let (task, size) = (gateway.task, size)
        gateway.onEvents { exchange in
            try exchange.openStream()
            task.complete(length: size)
            try exchange.event("reset", #""reason":"expired","tasks":[]"#, id: "1.7")
            try exchange.stall()
        }
        gateway.onContent { exchange in
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: size)
        }
        _ = try await run()
        try expectWholeFile()
    }

    @Test func `the order reaches the gateway as the contract has it`() async throws {
        script()
        gateway.onContent { [size] exchange in
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: size)
        }
        _ = try await run { order in
            order.headers.append("Accept", "a")
            order.headers.append("X-One", "1")
            order.headers.append("accept", "b")
            order.expectedDigest = "sha-256=:AA==:"
            order.options.priority = 0.25
            order.options.maximumBytesPerSecond = 1024
            order.options.retry = .times(3)
            order.connections = 8
            order.mirrors = ["http://b/", "http://c/"]
        }
        let request = try #require(gateway.requests("POST", FakeGateway.creation).first)
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(request.headers["Authorization"] == "Bearer fry_t")
        let expected = """
            {"type":"download","resume":true,"priority":0.25,"maximumBytesPerSecond":1024,\
            "retry":{"attempts":3},"expectedDigest":"sha-256=:AA==:","connections":8,\
            "mirrors":["http://b/","http://c/"],\
            "request":{"url":"http://host/a.iso","headers":{"Accept":["a","b"],"X-One":"1"}}}
            """
        #expect(String(decoding: request.body, as: UTF8.self) == expected)
    }

    @Test func `a refusal of the gateway is told with its code and pointer`() async throws {
        gateway.origin.on(FakeGateway.creation) { exchange in
            try exchange.readWholeBody()
            let problem =
                #"{"status":422,"code":"bad-url","detail":"No URL.","pointer":"/request/url"}"#
            try exchange.answer(422, [:], problem)
        }
        await #expect {
            try await run()
        } throws: { error in
            guard let error = error as? ClientError else { return false }
            return error.description == "No URL (bad-url, 422)"
                && error.exitStatus == .failure
        }
        #expect(try folder.contents() == [])
    }

    @Test(arguments: [
        ("Accept: */*", "Accept", "*/*"), ("X:y: z", "X", "y: z"), ("X:", "X", ""),
    ])
    func `a header line is read at its first colon`(
        _ line: String, _ name: String, _ value: String
    ) throws {
        var expected = RequestFields()
        expected.append(name, value)
        #expect(try RequestFields(parsing: [line]) == expected)
    }

    @Test(arguments: ["Accept", ": x", ""])
    func `what is no header line is refused`(_ line: String) {
        #expect(throws: ClientError.self) { try RequestFields(parsing: ["A: b", line]) }
    }

    @Test func `the receipt is JSON for scripts`() throws {
        let receipt = DownloadReceipt(
            task: "tsk_1", url: "http://h/a", path: "a", status: 200, length: 5, fetched: 5,
            digest: nil,
            elapsed: .milliseconds(1500))
        let json = try JSONValue(parsing: Array(receipt.json.utf8))
        #expect(json["file"]?.string == "a")
        #expect(json["length"]?.int64 == 5)
        #expect(json["seconds"]?.double == 1.5)
        let error = ClientError.transferFailed(
            TransferFailure(domain: "D", code: -1, name: "n", message: "m"))
        let failure = try JSONValue(parsing: Array(error.json.utf8))["error"]
        #expect(failure?["exitStatus"]?.int64 == 4)
        #expect(failure?["name"]?.string == "n")
    }
}
