import Files
import Glibc
import Loop
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine

/// What a node does when tenants come or go: how often it asks the store, and what it does where
/// that does not answer as it should.
@Suite(.onLoop)
struct TakeOverTests {
    private let bench: NodeBench
    /// Tasks that nobody knows.
    private static let strays = (1...5).map { TaskID(rawValue: $0) }

    init() throws { bench = try NodeBench() }

    /// A tenant that a node makes, and another one may have.
    @LoopActor
    private func tenant(
        _ name: String, of first: TestGateway, at node: TestGateway
    ) async throws -> TenantID {
        let made = try await first.gateway.tenants.create(TenantSpec(name: name))
        try await eventually("the tenant") { node.gateway.tenants.name(of: made.id) != nil }
        #expect(try await bench.place(of: made.id, at: node) == .here)
        return made.id
    }

    /// A task in a tenant's shared session.
    @LoopActor
    private func download(
        _ tenant: TenantID, at node: TestGateway, resume: Bool = true
    ) async throws -> TaskID {
        let session = try await node.gateway.sessions.shared(of: tenant)
        let spec = try node.spec(.download, "http://a.test/file", resume: resume)
        let views = try await node.gateway.tasks.create([spec], in: session, of: tenant)
        return try #require(views.first).record.id
    }

    private static func partName(of task: TaskID) -> String {
        ContentName.task(task).path + ContentKind.part.rawValue
    }

    /// Has a node's disk have parts of tasks.
    @LoopActor
    private func writeParts(of tasks: [TaskID], at node: TestGateway) throws {
        for task in tasks { try node.directory.write(Self.partName(of: task), [1, 2, 3]) }
    }

    @Test @LoopActor
    func `what comes is asked about once, however many parts and tenants there are`() async throws {
        let (first, second) = try await bench.pair()
        let other = try await tenant("other", of: first, at: first)
        let own = try await tenant("own", of: first, at: second)
        let coming = [
            try await download(first.tenant, at: first, resume: false),
            try await download(other, at: first, resume: false),
        ]
        let running = try await download(own, at: second)
        let attempt = try await second.network.attempt(0)
        attempt.head(200, ["ETag": "\"1\"", "Accept-Ranges": "bytes"])
        attempt.body(Pattern.bytes(count: 300_000))
        let session = try await second.gateway.sessions.shared(of: own)
        try await second.gateway.sessions.flush(session, of: own)
        try writeParts(of: coming + Self.strays, at: second)
        await first.quiet()
        let (reads, counts) = (second.store.tenantReads.count, second.store.byteCounts.count)

        try bench.kill(first)
        try await eventually("the tenants to arrive") {
            try bench.service(second).servedCount == 3
        }
        #expect(second.store.tenantReads.dropFirst(reads) == [Set(coming + Self.strays)])
        #expect(second.store.taskReads.isEmpty)
        #expect(second.store.byteCounts.dropFirst(counts) == [[first.tenant, other]])
        try await eventually("what is not the newest to go") {
            let files = try second.files()
            return coming.allSatisfy { !files.contains(Self.partName(of: $0)) }
        }
        let files = try second.files()
        for task in Self.strays + [running] { #expect(files.contains(Self.partName(of: task))) }
    }

    @Test @LoopActor
    func `what goes is asked about once, and only what is the tenant's is looked up`() async throws
    {
        let (first, second) = try await bench.pair()
        let task = try await download(first.tenant, at: first)
        let attempt = try await first.network.attempt(0)
        attempt.head(200, ["ETag": "\"1\"", "Accept-Ranges": "bytes"])
        attempt.body(Pattern.bytes(count: 100_000))
        try writeParts(of: Self.strays, at: first)
        try await bench.drain(first)
        try await eventually("the tenant to arrive") { try bench.service(second).servedCount == 1 }
        #expect(first.store.tenantReads == [Set(Self.strays + [task])])
        #expect(first.store.taskReads == [task])
        try await eventually("its part to go, and no other") {
            Set(try first.files()) == Set(Self.strays.map(Self.partName))
        }
    }

    @Test @LoopActor
    func `a part that cannot be handed over keeps no other one from the next node (R-2)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let session = try await first.session()
        let (lost, _) = try await bench.halfDownload(at: first, in: session)
        let (kept, _) = try await bench.halfDownload(at: first, in: session)
        let file = try await first.file()
        let bytes = Pattern.bytes(count: 200_000)
        try await first.append(Array(bytes.prefix(100_000)), to: file)
        first.store.refuseReads(of: lost, with: .damaged("It cannot be read."))
        try await bench.drain(first)
        try await bench.arrival(of: first.tenant, at: second)

        let attempts = [try await second.network.attempt(0), try await second.network.attempt(1)]
        let goesOn = try #require(
            attempts.first { $0.request.headers.first("Range") != nil }, "both begin anew")
        try await bench.finishSecondHalf(of: kept, by: goesOn, at: second)
        let anew = try #require(attempts.first { $0 !== goesOn })
        bench.sendFirstHalf(by: anew)
        bench.sendSecondHalf(by: anew)
        anew.end()
        try await eventually("the other end") { try await second.state(lost) == .completed }
        try await second.append(Array(bytes.dropFirst(100_000)), to: file, completes: true)
        let uploaded = try await second.bytes(of: file)
        #expect(uploaded.count == bytes.count && Pattern.firstDifference(in: uploaded) == nil)
    }

    @Test @LoopActor
    func `a part that a crash has left of a completed download is not handed over`() async throws {
        let (first, second) = try await bench.pair()
        let task = try await download(first.tenant, at: first)
        try await first.network.attempt(0).answer(200, [:], Pattern.bytes(count: 400_000))
        _ = try await first.finished(task)
        await first.quiet()
        try writeParts(of: [task], at: first)
        let count = first.place?.wholeCount
        try await bench.drain(first)
        try await bench.arrival(of: first.tenant, at: second)
        #expect(first.place?.wholeCount == count)
        try await eventually("the part to go") { try first.files().isEmpty }
        #expect(try await second.read(task).count == 400_000)
    }

    @Test @LoopActor
    func `a look-up that crosses the tenant's leaving leaves nothing in memory (S-57)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let task = try await download(first.tenant, at: first, resume: false)
        await first.quiet()
        let directory = first.gateway.tasks.directory
        directory.dropRecords()
        first.store.holdReads()
        let read = LoopActor.start { try await directory.read(task, TenantID.operatorTenant) }
        try await eventually("the look-up") { first.store.heldReadCount == 1 }
        try await bench.drain(first)
        try await bench.arrival(of: first.tenant, at: second)
        first.store.releaseReads()
        #expect(try await read.value.record.id == task)
        #expect(!directory.holds(task))
        // And one that begins behind it.
        _ = try await directory.read(task, first.tenant)
        #expect(!directory.holds(task))
    }

