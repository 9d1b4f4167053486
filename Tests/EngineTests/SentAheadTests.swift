import Files
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What machines that share a place for contents send there of downloads before they are whole, and
/// go on behind.
@Suite(.onLoop)
struct SentAheadTests {
    private typealias Machine = SharingMachine

    private static let length = SharedPlace.stretchLength
    private static let task = Machine.task
    private static let tenant = Machine.tenant

    /// Two machines that share a place, once what the first one has fetched is there as far as its
    /// stretches are whole; and what its record tells.
    @LoopActor
    private static func pair(
        fetching count: Int64 = 2 * length, at make: @LoopActor () async throws -> any WholeContents
    ) async throws -> (first: Machine, second: Machine, record: DownloadCheckpoint) {
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        let record = try await first.fetch(count, from: first.spool())
        try await first.waitFor(stretches: stretches(Array(0..<count / length)))
        return (first, second, record)
    }

    private static func stretches(_ numbers: [Int64]) -> [Range<Int64>] {
        numbers.map { $0 * length..<($0 + 1) * length }
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `another machine goes on behind what was sent, and of the whole nothing else is left`(
        place: SharedPlace
    ) async throws {
        let make = try await place.make()
        let (_, second, record) = try await Self.pair(fetching: 3 * Self.length + 5000, at: make)
        #expect(record.series != nil)
        #expect(try await second.listed() == [.ahead])

        let (found, told) = try await second.take(record)
        let taken = try #require(found)
        #expect(taken.point.received == [0..<3 * Self.length] && taken.series == record.series)
        #expect(told == taken, "the record tells of more")
        // What another machine has sent need not be sent again.
        let spool = try await second.goOn(from: taken)
        let total = 4 * Self.length + 77
        Pattern.bytes(from: Int(spool.length), count: Int(total - spool.length)).withUnsafeBytes {
            spool.append($0)
        }
        _ = try await spool.finish()
        let content = try await second.store.openKnown(.task(Self.task, in: spool.series))
        #expect(content.length == total)
        let bytes = try await content.read(at: 0, count: Int(total))
        #expect(Pattern.firstDifference(in: bytes) == nil)
        second.store.forgetAhead(of: Self.task, in: taken.series)
        try await second.waitFor(stretches: [])
        try await eventually("no part") { try await second.listed() == [.whole] }
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `of ranges that came side by side those are taken that were sent`(
        place: SharedPlace
    ) async throws {
        let make = try await place.make()
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        _ = try await first.fetch(7 * Self.length, from: first.spool())
        first.store.forgetAhead(of: Self.task, in: nil)
        try await first.waitFor(stretches: [])
        let received = [0..<Self.length + 4096, 3 * Self.length - 4096..<6 * Self.length]
        let record = try first.tell(received)
        try await first.waitFor(stretches: Self.stretches([0, 3, 4, 5]))
        let found = try #require(try await second.take(record).found)
        #expect(found.point.received == [0..<Self.length, 3 * Self.length..<6 * Self.length])
        for range in found.point.received {
            let bytes = try second.part(range)
            #expect(Pattern.firstDifference(in: bytes, at: Int(range.lowerBound)) == nil)
        }
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `what was sent of another entity is not taken (R-3)`(place: SharedPlace) async throws {
        let make = try await place.make()
        let (first, second, told) = try await Self.pair(at: make)
        var record = told
        record.series = record.series.map { $0 - 1 }
        #expect(try await second.take(record).found == nil)
        record.series = nil
        #expect(try await second.take(record).found == nil)
        // A download that begins anew has another series, and nothing of the first one stays.
        first.store.discard(.task(Self.task))
        try await first.waitFor(stretches: [])
        let again = try await first.fetch(Self.length, from: first.spool())
        #expect(again.series != nil && again.series != record.series)
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `what was whole and not recorded is gone on with as far as it was sent ahead`(
        place: SharedPlace
    ) async throws {
        let make = try await place.make()
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        let spool = first.spool()
        let record = try await first.fetch(2 * Self.length + 9, from: spool)
        try await first.waitFor(stretches: Self.stretches([0, 1]))
        _ = try await spool.finish()
        // One that starts again on the machine itself has all of it.
        #expect(try await first.take(record).found == record)
        let (found, told) = try await second.take(record)
        #expect(found?.point.received == [0..<2 * Self.length] && told == found)
        #expect(Pattern.firstDifference(in: try second.part(0..<2 * Self.length)) == nil)
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `a hand-over brings only what was not sent before`(place: SharedPlace) async throws {
        let make = try await place.make()
        let (first, second, record) = try await Self.pair(
            fetching: 2 * Self.length + 9000, at: make)
        #expect(try await first.handOver(record) == record.series)
        first.store.letGo(of: Self.tenant, [Self.task])
        let rest = 2 * Self.length..<2 * Self.length + 9000
        try await second.waitFor(stretches: Self.stretches([0, 1]) + [rest])
        #expect(try await second.listed() == [.ahead], "it went as a whole")
        try await eventually("no part") { try await first.store.list([.part]).isEmpty }
        let (found, told) = try await second.take(record)
        #expect(found == record && told == nil)
        #expect(Pattern.firstDifference(in: try second.part(0..<2 * Self.length + 9000)) == nil)
        // And a stretch that has become whole takes the place of what there was of it.
        _ = try await second.fetch(
            3 * Self.length, from: try await second.goOn(from: try #require(found)),
            in: record.series)
        try await second.waitFor(stretches: Self.stretches([0, 1, 2]))
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `housekeeping removes what was sent ahead, and a process that starts knows it`(
        place: SharedPlace
    ) async throws {
        let make = try await place.make()
        let (first, second, record) = try await Self.pair(at: make)
        let entry = try #require(try await second.store.list([.ahead]).first)
        #expect(entry.owner == .task(Self.task) && entry.length >= 2 * Self.length)
        // One that has the part itself learns what is there.
        #expect(try await first.take(record).found == record)
        second.store.discard(entry)
        try await first.waitFor(stretches: [])
        #expect(try await second.store.list([.ahead]).isEmpty)
    }

    @Test @LoopActor
    func `a place that fails holds nothing up, and is tried again with the next checkpoint`()
        async throws
    {
        let place = try SharedPlace.scripted()
        let machine = try await Machine(place)
        place.failure = FileError("write", code: EHOSTDOWN)
        let spool = machine.spool()
        var record = try await machine.fetch(Self.length, from: spool)
        try await eventually("a try") { place.tryCount >= 1 }
        place.failure = nil
        try await spool.goOn()
        record = try await machine.fetch(2 * Self.length, from: spool, in: record.series)
        try await machine.waitFor(stretches: Self.stretches([0, 1]))
        // A part that cannot be looked for is not gone.
        place.failure = FileError("open", code: EHOSTDOWN)
        let other = try await Machine(place)
        let error = try await #require(throws: FileError.self) { try await other.take(record) }
        #expect(error.isAway)
    }

    @Test @LoopActor
    func `a stretch on its way does not stay when its download begins anew`() async throws {
        let place = try SharedPlace.scripted()
        let machine = try await Machine(place)
        let gate = Gate()
        place.gate = gate
        _ = try await machine.fetch(Self.length, from: machine.spool())
        try await eventually("a try") { place.tryCount >= 1 }
        let claim = ScriptedClaim()
        claim.isSettled = false
        machine.store.claim = claim
        machine.store.discard(.task(Self.task))
        gate.open()
        try await machine.waitFor(stretches: Self.stretches([0]))
        // Removed once the store has it that the download begins anew.
        claim.isSettled = true
        try await machine.waitFor(stretches: [])
    }

    @Test @LoopActor
    func `a machine that was taken for lost removes nothing`() async throws {
        let directory = try TemporaryDirectory()
        let (lost, owner) = (
            try await Machine(SharedPlace.folder(in: directory)),
            try await Machine(SharedPlace.folder(in: directory))
        )
        let spool = lost.spool()
        let record = try await lost.fetch(2 * Self.length, from: spool)
        try await lost.waitFor(stretches: Self.stretches([0, 1]))
        let claim = ScriptedClaim()
        claim.isLost = true
        lost.store.claim = claim
        let taken = try #require(try await owner.take(record).found)
        let other = try await owner.goOn(from: taken)
        Pattern.bytes(from: Int(other.length), count: 5).withUnsafeBytes { other.append($0) }
        _ = try await other.finish()

        try await spool.goOn()
        _ = try await spool.finish()
        await withCheckedContinuation { continuation in
            lost.store.discard(.task(Self.task), behind: nil) { continuation.resume() }
        }
        let content = try await owner.store.openKnown(.task(Self.task, in: other.series))
        #expect(content.length == 2 * Self.length + 5)
        try await owner.waitFor(stretches: Self.stretches([0, 1]))
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `what a machine puts late that was taken for lost replaces nothing, and is swept up (R-3)`(
        place: SharedPlace
    ) async throws {
        let make = try await place.make()
        let (lost, owner) = (try await Machine(make()), try await Machine(make()))
        let spools = (lost.spool(), owner.spool())
        _ = try await lost.fetch(3 * Self.length, from: spools.0)
        _ = try await owner.fetch(2 * Self.length + 5, from: spools.1)
        _ = try await spools.1.finish()
        try await spools.0.goOn()
        _ = try await spools.0.finish()
        let names = (
            late: ContentName.task(Self.task, in: spools.0.series),
            owners: ContentName.task(Self.task, in: spools.1.series)
        )
        #expect(names.late != names.owners)
        let bytes = Pattern.bytes(count: Int(2 * Self.length) + 5)
        #expect(try await owner.kept(names.owners) == bytes)
        // Nobody wants it any more: only its own goes.
        await withCheckedContinuation { continuation in
            lost.store.discard(names.late, behind: nil) { continuation.resume() }
        }
        #expect(try await lost.kept(names.late) == nil)
        #expect(try await owner.kept(names.owners) == bytes)

        // One that nobody removes is found in the list.
        let third = try await Machine(make())
        let spool = third.spool()
        _ = try await third.fetch(Self.length, from: spool)
        _ = try await spool.finish()
        let found = try await owner.store.list([.whole])
        #expect(
            Set(found.map(\.name)) == [names.owners, .task(Self.task, in: spool.series)])
        for entry in found where entry.series == spool.series { owner.store.discard(entry) }
        try await eventually("only its own") {
            try await owner.store.list([.whole]).map(\.name) == [names.owners]
        }
        #expect(try await owner.kept(names.owners) == bytes)
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `what an earlier version has put is read, listed and removed`(place: SharedPlace)
        async throws
    {
        let make = try await place.make()
        let machine = try await Machine(make())
        let spool = machine.spool()
        _ = try await machine.fetch(5000, from: spool)
        let entry = try #require(try await machine.store.list([.part]).first)
        // As a part that was kept: without a series.
        #expect(try await machine.store.handOver(entry, of: nil, in: Self.tenant) == nil)
        let name = ContentName.task(Self.task)
        // With what fills its last block.
        let kept = try #require(try await machine.kept(name))
        #expect(Array(kept.prefix(5000)) == Pattern.bytes(count: 5000))
        #expect(try await machine.store.list([.whole]).map(\.name) == [name])
        try await machine.store.remove([name])
        #expect(try await machine.store.list([.whole, .part]).isEmpty)
    }

    @Test @LoopActor
    func `a put of a tenant that was lost, and is back, takes no part of it away`() async throws {
        let place = try SharedPlace.scripted()
        let machine = try await Machine(place)
        let gate = Gate()
        place.wholeGate = gate
        let old = machine.spool()
        _ = try await machine.fetch(2 * Self.length, from: old)
        let putting = LoopActor.start { await outcome { try await old.finish().bytes } }
        try await eventually("the put") { place.wholeCount == 1 }
        machine.store.letGo(of: Self.tenant, [Self.task])

        // The same task begins anew, and another entity comes.
        let new = machine.spool()
        [UInt8](repeating: 9, count: 5000).withUnsafeBytes { new.append($0) }
        try await new.settle()
        gate.open()
        let result = await putting.value
        #expect(throws: FileError.self) { try result.get() }
        #expect(try machine.part(0..<5000) == [UInt8](repeating: 9, count: 5000))
        try await eventually("nothing of the old one") {
            try await machine.store.list([.whole]).isEmpty
        }
        try await new.goOn()
        _ = try await new.finish()
        let name = ContentName.task(Self.task, in: new.series)
        #expect(try await machine.kept(name) == [UInt8](repeating: 9, count: 5000))
    }

    @Test @LoopActor
    func `of a download that rests nothing is remembered when its tenant leaves`() async throws {
        let directory = try TemporaryDirectory()
        let machine = try await Machine(SharedPlace.folder(in: directory))
        _ = try await machine.fetch(2 * Self.length, from: machine.spool())
        try await machine.waitFor(stretches: Self.stretches([0, 1]))
        machine.store.letGo(of: TenantID(rawValue: 8), [])
        #expect(machine.store.sendingCount == 1, "another one's")
        machine.store.letGo(of: Self.tenant, [])
        #expect(machine.store.sendingCount == 0)
        // And nothing is removed that another machine relies on.
        await withCheckedContinuation { continuation in
            machine.store.discard(.task(Self.task), behind: nil) { continuation.resume() }
        }
        #expect(try await machine.place.stretches(of: Self.task).count == 2)
    }

    @Test @LoopActor
    func `the part stays until the record tells of the whole (R-1, R-2)`() async throws {
        let directory = try TemporaryDirectory()
        let machine = try await Machine(SharedPlace.folder(in: directory))
        let claim = ScriptedClaim()
        claim.isSettled = false
        machine.store.claim = claim
        let spool = machine.spool()
        _ = try await machine.fetch(5000, from: spool)
        _ = try await spool.finish()
        machine.store.forgetPart(of: .task(Self.task))
        await LoopActor.nextTurn(after: .milliseconds(20))
        #expect(try machine.part(0..<5000) == Pattern.bytes(count: 5000))
        claim.isSettled = true
        try await eventually("no part") { try await machine.store.list([.part]).isEmpty }
    }

    @Test(arguments: SharedPlace.all) @LoopActor
    func `a stretch within another one is not taken`(place: SharedPlace) async throws {
        let make = try await place.make()
        let (first, second, record) = try await Self.pair(fetching: Self.length, at: make)
        // It was sent before the hole in front of it was filled.
        let short = Stretch(of: Self.task, in: try #require(record.series), 4096..<4101)
        try await first.place.put(short) {
            Array(Pattern.bytes(from: 4096, count: 5))
        } while: {
            true
        }
        #expect(try await second.take(record).found?.point.received == [0..<Self.length])
        #expect(Pattern.firstDifference(in: try second.part(0..<Self.length)) == nil)
    }

    @Test @LoopActor
    func `what was listed and is gone is done without`() async throws {
        let place = try SharedPlace.scripted()
        let (_, second, record) = try await Self.pair { place }
        let gone = Stretch(of: Self.task, in: try #require(record.series), Self.stretches([1])[0])
        place.beforeRead = { try await place.remove([gone]) }
        let (found, told) = try await second.take(record)
        #expect(found?.point.received == [0..<Self.length] && told == found)
    }

    @Test(arguments: [EHOSTDOWN, EMFILE, EACCES]) @LoopActor
    func `what fails while it is looked for once more is not said to be gone (R-2)`(
        code: CInt
    ) async throws {
        let place = try SharedPlace.scripted()
        let (_, second, record) = try await Self.pair { place }
        let gone = Stretch(of: Self.task, in: try #require(record.series), Self.stretches([1])[0])
        place.beforeRead = {
            try await place.remove([gone])
            // Nobody has read it by now: the second try begins with a list.
            if place.readCount == 2 { place.failure = FileError("readdir", code: code) }
        }
        let error = try await #require(throws: FileError.self) { try await second.take(record) }
        #expect(error.code == code)
        place.failure = nil
        place.beforeRead = nil
        #expect(try await second.take(record).found?.point.received == [0..<Self.length])
    }

    @Test @LoopActor
    func `a stretch for which there is no descriptor is not gone (X-12)`() async throws {
        let place = try SharedPlace.scripted()
        let (_, second, record) = try await Self.pair { place }
        place.beforeRead = { throw FileError("open", code: EMFILE) }
        let error = try await #require(throws: FileError.self) { try await second.take(record) }
        #expect(error.isForLater)
        place.beforeRead = nil
        #expect(try await second.take(record).found == record)
    }

    @Test @LoopActor
    func `who is taken for lost removes no whole that another machine relies on`() async throws {
        let directory = try TemporaryDirectory()
        let (first, second) = (
            try await Machine(SharedPlace.folder(in: directory)),
            try await Machine(SharedPlace.folder(in: directory))
        )
        let record = try await first.fetch(20_000, from: first.spool())
        #expect(
            try await first.store.keepPart(
                of: Self.task, in: Self.tenant, length: 20_000, since: KeptTime(milliseconds: 0),
                behind: nil))
        let entry = try #require(try await first.store.list([.kept]).first)
        _ = try await first.store.handOver(entry, of: nil, in: Self.tenant)
        let claim = ScriptedClaim()
        claim.isLost = true
        second.store.claim = claim
        #expect(try await second.take(record).found?.point == record.point)
        try await eventually("the claim to be asked") { claim.count > 0 }
        for _ in 0..<20 { await LoopActor.nextTurn() }
        #expect(try await first.kept(.task(Self.task)) == Pattern.bytes(count: 20_000))
    }

    @Test(arguments: [EACCES, EIO, ESTALE, EREMOTEIO]) @LoopActor
    func `what cannot be read is not taken for gone (R-2)`(code: CInt) async throws {
        let place = try SharedPlace.scripted()
        let (_, second, record) = try await Self.pair { place }
        place.beforeRead = { throw FileError("read", code: code) }
        let error = try await #require(throws: FileError.self) { try await second.take(record) }
        #expect(error.code == code)
        place.beforeRead = nil
        #expect(try await second.take(record).found == record)
    }
}
