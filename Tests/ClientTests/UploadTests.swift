import Foundation
import Glibc
import JSON
import TestSupport
import Testing

@testable import Client

/// `ferry put`, once the file is staged.
struct UploadTests {
    let bench: TransferBench
    var gateway: FakeGateway { bench.gateway }

    init() throws {
        bench = try TransferBench()
    }

    private func source() throws -> String {
        try bench.folder.write("up", Array("hello".utf8))
    }

    /// A task that sends, gets its answer and completes.
    private func answer(
        _ status: Int = 201, _ body: String = "", of task: ScriptedTask? = nil
    ) {
        let task = task ?? gateway.task
        let path = "/v1/tasks/\(task.id)"
        gateway.onEvents(path) { exchange in
            try exchange.openStream()
            try exchange.event(
                "task.didSendBodyData",
                #""bytesSent":5,"totalBytesSent":5,"totalBytesExpectedToSend":5"#)
            try exchange.response(status, length: body.utf8.count)
            task.update {
                $0.state = "completed"
                $0.type = "upload"
                $0.status = status
                $0.length = body.utf8.count
            }
            try exchange.complete()
        }
        gateway.onContent(path) { try $0.answer(200, [:], body) }
    }

    private func creations() -> [RecordedRequest] {
        gateway.requests("POST", FakeGateway.creation)
    }

    private func expectNothingLeft(at task: ScriptedTask) throws {
        #expect(task.isDeleted)
        #expect(gateway.file.isDeleted)
        #expect(try bench.folder.contents() == ["up"])
    }

    @Test func `the staged file is sent, and what the server answered is told`() async throws {
        answer(201)
        let path = try source()
        let receipt = try await bench.put(path) { order in
            order.headers.append("X-One", "1")
            order.options.maximumBytesPerSecond = 1 << 20
            order.options.retry = .times(2)
        }
        #expect(receipt.status == 201 && receipt.length == 5 && receipt.task == "tsk_1")
        let line = try #require(bench.log.notes.last)
        #expect(line.hasPrefix("\(path): 5 B in 0:00"))
        #expect(line.hasSuffix(", the server answered 201"))
        try expectNothingLeft(at: gateway.task)
        let request = try #require(creations().first)
        let expected = """
            {"type":"upload","resume":true,"maximumBytesPerSecond":1048576,"retry":{"attempts":2},\
            "request":{"url":"http://host/up","method":"PUT","headers":{"X-One":"1"}},\
            "body":{"file":"fil_1"}}
            """
        #expect(String(decoding: request.body, as: UTF8.self) == expected)
        let json = try JSONValue(parsing: Array(receipt.json.utf8))
        #expect(json["status"]?.int64 == 201 && json["length"]?.int64 == 5)
        #expect(json["stagedFile"]?.isNull == true)
    }

    @Test func `a task whose answer was cut is asked for by the same key (R-10)`() async throws {
        answer()
        gateway.origin.on(FakeGateway.creation) { [task = gateway.task] exchange in
            try exchange.readWholeBody()
            switch exchange.request.attempt {
            case 1: exchange.reset()
            case 2: try exchange.answer(503)
            default: try exchange.answer(201, [:], task.json)
            }
        }
        gateway.origin.on("/v1/files") { exchange in
            guard exchange.request.attempt > 1 else { return try exchange.answer(503) }
            try exchange.answer(201, [:], #"{"id":"fil_1"}"#)
        }
        _ = try await bench.put(source())
        let keys = creations().map { $0.headers["Idempotency-Key"] ?? "" }
        #expect(keys.count == 3 && Set(keys).count == 1)
        #expect(keys.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
        let fileKeys = gateway.requests("POST", "/v1/files").map {
            $0.headers["Idempotency-Key"] ?? ""
        }
        #expect(fileKeys.count == 2 && Set(fileKeys).count == 1)
        #expect(fileKeys.first != keys.first)
    }

    @Test(arguments: [400, 403, 500])
    func `a refusal of the server is a failure, its words are kept (S-49)`(
        _ status: Int
    ) async throws {
        answer(status, "No, because.")
        let output = bench.folder.file("answer")
        await #expect(throws: ClientError.serverAnswered(status: status)) {
            try await bench.put(source()) { $0.output = output }
        }
        #expect(ClientError.serverAnswered(status: status).exitStatus.rawValue == 22)
        #expect(try bench.folder.read("answer") == Array("No, because.".utf8))
        #expect(gateway.task.isDeleted && gateway.file.isDeleted)
    }

    @Test func `the answer's body goes into a file, if that is wanted`() async throws {
        answer(200, "stored")
        let output = bench.folder.file("answer")
        let receipt = try await bench.put(source()) { $0.output = output }
        #expect(receipt.answerPath == output)
        #expect(try bench.folder.read("answer") == Array("stored".utf8))
        await #expect(throws: ClientError.fileExists(path: output)) {
            try await bench.put(source()) { $0.output = output }
        }
        #expect(creations().count == 1)
    }