    @Test @LoopActor
    func `before a tenant is settled nothing is left of its old parts (R-3)`() async throws {
        let (first, second) = try await bench.pair()
        var tasks: [TaskID] = []
        for _ in 0..<100 {
            tasks.append(try await download(first.tenant, at: first, resume: false))
        }
        try writeParts(of: tasks, at: second)
        let left = Mutex<Int?>(nil)
        try #require(second.node).beforeSettling { [directory = second.directory] in
            let names = try? directory.contents().filter { $0.hasSuffix(".part") }
            left.withLock { $0 = names?.count }
        }
        await first.quiet()
        try bench.kill(first)
        try await bench.arrival(of: first.tenant, at: second)
        #expect(left.withLock { $0 } == 0)
    }

    @Test @LoopActor
    func `a tenant that another node gets before it is settled is not served here`() async throws {
        let (first, second) = (try await bench.node(1), try await bench.node(2))
        let other = try await tenant("other", of: first, at: first)
        #expect(try await bench.place(of: first.tenant, at: first) == .here)
        let rests = [
            try await download(first.tenant, at: first, resume: false),
            try await download(other, at: first, resume: false),
        ]
        await first.quiet()
        // It comes when the tenants have been given to the second one.
        try #require(second.node).beforeSettling { [shared = bench.shared] in
            if let third = try? shared.join(3) { shared.move(other, to: third.node) }
        }
        try bench.kill(first)
        try await eventually("one to arrive") { try bench.service(second).servedCount == 1 }
        #expect(try await second.state(rests[0]) == .suspended)
        let found = try await bench.place(of: other, at: second)
        guard case .at(let record) = found else {
            Issue.record("\(found)")
            return
        }
        #expect(record.id.rawValue == 3)
        #expect(second.store.byteCounts.suffix(1) == [[first.tenant]], "it was never here")
        #expect(second.gateway.sessions.existingShared(of: other) == nil)
        #expect(second.gateway.sessions.existingShared(of: first.tenant) != nil)
    }

    @Test @LoopActor
    func `that a node is gone is told also while it cannot be read what all nodes know`()
        async throws
    {
        let (first, second) = (try await bench.node(1), try await bench.node(2))
        let follower = try bench.service(first)
        try await eventually("both to know each other") { follower.nodes.count == 2 }
        var told: [Int] = []
        follower.onChange = { told.append(follower.nodes.count) }
        let store = try #require(first.node)
        store.refuseLoads(with: .away("It does not answer."))
        bench.shared.kill(try #require(second.node), changingAccess: true)
        try await eventually("the change") { told == [1] }
    }

    @Test @LoopActor
    func `what the store cannot tell of ends no sweep, unless there is no store`() async throws {
        let first = try await bench.node(1)
        let store = try #require(first.node)
        let (odd, stray) = (TaskID(rawValue: 7), TaskID(rawValue: 8))
        func put(_ tasks: TaskID...) throws {
            for task in tasks {
                _ = try bench.shared.folder.write(ContentName.task(task, in: 1).path, [1, 2, 3])
                try bench.shared.age(task, by: 5400, before: bench.clock)
            }
        }
        try put(odd)
        store.refuseToTell(of: odd, with: .away("It does not answer."))
        await first.gateway.housekeeper.makeRound()
        // That was none, so the next one begins at once.
        try put(stray)
        store.refuseToTell(of: odd, with: .damaged("It cannot be read."))
        await first.gateway.housekeeper.makeRound()
        try await eventually("the stray one to go") {
            try bench.shared.wholeContents(of: stray).isEmpty
        }
        #expect(try bench.shared.wholeContents(of: odd).count == 1)
        // That was a whole one, and the next one is an hour later.
        try put(stray)
        await first.gateway.housekeeper.makeRound()
        await first.quiet()
        #expect(try bench.shared.wholeContents(of: stray).count == 1)
        bench.clock.advance(by: .seconds(3700))
        await first.gateway.housekeeper.makeRound()
        try await eventually("the other one to go") {
            try bench.shared.wholeContents(of: stray).isEmpty
        }
        #expect(try bench.shared.wholeContents(of: odd).count == 1)
    }

    @Test @LoopActor
    func `what a node could not remove it removes later, however old it is, unless it is needed`()
        async throws
    {
        let first = try await bench.node(1)
        let place = try #require(first.place)
        #expect(try await bench.place(of: first.tenant, at: first) == .here)
        let tasks = [
            try await download(first.tenant, at: first),
            try await download(first.tenant, at: first),
        ]
        for number in 0..<2 {
            try await first.network.attempt(number).answer(200, [:], Pattern.bytes(count: 400_000))
            _ = try await first.finished(tasks[number])
            try bench.shared.age(tasks[number], by: 86_400, before: bench.clock)
        }
        await first.gateway.housekeeper.makeRound()
        bench.clock.advance(by: .seconds(3700))
        await first.gateway.housekeeper.makeRound()
        await first.quiet()

        place.wholeFailure = FileError("open", code: EHOSTDOWN)
        let contents = first.gateway.tasks.directory.services.contents
        let gone = try await first.task(tasks[0]).contentName
        try await first.gateway.tasks.delete(tasks[0], of: first.tenant)
        // This one is in use all the same.
        let name = try await first.task(tasks[1]).contentName
        await withCheckedContinuation { continuation in
            contents.discard(name, behind: nil) { continuation.resume() }
        }
        try await eventually("the other try") { contents.owesRemoval(of: gone) }
        place.wholeFailure = nil
        #expect(try bench.shared.wholeContents(of: tasks[0]).count == 1)
        bench.clock.advance(by: .seconds(3700))
        await first.gateway.housekeeper.makeRound()
        try await eventually("the first one to go") {
            try bench.shared.wholeContents(of: tasks[0]).isEmpty
        }
        await first.quiet()
        #expect(try bench.shared.wholeContents(of: tasks[1]).count == 1)
    }
}
