internal import Diagnostics
internal import Engine
internal import Files
internal import Loop
internal import Semantics

/// Sizes by which contents go to S3 and come from it.
struct S3Sizes: Sendable {
    /// Up to here an object is sent by one request; and the least that a part has: a multiple of
    /// `FileBlock.alignment`.
    var part: Int64 = 8 << 20
    /// Parts that an object may have. <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>
    var partCount: Int64 = 10_000
    /// Up to here an object is copied by one request, and so long are the parts beyond: servers
    /// that copy the bytes one by one have to be done with that before `silence` ends.
    var copy: Int64 = 256 << 20
    /// Bytes of uploads that are in memory at a time, all together: a part that is greater is then
    /// the only one.
    var memory = 64 << 20
    /// Parts of one object that are sent at a time.
    var parallel = 3
    /// Bytes that are read ahead, of all objects together.
    var ahead = 64 << 20
    /// How long what was read ahead lies before others may have its room.
    var idle = Duration.seconds(10)
    /// When a request counts as not answered.
    var silence = S3Silence()

    /// How long the parts of an object are: as short as their count lets them be, in whole MiB.
    func part(of length: Int64) -> Int64 {
        // Rounded up, without what an origin's word could overflow.
        let least = length / partCount + (length % partCount > 0 ? 1 : 0)
        return least <= part ? part : (least + (1 << 20) - 1) / (1 << 20) * (1 << 20)
    }

    /// The parts of an object; none for one of no bytes.
    func ranges(of length: Int64, by part: Int64) -> [Range<Int64>] {
        stride(from: 0, to: length, by: Int64.Stride(part)).map { $0..<min($0 + part, length) }
    }
}

/// Brings contents to S3: small ones by one request, others in parts, some at a time.
@LoopActor
final class S3Uploader {
    private let objects: S3Objects
    /// In front of the names of stretches.
    private let prefix: String
    private let digests: any Digests
    private let files: FileThreads
    private let sizes: S3Sizes
    private let memory: S3Gate
    private let log = Log("contents.s3")
    /// Uploads that are to be forgotten as soon as S3 can be asked again.
    private var abandoned: [S3Objects.Upload] = []

    init(
        _ objects: S3Objects, below prefix: String, digests: any Digests, files: FileThreads,
        sizes: S3Sizes
    ) {
        self.objects = objects
        self.prefix = prefix
        self.digests = digests
        self.files = files
        self.sizes = sizes
        memory = S3Gate(room: sizes.memory)
    }

    /// Puts a content.
    func put(
        _ content: FinishedPart, as key: String, while isWanted: @LoopActor () -> Bool
    ) async throws {
        guard content.length > sizes.part else {
            return try await put(
                Int(content.length), as: key, { try content.read(0..<content.length) },
                while: isWanted)
        }
        let part = sizes.part(of: content.length)
        let ahead = Dictionary(content.ahead.map { ($0.range, $0) }) { first, _ in first }
        try await inParts(
            sizes.ranges(of: content.length, by: part), as: key, length: content.length,
            while: isWanted
        ) { [self] range, number, upload in
            if let stretch = ahead[range],
                let part = try await copy(stretch, as: number, of: upload)
            {
                return part
            }
            let count = Int(range.upperBound - range.lowerBound)
            await memory.enter(count)
            defer { memory.leave(count) }
            let (bytes, digest) = try await read(count) { try content.read(range) }
            return try await objects.put(bytes, digest: digest, as: number, of: upload)
        }
    }

    /// Puts an object by one request.
    ///
    /// - Parameters:
    ///   - count: its length in bytes.
    ///   - key: what it is called.
    ///   - bytes: reads it; blocks.
    ///   - isWanted: asked when it has been read.
    /// - Throws: `S3Failure`, `FileError`.
    func put(
        _ count: Int, as key: String, _ bytes: @escaping @Sendable () throws -> [UInt8],
        while isWanted: @LoopActor () -> Bool
    ) async throws {
        await memory.enter(count)
        defer { memory.leave(count) }
        let (bytes, digest) = try await read(count, bytes)
        guard isWanted() else { throw S3Failure("PutObject", .stopped) }
        try await objects.put(key, bytes, digest: digest)
    }

