import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What a crash beside a commit leaves of the part of a download: it is neither fetched again nor
/// lost (S-35, S-36, R-2).
@Suite(.onLoop)
struct PartCrashTests {
    private static let bytes = Pattern.bytes(count: 5_000_001)
    private static let fields: HeaderList = [
        "ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "5000001",
    ]

    /// A download that a checkpoint was made of, and whose whole file has its name but no commit.
    @LoopActor
    private func crashedAtItsEnd(
        _ type: SessionType
    ) async throws -> (next: TestGateway, session: SessionID, task: TaskID) {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            type, identifier: type == .background ? "files" : nil)
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, Self.fields)
        attempt.body(Array(Self.bytes.prefix(3_000_000)))
        try await eventually("a checkpoint") {
            try await harness.store.disk.task(task, of: harness.tenant)?.checkpoint != nil
        }
        harness.store.hold()
        attempt.body(Array(Self.bytes.dropFirst(3_000_000)))
        attempt.end()
        try await eventually("the whole file") {
            try harness.files().contains { $0.hasSuffix("/\(task)") }
        }
        let next = try await harness.crash()
        return (next, session, task)
    }

    @Test @LoopActor
    func `a background download that was whole goes on from its checkpoint`() async throws {
        let (next, _, task) = try await crashedAtItsEnd(.background)
        let server = RangeServer(Self.bytes)
        server.serve(next.network)
        await next.gateway.start()
        #expect(try await next.finished(task).error == nil)
        let offset = server.ranges.first??.dropFirst(6).dropLast()
        #expect(server.ranges.count == 1 && offset.flatMap { Int($0) } ?? 0 > 0)
        #expect(try await next.read(task) == Self.bytes)
        #expect(try next.files().map { $0.hasSuffix("/\(task)") } == [true])
    }

    @Test @LoopActor
    func `one of a default session that was whole leaves resume data`() async throws {
        let (next, session, task) = try await crashedAtItsEnd(.default)
        await next.gateway.start()
        let record = try await next.finished(task)
        #expect(record.error?.code == -997)
        let data = try #require(record.resumeData)
        let server = RangeServer(Self.bytes)
        server.serve(next.network)
        let second = try await next.resume(data, in: session)
        #expect(try await next.finished(second).error == nil)
        #expect(server.ranges.count == 1 && server.ranges[0] != nil)
        #expect(try await next.read(second) == Self.bytes)
    }

    @Test @LoopActor
    func `a part is taken only by a task that the store has`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let server = RangeServer(Self.bytes)
        server.serve(harness.network)
        server.cuts[0] = 1_000_000
        let first = try await harness.create(try harness.spec(.download), in: session)
        let record = try await harness.finished(first)
        let data = try #require(record.resumeData)
        await harness.quiet()
        harness.store.hold()
        let offered = harness.store.attemptCount
        let lost = LoopActor.start { try? await harness.resume(data, in: session) }
        try await eventually("the commit") { harness.store.attemptCount > offered }
        await harness.turn()
        let next = try await harness.crash()
        await next.gateway.start()
        await next.gateway.housekeeper.makeRound()
        server.serve(next.network)
        let second = try await next.resume(data, in: session)
        #expect(try await next.finished(second).error == nil)
        #expect(server.ranges == [nil, "bytes=1000000-"])
        #expect(try await next.read(second) == Self.bytes)
        _ = lost
    }

    @Test @LoopActor
    func `where the place of the whole is refused, the part stays as resume data (S-35)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let server = RangeServer(Self.bytes)
        server.held = [0]
        server.serve(harness.network)
        let first = try await harness.create(try harness.spec(.download), in: session)
        // A folder where the file should be.
        let place = harness.directory.file(ContentFolder.name(of: first))
        try FileManager.default.createDirectory(
            atPath: place + "/a", withIntermediateDirectories: true)
        server.answer(try await harness.network.attempt(0), 0)
        let record = try await harness.finished(first)
        #expect(record.error?.code == -3003 && record.content == nil)
        let data = try #require(record.resumeData)
        let second = try await harness.resume(data, in: session)
        #expect(try await harness.finished(second).error == nil)
        #expect(try await harness.read(second) == Self.bytes)
        #expect(server.ranges.count <= 2 && server.ranges.dropFirst().allSatisfy { $0 != nil })
    }
}
