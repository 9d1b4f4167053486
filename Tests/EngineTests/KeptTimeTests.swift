import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What is kept for a time, while somebody sets the wall clock.
@Suite(.onLoop)
struct KeptTimeTests {
    private static let day = Duration.seconds(86_400)

    /// A gateway with one of everything that is kept for a time.
    @LoopActor
    private final class Scene {
        private(set) var harness: TestGateway
        private let session: SessionID
        private let ended: SessionID
        private let ephemeral: SessionID
        private let task: TaskID
        private let memory: TaskID
        private let broken: TaskID
        private let partial: FileID
        private let whole: FileID
        private var hasRestarted = false

        init() async throws {
            harness = try await TestGateway.open()
            let server = RangeServer(Pattern.bytes(count: 100_000))
            server.cuts[2] = 50_000
            server.serve(harness.network)
            session = try await harness.session()
            ephemeral = try await harness.session(.ephemeral)
            task = try await harness.create(try harness.spec(), in: session)
            try await harness.recorder.end(of: task)
            memory = try await harness.create(try harness.spec(), in: ephemeral)
            try await harness.recorder.end(of: memory)
            broken = try await harness.create(try harness.spec(.download), in: session)
            try await harness.recorder.end(of: broken)
            ended = try await harness.session()
            try await harness.gateway.sessions.invalidate(ended, of: harness.tenant, .finishTasks)
            try await harness.recorder.end(of: ended)
            partial = try await harness.file()
            whole = try await harness.file([1])
            _ = try await create()
            await harness.gateway.housekeeper.makeRound()
        }

        /// Whether the request with the key was done just now, and not before.
        @discardableResult
        private func create() async throws -> Bool {
            let creation = try await harness.gateway.creations.once(
                CreationRequest(key: "key", fingerprint: [1]), of: harness.tenant
            ) { ticket in
                try await harness.gateway.queues.onDisk.acknowledged([1], under: ticket)
            }
            if case .new = creation { return true }
            return false
        }

        /// What of it is still there.
        func found() async throws -> Set<String> {
            await harness.gateway.housekeeper.makeRound()
            harness.clock.advance(by: .seconds(3600))  // the folder is looked through once an hour
            await harness.gateway.housekeeper.makeRound()
            await harness.quiet()
            var found: Set<String> = []
            let (gateway, tenant) = (harness.gateway, harness.tenant)
            func look(_ name: String, _ isThere: Bool) { if isThere { found.insert(name) } }
            look("task", (try? await gateway.tasks.read(task, of: tenant)) != nil)
            look("session", gateway.sessions.directory[ended] != nil)
            let events = EventQuery(stream: .session(session), after: 0, limit: 1)
            look("events", try await !gateway.queues.onDisk.store.events(events).isEmpty)
            if !hasRestarted {
                look("memory", (try? await gateway.tasks.read(memory, of: tenant)) != nil)
                let events = EventQuery(stream: .session(ephemeral), after: 0, limit: 1)
                look(
                    "memory's events",
                    try await !gateway.queues.inMemory.store.events(events).isEmpty)
            }
            let path = ContentFolder(path: harness.directory.path).keptPath(of: broken, in: tenant)
            look("part", FileManager.default.fileExists(atPath: path))
            look("upload", harness.stagedFiles.contains(partial))
            look("file", harness.stagedFiles.contains(whole))
            look(
                "key",
                try await gateway.queues.onDisk.store.creation(of: "key", of: tenant) != nil)
            return found
        }

        func restart(machine: Bool) async throws {
            await harness.gateway.stop()
            if machine { harness.clock.restartMachine() }
            hasRestarted = true
            harness = try await TestGateway(
                store: ScriptedStore(disk: harness.store.disk), clock: harness.clock,
                directory: harness.directory)
            await harness.gateway.start()
        }
    }

    private static let all: Set<String> = [
        "task", "session", "events", "memory", "memory's events", "part", "upload", "file", "key",
    ]
    private static let ofAWeek: Set<String> = ["task", "memory", "part", "file"]
    private static let ofMemory: Set<String> = ["memory", "memory's events"]

    @Test(arguments: [.zero, day, .zero - day, day * 365, .zero - day * 365])
    @LoopActor
    func `a jump of the wall clock makes nothing older or younger (R-14)`(
        jump: Duration
    ) async throws {
        let scene = try await Scene()
        scene.harness.clock.jump(by: jump)
        #expect(try await scene.found() == Self.all)
        scene.harness.clock.advance(by: Self.day)
        #expect(try await scene.found() == Self.ofAWeek)
        scene.harness.clock.jump(by: .zero - jump)
        #expect(try await scene.found() == Self.ofAWeek)
        scene.harness.clock.advance(by: Self.day * 6)
        #expect(try await scene.found() == [])
    }

    @Test(arguments: [day, .zero - day, day * 365, .zero - day * 365], [true, false])
    @LoopActor
    func `nor does one before or after a restart (R-14)`(
        jump: Duration, isOfMachine: Bool
    ) async throws {
        let scene = try await Scene()
        scene.harness.clock.jump(by: jump)
        try await scene.restart(machine: isOfMachine)
        #expect(try await scene.found() == Self.all.subtracting(Self.ofMemory))
        scene.harness.clock.jump(by: .zero - jump)
        #expect(try await scene.found() == Self.all.subtracting(Self.ofMemory))
        try await scene.restart(machine: isOfMachine)
        #expect(try await scene.found() == Self.all.subtracting(Self.ofMemory))
        scene.harness.clock.advance(by: Self.day)
        #expect(try await scene.found() == Self.ofAWeek.subtracting(Self.ofMemory))
        scene.harness.clock.advance(by: Self.day * 6)
        #expect(try await scene.found() == [])
    }

    @Test(arguments: [true, false]) @LoopActor
    func `the time in which the gateway was stopped counts`(isOfMachine: Bool) async throws {
        let scene = try await Scene()
        await scene.harness.gateway.stop()
        scene.harness.clock.advance(by: Self.day)
        try await scene.restart(machine: isOfMachine)
        #expect(try await scene.found() == Self.ofAWeek.subtracting(Self.ofMemory))
    }

    @Test @LoopActor
    func `a crash after a jump has the clock of before (R-14)`() async throws {
        let harness = try await TestGateway.open()
        let key = CreationRequest(key: "key", fingerprint: [1])
        _ = try await harness.gateway.creations.once(key, of: harness.tenant) { ticket in
            try await harness.gateway.queues.onDisk.acknowledged([1], under: ticket)
        }
        await harness.gateway.housekeeper.makeRound()
        harness.clock.jump(by: Self.day * 2)
        await harness.gateway.housekeeper.makeRound()
        await harness.quiet()
        harness.clock.restartMachine()
        let next = try await harness.crash()
        await next.gateway.start()
        await next.gateway.housekeeper.makeRound()
        #expect(try await next.store.creation(of: "key", of: next.tenant) != nil)
    }

    @Test @LoopActor
    func `what people read is the wall clock's, also of when a file will go (R-14)`() async throws {
        let harness = try await TestGateway.open()
        harness.clock.jump(by: Self.day)
        let file = try harness.gateway.files.record(try await harness.file(), of: harness.tenant)
        #expect(file.createdAt == harness.clock.now)
        let end = file.createdAt.milliseconds + 86_400_000
        #expect(harness.gateway.files.expiry(of: file).milliseconds == end)
        harness.clock.jump(by: .zero - Self.day)
        #expect(harness.gateway.files.expiry(of: file).milliseconds == end - 86_400_000)
        #expect(harness.gateway.files.timeToLive(of: file) == Self.day)
    }
}
