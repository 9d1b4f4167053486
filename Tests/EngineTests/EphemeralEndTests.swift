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
        let house = try await House.open()
        let session = try await house.cachingSession(.ephemeral) {
            $0.httpMaximumConnectionsPerHost = 2
        }
        weak let live = house.gateway.sessions.directory[session]
        weak var file: ContentFile?
        let specs = try (0..<6).map { number in
            try house.spec(way == 8 ? .download : .data, "http://a.test/\(number)") {
                if way == 1 { $0.delivery = .stream }
            }
        }
        let tasks = try await house.gateway.tasks.create(specs, in: session, of: house.tenant)
            .map(\.record.id)
        let first = try await house.network.attempt(0)
        let fresh: HeaderList = [
            "Cache-Control": "max-age=60", "Content-Length": "32769", "ETag": "\"a\"",
        ]
        switch way {
        case 0:
            first.answer(200, [:], Pattern.bytes(count: 32_769))
            try await house.recorder.end(of: tasks[0])
            file = house.gateway.sessions.directory[session]?.unnamedFiles[tasks[0]]
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
            await house.turn()
            first.end()
            await house.turn()
        case 4:
            first.answer(302, ["Location": "/next"])
            await house.quiet()
        case 5:
            first.head(200, fresh)
            first.body(Pattern.bytes(count: 32_769))
            first.end(.url(.networkConnectionLost))
        case 6:
            first.answer(200, fresh, Pattern.bytes(count: 32_769))
            try await house.gateway.sessions.reset(session, of: house.tenant)
        case 7:
            first.head(200, fresh)
            first.body(Pattern.bytes(count: 32_769))
            _ = try await house.gateway.tasks.suspend(tasks[0], of: house.tenant)
            first.end()
        default:
            first.head(200, fresh)
            first.body(Pattern.bytes(count: 40_000))
        }
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .cancelTasks)
        try await house.recorder.end(of: session)
        await house.quiet()
        #expect(live != nil)
        if let session = live { house.gateway.sessions.ending.forget(session) }
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
        let house = try await House.open()
        let session = try await house.session(.ephemeral)
        var tasks: [TaskID] = []
        for number in 0..<60 {
            let task = try await house.create(try house.spec(), in: session)
            let length = number == 0 ? 3_000_001 : 32_769 + number
            try await house.network.attempt(number).answer(
                200, [:], Pattern.bytes(count: length))
            try await house.recorder.end(of: task)
            tasks.append(task)
        }
        #expect(try openDescriptors(in: house.directory.path) == 2)
        #expect(try house.files().isEmpty)
        for (number, task) in tasks.enumerated() {
            let length = number == 0 ? 3_000_001 : 32_769 + number
            #expect(try await house.read(task) == Pattern.bytes(count: length))
        }
        #expect(
            try await house.read(tasks[0], 1_048_000..<2_097_200)
                == Array(Pattern.bytes(count: 3_000_001)[1_048_000..<2_097_200]))
        let unnamed = house.gateway.tasks.directory.services.unnamed
        #expect(unnamed.diskUsage > 60 * 32_768)
        for task in tasks { try await house.gateway.tasks.delete(task, of: house.tenant) }
        try await eventually("the room to come back") { unnamed.diskUsage == 0 }
        // What comes afterwards has the places of what was there before.
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(60).answer(200, [:], Pattern.bytes(count: 1_500_000))
        try await house.recorder.end(of: task)
        #expect(try await house.read(task) == Pattern.bytes(count: 1_500_000))
    }

    @Test @LoopActor
    func `all ephemeral sessions together have so much memory, and then take no new work`()
        async throws
    {
        var limits = GatewayLimits()
        limits.ephemeralBytes = 1 << 20
        let house = try await House.open(limits: limits)
        let (first, second) = (
            try await house.session(.ephemeral), try await house.session(.ephemeral)
        )
        let durable = try await house.session()
        var tasks: [TaskID] = []
        let spec = try house.spec(resume: false)
        var refusal: GatewayError?
        while refusal == nil, tasks.count < 1000 {
            do throws(GatewayError) {
                tasks += try await house.gateway.tasks.create([spec], in: first, of: house.tenant)
                    .map(\.record.id)
            } catch {
                refusal = error
            }
        }
        #expect(refusal == .memoryFull)
        #expect((100..<400).contains(tasks.count))
        await #expect(throws: GatewayError.memoryFull) {
            try await house.create(try house.spec(), in: second)
        }
        await #expect(throws: GatewayError.memoryFull) { try await house.session(.ephemeral) }
        let other = try await house.create(try house.spec(resume: false), in: durable)
        #expect(try await house.state(other) == .suspended)
        // What ends makes room.
        for task in tasks {
            _ = try await house.gateway.tasks.cancel(task, of: house.tenant)
            try await house.recorder.end(of: task)
            try await house.gateway.tasks.delete(task, of: house.tenant)
        }
        await house.quiet()
        if let session = house.gateway.sessions.directory[first] {
            house.gateway.sessions.ending.forget(session)
        }
        await house.quiet()
        _ = try await house.create(try house.spec(resume: false), in: second)
    }
}
