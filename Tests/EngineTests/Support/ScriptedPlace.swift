import Files
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A shared folder that fails with stretches, or lets them and whole contents wait, as its test
/// wants it.
@LoopActor
final class ScriptedPlace: WholeContents {
    /// What a stretch ends with; nil for none.
    var failure: FileError?
    /// What stretches that were read wait for.
    var gate: Gate?
    /// What contents wait for that are put as a whole.
    var wholeGate: Gate?
    /// What everything about whole contents ends with, but for lists and reading what is open; nil
    /// for nothing.
    var wholeFailure: FileError?
    /// What reading whole contents ends with that are open; nil for nothing.
    var readFailure: FileError?
    /// From which byte on that is so.
    var readableLength: Int64 = 0
    /// Whole contents that were to be put.
    private(set) var wholeCount = 0
    /// What happens before a stretch is read.
    var beforeRead: (@LoopActor () async throws -> Void)?
    /// Tries to read stretches.
    private(set) var readCount = 0
    /// Tries to read whole contents that have failed so.
    fileprivate(set) var failedReadCount = 0
    /// Tries to put stretches.
    private(set) var tryCount = 0
    private let folder: SharedFolderContents
    private let directory: TemporaryDirectory?

    /// A place in a folder, and a directory that is to be there for as long.
    init(_ folder: SharedFolderContents, keeping directory: TemporaryDirectory? = nil) {
        self.folder = folder
        self.directory = directory
    }

    func put(
        _ stretch: Stretch, _ read: @escaping @Sendable () throws -> [UInt8],
        while isWanted: @LoopActor () -> Bool
    ) async throws {
        tryCount += 1
        if let failure { throw failure }
        let bytes = try read()
        guard isWanted() else { throw FileError("write", code: 0) }
        try await gate?.wait()
        try await folder.put(stretch, { bytes }, while: { true })
    }

    func stretches(of task: TaskID) async throws -> [Stretch] {
        if let failure { throw failure }
        return try await folder.stretches(of: task)
    }

    func read(_ stretch: Stretch) async throws -> [UInt8] {
        readCount += 1
        try await beforeRead?()
        return try await folder.read(stretch)
    }

    func remove(_ stretches: [Stretch]) async throws { try await folder.remove(stretches) }

    // MARK: As the folder does it

    func stretchLength(of total: Int64?) -> Int64 { folder.stretchLength(of: total) }
    func forgetUploads(of owner: ContentOwner) async throws {}
    func mark() async throws -> String? { try await folder.mark() }
    func setMark(_ mark: String) async throws { try await folder.setMark(mark) }
    func isEmpty() async throws -> Bool { try await folder.isEmpty() }
    func forgetOldWork() async {}
    func put(_ part: FinishedPart, while isWanted: @LoopActor () -> Bool) async throws {
        wholeCount += 1
        try await wholeGate?.wait()
        if let wholeFailure { throw wholeFailure }
        try await folder.put(part, while: isWanted)
    }
    func open(_ content: ContentName) async throws -> (any OpenContent)? {
        if let wholeFailure { throw wholeFailure }
        return try await folder.open(content).map { ScriptedContent($0, in: self) }
    }
    func copy(_ source: ContentName, to target: ContentName) async throws {
        if let wholeFailure { throw wholeFailure }
        try await folder.copy(source, to: target)
    }
    func remove(_ contents: [ContentName]) async throws {
        if let wholeFailure { throw wholeFailure }
        try await folder.remove(contents)
    }
    func length(of content: ContentName) async throws -> Int64? {
        if let wholeFailure { throw wholeFailure }
        return try await folder.length(of: content)
    }
    func list() async throws -> [ContentEntry] { try await folder.list() }
    func stopWaiting() {}
}

/// A content that cannot be read where its place says so.
@LoopActor
private final class ScriptedContent: OpenContent {
    private let content: any OpenContent
    private let place: ScriptedPlace

    init(_ content: any OpenContent, in place: ScriptedPlace) {
        self.content = content
        self.place = place
    }

    var length: Int64 { content.length }

    private func failure(_ offset: Int64, _ count: Int) -> FileError? {
        offset + Int64(count) > place.readableLength ? place.readFailure : nil
    }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        if let failure = failure(offset, count) {
            place.failedReadCount += 1
            throw failure
        }
        return try await content.read(at: offset, count: count)
    }

    func read(
        into block: FileBlock, at offset: Int64, count: Int,
        then completion: @escaping @LoopActor (Result<Void, any Error>) -> Void
    ) {
        if let failure = failure(offset, count) { return completion(.failure(failure)) }
        content.read(into: block, at: offset, count: count, then: completion)
    }

    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        failure(offset, buffer.count) == nil
            ? content.readFromMemory(into: buffer, at: offset) : nil
    }
}

extension DownloadCheckpoint {
    /// What is there of an entity with a strong tag.
    static func tagged(
        _ received: [Range<Int64>], of task: TaskID, total: Int64? = nil, series: Int64? = nil
    ) throws -> DownloadCheckpoint {
        let validators = EntityValidators(tag: EntityTag("\"1\""), date: nil)
        let entity = try #require(RangedEntity(validators: validators, total: total))
        let point = try #require(ResumePoint(entity: entity, received: received))
        return DownloadCheckpoint(point: point, part: task, series: series)
    }
}
