import Files
import Foundation
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Downloads that are saved in a folder of the client's.
@Suite(.onLoop)
struct SavingTests {
    /// A folder that is held up while a file gets its name.
    @LoopActor
    private final class SlowFolders: SaveFolders {
        nonisolated let names = ["out"]
        private(set) var isPublishing = false
        private(set) var stagedCount = 0
        /// Whether staging is held up, too.
        var holdsStaging = false
        private var held: CheckedContinuation<Void, Never>?
        private(set) var discarded: [TaskID] = []
        private(set) var published: [TaskID] = []
        private let fault: SaveFault?
        private static let file = SavedFile(path: "a", device: 1, inode: 2, modified: 3)

        init(failing fault: SaveFault? = nil) { self.fault = fault }

        func goOn() {
            held?.resume()
            held = nil
        }

        func check(_ destination: SaveDestination, length: Int64?) {}

        func stage(
            _ source: SaveSource, of task: TaskID, for destination: SaveDestination
        ) async -> SavedFile {
            stagedCount += 1
            if holdsStaging { await withCheckedContinuation { held = $0 } }
            return Self.file
        }

        func publish(
            _ file: SavedFile, of task: TaskID, at destination: SaveDestination
        ) async throws(SaveFault) -> SavedFile {
            isPublishing = true
            await withCheckedContinuation { held = $0 }
            if let fault { throw fault }
            published.append(task)
            return file
        }

        func find(_ file: SavedFile, of task: TaskID, at destination: SaveDestination) -> SaveStage
        {
            .gone
        }

        func discard(_ task: TaskID, for destination: SaveDestination) { discarded.append(task) }

        func open(_ file: SavedFile, in folder: String, length: Int64) -> (any OpenContent)? { nil }
    }

    /// A download that is whole and being saved.
    @LoopActor
    private func saving(
        in folders: SlowFolders
    ) async throws -> (TestGateway, TaskID) {
        let harness = try await TestGateway.open(saveFolders: folders)
        let session = try await harness.session()
        let destination = SaveDestination(folder: "out", path: "a")
        let task = try await harness.create(
            try harness.spec(.download) { $0.destination = destination }, in: session)
        try await harness.network.attempt(0).answer(200, [:], [1, 2, 3])
        try await eventually("the file to be staged") { folders.stagedCount == 1 }
        return (harness, task)
    }

    @Test @LoopActor
    func `a suspended task that is cancelled while the file gets its name ends with it`()
        async throws
    {
        let folders = SlowFolders()
        folders.holdsStaging = true
        let (harness, task) = try await saving(in: folders)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        folders.goOn()
        try await eventually("the file to get its name") { folders.isPublishing }
        let cancel = Task { try await harness.gateway.tasks.cancel(task, of: harness.tenant) }
        await harness.quiet()
        folders.goOn()
        _ = try await cancel.value
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.savedPlace?.path == "a")
    }

    @Test @LoopActor
    func `a file that was being staged when the gateway died is saved by the next one (S-56)`()
        async throws
    {
        let folders = SlowFolders()
        folders.holdsStaging = true
        let (harness, task) = try await saving(in: folders)
        // The record is stored meanwhile, with the content and without its place.
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        await harness.quiet()
        let others = SlowFolders()
        let next = try await harness.crash(saveFolders: others)
        await next.gateway.start()
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        try await eventually("the file to get its name") { others.isPublishing }
        others.goOn()
        let record = try await next.finished(task)
        #expect(record.error == nil && record.savedPlace?.path == "a")
        #expect(others.published == [task] && next.network.attempts.isEmpty)
        folders.goOn()
    }

    @Test @LoopActor
    func `a content that the store cannot read is not said to be gone`() async throws {
        let folders = SlowFolders()
        folders.holdsStaging = true
        let (harness, task) = try await saving(in: folders)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        await harness.quiet()
        let next = try await harness.crash(saveFolders: SlowFolders())
        await next.gateway.start()
        next.store.refuseReads(with: .failed("the disk"))
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        let error = try #require(try await next.finished(task).error)
        #expect(error.code == -3003 && error.message.contains("it cannot be read"))
        #expect(error.underlying == nil)
        folders.goOn()
    }

    @Test(arguments: [EHOSTDOWN, ECANCELED, EIO]) @LoopActor
    func `a content that cannot be read is saved when it can be, unless that never will be (R-2)`(
        code: CInt
    ) async throws {
        let root = try TemporaryDirectory()
        let folders = LocalSaveFolders(
            ["out": root.path], contents: ContentFolder(path: root.path + "/none"),
            files: TestGateway.files)
        let harness = try await TestGateway.open(
            saveFolders: folders, keepsContentsElsewhere: true)
        let place = try #require(harness.place)
        place.readFailure = FileError("read", code: code)
        let session = try await harness.session()
        let destination = SaveDestination(folder: "out", path: "a")
        let task = try await harness.create(
            try harness.spec(.download) { $0.destination = destination }, in: session)
        let bytes = Pattern.bytes(count: 400_000)
        try await harness.network.attempt(0).answer(200, [:], bytes)
        try await eventually("a try") { place.failedReadCount > 0 }
        if code == EIO {
            #expect(try await harness.finished(task).error?.underlying?.code == Int(EIO))
            return
        }
        await harness.quiet()
        #expect(try await harness.state(task) == .running && !harness.recorder.isOver(task))
        guard code == EHOSTDOWN else { return }  // the gateway stops
        place.readFailure = nil
        #expect(try await harness.finished(task).error == nil)
        #expect(try [UInt8](Data(contentsOf: URL(fileURLWithPath: root.file("a")))) == bytes)
    }

    @Test @LoopActor
    func `what cannot be looked for in a folder is not taken for gone`() async throws {
        let root = try TemporaryDirectory()
        try root.write("sub", [1])
        let folders = LocalSaveFolders(
            ["out": root.path], contents: ContentFolder(path: root.path + "/none"),
            files: TestGateway.files)
        let file = SavedFile(path: "a", device: 1, inode: 2, modified: 3)
        let task = TaskID(rawValue: 7)
        #expect(
            try await folders.find(file, of: task, at: SaveDestination(folder: "out", path: "a"))
                == .gone)
        await #expect(throws: SaveFault.notAFolder) {
            try await folders.find(
                file, of: task, at: SaveDestination(folder: "out", path: "sub/a"))
        }
    }

    @Test(arguments: [nil, SaveFault.exists]) @LoopActor
    func `who cancels while the file gets its name comes too late, whatever comes of it`(
        fault: SaveFault?
    ) async throws {
        let folders = SlowFolders(failing: fault)
        let (harness, task) = try await saving(in: folders)
        try await eventually("the file to get its name") { folders.isPublishing }
        let cancel = Task { try await harness.gateway.tasks.cancel(task, of: harness.tenant) }
        await harness.quiet()
        #expect(try await harness.state(task) == .running && folders.discarded.isEmpty)
        folders.goOn()
        _ = try await cancel.value
        let record = try await harness.finished(task)
        if fault == nil {
            #expect(record.error == nil && record.savedPlace?.path == "a")
            #expect(folders.published == [task] && folders.discarded.isEmpty)
        } else {
            #expect(record.error?.code == -3000 && folders.discarded.contains(task))
        }
    }
}
