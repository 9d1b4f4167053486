import Foundation
import Glibc
import JSON
import TestSupport
import Testing

@testable import Client

/// What `ferry get` leaves when it cannot finish, and how it goes on (rules S-34 to S-36, S-56).
struct ResumptionTests {
    let bench: TransferBench
    let size = 300_000
    var gateway: FakeGateway { bench.gateway }
    var folder: TemporaryDirectory { bench.folder }
    let left = "a.iso.resume"

    init() throws {
        bench = try TransferBench()
    }

    // MARK: Scripts

    /// A task that has its response and a part of its content, and stays so.
    func stall(_ path: String = FakeGateway.taskPath) {
        gateway.onEvents(path) { [size] exchange in
            try exchange.openStream()
            try exchange.response(length: size)
            try exchange.stall()
        }
        gateway.onContent(path) { [size] exchange in
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: 1000)
            try exchange.stall()
        }
    }

    /// A task that completes with the whole content, perhaps resumed at an offset.
    func succeed(
        _ task: ScriptedTask, resumedAt offset: Int? = nil, status: Int = 206
    ) {
        let (size, path) = (size, "/v1/tasks/\(task.id)")
        gateway.onEvents(path) { exchange in
            try exchange.openStream()
            if let offset {
                try exchange.event(
                    "download.didResumeAtOffset",
                    "\"fileOffset\":\(offset),\"expectedTotalBytes\":\(size)", id: "1.1")
            }
            try exchange.response(status, length: size)
            task.complete(length: size)
            try exchange.complete()
        }
        gateway.onContent(path, Self.content(size))
    }

    /// Serves the content whole or from a place on.
    static func content(_ size: Int) -> Behaviour.Handler {
        { exchange in
            guard let range = exchange.request.headers["Range"],
                let start = Int(range.dropFirst("bytes=".count).dropLast())
            else {
                try exchange.head(200, ["Content-Length": "\(size)"])
                return try exchange.patternBody(count: size)
            }
            let place = "bytes \(start)-\(size - 1)/\(size)"
            try exchange.head(206, ["Content-Length": "\(size - start)", "Content-Range": place])
            try exchange.patternBody(from: start, count: size - start)
        }
    }

    /// Leaves a file beside the target as an earlier command does.
    func leave(
        url: String = "http://host/a.iso", task: String? = nil, resumeData: String? = nil,
        partialLength: Int = 0
    ) throws {
        let point = ResumeFile(
            url: url, task: task, resumeData: resumeData, partialLength: Int64(partialLength))
        try point.write(for: folder.file("a.iso"))
        if partialLength > 0 {
            try folder.write("a.iso.part", Pattern.bytes(count: partialLength))
        }
    }

    func creations() throws -> [JSONValue] {
        try gateway.requests("POST", FakeGateway.creation).map { try JSONValue(parsing: $0.body) }
    }

    func expectWholeFile(_ task: ScriptedTask) throws {
        #expect(try folder.contents() == ["a.iso"])
        let bytes = try folder.read("a.iso")
        #expect(bytes.count == size)
        #expect(Pattern.firstDifference(in: bytes) == nil)
        #expect(task.isDeleted)
    }

    // MARK: Ctrl-C

    @Test func `Ctrl-C leaves what the same command resumes with (S-34, S-36)`() async throws {
        stall()
        gateway.task.update { $0.resumeData = "Ym-xv_Yg" }
        let first = Task { try await bench.get() }
        try await eventually { try folder.contents() == ["a.iso.part", left] }
        bench.interrupt()
        await #expect {
            try await first.value
        } throws: { error in
            guard let error = error as? ClientError else { return false }
            return error == .resumable(.interrupted) && error.exitStatus.rawValue == 130
                && error.description == "interrupted; run the same command again to resume"
        }
        #expect(try folder.contents() == [left])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(left))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").count == 1)
        #expect(gateway.task.isDeleted)

        succeed(gateway.second, resumedAt: 200_000)
        // Another process: its count of interrupts begins at none.
        let second = try TransferBench(bench)
        _ = try await second.get { order in
            order.connections = 4
            order.options.maximumBytesPerSecond = 5
        }
        try expectWholeFile(gateway.second)
        #expect(second.log.notes.first == "resuming at 195 KiB of 293 KiB")
        let body = try #require(try creations().last)
        #expect(body["resumeData"]?.string == "Ym-xv_Yg")
        #expect(body["request"] == nil)
        #expect(body["connections"]?.int64 == 4)
        #expect(body["maximumBytesPerSecond"]?.int64 == 5)
    }

    @Test func `what was left stays where it cannot be written anew`() async throws {
        stall()
        gateway.task.update { $0.resumeData = "Ym-xv_Yg" }
        let run = Task { try await bench.get() }
        try await eventually { try folder.contents() == ["a.iso.part", left] }
        // Where the draft of the new one would be, there is something.
        let draft = folder.file("\(left).\(getpid())")
        #expect(mkdir(draft, 0o700) == 0)
        bench.interrupt()
        await #expect(throws: ClientError.resumable(.interrupted)) { try await run.value }
        #expect(rmdir(draft) == 0)
        #expect(try folder.contents() == [left])
        #expect(try ResumeFile.read(for: folder.file("a.iso"))?.task == gateway.task.id)
        #expect(!gateway.task.isDeleted)
        #expect(bench.log.notes == [])
    }

    @Test func `Ctrl-C leaves nothing where nothing can be resumed (S-34)`() async throws {
        stall()
        let run = Task { try await bench.get() }
        try await eventually { try folder.contents() == ["a.iso.part", left] }
        bench.interrupt()
        await #expect(throws: ClientError.interrupted) { try await run.value }
        #expect(try folder.contents() == [])
        #expect(gateway.task.isDeleted)
    }

    @Test func `Ctrl-C pressed again leaves nothing, however slow the gateway is`() async throws {
        stall()
        let gate = Gate()
        gateway.origin.on(FakeGateway.taskPath + "/cancel") { [task = gateway.task] exchange in
            if exchange.request.attempt == 1 { try exchange.stall(until: gate) }
            task.update { $0.state = "completed" }
            try exchange.answer(202, [:], task.json)
        }
        gateway.task.update { $0.resumeData = "Ym-xv_Yg" }
        let run = Task { try await bench.get() }
        try await eventually { try folder.contents() == ["a.iso.part", left] }
        bench.interrupt()
        try await gateway.origin.waitForRequests(1, for: FakeGateway.taskPath + "/cancel")
        bench.interrupt()
        await #expect(throws: ClientError.interrupted) { try await run.value }
        #expect(try folder.contents() == [])
        #expect(gateway.task.isDeleted)
        let cancels = gateway.requests("POST", FakeGateway.taskPath + "/cancel")
        #expect(cancels.count == 2)
        gate.open()
    }

    @Test(arguments: [1, 65_535, 65_536, 123_457, 299_999])
    func `Ctrl-C while the content is fetched keeps what has come`(_ count: Int) async throws {
        let size = size
        gateway.onEvents { [task = gateway.task] exchange in
            try exchange.openStream()
            try exchange.response(length: size)
            task.complete(length: size)
            try exchange.complete()
        }
        gateway.onContent { exchange in
            guard exchange.request.attempt == 1 else { return try Self.content(size)(exchange) }
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: count)
            try exchange.stall()
        }
        let first = Task { try await bench.get() }
        let part = folder.file("a.iso.part")
        try await eventually {
            let attributes = try? FileManager.default.attributesOfItem(atPath: part)
            return attributes?[.size] as? Int == count
                && gateway.requests("GET", FakeGateway.taskPath).count > 0
        }
        bench.interrupt()
        await #expect(throws: ClientError.resumable(.interrupted)) { try await first.value }
        #expect(try folder.contents() == ["a.iso.part", left])
        #expect(!gateway.task.isDeleted)
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").isEmpty)

        let second = try TransferBench(bench)
        _ = try await second.get()
        try expectWholeFile(gateway.task)
        #expect(second.log.notes.first == "going on with tsk_1")
        let contents = gateway.requests("GET", FakeGateway.taskPath + "/content")
        #expect(contents.map { $0.headers["Range"] } == [nil, "bytes=\(count)-"])
        #expect(try creations().count == 1)
    }

    @Test(arguments: [
        "bytes 99-299999/300000", "bytes 1000-1000/300000", "bytes */300000", nil,
    ])
    func `an answer to a range that is not what was asked for is not spliced in`(
        _ range: String?
    ) async throws {
        try leave(task: "tsk_1", partialLength: 1000)
        gateway.task.complete(length: size)
        gateway.onContent { [size] exchange in
            guard exchange.request.attempt == 1 else { return try Self.content(size)(exchange) }
            guard let range else {
                return try exchange.answer(200, [:], Pattern.bytes(count: size))
            }
            try exchange.answer(206, ["Content-Range": range], [0])
        }
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
    }

    // MARK: The next command

    @Test(arguments: [#""/resumeData""#, "null"])
    func `resume data that the gateway refuses is forgotten (S-36)`(
        _ pointer: String
    ) async throws {
        try leave(resumeData: "spoilt")
        gateway.origin.on(FakeGateway.creation) { [task = gateway.task] exchange in
            let body = try exchange.readWholeBody()
            guard String(decoding: body, as: UTF8.self).contains("spoilt") else {
                return try exchange.answer(201, [:], task.json)
            }
            let problem =
                #"{"status":422,"code":"bad-resume-data","detail":"No.","pointer":\#(pointer)}"#
            try exchange.answer(422, [:], problem)
        }
        succeed(gateway.task, status: 200)
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
        let line = try #require(bench.log.notes.first)
        #expect(line.hasPrefix("starting over: the gateway cannot resume: No"))
        #expect(try creations().map { $0["request"] != nil } == [false, true])
    }

    @Test func `a refusal of something else keeps what was left`() async throws {
        try leave(resumeData: "good")
        gateway.origin.on(FakeGateway.creation) { exchange in
            try exchange.readWholeBody()
            let problem =
                #"{"status":422,"code":"bad-value","detail":"No.","pointer":"/connections"}"#
            try exchange.answer(422, [:], problem)
        }
        await #expect {
            try await bench.get()
        } throws: { error in
            guard case ClientError.resumable(.refused(let problem)) = error else { return false }
            return problem.pointer == "/connections"
        }
        #expect(try folder.contents() == [left])
    }

    @Test func `a file that has changed is fetched from its beginning, and that is said (S-36)`()
        async throws
    {
        try leave(resumeData: "good")
        succeed(gateway.task, status: 200)
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
        #expect(
            bench.log.notes.first
                == "starting over: the server has something else there by now")
    }

    @Test func `a resumed request that the server refuses is made anew`() async throws {
        try leave(resumeData: "good")
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.response(403)
            try exchange.stall()
        }
        succeed(gateway.second, status: 200)
        _ = try await bench.get { $0.headers.append("Authorization", "Bearer new") }
        try expectWholeFile(gateway.second)
        #expect(gateway.task.isDeleted)
        let request = try creations().last?["request"]
        #expect(request?["headers"]?["Authorization"]?.string == "Bearer new")
    }

    @Test func `what was left of another URL is not resumed with`() async throws {
        try leave(url: "http://host/b.iso", resumeData: "good", partialLength: 5)
        succeed(gateway.task, status: 200)
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
        #expect(try creations().first?["resumeData"] == nil)
    }

    @Test func `without a name, what was left is found by the URL`() async throws {
        try leave(resumeData: "good")
        try folder.write("z.iso.resume", Array("no JSON".utf8))
        try ResumeFile(url: "http://host/c", resumeData: "other").write(for: folder.file("c"))
        succeed(gateway.task, resumedAt: 5)
        let receipt = try await bench.get(output: folder.path)
        #expect(receipt.path == folder.file("a.iso"))
        #expect(try folder.contents() == ["a.iso", "c.resume", "z.iso.resume"])
        #expect(try creations().first?["resumeData"]?.string == "good")
    }

    @Test func `what others could have written is not used, and that is said`() async throws {
        try leave(resumeData: "good")
        chmod(folder.file(left), 0o666)
        succeed(gateway.task, status: 200)
        _ = try await bench.get()
        #expect(try creations().first?["resumeData"] == nil)
        let line = try #require(bench.log.notes.first)
        #expect(line.hasPrefix("starting over: ") && line.hasSuffix("its mode must be 0600"))
    }

    @Test func `a file of somebody else's with that name is not touched`() async throws {
        try folder.write(left, Array("mine".utf8))
        chmod(folder.file(left), 0o600)
        stall()
        gateway.task.update { $0.resumeData = "good" }
        let run = Task { try await bench.get() }
        try await eventually { try folder.contents() == ["a.iso.part", left] }
        bench.interrupt()
        await #expect(throws: ClientError.interrupted) { try await run.value }
        #expect(try folder.contents() == [left])
        #expect(try folder.read(left) == Array("mine".utf8))
        let line = try #require(bench.log.notes.first)
        #expect(line.hasPrefix("nothing is left to resume: "))
        #expect(gateway.task.isDeleted)
    }
}
