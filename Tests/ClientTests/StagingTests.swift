import Foundation
import Glibc
import TestSupport
import Testing

@testable import Client

/// How `ferry put` brings a file to the gateway (api: Staged files).
struct StagingTests {
    let bench: TransferBench
    let size = 1_000_003
    var file: ScriptedFile { bench.gateway.file }

    init() throws {
        bench = try TransferBench()
        bench.gateway.onEvents { [task = bench.gateway.task] exchange in
            try exchange.openStream()
            task.update { $0.state = "completed" }
            try exchange.complete()
        }
    }

    private func source(_ count: Int? = nil) throws -> String {
        try bench.folder.write("up", Pattern.bytes(count: count ?? size))
    }

    private func patches() -> [RecordedRequest] {
        bench.gateway.requests("PATCH", ScriptedFile.path)
    }

    private func expectWholeFile(_ count: Int? = nil) {
        #expect(file.isComplete)
        #expect(file.bytes.count == count ?? size)
        #expect(Pattern.firstDifference(in: file.bytes) == nil)
    }

    @Test func `a file is staged in one request, its length announced`() async throws {
        _ = try await bench.put(source())
        expectWholeFile()
        #expect(file.announced == "\(size)")
        let patch = try #require(patches().first)
        #expect(patches().count == 1)
        #expect(patch.headers["Upload-Offset"] == "0")
        #expect(patch.headers["Upload-Complete"] == "?1")
        #expect(patch.headers["Content-Length"] == "\(size)")
        #expect(patch.headers["Authorization"] == "Bearer fry_t")
        #expect(bench.gateway.requests("HEAD", ScriptedFile.path).isEmpty)
    }

    @Test func `an empty file is one, too`() async throws {
        _ = try await bench.put(source(0))
        #expect(file.isComplete && file.bytes.isEmpty)
        #expect(file.announced == "0")
        #expect(patches().map { $0.headers["Content-Length"] } == ["0"])
    }

    @Test func `a file that has bytes and no size is read to its end`() async throws {
        _ = try await bench.put("/proc/version")
        let bytes = try #require(FileManager.default.contents(atPath: "/proc/version"))
        #expect(!bytes.isEmpty && file.isComplete && file.bytes == Array(bytes))
        #expect(file.announced == nil)
    }

    @Test(arguments: 0..<8)
    func `after cuts at any byte it goes on where the gateway is`(_ seed: UInt64) async throws {
        var numbers = SystemRandomNumberGenerator()
        var fates: [ScriptedFile.Fate] = []
        for _ in 0..<12 {
            let count = Int.random(in: 0...200_000, using: &numbers)
            // What was not yet on the disk of a gateway that died.
            let lost = seed.isMultiple(of: 2) ? 0 : Int.random(in: 0...30_000, using: &numbers)
            fates.append(.cut(after: count, losing: lost))
        }
        fates.append(.unanswered)
        file.script(fates)
        _ = try await bench.put(source(), persistence: { $0.tries = 30 })
        expectWholeFile()
        #expect(patches().count > 3, "\(fates)")
        #expect(bench.gateway.requests("POST", "/v1/files").count == 1)
    }

    @Test func `when only the last answer was lost, nothing is sent again`() async throws {
        file.script([.unanswered])
        _ = try await bench.put(source())
        expectWholeFile()
        #expect(patches().count == 1)
        #expect(bench.gateway.requests("HEAD", ScriptedFile.path).count == 1)
    }

    @Test func `at a wrong offset it goes on at the gateway's`() async throws {
        let (path, size) = (ScriptedFile.path, size)
        let file = file
        bench.gateway.origin.on(path) { exchange in
            // The gateway knows more of the first request than it told.
            if exchange.request.method == "HEAD", exchange.request.attempt == 2 {
                return try exchange.answer(200, ["Upload-Offset": "5", "Upload-Complete": "?0"])
            }
            try file.answer(exchange)
        }
        file.script([.cut(after: 400_000)])
        _ = try await bench.put(source())
        expectWholeFile()
        let offsets = patches().map { $0.headers["Upload-Offset"] }
        #expect(offsets == ["0", "5", "400000"])
        #expect(patches().last?.bodyLength == size - 400_000)
    }

    @Test func `an overloaded gateway is waited for`() async throws {
        file.script([.refused(503, "overloaded"), .cut(after: 10), .refused(409, "file-busy")])
        _ = try await bench.put(source())
        expectWholeFile()
    }

