import Engine
import Foundation
import Semantics
import Testing

@testable import SQLiteStore

/// The copy of a database beside its gateway, and the files that it tells of.
@Suite struct StoreCopyTests {
    private static func path(_ folder: String) -> String { folder + "/" + DurableStore.fileName }

    /// Tasks, a staged file of each kind, and stored responses.
    private struct Filled {
        var world = World()
        let session: SessionID
        var whole: TaskRecord
        var part: TaskRecord
        let small: TaskRecord
        let files: [StagedFile]
        let responses: [KeptResponse]

        init() {
            session = world.makeSession()
            whole = world.makeTask(in: session).completed(at: world.instant)
            whole.content = ContentRecord(
                length: 70_000, place: .file, digest: "sha-256=:AA==:", lengthVerified: true)
            part = world.makeTask(in: session).running(at: world.instant, isLive: true)
            part.checkpoint = .plain(part: part.id)
            small = world.makeTask(in: session).completed(at: world.instant)
            var files = [world.makeFile(), world.makeFile(), world.makeFile()]
            files[0].length = 5
            files[0].isComplete = true
            files[1].length = 3
            self.files = files
            responses = world.responses(in: session)
        }

        var batch: StoreBatch {
            var batch = world.batch(session)
            batch.createdTasks = [whole, part, small]
            batch.contents = [(small.id, Array(repeating: 1, count: 12))]
            batch.files = files
            batch.cacheEntries = responses
            return batch
        }
    }

    @Test func `a copy has what was committed, and tells of its files`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let filled = Filled()
            try await store.commit(filled.batch)
            try await TemporaryFolder.with { other in
                try FileManager.default.createDirectory(
                    atPath: other, withIntermediateDirectories: false)
                let copy = Self.path(other)
                try StoreCopy(reading: Self.path(folder)).copy(to: copy)
                var found: Set<String> = []
                try StoreCopy(reading: copy).forEachFile { file in
                    found.insert(
                        "\(file.owner.id)\(file.kind.rawValue) \(file.length ?? -1) \(file.digest ?? "")"
                    )
                }
                let cached = try #require(filled.responses.first { $0.entry.place == .file })
                #expect(
                    found == [
                        "\(filled.whole.id) 70000 sha-256=:AA==:",
                        "\(filled.part.id).part \(1 << 31) ", "\(filled.files[0].id) 5 ",
                        "\(filled.files[1].id).part 3 ", "\(cached.entry.id) -1 ",
                    ])
                let restored = try DurableStore(folder: other, sealer: sealer)
                #expect(try await restored.load().activeTasks == [filled.part])
                #expect(try await restored.content(of: filled.small.id)?.count == 12)
                // It does not take the place of anything.
                #expect(throws: StoreError.self) {
                    try StoreCopy(reading: Self.path(folder)).copy(to: copy)
                }
            }
        }
    }

    @Test func `a part is of use while its entity is the same and has not become less (R-3)`()
        async throws
    {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let filled = Filled()
            try await store.commit(filled.batch)
            let live = try StoreCopy(reading: Self.path(folder))
            let part = try #require(try live.file(of: .task(filled.part.id)))
            #expect(try live.continues(part))
            func becomes(_ change: (inout TaskRecord) -> Void) async throws -> Bool {
                var batch = StoreBatch()
                batch.changedTasks = [filled.part]
                change(&batch.changedTasks[0])
                try await store.commit(batch)
                return try live.continues(part)
            }
            let (tag, date) = ("\"v1\"", "Sun, 06 Nov 1994 08:49:37 GMT")
            func point(_ tag: String, _ received: [Range<Int64>]) -> DownloadCheckpoint {
                .checkpoint(
                    tag: tag, date: date, total: 1 << 40, received: received, part: filled.part.id)
            }
            #expect(try await becomes { $0.checkpoint = point(tag, [0..<1 << 32]) })
            #expect(try await !becomes { $0.checkpoint = point(tag, [0..<100]) })
            #expect(try await !becomes { $0.checkpoint = point("\"v2\"", [0..<1 << 32]) })
            #expect(try await !becomes { $0.checkpoint = nil })
            var end = filled.part.completed(at: filled.world.instant)
            end.checkpoint = nil
            func ends(_ tag: String) async throws -> Bool {
                try await becomes {
                    $0 = end
                    $0.response?.headers = [
                        "ETag": tag, "Last-Modified": date, "Date": "Mon, 07 Nov 1994 08:49:37 GMT",
                    ]
                }
            }
            #expect(try await ends(tag))
            #expect(try await !ends("\"v2\""))
            var batch = StoreBatch()
            batch.removedTasks = [filled.part.id]
            try await store.commit(batch)
            #expect(try !live.continues(part))
        }
    }

    @Test func `files that were deleted since are told of no more`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let filled = Filled()
            try await store.commit(filled.batch)
            try await TemporaryFolder.with { other in
                try FileManager.default.createDirectory(
                    atPath: other, withIntermediateDirectories: false)
                let copy = Self.path(other)
                try StoreCopy(reading: Self.path(folder)).copy(to: copy)
                var files: [NamedFile] = []
                try StoreCopy(reading: copy).forEachFile {
                    if $0.kind == .whole { files.append($0) }
                }
                #expect(files.count == 3)
                try StoreCopy.withdraw(files, from: copy)
                var left: [ContentKind] = []
                try StoreCopy(reading: copy).forEachFile { left.append($0.kind) }
                #expect(left == [.part, .part])
                let restored = try DurableStore(folder: other, sealer: sealer)
                var task = filled.whole
                task.content = nil
                #expect(try await restored.task(task.id, of: task.tenant) == task)
                #expect(try await restored.load().files == Array(filled.files[1...]))
            }
        }
    }
}
