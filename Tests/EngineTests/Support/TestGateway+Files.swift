import Foundation
import Loop
import Semantics
import TestSupport

@testable import Engine

extension TestGateway {
    /// Creates a staged file without a byte.
    func file(_ spec: StagedFileSpec = StagedFileSpec()) async throws -> FileID {
        try await gateway.files.create(spec, of: tenant).id
    }

    /// Creates a staged file of these bytes.
    func file(_ bytes: [UInt8]) async throws -> FileID {
        let id = try await file()
        try await append(bytes, to: id, completes: true)
        return id
    }

    /// Appends bytes at an offset, by default where the file ends.
    @discardableResult
    func append(
        _ bytes: [UInt8], to id: FileID, at offset: Int64? = nil, completes: Bool = false,
        announcing length: Int64? = nil, digest: ContentDigest? = nil
    ) async throws -> StagedFile {
        let offset = try offset ?? gateway.files.record(id, of: tenant).length
        return try await gateway.files.append(
            FileAppend(
                offset: offset, length: Int64(bytes.count), completes: completes,
                announcedLength: length, expectedDigest: digest),
            to: id, of: tenant, from: ScriptedFeed.of(bytes))
    }

    /// Begins to append what a feed sends; its length is not known.
    func begin(
        _ feed: ScriptedFeed, to id: FileID, completes: Bool = false
    ) throws -> Task<StagedFile, any Error> {
        let order = FileAppend(
            offset: try gateway.files.record(id, of: tenant).length, length: nil,
            completes: completes)
        return LoopActor.start { [self] in
            try await gateway.files.append(order, to: id, of: tenant, from: feed.feed)
        }
    }

    /// The bytes of a complete file, or some of them.
    func bytes(of id: FileID, _ range: Range<Int64>? = nil) async throws -> [UInt8] {
        let stream = try await gateway.files.open(id, of: tenant).open(range)
        var bytes: [UInt8] = []
        while let more = try await stream.next() { bytes += more }
        return bytes
    }

    /// The files that the store has.
    var stagedFiles: [FileID] {
        gateway.files.staged.page(of: tenant, after: nil, limit: .max).map(\.id)
    }

    /// What the store has of a file.
    func stored(_ id: FileID) async throws -> StagedFile? {
        try await store.disk.load().files.first { $0.id == id }
    }

    /// What `kill -9` leaves, opened and started: the store, and a copy of the files.
    func survivor(limits: GatewayLimits = GatewayLimits()) async throws -> TestGateway {
        store.refuse(with: .failed("the process is dead"))
        return try await survivorOfCopy(limits: limits)
    }

    /// What `kill -9` would leave now; this harness lives on, and commits nothing meanwhile.
    func survivorOfCopy(limits: GatewayLimits = GatewayLimits()) async throws -> TestGateway {
        let copy = try TemporaryDirectory()
        for name in try directory.contents() where name.contains("/") {
            let parent = copy.file(String(name.prefix { $0 != "/" }))
            try FileManager.default.createDirectory(
                atPath: parent, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: directory.file(name), toPath: copy.file(name))
        }
        let harness = try await TestGateway(
            store: ScriptedStore(disk: store.disk), clock: clock, directory: copy, limits: limits)
        await harness.gateway.start()
        return harness
    }

    /// The names of a staged file's files, without their folder.
    func names(of id: FileID) throws -> [String] {
        try files().compactMap { $0.split(separator: "/").last.map(String.init) }
            .filter { $0.hasPrefix(id.description) }
    }
}

extension Result where Failure == any Error {
    /// Why an upload was not done; nil for anything else.
    var refusal: GatewayError? {
        guard case .failure(let error) = self else { return nil }
        return (error as? UploadInterruption)?.cause as? GatewayError ?? error as? GatewayError
    }

    /// Why an upload was interrupted.
    var interruption: UploadInterruption? {
        guard case .failure(let error) = self else { return nil }
        return error as? UploadInterruption
    }
}

/// What became of a call.
@LoopActor
func outcome<Success: Sendable>(
    of call: @LoopActor () async throws -> Success
) async -> Result<Success, any Error> {
    do {
        return .success(try await call())
    } catch {
        return .failure(error)
    }
}
