import Curl
import Foundation
import Loop
import Sealing
import Semantics
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// What machines that share a place for contents send there of downloads before they are whole, and
/// go on behind.
@Suite(.onLoop)
struct SentAheadTests {
    /// A place that several machines share.
    struct Place: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Makes another machine's view of a place that no test has had yet.
        let make: @LoopActor () async throws -> @LoopActor () async throws -> any WholeContents
    }

    private static let length: Int64 = 48 << 12
    private static let task = TaskID(rawValue: 7)
    private static let tenant = TenantID(rawValue: 7)
    private static let files = FileThreads(count: 2)

    static let places =
        [
            Place(testDescription: "shared folder") {
                let directory = try TemporaryDirectory()
                return { folder(in: directory) }
            }
        ] + (MotoServer.isInstalled ? [onS3] : [])

    private static func folder(in directory: TemporaryDirectory) -> SharedFolderContents {
        SharedFolderContents(at: directory.path, files: files, stretchLength: length)
    }

    private static let onS3 = Place(testDescription: "S3") {
        let moto = try await MotoServer.shared()
        let place = moto.newPlace()
        return {
            var everywhere = EgressPolicy()
            everywhere.allowed = [try AllowedDestination(parsing: "127.0.0.0/8")]
            var sizes = S3Sizes()
            sizes.part = length
            return try S3Contents(
                at: S3Location(place, environment: [:]), environment: moto.environment,
                transport: CurlTransport(CurlSettings(egress: everywhere, userAgent: "tests")),
                digests: SHADigests(), files: files, clock: SystemClock(), sizes: sizes)
        }
    }

    /// A machine with a folder of its own.
    @LoopActor
    private final class Machine {
        let folder: ContentFolder
        let store: SplitContentStore
        let place: any WholeContents
        private let spools: Spools
        private let directory: TemporaryDirectory

        init(_ place: any WholeContents) async throws {
            directory = try TemporaryDirectory()
            folder = ContentFolder(path: directory.path)
            try folder.prepare()
            self.place = place
            if try await place.mark() == nil { try await place.setMark("of-a-test") }
            store = SplitContentStore(
                place, partsIn: folder, files: SentAheadTests.files, sendsAhead: true)
            spools = Spools(
                in: folder, files: SentAheadTests.files, room: DiskRoom(), clock: ManualClock(),
                digests: SumDigests(), contents: store)
        }

        /// Fetches so many bytes, as its record is told: the checkpoint.
        func fetch(
            _ count: Int64, from spool: ContentSpool, in series: Int64? = nil
        ) async throws -> DownloadCheckpoint {
            let start = spool.length
            Pattern.bytes(from: Int(start), count: Int(count - start)).withUnsafeBytes {
                spool.append($0)
            }
            try await spool.settle()
            return try tell([0..<count], in: series)
        }

        func tell(_ received: [Range<Int64>], in series: Int64? = nil) throws -> DownloadCheckpoint
        {
            var checkpoint = try DownloadCheckpoint.tagged(
                received, of: SentAheadTests.task, series: series)
            checkpoint.series = store.sendAhead(
                checkpoint.point, of: SentAheadTests.task, in: series)
            return checkpoint
        }

        func spool() -> ContentSpool {
            let spool = spools.makeSpool(for: .task(SentAheadTests.task), digest: nil)
            spool.moveToDisk()
            return spool
        }

        /// What is found of a part, and whether the record had to be told of it.
        func take(
            _ checkpoint: DownloadCheckpoint
        ) async throws -> (found: DownloadCheckpoint?, told: DownloadCheckpoint?) {
            var told: DownloadCheckpoint?
            let found = try await store.takePart(
                of: checkpoint, in: SentAheadTests.tenant, as: SentAheadTests.task
            ) {
                told = $0
                return true
            }
            return (found, told)
        }

        /// A spool that goes on with what was taken.
        func goOn(from checkpoint: DownloadCheckpoint) async throws -> ContentSpool {
            let spool = spools.goOn(
                with: spools.part(of: .task(SentAheadTests.task)),
                length: checkpoint.point.prefixLength, digest: nil)
            try await spool.goOn()
            return spool
        }

        func part(_ range: Range<Int64>) throws -> [UInt8] {
            try spools.part(of: .task(SentAheadTests.task)).read(
                at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
        }

        func waitFor(stretches ranges: [Range<Int64>]) async throws {
            try await eventually("the stretches \(ranges)") { [self] in
                let all = try await place.stretches(of: SentAheadTests.task)
                return all.map(\.range).sorted { $0.lowerBound < $1.lowerBound } == ranges
            }
        }

        func listed() async throws -> Set<ContentKind> {
            Set(try await store.list(Set(ContentKind.allCases)).map(\.kind))
        }
    }

    private static func stretches(_ numbers: [Int64]) -> [Range<Int64>] {
        numbers.map { $0 * length..<($0 + 1) * length }
    }

    @Test(arguments: places) @LoopActor
    func `another machine goes on behind what was sent, and of the whole nothing else is left`(
        place: Place
    ) async throws {
        let make = try await place.make()
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        let record = try await first.fetch(3 * Self.length + 5000, from: first.spool())
        #expect(record.series != nil)
        try await first.waitFor(stretches: Self.stretches([0, 1, 2]))
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
        let content = try await second.store.openKnown(.task(Self.task))
        #expect(content.length == total)
        let bytes = try await content.read(at: 0, count: Int(total))
        #expect(Pattern.firstDifference(in: bytes) == nil)
        second.store.forgetAhead(of: Self.task, in: taken.series)
        try await second.waitFor(stretches: [])
        #expect(try await second.listed() == [.whole])
    }

    @Test(arguments: places) @LoopActor
    func `of ranges that came side by side those are taken that were sent`(
        place: Place
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

    @Test(arguments: places) @LoopActor
    func `what was sent of another entity is not taken (R-3)`(place: Place) async throws {
        let make = try await place.make()
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        var record = try await first.fetch(2 * Self.length, from: first.spool())
        try await first.waitFor(stretches: Self.stretches([0, 1]))
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

    @Test(arguments: places) @LoopActor
    func `what was whole and not recorded is gone on with as it is`(place: Place) async throws {
        let make = try await place.make()
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        let spool = first.spool()
        let record = try await first.fetch(2 * Self.length + 9, from: spool)
        _ = try await spool.finish()
        let (found, told) = try await second.take(record)
        #expect(found?.point == record.point && found?.series == nil && told == nil)
        try await second.waitFor(stretches: [])
        #expect(Pattern.firstDifference(in: try second.part(0..<2 * Self.length + 9)) == nil)
    }

    @Test(arguments: places) @LoopActor
    func `a hand-over brings only what was not sent before`(place: Place) async throws {
        let make = try await place.make()
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        let record = try await first.fetch(2 * Self.length + 9000, from: first.spool())
        try await first.waitFor(stretches: Self.stretches([0, 1]))
        for entry in try await first.store.list([.part]) {
            try await first.store.handOver(entry)
        }
        first.store.letGo(of: [Self.task])
        let rest = 2 * Self.length..<2 * Self.length + 9000
        try await second.waitFor(stretches: Self.stretches([0, 1]) + [rest])
        #expect(try await second.listed() == [.ahead], "it went as a whole")
        #expect(try await first.store.list([.part]).isEmpty)
        let (found, told) = try await second.take(record)
        #expect(found == record && told == nil)
        #expect(Pattern.firstDifference(in: try second.part(0..<2 * Self.length + 9000)) == nil)
        // And a stretch that has become whole takes the place of what there was of it.
        _ = try await second.fetch(
            3 * Self.length, from: try await second.goOn(from: try #require(found)),
            in: record.series)
        try await second.waitFor(stretches: Self.stretches([0, 1, 2]))
    }

    @Test(arguments: places) @LoopActor
    func `housekeeping removes what was sent ahead, and a process that starts knows it`(
        place: Place
    ) async throws {
        let make = try await place.make()
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        let record = try await first.fetch(2 * Self.length, from: first.spool())
        try await first.waitFor(stretches: Self.stretches([0, 1]))
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
        let directory = try TemporaryDirectory()
        let place = ScriptedPlace(Self.folder(in: directory))
        let machine = try await Machine(place)
        place.failure = FileError("write", code: EHOSTDOWN)
        let spool = machine.spool()
        var record = try await machine.fetch(Self.length, from: spool)
        try await eventually("a try") { place.tryCount == 1 }
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
        let directory = try TemporaryDirectory()
        let place = ScriptedPlace(Self.folder(in: directory))
        let machine = try await Machine(place)
        let gate = Gate()
        place.gate = gate
        _ = try await machine.fetch(Self.length, from: machine.spool())
        try await eventually("a try") { place.tryCount == 1 }
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
    func `a machine that was taken for lost neither replaces nor removes anything`() async throws {
        let directory = try TemporaryDirectory()
        let (lost, owner) = (
            try await Machine(Self.folder(in: directory)),
            try await Machine(Self.folder(in: directory))
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
        await #expect(throws: FileError.self) { _ = try await spool.finish() }
        await withCheckedContinuation { continuation in
            lost.store.discard(.task(Self.task), behind: nil) { continuation.resume() }
        }
        let content = try await owner.store.openKnown(.task(Self.task))
        #expect(content.length == 2 * Self.length + 5)
        try await owner.waitFor(stretches: Self.stretches([0, 1]))
    }

    @Test(arguments: places) @LoopActor
    func `a stretch within another one is not taken`(place: Place) async throws {
        let make = try await place.make()
        let (first, second) = (try await Machine(make()), try await Machine(make()))
        let record = try await first.fetch(Self.length, from: first.spool())
        try await first.waitFor(stretches: Self.stretches([0]))
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
        let directory = try TemporaryDirectory()
        let place = ScriptedPlace(Self.folder(in: directory))
        let (first, second) = (try await Machine(place), try await Machine(place))
        let record = try await first.fetch(2 * Self.length, from: first.spool())
        try await first.waitFor(stretches: Self.stretches([0, 1]))
        let gone = Stretch(of: Self.task, in: try #require(record.series), Self.stretches([1])[0])
        place.beforeRead = { try await place.remove([gone]) }
        let (found, told) = try await second.take(record)
        #expect(found?.point.received == [0..<Self.length] && told == found)
    }
}

/// Whether a machine's contents are its own, as a test has it.
@LoopActor
private final class ScriptedClaim: ContentClaim {
    var isSettled = true
    var isLost = false

    var isCertain: Bool { !isLost }

    func settled() async -> Bool {
        while !isSettled { await LoopActor.nextTurn(after: .milliseconds(1)) }
        return !isLost
    }
}
