import Files
import Foundation
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Several gateways on one store: each tenant is at one of them, and goes on at another one.
@Suite(.onLoop)
struct NodeTests {
    private let bench: NodeBench

    init() throws { bench = try NodeBench() }

    /// What the store tells of a session, whose numbers have no gap.
    @LoopActor
    private func events(of session: SessionID, at node: TestGateway) async throws -> [Event] {
        await node.quiet()
        let page = try await node.gateway.events.page(
            of: .session(session), after: 0, limit: 1000)
        #expect(page.map(\.sequence) == Array(1...Int64(page.count)), "a gap, or a double")
        return page
    }

    @Test @LoopActor
    func `whoever is asked first has a tenant, and others tell where it is`() async throws {
        let (first, second) = (try await bench.node(1), try await bench.node(2))
        #expect(try await bench.place(of: first.tenant, at: first) == .here)
        let found = try await bench.place(of: first.tenant, at: second)
        guard case .at(let record) = found else {
            Issue.record("\(found)")
            return
        }
        #expect(record.id.rawValue == 1 && record.address == "http://node1.test")
        #expect(bench.shared.owner(of: first.tenant)?.rawValue == 1)
    }

    @Test @LoopActor
    func `two requests that come at once take a tenant once`() async throws {
        let first = try await bench.node(1)
        async let one = bench.place(of: first.tenant, at: first)
        async let other = bench.place(of: first.tenant, at: first)
        let places = try await [one, other]
        #expect(places == [.here, .here])
        #expect(first.gateway.nodes?.servedCount == 1)
    }

    @Test @LoopActor
    func `the numbers that nodes give have their own remainders, and grow`() async throws {
        let (first, second) = (try await bench.node(1), try await bench.node(63))
        for (node, number) in [(first, Int64(1)), (second, 63)] {
            _ = try await bench.place(of: TenantID(rawValue: 1), at: node)
            let source = IdentifierSource(
                clock: bench.clock, after: 1000, at: NodeID(number))
            let numbers = (0..<3).map { _ in source.nextNumber() }
            #expect(numbers.allSatisfy { $0 % 64 == number })
            #expect(numbers == numbers.sorted() && Set(numbers).count == 3)
        }
    }

    @Test @LoopActor
    func `what runs in a tenant that is handed over goes on at the other node`() async throws {
        let (first, second) = try await bench.pair()
        let session = try await first.session()
        let suspended = try await first.create(
            try first.spec(.data, "http://a.test/rests", resume: false), in: session)
        let (live, _) = try await bench.halfDownload(at: first, in: session)
        try await bench.drain(first)
        let again = try await second.network.attempt(0)
        #expect(try await bench.place(of: first.tenant, at: second) == .here)
        #expect(first.gateway.sessions.directory.count == 0, "the first has let go of it")
        #expect(first.gateway.tasks.directory.runners.isEmpty)
        try await bench.finishSecondHalf(of: live, by: again, at: second)
        #expect(try await second.state(suspended) == .suspended)
        let told = try await events(of: session, at: second)
        #expect(told.count { $0.task == live && $0.body.isTerminal } == 1)
        #expect(first.store.batches.last?.changedTasks.contains { $0.state == .completed } != true)
    }