    @Test func `an NSURLError is told, and nothing is left (S-61)`() async throws {
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.complete(error: FakeGateway.notFound)
        }
        await #expect {
            try await bench.put(source())
        } throws: { error in
            (error as? ClientError)?.exitStatus == .transferFailed
        }
        try expectNothingLeft(at: gateway.task)
    }

    @Test func `a PUT that a stop of the gateway has ended is sent again (S-56)`() async throws {
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.complete(error: FakeGateway.stopped("none"))
        }
        answer(204, of: gateway.second)
        let receipt = try await bench.put(source())
        #expect(receipt.task == "tsk_2" && receipt.status == 204)
        #expect(bench.log.notes.first == "the gateway was stopped; sending again")
        #expect(Set(creations().map { $0.headers["Idempotency-Key"] }).count == 2)
        #expect(gateway.task.isDeleted)
        try expectNothingLeft(at: gateway.second)
    }

    @Test func `a POST is never sent twice (R-13)`() async throws {
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.complete(error: FakeGateway.stopped("none"))
        }
        await #expect(throws: ClientError.self) {
            try await bench.put(source()) { $0.method = "POST" }
        }
        #expect(creations().count == 1)
    }

    @Test func `Ctrl-C cancels the task and takes the staged file away`() async throws {
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.stall()
        }
        let path = try source()
        let run = Task { try await bench.put(path) }
        try await gateway.origin.waitForRequests(1, for: FakeGateway.taskPath + "/events")
        bench.interrupt()
        await #expect(throws: ClientError.interrupted) { try await run.value }
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").count == 1)
        try expectNothingLeft(at: gateway.task)
        let methods = gateway.origin.requests.suffix(2).map { "\($0.method) \($0.path)" }
        #expect(methods == ["DELETE /v1/tasks/tsk_1", "DELETE /v1/files/fil_1"])
    }

    @Test func `a staged file may be kept for other tasks`() async throws {
        answer()
        let receipt = try await bench.put(source()) { $0.keepsStagedFile = true }
        #expect(receipt.stagedFile == "fil_1")
        #expect(!gateway.file.isDeleted)
        #expect(bench.log.notes.first == "the staged file is fil_1")
    }

    @Test func `on a terminal it shows a bar for staging, and one for sending`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let (gateway, size) = (gateway, 1 << 20)
        let path = try bench.folder.write("big", Pattern.bytes(count: size))
        let (staging, sending, end) = (Gate(), Gate(), Gate())
        gateway.file.script([.stalled(after: size / 2, until: staging)])
        gateway.onEvents { [task = gateway.task] exchange in
            try exchange.openStream()
            try exchange.event(
                "task.didSendBodyData",
                #""totalBytesSent":262144,"totalBytesExpectedToSend":\#(size)"#)
            try exchange.stall(until: sending)
            try exchange.event(
                "task.didSendBodyData",
                #""totalBytesSent":\#(size),"totalBytesExpectedToSend":\#(size)"#)
            try exchange.stall(until: end)
            try exchange.response(201)
            task.update {
                $0.state = "completed"
                $0.status = 201
            }
            try exchange.complete()
        }
        let run = Task {
            try await onThread { () throws(ClientError) in
                let order = UploadOrder(file: path, url: "http://host/up")
                let screen = Screen(
                    descriptor: terminal.device, environment: TerminalTests.terminal)
                let (client, display) = (try gateway.client(), ProgressDisplay(on: screen))
                return try Upload(order, client: client, display: display).run()
            }
        }
        try await terminal.waitForLines("staging") { lines in
            lines.count == 1 && lines[0].hasPrefix("staging big  ") && lines[0].contains("%  ━")
        }
        staging.open()
        try await terminal.waitForLines("sending") { lines in
            lines.count == 1 && lines[0].hasPrefix("sending big   25%  ━")
        }
        sending.open()
        try await terminal.waitForLines("all sent") { lines in
            lines.count == 1 && lines[0].hasSuffix("waiting for the answer")
        }
        end.open()
        _ = try await run.value
        try await terminal.waitForLines("the last line alone") { lines in
            lines.last?.hasSuffix("the server answered 201") == true
        }
        #expect(terminal.unknown.isEmpty)
    }
}