    @Test func `without progress it is given up, and the staged file with it`() async throws {
        file.script(Array(repeating: .cut(after: 0), count: 50))
        await #expect {
            try await bench.put(source(), persistence: { $0.tries = 5 })
        } throws: { error in
            (error as? ClientError)?.exitStatus == .noGateway
        }
        #expect(patches().count == 5)
        #expect(file.isDeleted)
        #expect(bench.gateway.requests("POST", FakeGateway.creation).isEmpty)
    }

    @Test func `every bit of progress counts`() async throws {
        file.script(Array(repeating: .cut(after: 10_000), count: 50))
        _ = try await bench.put(source(), persistence: { $0.tries = 3 })
        expectWholeFile()
        #expect(patches().count == 51)
    }

    @Test func `an upload that stands still counts as cut`() async throws {
        file.script([.stalled(after: 300_000)])
        _ = try await bench.put(source(), persistence: { $0.silence = .milliseconds(300) })
        expectWholeFile()
        // More where the machine stands still as long as that.
        #expect(patches().count >= 2)
    }

    @Test(arguments: [(413, "file-too-large"), (507, "quota-exceeded"), (404, "unknown-file")])
    func `a refusal is told, and nothing is left`(_ status: Int, _ code: String) async throws {
        file.script([.refused(status, code)])
        await #expect {
            try await bench.put(source())
        } throws: { error in
            guard case ClientError.refused(let problem) = error else { return false }
            return problem.status == status && problem.code == code
        }
        #expect(file.isDeleted)
        #expect(bench.log.notes.isEmpty)
    }

    @Test(arguments: ["0", "99999999", "x", nil])
    func `an offset that cannot be is no endless loop`(_ offset: String?) async throws {
        let file = file
        bench.gateway.origin.on(ScriptedFile.path) { exchange in
            if exchange.request.method == "DELETE" { return try file.answer(exchange) }
            try exchange.readWholeBody()
            var headers: HeaderLines = [:]
            if let offset { headers.append("Upload-Offset", offset) }
            try exchange.answer(204, headers)
        }
        await #expect {
            try await bench.put(source())
        } throws: { error in
            guard case ClientError.unexpectedAnswer = error else { return false }
            return true
        }
        #expect(file.isDeleted)
    }

    @Test(arguments: [500_000, 2_000_000])
    func `a file that changes its size while it is read is an error`(_ newSize: Int) async throws {
        let path = try source()
        let file = file
        bench.gateway.origin.on(ScriptedFile.path) { exchange in
            if exchange.request.method == "HEAD" { truncate(path, newSize) }
            try file.answer(exchange)
        }
        file.script([.cut(after: 400_000)])
        let error = ClientError.unreadable(path: path, detail: "has changed while it was read")
        await #expect(throws: error) { try await bench.put(path) }
        #expect(error.exitStatus.rawValue == 26)
        #expect(!file.isComplete)
        #expect(file.isDeleted)
    }

    @Test func `a pipe is staged piece by piece, and survives cuts (R-9)`() async throws {
        let count = 2 * UploadSource.pieceLength + 123_456
        let path = bench.folder.file("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let writer = Task {
            try await onThread { () throws(ClientError) in
                let descriptor = open(path, O_WRONLY | O_CLOEXEC)
                defer { close(descriptor) }
                _ = Pattern.bytes(count: count).withUnsafeBytes {
                    LocalFile.writeAll($0, to: descriptor)
                }
            }
        }
        file.script([.cut(after: 100_000), .taken, .cut(after: 3_000_001), .unanswered])
        _ = try await bench.put(path)
        try await writer.value
        expectWholeFile(count)
        #expect(file.announced == nil)
        let complete = patches().map { $0.headers["Upload-Complete"] }
        #expect(complete.last == "?1" && complete.dropLast().allSatisfy { $0 == "?0" })
        #expect(patches().allSatisfy { $0.bodyLength <= UploadSource.pieceLength })
    }

    @Test func `bytes of a pipe that the gateway has lost cannot be made up for`() async throws {
        let path = bench.folder.file("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let writer = Task {
            try await onThread { () throws(ClientError) in
                let descriptor = open(path, O_WRONLY | O_CLOEXEC)
                defer { close(descriptor) }
                _ = Pattern.bytes(count: UploadSource.pieceLength + 10).withUnsafeBytes {
                    LocalFile.writeAll($0, to: descriptor)
                }
            }
        }
        file.script([.taken, .cut(after: 5, losing: 6)])
        await #expect {
            try await bench.put(path)
        } throws: { error in
            guard case ClientError.unreadable = error else { return false }
            return true
        }
        try await writer.value
        #expect(file.isDeleted)
    }

    @Test func `Ctrl-C while staging takes the staged file away`() async throws {
        file.script([.stalled(after: 300_000)])
        let path = try source()
        let run = Task { try await bench.put(path) }
        try await eventually { file.bytes.count == 300_000 }
        bench.interrupt()
        await #expect(throws: ClientError.interrupted) { try await run.value }
        #expect(file.isDeleted)
        #expect(bench.gateway.requests("POST", FakeGateway.creation).isEmpty)
    }

    @Test func `Ctrl-C ends the wait for a pipe`() async throws {
        let path = bench.folder.file("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        // Somebody who holds the pipe open and writes nothing.
        let holder = open(path, O_RDWR | O_CLOEXEC)
        defer { close(holder) }
        let run = Task { try await bench.put(path) }
        try await bench.gateway.origin.waitForRequests(1, for: "/v1/files")
        bench.interrupt()
        await #expect(throws: ClientError.interrupted) { try await run.value }
        #expect(file.isDeleted)
    }

    @Test func `a folder and a file that is not there stop it before any request`() async throws {
        for path in [bench.folder.path, bench.folder.file("nothing")] {
            await #expect {
                try await bench.put(path)
            } throws: { error in
                (error as? ClientError)?.exitStatus == .cannotRead
            }
        }
        #expect(bench.gateway.origin.requests.isEmpty)
    }
}

struct StructuredFieldTests {
    @Test(
        arguments: [
            ("0", 0), ("42", 42), (" 42; a=1 ", 42), ("42 ;a=1", nil), ("-1", -1),
            ("999999999999999", 999_999_999_999_999),
            ("1000000000000000", nil), ("", nil), ("4.2", nil), ("?1", nil), ("+1", nil),
            ("1 2", nil), ("1;", nil),
            (nil, nil),
        ] as [(String?, Int64?)])
    func `an integer is read as RFC 9651 has it`(_ field: String?, _ expected: Int64?) {
        #expect(StructuredField.integer(field) == expected)
    }

    @Test(
        arguments: [
            ("?1", true), ("?0", false), ("?1;a", true), ("1", nil), ("true", nil), (nil, nil),
        ] as [(String?, Bool?)])
    func `a Boolean is read as RFC 9651 has it`(_ field: String?, _ expected: Bool?) {
        #expect(StructuredField.boolean(field) == expected)
    }
}