    /// Adds bytes as a part that are on S3 already; nil where they are gone, or S3 copies none.
    private func copy(
        _ stretch: Stretch, as number: Int, of upload: S3Objects.Upload
    ) async throws(S3Failure) -> S3Objects.Part? {
        do throws(S3Failure) {
            return try await objects.copy(
                0..<stretch.range.upperBound - stretch.range.lowerBound,
                of: prefix + stretch.name, nil, as: number, of: upload)
        } catch {
            // Without the upload itself nothing follows.
            guard error.kind != .stopped, error.code != "NoSuchUpload" else { throw error }
            return nil
        }
    }

    /// Copies an object on S3's side.
    func copy(_ source: String, _ head: S3Objects.Head, to key: String) async throws {
        guard head.length > sizes.copy else {
            return try await objects.copy(source, head, to: key)
        }
        let part = max(sizes.part(of: head.length), sizes.copy)
        try await inParts(
            sizes.ranges(of: head.length, by: part), as: key, length: head.length, while: { true }
        ) { [objects] range, number, upload in
            try await objects.copy(range, of: source, head.etag, as: number, of: upload)
        }
    }

    /// Forgets what was begun and not completed.
    func abandon(_ uploads: [S3Objects.Upload]) {
        abandoned += uploads
        forgetAbandoned()
    }

    /// S3 can be asked again.
    func forgetAbandoned() {
        guard !abandoned.isEmpty else { return }
        let uploads = abandoned
        abandoned = []
        LoopActor.start { [self] in
            for (number, upload) in uploads.enumerated() {
                do throws(S3Failure) {
                    try await objects.abort(upload)
                } catch {
                    // One that S3 does not forget keeps no other one from being forgotten.
                    guard [.away, .unusable, .stopped].contains(error.kind) else {
                        log.write(
                            .warning, "parts of an upload stay on S3",
                            ["error": .words("\(error.fileError)")])
                        continue
                    }
                    abandoned += uploads[number...]
                    return
                }
            }
        }
    }

    // MARK: Parts

    private typealias Step =
        @LoopActor (Range<Int64>, Int, S3Objects.Upload) async throws -> S3Objects.Part

    private func inParts(
        _ ranges: [Range<Int64>], as key: String, length: Int64,
        while isWanted: @LoopActor () -> Bool, _ step: @escaping Step
    ) async throws {
        let upload = try await objects.begin(key)
        do {
            let parts = try await send(ranges, of: upload, while: isWanted, step)
            let said = try await objects.complete(upload, parts)
            let found = try await objects.head(key)?.length
            guard found == length else {
                let isGone = said == .gone
                log.write(
                    isGone ? .warning : .error,
                    isGone
                        ? "an upload was forgotten before it was complete: all is sent again"
                        : "S3 has not made an object of its parts",
                    [
                        "said": .name(said.rawValue), "length": .number(Int(length)),
                        "found": .number(Int(found ?? -1)),
                    ])
                // Unless somebody has forgotten it, the same would come of sending it again.
                throw S3Failure("CompleteMultipartUpload", isGone ? .away : .refused)
            }
        } catch {
            abandon([upload])
            throw error
        }
    }

    /// Sends all parts, some at a time; after a failure no further one is begun, and those that
    /// were are waited for.
    private func send(
        _ ranges: [Range<Int64>], of upload: S3Objects.Upload,
        while isWanted: @LoopActor () -> Bool, _ step: @escaping Step
    ) async throws -> [S3Objects.Part] {
        var running: [Task<S3Objects.Part, any Error>] = []
        var parts: [S3Objects.Part] = []
        var failure: (any Error)?
        func takeFirst() async {
            do {
                parts.append(try await running.removeFirst().value)
            } catch {
                failure = failure ?? error
            }
        }
        for (index, range) in ranges.enumerated() {
            if running.count == sizes.parallel { await takeFirst() }
            if !isWanted() { failure = failure ?? S3Failure("UploadPart", .stopped) }
            guard failure == nil else { break }
            running.append(
                LoopActor.start { try await step(range, index + 1, upload) })
        }
        while !running.isEmpty { await takeFirst() }
        if let failure { throw failure }
        return parts
    }

    /// Bytes, as many as there must be, and their digest.
    private func read(
        _ count: Int, _ body: @escaping @Sendable () throws -> [UInt8]
    ) async throws -> (bytes: [UInt8], digest: [UInt8]) {
        try await files.run { [digests] in
            let bytes = count == 0 ? [] : try body()
            guard bytes.count == count else { throw FileError("pread", code: 0) }
            var digest = digests.start(.sha256)
            bytes.withUnsafeBytes { digest.update($0) }
            return (bytes, digest.value())
        }
    }
}
