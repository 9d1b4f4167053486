import Files
import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What is particular to whole contents in a folder of another file system.
@Suite(.onLoop)
struct SharedFolderTests {
    private static let files = FileThreads(count: 2)
    private static let task = ContentOwner.task(TaskID(rawValue: 7))

    @LoopActor
    fileprivate final class Bench {
        let directory: TemporaryDirectory
        let path: String
        let shared: SharedFolderContents
        let place: ScriptedPlace
        let store: SplitContentStore
        let spools: Spools

        init(files: FileThreads = SharedFolderTests.files) async throws {
            directory = try TemporaryDirectory()
            path = directory.file("shared")
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
            let folder = ContentFolder(path: directory.file("content"))
            try folder.prepare()
            shared = SharedFolderContents(at: path, files: files)
            try await shared.setMark("first-1")
            place = ScriptedPlace(shared)
            store = SplitContentStore(place, partsIn: folder, files: files)
            spools = Spools(
                in: folder, files: files, room: DiskRoom(), clock: ManualClock(),
                digests: SumDigests(), contents: store)
        }

        func spool(_ bytes: [UInt8]) async throws -> ContentSpool {
            let spool = spools.makeSpool(for: task, digest: nil)
            spool.moveToDisk()
            bytes.withUnsafeBytes { spool.append($0) }
            try await spool.settle()
            return spool
        }

        func files(in folder: String) throws -> [String] {
            let all = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String }
            return (all ?? []).filter { $0.contains(".new") || $0.contains("tsk_") }
        }
    }

    @Test @LoopActor func `the mark is what was left last`() async throws {
        let bench = try await Bench()
        #expect(try await bench.shared.mark() == "first-1")
        try await bench.shared.setMark("second-2")
        #expect(try await bench.shared.mark() == "second-2")
    }

    @Test @LoopActor func `a folder that is not there is told of in one sentence`() async throws {
        let nowhere = SharedFolderContents(at: "/nonexistent/folder", files: Self.files)
        let error = try await #require(throws: UnusablePlace.self) { try await nowhere.mark() }
        #expect(error.description.contains("/nonexistent/folder"))
    }

    @Test @LoopActor func `of what is put, nothing stays in the data folder`() async throws {
        let bench = try await Bench()
        _ = try await bench.spool(Pattern.bytes(count: 3_000_000)).finish()
        #expect(try bench.files(in: bench.directory.file("content")).isEmpty)
        #expect(try bench.files(in: bench.path).map { $0.suffix(4) } != [".new"])
        let content = try await bench.store.openKnown(ContentName(Self.task))
        #expect(
            try await content.read(at: 0, count: 4_000_000) == Pattern.bytes(count: 3_000_000))
    }

    @Test @LoopActor func `while the folder is not mounted a content waits, and is not lost`()
        async throws
    {
        let bench = try await Bench()
        let away = bench.directory.file("elsewhere")
        let spool = try await bench.spool(Pattern.bytes(count: 70_000))
        try FileManager.default.moveItem(atPath: bench.path, toPath: away)
        try FileManager.default.createDirectory(
            atPath: bench.path, withIntermediateDirectories: false)
        // What is not there is not said to be gone.
        await #expect(throws: FileError("open", code: EHOSTDOWN)) {
            try await bench.store.open(ContentName(Self.task))
        }
        await #expect(throws: FileError("open", code: EHOSTDOWN)) {
            try await bench.store.list([.whole])
        }
        // Nor is it said to have been removed, or not to be there to be copied.
        await #expect(throws: FileError("open", code: EHOSTDOWN)) {
            try await bench.shared.remove([ContentName(Self.task)])
        }
        await #expect(throws: FileError("open", code: EHOSTDOWN)) {
            try await bench.shared.remove([
                Stretch(of: TaskID(rawValue: 7), in: 1, 0..<4096)
            ])
        }
        await #expect(throws: FileError("open", code: EHOSTDOWN)) {
            try await bench.store.copy(
                ContentName(Self.task), to: .entry(CacheEntryID(rawValue: 7)))
        }
        let end = LoopActor.start { _ = try await spool.finish() }
        try await bench.isAsked()
        #expect(try bench.files(in: bench.directory.file("content")).count == 1)
        try FileManager.default.removeItem(atPath: bench.path)
        try FileManager.default.moveItem(atPath: away, toPath: bench.path)
        try await end.value
        let content = try await bench.store.openKnown(ContentName(Self.task))
        #expect(try await content.read(at: 0, count: 70_000) == Pattern.bytes(count: 70_000))
        #expect(try bench.files(in: bench.directory.file("content")).isEmpty)
    }

    @Test @LoopActor func `a content that is given up does not wait for its folder`() async throws {
        let bench = try await Bench()
        let spool = try await bench.spool(Pattern.bytes(count: 70_000))
        try FileManager.default.removeItem(atPath: bench.path)
        let end = LoopActor.start { _ = try await spool.finish() }
        spool.close(isBroken: true)
        await #expect(throws: FileError.self) { try await end.value }
    }

    @Test(arguments: [false, true]) @LoopActor
    func `a content that is discarded while its part is being removed does not stay`(
        isGivenUp: Bool
    ) async throws {
        let files = FileThreads(count: 2)
        let bench = try await Bench(files: files)
        let gate = Gate()
        bench.place.wholeGate = gate
        let spool = try await bench.spool(Pattern.bytes(count: 70_000))
        let end = LoopActor.start { await outcome { try await spool.finish().bytes } }
        try await eventually("the put") { bench.place.wholeCount == 1 }
        // The part is removed behind this.
        let signal = DispatchSemaphore(value: 0)
        files.submit(on: spool.lane) { signal.wait() }
        gate.open()
        try await eventually("the whole") {
            try await bench.shared.length(of: ContentName(Self.task)) != nil
        }
        for _ in 0..<5 { await LoopActor.nextTurn() }
        if isGivenUp {
            // Nothing is waited for any more that could be given up.
            bench.store.giveUpPut(of: Self.task)
        } else {
            bench.store.discard(ContentName(Self.task))
        }
        signal.signal()
        let isPut = if case .success = await end.value { true } else { false }
        #expect(isPut == isGivenUp)
        #expect(try bench.files(in: bench.path).count == (isGivenUp ? 1 : 0))
        #expect(try bench.files(in: bench.directory.file("content")).isEmpty)
    }

    @Test @LoopActor func `what a crash has left half written is swept up, and no other`()
        async throws
    {
        let bench = try await Bench()
        let place = ContentFolder(path: bench.path).path(of: Self.task.id)
        for (end, age) in [(".1.new", 3700.0), (".2.new", 100)] {
            try Data([1]).write(to: URL(fileURLWithPath: place + end))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: place + end)
        }
        #expect(try await bench.store.list(Set(ContentKind.allCases)).isEmpty)
        #expect(try bench.files(in: bench.path).map { $0.suffix(6) } == [".2.new"])
    }
}

extension SharedFolderTests.Bench {
    /// Returns when the folder was asked for behind the calls of now.
    fileprivate func isAsked() async throws {
        for _ in 0..<3 { _ = try? await shared.length(of: .task(TaskID(rawValue: 8))) }
    }
}
