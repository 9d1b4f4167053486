import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What is left of an ephemeral session: nothing (S-2).
@Suite(.onLoop)
struct EphemeralEndTests {
    @Test(arguments: 0..<9) @LoopActor
    func `a session that is forgotten leaves memory, however its tasks have ended (S-2)`(
        way: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(.ephemeral) {
            $0.httpMaximumConnectionsPerHost = 2
        }
        weak let live = harness.gateway.sessions.directory[session]
        weak var file: ContentFile?
        let specs = try (0..<6).map { number in
            try harness.spec(way == 8 ? .download : .data, "http://a.test/\(number)") {
                if way == 1 { $0.delivery = .stream }
            }
        }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        let first = try await harness.network.attempt(0)
        let fresh: HeaderList = [
            "Cache-Control": "max-age=60", "Content-Length": "32769", "ETag": "\"a\"",
        ]
        switch way {
        case 0:
            first.answer(200, [:], Pattern.bytes(count: 32_769))
            try await harness.recorder.end(of: tasks[0])
            file = harness.gateway.sessions.directory[session]?.unnamedFiles[tasks[0]]
            #expect(file != nil)
        case 1:
            first.head(200)
            first.body(Pattern.bytes(count: 32_769))
        case 2:
            first.head(200, fresh)
            first.body(Pattern.bytes(count: 32_769))
            first.end()
        case 3:
            first.head(200, fresh)
            first.body(Pattern.bytes(count: 32_769))
            await harness.turn()
            first.end()
            await harness.turn()
        case 4:
            first.answer(302, ["Location": "/next"])
            await harness.quiet()
        case 5:
            first.head(200, fresh)
            first.body(Pattern.bytes(count: 32_769))
            first.end(.url(.networkConnectionLost))
        case 6:
            first.answer(200, fresh, Pattern.bytes(count: 32_769))
            try await harness.gateway.sessions.reset(session, of: harness.tenant)
        case 7:
            first.head(200, fresh)
            first.body(Pattern.bytes(count: 32_769))
            _ = try await harness.gateway.tasks.suspend(tasks[0], of: harness.tenant)
            first.end()
        default:
            first.head(200, fresh)
            first.body(Pattern.bytes(count: 40_000))
        }
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .cancelTasks)
        try await harness.recorder.end(of: session)
        await harness.quiet()
        #expect(live != nil)
        if let session = live { harness.gateway.sessions.ending.forget(session) }
        try await eventually("the session to leave memory") { live == nil }
        try await eventually("the file to be closed") { file == nil }
    }
}

/// What ephemeral sessions may take of the machine.
@Suite(.onLoop)
struct EphemeralBoundTests {
    /// How many of this process's descriptors are of files in a folder, also of such without a
    /// name.
    private func openDescriptors(in folder: String) throws -> Int {
        let all = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: all).count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "\(all)/\(name)")
            return target?.hasPrefix(folder + "/") ?? false
        }
    }

    @Test @LoopActor
    func `any number of large results costs two descriptors, and gives its room back (S-2, X-12)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(.ephemeral)
        var tasks: [TaskID] = []
        for number in 0..<60 {
            let task = try await harness.create(try harness.spec(), in: session)
            let length = number == 0 ? 3_000_001 : 32_769 + number
            try await harness.network.attempt(number).answer(
                200, [:], Pattern.bytes(count: length))
            try await harness.recorder.end(of: task)
            tasks.append(task)
        }
        #expect(try openDescriptors(in: harness.directory.path) == 2)
        #expect(try harness.files().isEmpty)
        for (number, task) in tasks.enumerated() {
            let length = number == 0 ? 3_000_001 : 32_769 + number
            #expect(try await harness.read(task) == Pattern.bytes(count: length))
        }
        #expect(
            try await harness.read(tasks[0], 1_048_000..<2_097_200)
                == Array(Pattern.bytes(count: 3_000_001)[1_048_000..<2_097_200]))
        let unnamed = harness.gateway.tasks.directory.services.spools.unnamed
        #expect(unnamed.diskUsage > 60 * 32_768)
        for task in tasks { try await harness.gateway.tasks.delete(task, of: harness.tenant) }
        try await eventually("the room to come back") { unnamed.diskUsage == 0 }
        // What comes afterwards has the places of what was there before.
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(60).answer(200, [:], Pattern.bytes(count: 1_500_000))
        try await harness.recorder.end(of: task)
        #expect(try await harness.read(task) == Pattern.bytes(count: 1_500_000))
    }

    @Test @LoopActor
    func `all ephemeral sessions together have so much memory, and then take no new work`()
        async throws
    {
        var limits = GatewayLimits()
        limits.ephemeralBytes = 1 << 20
        let harness = try await TestGateway.open(limits: limits)
        let (first, second) = (
            try await harness.session(.ephemeral), try await harness.session(.ephemeral)
        )
        let durable = try await harness.session()
        var tasks: [TaskID] = []
        let spec = try harness.spec(resume: false)
        var refusal: GatewayError?
        while refusal == nil, tasks.count < 1000 {
            do throws(GatewayError) {
                tasks += try await harness.gateway.tasks.create(
                    [spec], in: first, of: harness.tenant
                )
                .map(\.record.id)
            } catch {
                refusal = error
            }
        }
        #expect(refusal == .memoryFull)
        #expect((100..<400).contains(tasks.count))
        await #expect(throws: GatewayError.memoryFull) {
            try await harness.create(try harness.spec(), in: second)
        }
        await #expect(throws: GatewayError.memoryFull) { try await harness.session(.ephemeral) }
        let other = try await harness.create(try harness.spec(resume: false), in: durable)
        #expect(try await harness.state(other) == .suspended)
        // What ends makes room.
        for task in tasks {
            _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
            try await harness.recorder.end(of: task)
            try await harness.gateway.tasks.delete(task, of: harness.tenant)
        }
        await harness.quiet()
        if let session = harness.gateway.sessions.directory[first] {
            harness.gateway.sessions.ending.forget(session)
        }
        await harness.quiet()
        _ = try await harness.create(try harness.spec(resume: false), in: second)
    }
}