    @Test @LoopActor
    func `of a node that is lost what was sent ends, and what waited goes on (S-56)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let session = try await first.session { $0.httpMaximumConnectionsPerHost = 1 }
        let sent = try await first.create(
            try first.spec(.data, "http://a.test/sent"), in: session)
        let waits = try await first.create(
            try first.spec(.data, "http://a.test/waits"), in: session)
        _ = try await first.network.attempt(0)
        await first.quiet()
        try bench.kill(first)

        let next = try await second.network.attempt(0)
        #expect(next.request.url.path == "/waits")
        next.answer(200, [:], Array("after".utf8))
        try await eventually("both ends") {
            let states = [try await second.state(sent), try await second.state(waits)]
            return states == [.completed, .completed]
        }
        #expect(try await second.task(sent).error?.code == -997)
        #expect(try await second.read(waits) == Array("after".utf8))
        _ = try await events(of: session, at: second)
    }

    /// A download at the first node of which two stretches of 64 KiB and more have come, and the
    /// first two were sent ahead.
    @LoopActor
    private func sendingDownload(
        at first: TestGateway, on bench: NodeBench, _ type: SessionType = .background
    ) async throws -> (task: TaskID, attempt: FakeAttempt) {
        _ = try await bench.place(of: first.tenant, at: first)
        let session = try await first.session(
            type, identifier: type == .background ? "b" : nil)
        let task = try await first.create(
            try first.spec(.download, "http://a.test/file"), in: session)
        let attempt = try await first.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"1\"", "Accept-Ranges": "bytes", "Content-Length": "200000"])
        attempt.body(Pattern.bytes(count: 150_000))
        try await first.gateway.sessions.flush(session, of: first.tenant)
        try await eventually("two stretches") { try bench.shared.sentAhead().count == 2 }
        await first.quiet()
        return (task, attempt)
    }

    private static func rest(from start: Int) -> (HeaderList, [UInt8]) {
        (
            ["ETag": "\"1\"", "Content-Range": "bytes \(start)-199999/200000"],
            Pattern.bytes(from: start, count: 200_000 - start)
        )
    }

    @Test @LoopActor
    func `behind a node that is lost a download goes on behind what was sent ahead (R-2)`()
        async throws
    {
        let bench = try NodeBench(stretchLength: 64 << 10)
        let (first, second) = try await bench.pair()
        let (task, _) = try await sendingDownload(at: first, on: bench)
        try bench.lose(first)
        let again = try await second.network.attempt(0)
        #expect(again.request.headers.first("Range") == "bytes=131072-")
        let (headers, rest) = Self.rest(from: 131_072)
        again.answer(206, headers, rest)
        try await eventually("the end") { try await second.state(task) == .completed }
        let whole = try await second.read(task)
        #expect(whole.count == 200_000 && Pattern.firstDifference(in: whole) == nil)
        try await eventually("nothing to be left") { try bench.shared.sentAhead().isEmpty }
        let told = try await events(of: try await second.task(task).session, at: second)
        #expect(told.count { $0.task == task && $0.body.isTerminal } == 1)
    }

    @Test @LoopActor
    func `a stop does not wait for what is brought from elsewhere, and the next goes on (R-12)`()
        async throws
    {
        let bench = try NodeBench(stretchLength: 64 << 10)
        let (first, second) = try await bench.pair()
        let (task, _) = try await sendingDownload(at: first, on: bench)
        let place = try #require(second.place)
        place.beforeRead = {
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                throw FileError("read", code: ECANCELED)
            }
        }
        try bench.lose(first)
        try await eventually("a stretch to be read") { place.readCount > 0 }
        let before = try await bench.shared.disk.task(task, of: second.tenant)
        let isStopped = Gate()
        LoopActor.start {
            await second.gateway.stop()
            isStopped.open()
        }
        try await isStopped.wait()
        #expect(second.network.attempts.isEmpty && !second.recorder.isOver(task))
        let after = try await bench.shared.disk.task(task, of: second.tenant)
        #expect(before?.checkpoint != nil && after?.checkpoint == before?.checkpoint)
        #expect(try second.files().isEmpty)

        try bench.kill(second)
        let third = try await bench.node(3)
        let again = try await third.network.attempt(0)
        #expect(again.request.headers.first("Range") == "bytes=131072-")
        let (headers, rest) = Self.rest(from: 131_072)
        again.answer(206, headers, rest)
        try await eventually("the end") { try await third.state(task) == .completed }
        let whole = try await third.read(task)
        #expect(whole.count == 200_000 && Pattern.firstDifference(in: whole) == nil)
    }

    @Test @LoopActor
    func `a node that writes nothing any more removes nothing that another one relies on`()
        async throws
    {
        let bench = try NodeBench(stretchLength: 64 << 10)
        let (first, second) = try await bench.pair()
        let (task, attempt) = try await sendingDownload(at: first, on: bench)
        let node = try #require(first.node)
        node.scripted.refuse(with: .failed("It was taken for dead."))
        // It does not know yet, and its download comes to its end.
        attempt.body(Pattern.bytes(from: 150_000, count: 50_000))
        attempt.end()
        try await eventually("its content") {
            try bench.shared.wholeContents(of: task).count == 1
        }
        try await eventually("its end there") {
            first.recorder.isOver(task) || node.scripted.hasFailed
        }
        #expect(try bench.shared.sentAhead().count >= 2)
        // So that it does not get its tenant again itself.
        node.refuseToJoin(with: .away("It is cut off."))
        bench.shared.lose(node)
        let again = try await second.network.attempt(0)
        let start = try bench.shared.sentAhead().count == 2 ? 131_072 : 196_608
        #expect(again.request.headers.first("Range") == "bytes=\(start)-")
        let (headers, rest) = Self.rest(from: start)
        again.answer(206, headers, rest)
        try await eventually("the end") { try await second.state(task) == .completed }
        #expect(Pattern.firstDifference(in: try await second.read(task)) == nil)
        try await eventually("nothing to be left") { try bench.shared.sentAhead().isEmpty }

        // What was whole, and no record tells of, goes by housekeeping.
        await second.quiet()
        #expect(try bench.shared.wholeContents(of: task).count == 2)
        try bench.shared.age(task, by: 5400, before: bench.clock)
        await second.gateway.housekeeper.makeRound()
        try await eventually("one content") { try bench.shared.wholeContents(of: task).count == 1 }
        #expect(Pattern.firstDifference(in: try await second.read(task)) == nil)
    }

    @Test @LoopActor
    func `what a lost node puts late is swept up while other nodes go on`() async throws {
        let bench = try NodeBench(stretchLength: 64 << 10)
        let first = try await bench.node(1)
        let (task, attempt) = try await sendingDownload(at: first, on: bench)
        await first.gateway.housekeeper.makeRound()
        attempt.body(Pattern.bytes(from: 150_000, count: 50_000))
        attempt.end()
        try await eventually("the end") { try await first.state(task) == .completed }
        await first.quiet()
        _ = try bench.shared.folder.write(ContentName.task(task, in: 5).path, [1, 2, 3])
        try bench.shared.age(task, by: 1800, before: bench.clock)
        bench.clock.advance(by: .seconds(3700))
        await first.gateway.housekeeper.makeRound()
        try await eventually("one content") { try bench.shared.wholeContents(of: task).count == 1 }
        #expect(Pattern.firstDifference(in: try await first.read(task)) == nil)
    }

    @Test @LoopActor
    func `what a node has handed over of a download that has ended goes after a time (S-34)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let session = try await first.session()
        let (task, attempt) = try await bench.halfDownload(at: first, in: session)
        attempt.breakOff()
        try await first.recorder.end(of: task)
        try await bench.drain(first)
        try await eventually("the part to be handed over") {
            try bench.shared.wholeContents(of: task).count == 1
        }
        try bench.shared.age(task, by: 0, before: bench.clock)
        await second.gateway.housekeeper.makeRound()
        let day: Int64 = 86_400
        for age in [Int64(2), 6] {
            bench.clock.advance(by: .seconds(age * day))
            try bench.shared.age(task, by: age * day, before: bench.clock)
            await second.gateway.housekeeper.makeRound()
            await second.quiet()
            #expect(try bench.shared.wholeContents(of: task).count == 1, "\(age) days old")
        }
        bench.clock.advance(by: .seconds(2 * day))
        try bench.shared.age(task, by: 8 * day, before: bench.clock)
        await second.gateway.housekeeper.makeRound()
        try await eventually("the part to go") { try bench.shared.wholeContents(of: task).isEmpty }
    }

    @Test @LoopActor
    func `what a lost node puts is swept up when the task has ended at last`() async throws {
        let bench = try NodeBench(stretchLength: 64 << 10)
        let first = try await bench.node(1)
        let (task, attempt) = try await sendingDownload(at: first, on: bench)
        await first.gateway.housekeeper.makeRound()
        _ = try bench.shared.folder.write(ContentName.task(task, in: 5).path, [1, 2, 3])
        for hours in [Int64(1), 5, 9] {
            bench.clock.advance(by: .seconds(3700 * 4))
            try bench.shared.age(task, by: 3700 * hours, before: bench.clock)
            await first.gateway.housekeeper.makeRound()
            #expect(try bench.shared.wholeContents(of: task).count == 1, "it may be the task's")
        }
        attempt.body(Pattern.bytes(from: 150_000, count: 50_000))
        attempt.end()
        try await eventually("the end") { try await first.state(task) == .completed }
        await first.quiet()
        bench.clock.advance(by: .seconds(3700))
        await first.gateway.housekeeper.makeRound()
        try await eventually("one content") { try bench.shared.wholeContents(of: task).count == 1 }
        #expect(Pattern.firstDifference(in: try await first.read(task)) == nil)
    }

    @Test @LoopActor
    func `what was handed over outlives the node that it was handed to (R-2)`() async throws {
        let nodes = [try await bench.node(1), try await bench.node(2), try await bench.node(3)]
        _ = try await bench.place(of: nodes[0].tenant, at: nodes[0])
        let session = try await nodes[0].session(.background, identifier: "b")
        let task = try await nodes[0].create(
            try nodes[0].spec(.download, "http://a.test/file"), in: session)
        let attempt = try await nodes[0].network.attempt(0)
        attempt.head(
            200, ["ETag": "\"1\"", "Accept-Ranges": "bytes", "Content-Length": "200000"])
        attempt.body(Pattern.bytes(count: 150_000))
        try await bench.drain(nodes[0])
        try await eventually("the tenant to arrive") {
            nodes.dropFirst().contains { $0.network.attempts.count == 1 }
        }
        let next = nodes[1].network.attempts.isEmpty ? nodes[2] : nodes[1]
        let last = nodes[1].network.attempts.isEmpty ? nodes[1] : nodes[2]
        #expect(
            next.network.attempts[0].request.headers.first("Range") == "bytes=150000-")
        try bench.lose(next)
        let again = try await last.network.attempt(0)
        #expect(again.request.headers.first("Range") == "bytes=150000-")
        let (headers, rest) = Self.rest(from: 150_000)
        again.answer(206, headers, rest)
        try await eventually("the end") { try await last.state(task) == .completed }
        #expect(Pattern.firstDifference(in: try await last.read(task)) == nil)
        try await eventually("nothing to be left") { try bench.shared.sentAhead().isEmpty }
    }

    @Test @LoopActor
    func `a file that has changed is not spliced with what was sent ahead (R-3)`() async throws {
        let bench = try NodeBench(stretchLength: 64 << 10)
        let (first, second) = try await bench.pair()
        let (task, _) = try await sendingDownload(at: first, on: bench)
        try bench.lose(first)
        let again = try await second.network.attempt(0)
        #expect(again.request.headers.first("If-Range") == "\"1\"")
        let new = [UInt8](repeating: 9, count: 150_000)
        again.answer(200, ["ETag": "\"2\"", "Accept-Ranges": "bytes"], new)
        try await eventually("the end") { try await second.state(task) == .completed }
        #expect(try await second.read(task) == new)
        try await eventually("nothing to be left") { try bench.shared.sentAhead().isEmpty }
    }

    @Test @LoopActor
    func `what a lost node has sent of a default session's download is resume data (S-34, S-56)`()
        async throws
    {
        let bench = try NodeBench(stretchLength: 64 << 10)
        let (first, second) = try await bench.pair()
        let (task, _) = try await sendingDownload(at: first, on: bench, .default)
        try bench.lose(first)
        try await eventually("the end") {
            guard second.gateway.nodes?.knownPlace(of: second.tenant) == .here else {
                return false
            }
            return try await second.state(task) == .completed
        }
        #expect(try await second.task(task).error?.code == -997)
        try await eventually("nothing to be left") { try bench.shared.sentAhead().isEmpty }
        let retried = try await second.gateway.tasks.retry(task, of: second.tenant).record.id
        let again = try await second.network.attempt(0)
        #expect(again.request.headers.first("Range") == "bytes=131072-")
        let (headers, rest) = Self.rest(from: 131_072)
        again.answer(206, headers, rest)
        try await eventually("the end") { try await second.state(retried) == .completed }
        #expect(Pattern.firstDifference(in: try await second.read(retried)) == nil)
    }

    @Test @LoopActor
    func `housekeeping removes what was sent ahead of tasks that have ended, and no other`()
        async throws
    {
        let bench = try NodeBench(stretchLength: 64 << 10)
        let (first, second) = try await bench.pair()
        let (task, _) = try await sendingDownload(at: first, on: bench)
        let stray = Stretch(of: TaskID(rawValue: 99), in: 1, 0..<5)
        let path = try bench.shared.folder.write(stray.name, [1, 2, 3, 4, 5])
        // Long ago, whatever the gateway's clock says.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: -1e6)], ofItemAtPath: path)
        #expect(try bench.shared.sentAhead().count == 3)
        await second.gateway.housekeeper.makeRound()
        try await eventually("the stray one to go") { try bench.shared.sentAhead().count == 2 }
        #expect(try bench.shared.sentAhead().allSatisfy { $0.contains(task.description) })
    }

    @Test @LoopActor
    func `a part that another node has gone on with is not gone on with here (R-3)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let session = try await first.session(.background, identifier: "b")
        let task = try await first.create(
            try first.spec(.download, "http://a.test/file"), in: session)
        let attempt = try await first.network.attempt(0)
        attempt.head(200, ["ETag": "\"1\"", "Accept-Ranges": "bytes"])
        attempt.body(Pattern.bytes(count: 300_000))
        try await first.gateway.sessions.flush(session, of: first.tenant)
        try bench.kill(first)
        _ = try await second.network.attempt(0)

        // The same machine, started again: it still has what it had.
        let third = try await TestGateway(
            clock: bench.clock, directory: first.directory, asNode: try bench.shared.join(3))
        #expect(try !third.files().isEmpty)
        await third.gateway.start()
        third.gateway.housekeeper.stop()
        try await bench.drain(second)
        let again = try await third.network.attempt(0)
        #expect(again.request.headers.first("Range") == nil, "its part is not the newest")
        again.answer(200, [:], Array("new".utf8))
        try await eventually("the end") { try await third.state(task) == .completed }
        #expect(try await third.read(task) == Array("new".utf8))
    }

    @Test @LoopActor
    func `an upload of a staged file, and resume data, go on at the node that takes over (S-34)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let file = try await first.file(StagedFileSpec(announcedLength: 200_000))
        let bytes = Pattern.bytes(count: 200_000)
        try await first.append(Array(bytes.prefix(100_000)), to: file)
        let session = try await first.session()
        let (task, attempt) = try await bench.halfDownload(at: first, in: session)
        attempt.breakOff()
        try await first.recorder.end(of: task)

        try await bench.drain(first)
        try await eventually("the tenant to arrive, and its file to be looked at") {
            let files = try second.files()
            return second.gateway.nodes?.knownPlace(of: first.tenant) == .here && !files.isEmpty
        }
        try await eventually("nothing to be left at the first one") { try first.files().isEmpty }
        try await second.append(Array(bytes.dropFirst(100_000)), to: file, completes: true)
        let uploaded = try await second.bytes(of: file)
        #expect(uploaded.count == bytes.count && Pattern.firstDifference(in: uploaded) == nil)

        let retried = try await second.gateway.tasks.retry(task, of: first.tenant).record.id
        let again = try await second.network.attempt(0)
        try await bench.finishSecondHalf(of: retried, by: again, at: second)
    }

    @Test(arguments: [ENOTCONN, EIO]) @LoopActor
    func `a file whose place is away, or fails, is appended to once that is back`(
        code: CInt
    ) async throws {
        let (first, second) = try await bench.pair()
        let file = try await first.file()
        let bytes = Pattern.bytes(count: 200_000)
        try await first.append(Array(bytes.prefix(100_000)), to: file)

        second.place?.wholeFailure = FileError("open", code: code)
        try await bench.drain(first)
        try await bench.arrival(of: first.tenant, at: second)
        let refused = await #expect(throws: UploadInterruption.self) {
            try await second.append(Array(bytes.dropFirst(100_000)), to: file, completes: true)
        }
        #expect(refused?.cause as? GatewayError == .tenantIsMoving)
        second.place?.wholeFailure = nil
        try await second.append(Array(bytes.dropFirst(100_000)), to: file, completes: true)
        let uploaded = try await second.bytes(of: file)
        #expect(uploaded.count == bytes.count && Pattern.firstDifference(in: uploaded) == nil)
    }

    @Test @LoopActor
    func `a whole file that cannot come to its place is a part for the next node`() async throws {
        let node = try await bench.node(1)
        _ = try await bench.place(of: node.tenant, at: node)
        let file = try await node.file()
        let (bytes, feed) = (Pattern.bytes(count: 200_000), ScriptedFeed())
        node.place?.wholeFailure = FileError("open", code: ENOTCONN)
        let upload = try node.begin(feed, to: file, completes: true)
        feed.send(bytes)
        feed.finish()
        try await eventually("the file to be put") { (node.place?.wholeCount ?? 0) > 0 }

        await node.gateway.files.giveUpUploads(of: node.tenant)
        let ended = await #expect(throws: UploadInterruption.self) { try await upload.value }
        #expect(ended?.cause as? GatewayError == .uploadSuperseded)
        let record = try node.gateway.files.record(file, of: node.tenant)
        #expect(record.length == 200_000 && !record.isComplete)
        node.place?.wholeFailure = nil
        try await node.append([], to: file, completes: true)
        let uploaded = try await node.bytes(of: file)
        #expect(uploaded.count == bytes.count && Pattern.firstDifference(in: uploaded) == nil)
    }

    @Test @LoopActor
    func `a tenant leaves behind a file that is on its way to its place`() async throws {
        let (first, second) = try await bench.pair()
        let (file, gate, feed) = (try await first.file(), Gate(), ScriptedFeed())
        first.place?.wholeGate = gate
        let upload = try first.begin(feed, to: file, completes: true)
        feed.send(Pattern.bytes(count: 200_000))
        feed.finish()
        try await eventually("the file to be put") { (first.place?.wholeCount ?? 0) > 0 }
        try await bench.drain(first)
        gate.open()
        #expect(try await upload.value.isComplete)
        try await bench.arrival(of: first.tenant, at: second)
        #expect(try await second.bytes(of: file).count == 200_000)
    }

    @Test @LoopActor
    func `tenants and tokens that one node makes are known to the others, and end there (X-13)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        _ = try await first.gateway.tenants.create(TenantSpec(name: "other"))
        let digest = [UInt8](repeating: 7, count: 32)
        let token = try await first.gateway.tokens.create(
            TokenSpec(tenant: "other", scopes: [.tasks], digest: digest))
        try await eventually("the token") { second.gateway.tokens.use(digest) != nil }
        var void: Set<TokenID> = []
        second.gateway.tokens.onVoid = { void.formUnion($0) }
        try await first.gateway.tokens.delete(token.record.id)
        try await eventually("its end") { second.gateway.tokens.use(digest) == nil }
        #expect(void == [token.record.id])
    }

    @Test @LoopActor
    func `whoever waits for what another node has changed does not take an old look for a new one`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let store = try #require(second.node)
        store.holdLooks(true)
        bench.shared.hint()
        try await eventually("a look") { store.heldLooks == 1 }
        let digest = [UInt8](repeating: 7, count: 32)
        _ = try await first.gateway.tenants.create(TenantSpec(name: "other"))
        _ = try await first.gateway.tokens.create(
            TokenSpec(tenant: "other", scopes: [.tasks], digest: digest))
        let service = try bench.service(second)
        let waiting = Task { @LoopActor in
            await service.caughtUp()
            return second.gateway.tokens.use(digest) != nil
        }
        await second.turn()
        store.holdLooks(false)
        #expect(await waiting.value)
    }

    @Test @LoopActor
    func `a tenant is deleted at the node that has it, and then nowhere known`() async throws {
        let (first, second) = try await bench.pair()
        let made = try await first.gateway.tenants.create(TenantSpec(name: "other"))
        try await eventually("the tenant") { second.gateway.tenants.name(of: made.id) != nil }
        #expect(try await bench.place(of: made.id, at: second) == .here)
        _ = try await second.gateway.sessions.shared(of: made.id)
        _ = try await first.gateway.tenants.delete("other")
        try await eventually("nothing to be left of it") {
            let isKnown = [first, second].contains { $0.gateway.tenants.name(of: made.id) != nil }
            let left = try await bench.shared.disk.load()
            return !isKnown && left.sessions.isEmpty
        }
        try await eventually("it to be served nowhere") {
            second.gateway.nodes?.servedCount == 0
        }
    }

    @Test @LoopActor
    func `a node that is drained takes nothing new`() async throws {
        let (first, second) = (try await bench.node(1), try await bench.node(2))
        let service = try bench.service(first)
        try await eventually("both to know each other") { service.nodes.count == 2 }
        try await bench.drain(first)
        let found = try await bench.place(of: first.tenant, at: first)
        guard case .at(let record) = found else {
            Issue.record("\(found)")
            return
        }
        #expect(record.id == second.gateway.nodes?.own)
        let refusal = await outcome {
            try await service.setDraining(true, of: try #require(NodeID(9)))
        }
        #expect(refusal.refusal == .noSuchNode)
    }
}
