internal import Diagnostics
internal import Files
internal import Glibc
internal import Loop
internal import Semantics

/// Contents in a folder of this machine, where their spools write them too: what is put into its
/// place is renamed, and a copy is a second name.
final class LocalContentStore: ContentStore {
    private let folder: ContentFolder
    private let files: FileThreads
    private let log = Log("engine.content")

    /// Contents in a folder that is there, or will be by the first call.
    ///
    /// - Parameters:
    ///   - folder: that of the spools.
    ///   - files: do the work on it; those of the spools, whose lanes are named.
    nonisolated init(in folder: ContentFolder, files: FileThreads) {
        self.folder = folder
        self.files = files
    }

    func put(_ part: FinishedPart) async throws -> Int64? {
        try await files.run(on: part.lane) { try part.file.finish(length: part.length) }
        return nil
    }

    func open(_ content: ContentName) async throws -> (any OpenContent)? {
        let opened = try await files.runOpening { [folder] () -> (ContentFile, Int64)? in
            do {
                let file = try ContentFile(reading: content, in: folder)
                return (file, try file.measure())
            } catch let error as FileError where error.code == ENOENT {
                return nil
            }
        }
        return opened.map { LocalContent($0, length: $1, files: files) }
    }

    func copy(_ source: ContentName, to target: ContentName) async throws {
        try await files.run { [folder] in try folder.link(source, as: target) }
    }

    func remove(_ contents: [ContentName]) async throws {
        try await files.run { [folder] in
            var failure: (any Error)?
            for content in contents {
                do {
                    try folder.removeAll(of: content)
                } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
        }
    }

    func remove(_ parts: [ContentEntry]) async throws {
        try await files.run { [folder] in try folder.removeForGood(parts) }
    }

    func discard(
        _ content: ContentName, behind lane: Int?, then completion: (@LoopActor () -> Void)?
    ) {
        let work: @Sendable () -> Void = { [folder, log] in
            Self.discard(content.owner, log) { try folder.removeAll(of: content) }
        }
        guard let completion else { return files.submit(on: lane, work) }
        files.submit(on: lane, work) { _ in completion() }
    }

    func discard(_ entry: ContentEntry) {
        files.submit { [folder, log] in
            Self.discard(entry.owner, log) { try folder.remove(entry) }
        }
    }

    private nonisolated static func discard(
        _ owner: ContentOwner, _ log: Log, _ remove: () throws -> Void
    ) {
        do {
            try remove()
        } catch {
            log.write(
                .warning, "a file cannot be removed: it stays until the next start",
                ["owner": .name("\(owner.id)"), "error": .words("\(error)")])
        }
    }

    func list(_ kinds: Set<ContentKind>) async throws -> [ContentEntry] {
        try await files.run { [folder] in try folder.entries(kinds) }
    }

    func keepPart(
        of task: TaskID, in tenant: TenantID, length: Int64, since instant: KeptTime,
        behind lane: Int?
    ) async throws -> Bool {
        try await files.run(on: lane) { [folder] in
            try folder.keep(task, in: tenant, length: length, since: instant)
        }
    }

    func takePart(
        of checkpoint: DownloadCheckpoint, in tenant: TenantID, as task: TaskID,
        noting note: @LoopActor (DownloadCheckpoint) async -> Bool
    ) async throws -> DownloadCheckpoint? {
        let length = try await files.run { [folder] in
            try folder.take(checkpoint.part, in: tenant, as: task)
        }
        guard let length, length >= checkpoint.point.received.last?.upperBound ?? 0 else {
            return nil
        }
        return DownloadCheckpoint(
            point: checkpoint.point, part: task,
            series: checkpoint.part == task ? checkpoint.series : nil)
    }

    func removeDamaged(among staged: [StagedFile]) async -> StagedFindings {
        var findings = StagedFindings()
        do {
            let looks = try await files.run { [folder] in
                staged.map { file in
                    Result {
                        if try folder.holds(file) { return true }
                        try folder.removeAll(of: .file(file.id))
                        return false
                    }
                }
            }
            for (file, look) in zip(staged, looks) { findings.note(file, look) }
        } catch {
            findings.failure = error
        }
        return findings
    }
}

/// A file that is read: one of the folder, or of an ephemeral session.
@LoopActor
final class LocalContent: OpenContent {
    let length: Int64
    private let file: ContentFile
    private let files: FileThreads
    /// Where blocks are filled, in order.
    private lazy var lane = files.makeLane()

    init(_ file: ContentFile, length: Int64, files: FileThreads) {
        self.file = file
        self.length = length
        self.files = files
    }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        try await files.runOpening { [file] in try file.read(at: offset, count: count) }
    }

    func read(
        into block: FileBlock, at offset: Int64, count: Int,
        then completion: @escaping @LoopActor (Result<Void, any Error>) -> Void
    ) {
        files.submit(
            on: lane,
            { [file] in
                try block.refill { buffer in
                    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                    return try file.read(into: part, at: offset)
                }
                guard block.count == count else { throw FileError("pread", code: 0) }
            }, then: completion)
    }

    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        file.readFromMemory(into: buffer, at: offset)
    }
}
