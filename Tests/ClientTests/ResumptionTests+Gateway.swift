import Foundation
import JSON
import TestSupport
import Testing

@testable import Client

/// A gateway that stops, or is away.
extension ResumptionTests {
    @Test func `after a stop of the gateway it resumes by itself (S-56)`() async throws {
        gateway.onEvents { [size] exchange in
            try exchange.openStream()
            try exchange.response(length: size)
            try exchange.complete(error: FakeGateway.stopped("b64"))
        }
        gateway.onContent { [size] exchange in
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: 500)
            exchange.reset()
        }
        succeed(gateway.second, resumedAt: 200_000)
        _ = try await bench.get()
        try expectWholeFile(gateway.second)
        #expect(gateway.task.isDeleted)
        #expect(
            bench.log.notes.prefix(2) == [
                "the gateway was stopped; resuming", "resuming at 195 KiB of 293 KiB",
            ])
        #expect(try creations().last?["resumeData"]?.string == "b64")
    }

    @Test func `resumptions that bring nothing come to an end (S-56)`() async throws {
        for path in [FakeGateway.taskPath, FakeGateway.secondPath] {
            gateway.onEvents(path) { exchange in
                try exchange.openStream()
                try exchange.complete(error: FakeGateway.stopped("b64"))
            }
        }
        await #expect {
            try await bench.get()
        } throws: { error in
            guard case ClientError.resumable(.transferFailed(let failure)) = error else {
                return false
            }
            return failure.code == -997
        }
        #expect(try creations().count == 6)
        #expect(try folder.contents() == [left])
    }

    @Test func `a failure with resume data leaves it (S-35)`() async throws {
        let error = FakeGateway.stopped("b64").replacing("-997", with: "-1005")
        gateway.onEvents { [size] exchange in
            try exchange.openStream()
            try exchange.response(length: size)
            try exchange.complete(error: error)
        }
        gateway.onContent { try $0.answer(409) }
        await #expect {
            try await bench.get()
        } throws: { error in
            guard let error = error as? ClientError, error.exitStatus == .transferFailed,
                let json = try? JSONValue(parsing: Array(error.json.utf8))["error"]
            else { return false }
            return json["resumable"]?.bool == true && json["code"]?.int64 == -1005
        }
        #expect(try ResumeFile.read(for: folder.file("a.iso"))?.resumeData == "b64")
        #expect(gateway.task.isDeleted)
    }

    @Test
    func `a gateway that stays away has the transfer still, and the next command takes it up`()
        async throws
    {
        gateway.onEvents { [size] exchange in
            guard exchange.request.attempt == 1 else { return exchange.reset() }
            try exchange.openStream()
            try exchange.response(length: size)
            exchange.reset()
        }
        gateway.onContent { $0.reset() }
        await #expect {
            try await bench.get(persistence: { $0.events.absence = .milliseconds(50) })
        } throws: { error in
            guard case ClientError.resumable(.unreachable) = error else { return false }
            return true
        }
        #expect(try folder.contents() == [left])
        #expect(!gateway.task.isDeleted)

        succeed(gateway.task, status: 200)
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
        #expect(try creations().count == 1)
    }

    @Test func `a task that has failed meanwhile is resumed, or made anew`() async throws {
        try leave(task: "tsk_2")
        gateway.second.update {
            $0.state = "completed"
            $0.error = FakeGateway.stopped("b64")
        }
        succeed(gateway.task, resumedAt: 7)
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
        #expect(gateway.second.isDeleted)
        #expect(try creations().first?["resumeData"]?.string == "b64")

        let other = try TransferBench()
        try ResumeFile(url: "http://host/a.iso", task: "tsk_2")
            .write(for: other.folder.file("a.iso"))
        other.gateway.second.update {
            $0.state = "completed"
            $0.error = FakeGateway.notFound
        }
        other.gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.complete(error: FakeGateway.notFound)
        }
        await #expect(throws: ClientError.self) { try await other.get() }
        #expect(other.log.notes == ["starting over: cannotFindHost (-1003): no such host"])
        #expect(try other.folder.contents() == [])
    }

    @Test func `a task that the gateway has forgotten is made anew, or from what is left`()
        async throws
    {
        gateway.origin.on("/v1/tasks/tsk_9", .fixed(404, [:], #"{"code":"unknown-task"}"#))
        try leave(task: "tsk_9", resumeData: "b64", partialLength: 10)
        succeed(gateway.task, resumedAt: 7)
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
        #expect(try creations().first?["resumeData"]?.string == "b64")

        try FileManager.default.removeItem(atPath: folder.file("a.iso"))
        try leave(task: "tsk_9", partialLength: 10)
        succeed(gateway.second, status: 200)
        _ = try await bench.get()
        try expectWholeFile(gateway.second)
        #expect(
            bench.log.notes.contains("starting over: this gateway does not know the transfer"))
    }

    @Test(arguments: [401, 403, 429, 500])
    func `a gateway that lets nobody in has the transfer still`(_ status: Int) async throws {
        gateway.onEvents { [size] exchange in
            guard exchange.request.attempt == 1 else { return try exchange.answer(status) }
            try exchange.openStream()
            try exchange.response(length: size)
            exchange.reset()
        }
        gateway.onContent { $0.reset() }
        let problem = ProblemDetails(status: status, code: nil, detail: "")
        await #expect(throws: ClientError.resumable(.refused(problem))) {
            try await bench.get(persistence: { $0.events.absence = .milliseconds(50) })
        }
        #expect(try folder.contents() == [left])
        #expect(!gateway.task.isDeleted)
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").isEmpty)

        succeed(gateway.task, status: 200)
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
        #expect(try creations().count == 1)
    }

    @Test(arguments: [401, 500, 200])
    func `a content that cannot be had now leaves the task, and what came of it`(
        _ status: Int
    ) async throws {
        succeed(gateway.task, status: 200)
        gateway.onContent { [size] exchange in
            guard status != 200 else { return try exchange.answer(200, [:], "another length") }
            guard exchange.request.attempt == 1 else { return try exchange.answer(status) }
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: 1000)
            exchange.reset()
        }
        await #expect {
            try await bench.get()
        } throws: { error in
            switch error as? ClientError {
            case .resumable(.refused(let problem)): problem.status == status
            case .resumable(.unexpectedAnswer): status == 200
            default: false
            }
        }
        #expect(try folder.contents().last == left)
        #expect(!gateway.task.isDeleted)

        succeed(gateway.task, status: 200)
        _ = try await bench.get()
        try expectWholeFile(gateway.task)
        #expect(try creations().count == 1)
    }

    @Test func `of a task that somebody has deleted nothing is left`() async throws {
        gateway.onEvents { [size] exchange in
            guard exchange.request.attempt == 1 else {
                return try exchange.answer(404, [:], #"{"code":"not-found"}"#)
            }
            try exchange.openStream()
            try exchange.response(length: size)
            exchange.reset()
        }
        gateway.onContent { $0.reset() }
        let problem = ProblemDetails(status: 404, code: "not-found", detail: "")
        await #expect(throws: ClientError.refused(problem)) { try await bench.get() }
        #expect(try folder.contents() == [])
    }
}
