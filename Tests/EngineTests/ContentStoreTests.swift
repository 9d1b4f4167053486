import Curl
import Files
import Foundation
import Loop
import Sealing
import Semantics
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// What the engine relies on where whole contents are kept, held against every `ContentStore`.
@Suite(.onLoop)
struct ContentStoreTests {
    /// A store that is held against the port's promises.
    struct Candidate: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @LoopActor (ContentFolder, FileThreads) async throws -> any ContentStore
    }

    static let candidates =
        [
            Candidate(testDescription: "local") { LocalContentStore(in: $0, files: $1) },
            Candidate(testDescription: "shared folder") { folder, files in
                let path = folder.path + "/shared"
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true)
                let shared = SharedFolderContents(at: path, files: files)
                try await shared.setMark("of-a-test")
                return SplitContentStore(shared, partsIn: folder, files: files)
            },
        ] + (MotoServer.isInstalled ? [onS3] : [])

    /// By one request up to 200 kB, in parts beyond; copied in parts beyond 300 kB.
    private static let onS3 = Candidate(testDescription: "S3") { folder, files in
        let moto = try await MotoServer.shared()
        var everywhere = EgressPolicy()
        everywhere.allowed = [try AllowedDestination(parsing: "127.0.0.0/8")]
        var sizes = S3Sizes()
        (sizes.part, sizes.copy, sizes.memory) = (200_000, 300_000, 500_000)
        let contents = try S3Contents(
            at: S3Location(moto.newPlace(), environment: [:]), environment: moto.environment,
            transport: CurlTransport(CurlSettings(egress: everywhere, userAgent: "tests")),
            digests: SHADigests(), files: files, clock: SystemClock(), sizes: sizes)
        try await contents.setMark("of-a-test")
        return SplitContentStore(contents, partsIn: folder, files: files)
    }

    private static let files = FileThreads(count: 2)

    /// A store of a folder of its own, and the spools that bring it contents.
    @LoopActor
    private final class Bench {
        let directory: TemporaryDirectory
        let folder: ContentFolder
        let disk = ScriptedSync()
        let store: any ContentStore
        let spools: Spools

        init(_ candidate: Candidate) async throws {
            directory = try TemporaryDirectory()
            folder = ContentFolder(path: directory.path, sync: disk.sync)
            try folder.prepare()
            store = try await candidate.make(folder, ContentStoreTests.files)
            spools = Spools(
                in: folder, files: ContentStoreTests.files, room: DiskRoom(), clock: ManualClock(),
                digests: SumDigests(), contents: store)
        }

        /// A spool that has brought all bytes to its part.
        func part(_ bytes: [UInt8], of owner: ContentOwner) async throws -> ContentSpool {
            let spool = spools.makeSpool(for: owner, digest: nil)
            spool.moveToDisk()
            bytes.withUnsafeBytes { spool.append($0) }
            try await spool.settle()
            return spool
        }

        func put(_ bytes: [UInt8], of owner: ContentOwner) async throws {
            let (inMemory, _) = try await part(bytes, of: owner).finish()
            #expect(inMemory == nil)
        }

        /// Everything that is kept for an owner; nil where nothing is.
        func kept(_ content: ContentName) async throws -> [UInt8]? {
            guard let content = try await store.open(content) else { return nil }
            return try await content.read(at: 0, count: Int(content.length) + 1)
        }

        /// What `takePart` finds of a part that has so many bytes.
        func take(
            _ source: TaskID, _ count: Int64, in tenant: TenantID, as task: TaskID
        ) async throws -> DownloadCheckpoint? {
            try await store.takePart(
                of: .tagged([0..<count], of: source), in: tenant, as: task
            ) {
                Issue.record("\($0) is not all")
                return false
            }
        }

        func listed() async throws -> [ContentOwner: Set<ContentKind>] {
            try await store.list(Set(ContentKind.allCases)).reduce(into: [:]) {
                $0[$1.owner, default: []].insert($1.kind)
            }
        }
    }

    private static let task = TaskID(rawValue: 7)
    private static let tenant = TenantID(rawValue: 7)
    private static let other = TaskID(rawValue: 8)
    private static let owners: [ContentOwner] = [
        .task(task), .file(FileID(rawValue: 7)), .entry(CacheEntryID(rawValue: 7)),
    ]

    @Test(arguments: candidates, [0, 1, 4096, 70_001, 1_000_000]) @LoopActor
    func `what is put can be opened, by whose it is and as it was (R-3)`(
        candidate: Candidate, length: Int
    ) async throws {
        let bench = try await Bench(candidate)
        for (number, owner) in Self.owners.enumerated() {
            #expect(try await bench.store.open(ContentName(owner)) == nil)
            try await bench.put(Pattern.bytes(from: number, count: length), of: owner)
        }
        for (number, owner) in Self.owners.enumerated() {
            let content = try await bench.store.openKnown(ContentName(owner))
            #expect(content.length == length)
            #expect(
                try await content.read(at: 0, count: length + 10)
                    == Pattern.bytes(from: number, count: length))
        }
        #expect(
            try await bench.listed()
                == Dictionary(uniqueKeysWithValues: Self.owners.map { ($0, [.whole]) }))
    }

    @Test(arguments: candidates) @LoopActor
    func `ranges are what the whole has there`(candidate: Candidate) async throws {
        let bench = try await Bench(candidate)
        let bytes = Pattern.bytes(count: 300_000)
        try await bench.put(bytes, of: .task(Self.task))
        let content = try await bench.store.openKnown(.task(Self.task))
        for (start, count) in [(0, 1), (4095, 2), (100_000, 150_000), (299_999, 1)] {
            #expect(
                try await content.read(at: Int64(start), count: count)
                    == Array(bytes[start..<start + count]))
        }
        // Fewer at the end, and none behind it.
        #expect(try await content.read(at: 299_990, count: 100) == Array(bytes[299_990...]))
        #expect(try await content.read(at: 300_000, count: 100).isEmpty)
        var buffer = [UInt8](repeating: 0, count: 1000)
        if let count = buffer.withUnsafeMutableBytes({
            content.readFromMemory(into: $0, at: 50_000)
        }) {
            #expect(Array(buffer[..<count]) == Array(bytes[50_000..<50_000 + count]))
        }
    }

    @Test(arguments: candidates) @LoopActor
    func `blocks come in the order in which they are asked for, and full`(
        candidate: Candidate
    ) async throws {
        let bench = try await Bench(candidate)
        let length = 15 * FileBlock.alignment
        let bytes = Pattern.bytes(count: 5 * length)
        try await bench.put(bytes, of: .task(Self.task))
        let content = try await bench.store.openKnown(.task(Self.task))
        var read: [UInt8] = []
        var failures = 0
        for start in stride(from: 0, to: bytes.count + length, by: length) {
            let block = FileBlock(capacity: length)
            content.read(into: block, at: Int64(start), count: length) { result in
                switch result {
                case .success: block.withBytes { read += Array($0) }
                case .failure: failures += 1
                }
            }
        }
        try await eventually("all blocks") { read.count == bytes.count && failures == 1 }
        #expect(read == bytes)
    }

    @Test(arguments: candidates) @LoopActor
    func `what is not there is told, and harms nothing`(candidate: Candidate) async throws {
        let bench = try await Bench(candidate)
        try await bench.put([1, 2, 3], of: .task(Self.other))
        #expect(try await bench.store.open(.task(Self.task)) == nil)
        await #expect(throws: FileError.self) { try await bench.store.openKnown(.task(Self.task)) }
        await #expect(throws: FileError.self) {
            try await bench.store.copy(.task(Self.task), to: ContentName(Self.owners[2]))
        }
        #expect(
            try await !bench.store.keepPart(
                of: Self.task, in: Self.tenant, length: 3, since: KeptTime(milliseconds: 0),
                behind: nil))
        #expect(
            try await bench.take(Self.task, 1, in: Self.tenant, as: TaskID(rawValue: 9)) == nil)
        try await bench.store.remove([.task(Self.task)])
        #expect(try await bench.listed() == [.task(Self.other): [.whole]])
    }

    @Test(arguments: candidates) @LoopActor
    func `of a content and its copy either may go first`(candidate: Candidate) async throws {
        for (goesFirst, length) in [(0, 40_000), (1, 700_000)] {
            let bench = try await Bench(candidate)
            let pair = [ContentName.task(Self.task), ContentName(Self.owners[2])]
            let bytes = Pattern.bytes(count: length)
            try await bench.put(bytes, of: pair[0].owner)
            try await bench.store.copy(pair[0], to: pair[1])
            #expect(try await bench.kept(pair[1]) == bytes)
            try await bench.store.remove([pair[goesFirst]])
            #expect(try await bench.kept(pair[goesFirst]) == nil)
            #expect(try await bench.kept(pair[1 - goesFirst]) == bytes)
        }
    }

    @Test(arguments: candidates) @LoopActor
    func `a content that is removed is read to its end by who has opened it`(
        candidate: Candidate
    ) async throws {
        let bench = try await Bench(candidate)
        let bytes = Pattern.bytes(count: 500_000)
        try await bench.put(bytes, of: .task(Self.task))
        let content = try await bench.store.openKnown(.task(Self.task))
        var read = try await content.read(at: 0, count: 100_000)
        try await bench.store.remove([.task(Self.task)])
        #expect(try await bench.store.open(.task(Self.task)) == nil)
        while read.count < bytes.count {
            let more = try await content.read(at: Int64(read.count), count: 100_000)
            try #require(!more.isEmpty)
            read += more
        }
        #expect(read == bytes)
        #expect(try await bench.listed().isEmpty)
    }

    @Test(arguments: candidates) @LoopActor
    func `many are removed at once, whole and as parts, and no others`(
        candidate: Candidate
    ) async throws {
        let bench = try await Bench(candidate)
        let tasks = (1...40).map { ContentOwner.task(TaskID(rawValue: $0)) }
        for task in tasks { try await bench.put([1], of: task) }
        let grows = ContentOwner.task(TaskID(rawValue: 41))
        _ = try await bench.part([1], of: grows)
        try await bench.store.remove((tasks[2...] + [grows]).map { ContentName($0) })
        #expect(Set(try await bench.listed().keys) == Set(tasks[..<2]))
        var isGone = false
        bench.store.discard(ContentName(tasks[0]), behind: nil) { isGone = true }
        try await eventually("the removal") { isGone }
        #expect(Set(try await bench.listed().keys) == [tasks[1]])
    }

    @Test(arguments: candidates) @LoopActor
    func `the part of a download goes on in another one (S-34)`(candidate: Candidate) async throws {
        let bench = try await Bench(candidate)
        let bytes = Pattern.bytes(count: 90_000)
        let spool = try await bench.part(bytes, of: .task(Self.task))
        let since = KeptTime(milliseconds: 1_700_000_000_123)
        #expect(
            try await bench.store.keepPart(
                of: Self.task, in: Self.tenant, length: 90_000, since: since, behind: spool.lane))
        let kept = try #require(try await bench.store.list([.kept]).first)
        #expect(kept.kind == .kept && kept.owner == .task(Self.task) && kept.modified == since)
        #expect(kept.tenant == Self.tenant && kept.length == 90_000)
        #expect(try await bench.store.list([.whole, .part]).isEmpty)
        // What resume data speaks of goes with neither its task nor its task's content.
        try await bench.store.remove([.task(Self.task)])
        #expect(
            try await bench.take(Self.task, 90_000, in: TenantID(rawValue: 8), as: Self.other)
                == nil)
        #expect(
            try await bench.take(Self.task, 90_001, in: Self.tenant, as: Self.other) == nil,
            "less than its record tells of")
        let taken = try await bench.take(Self.other, 90_000, in: Self.tenant, as: Self.other)
        #expect(taken?.point.received == [0..<90_000] && taken?.part == Self.other)
        let next = bench.spools.goOn(
            with: bench.spools.part(of: .task(Self.other)), length: 90_000, digest: nil)
        try await next.goOn()
        bytes.withUnsafeBytes { next.append($0) }
        _ = try await next.finish()
        #expect(try await bench.kept(.task(Self.other)) == bytes + bytes)
        #expect(try await bench.listed() == [.task(Self.other): [.whole]])
    }

    @Test(arguments: candidates) @LoopActor
    func `housekeeping is told of all that is here, and removes one of it`(
        candidate: Candidate
    ) async throws {
        let bench = try await Bench(candidate)
        try await bench.put([1], of: .task(Self.task))
        let old = try await bench.part([1], of: .task(Self.task))
        #expect(
            try await bench.store.keepPart(
                of: Self.task, in: Self.tenant, length: 1, since: KeptTime(milliseconds: 1000),
                behind: old.lane))
        _ = try await bench.part([1], of: .task(Self.other))
        #expect(
            try await bench.listed() == [
                .task(Self.task): [.whole, .kept], .task(Self.other): [.part],
            ])
        for entry in try await bench.store.list([.part, .kept]) {
            bench.store.discard(entry)
        }
        let deadline = ContinuousClock.now + .seconds(10)
        while try await bench.listed() != [.task(Self.task): [.whole]] {
            try #require(ContinuousClock.now < deadline)
        }
    }

    @Test(arguments: candidates, [ENOSPC, EIO]) @LoopActor
    func `what a disk has not taken for good is not in its place (R-3, R-5, R-6)`(
        candidate: Candidate, code: CInt
    ) async throws {
        let bench = try await Bench(candidate)
        let spool = try await bench.part(Pattern.bytes(count: 50_000), of: .task(Self.task))
        bench.disk.fail(with: code)
        await #expect(throws: FileError("fdatasync", code: code)) { try await spool.finish() }
        #expect(try await bench.store.open(.task(Self.task)) == nil)
        #expect(try await bench.listed() == [.task(Self.task): [.part]])
        bench.disk.fail(with: nil)
        try await bench.put([1, 2], of: .task(Self.task))
        #expect(try await bench.kept(.task(Self.task)) == [1, 2])
    }

    @Test(arguments: candidates) @LoopActor
    func `a part that is gone cannot be put`(candidate: Candidate) async throws {
        let bench = try await Bench(candidate)
        let spool = try await bench.part(Pattern.bytes(count: 50_000), of: .task(Self.task))
        try await bench.store.remove([.task(Self.task)])
        await #expect(throws: FileError.self) { try await spool.finish() }
        #expect(try await bench.store.open(.task(Self.task)) == nil)
    }

    /// The record of a staged file.
    private static func file(_ number: Int64, _ length: Int64, isComplete: Bool) -> StagedFile {
        var file = StagedFile(
            id: FileID(rawValue: number), tenant: .operatorTenant, announcedLength: nil,
            expectedDigest: nil, mediaType: nil, createdAt: Timestamp(milliseconds: 0),
            usedAt: KeptTime(milliseconds: 0))
        file.length = length
        file.isComplete = isComplete
        return file
    }

    @Test(arguments: candidates) @LoopActor
    func `staged files are held against what is here (R-1)`(candidate: Candidate) async throws {
        let bench = try await Bench(candidate)
        let file = Self.file
        let bytes = Pattern.bytes(count: 5000)
        for number in [1, 2, 3] as [Int64] {
            try await bench.put(bytes, of: .file(FileID(rawValue: number)))
        }
        _ = try await bench.part(bytes, of: .file(FileID(rawValue: 4)))
        let findings = await bench.store.removeDamaged(among: [
            file(1, 5000, true),
            file(2, 5001, true),
            file(3, 4000, false),  // its completion was not recorded
            file(4, 5000, false),
            file(5, 1, false),
            file(6, 0, false),
        ])
        #expect(findings.removed.map(\.id.rawValue) == [2, 5])
        #expect(Set(findings.sound.map(\.id.rawValue)) == [1, 3, 4, 6])
        #expect(findings.failure == nil)
        #expect(
            try await bench.listed() == [
                .file(FileID(rawValue: 1)): [.whole], .file(FileID(rawValue: 3)): [.part],
                .file(FileID(rawValue: 4)): [.part],
            ])
    }

    @Test(arguments: candidates.prefix(2)) @LoopActor
    func `of one that cannot be removed nothing is told, and of others what has become of them`(
        candidate: Candidate
    ) async throws {
        let bench = try await Bench(candidate)
        let bytes = Pattern.bytes(count: 5000)
        for number in [1, 2, 3] as [Int64] {
            try await bench.put(bytes, of: .file(FileID(rawValue: number)))
        }
        // A folder is not unlinked.
        let name = ContentFolder.name(of: FileID(rawValue: 2))
        let place = candidate.testDescription == "local" ? name : "shared/\(name)"
        try FileManager.default.removeItem(atPath: bench.directory.file(place))
        try FileManager.default.createDirectory(
            atPath: bench.directory.file(place), withIntermediateDirectories: false)
        let findings = await bench.store.removeDamaged(among: [
            Self.file(1, 5001, isComplete: true), Self.file(2, 5000, isComplete: true),
            Self.file(3, 5000, isComplete: true),
        ])
        #expect(findings.removed.map(\.id.rawValue) == [1])
        #expect(findings.sound.map(\.id.rawValue) == [3])
        #expect(findings.failure is FileError)
    }
}
