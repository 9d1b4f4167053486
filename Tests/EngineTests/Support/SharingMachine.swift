import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A machine with a folder of its own, and a place for whole contents that it shares with others.
@LoopActor
final class SharingMachine {
    /// What all of them fetch.
    nonisolated static let task = TaskID(rawValue: 7)
    /// Whose it is.
    nonisolated static let tenant = TenantID(rawValue: 7)

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
            place, partsIn: folder, files: SharedPlace.files, isShared: true)
        spools = Spools(
            in: folder, files: SharedPlace.files, room: DiskRoom(), clock: ManualClock(),
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

    func tell(_ received: [Range<Int64>], in series: Int64? = nil) throws -> DownloadCheckpoint {
        var checkpoint = try DownloadCheckpoint.tagged(received, of: Self.task, series: series)
        checkpoint.series = store.sendAhead(
            checkpoint.point, of: Self.task, for: Self.tenant, in: series)
        return checkpoint
    }

    func spool() -> ContentSpool {
        let spool = spools.makeSpool(for: .task(Self.task), digest: nil)
        spool.moveToDisk()
        return spool
    }

    /// What is found of a part, and whether the record had to be told of it.
    func take(
        _ checkpoint: DownloadCheckpoint
    ) async throws -> (found: DownloadCheckpoint?, told: DownloadCheckpoint?) {
        var told: DownloadCheckpoint?
        let found = try await store.takePart(of: checkpoint, in: Self.tenant, as: Self.task) {
            told = $0
            return true
        }
        return (found, told)
    }

    /// A spool that goes on with what was taken.
    func goOn(from checkpoint: DownloadCheckpoint) async throws -> ContentSpool {
        let spool = spools.goOn(
            with: spools.part(of: .task(Self.task)),
            length: checkpoint.point.prefixLength, digest: nil)
        try await spool.goOn()
        return spool
    }

    func part(_ range: Range<Int64>) throws -> [UInt8] {
        try spools.part(of: .task(Self.task)).read(
            at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
    }

    /// As when its tenant goes to another machine.
    func handOver(_ checkpoint: DownloadCheckpoint) async throws -> Int64? {
        let entry = try #require(try await store.list([.part]).first)
        let series = try await store.handOver(entry, of: checkpoint, in: Self.tenant)
        store.forgetPart(of: entry.owner)
        return series
    }

    /// What is kept as a whole under a name; nil where nothing is.
    func kept(_ content: ContentName) async throws -> [UInt8]? {
        guard let content = try await store.open(content) else { return nil }
        return try await content.read(at: 0, count: Int(content.length))
    }

    func waitFor(stretches ranges: [Range<Int64>]) async throws {
        try await eventually("the stretches \(ranges)") { [self] in
            let all = try await place.stretches(of: Self.task)
            return all.map(\.range).sorted { $0.lowerBound < $1.lowerBound } == ranges
        }
    }

    func listed() async throws -> Set<ContentKind> {
        Set(try await store.list(Set(ContentKind.allCases)).map(\.kind))
    }
}

/// Whether a machine's contents are its own, as a test has it.
@LoopActor
final class ScriptedClaim: ContentClaim {
    var isSettled = true
    var isLost = false
    private(set) var count = 0

    func settled() async -> Bool {
        count += 1
        while !isSettled { await LoopActor.nextTurn(after: .milliseconds(1)) }
        return !isLost
    }
}
