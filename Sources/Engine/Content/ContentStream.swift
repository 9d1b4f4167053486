internal import Files
public import Loop

/// Why a content ended before its end.
public enum ContentFailure: Error, Equatable, Sendable {
    /// The task failed or was cancelled while its content was followed.
    case taskFailed
    /// The file cannot be read, or is shorter than it was.
    case unreadable(String)
    /// The one reader of a streamed content has left.
    case readerGone
}

/// The bytes of a content in order, in blocks of at most 256 KiB, for one reader.
@LoopActor
public final class ContentStream {
    enum Source {
        case bytes([UInt8])
        case file(any OpenContent)
        /// A content that grows; the stream ends where it ends.
        case spool(ContentSpool)
        case pipe(StreamPipe)
    }

    private static let blockLength = 256 << 10

    private let source: Source
    private var offset: Int64
    /// The offset after the last byte; nil to the end, wherever that will be.
    private let end: Int64?
    private var isCancelled = false

    init(_ source: Source, from offset: Int64 = 0, to end: Int64? = nil) {
        self.source = source
        self.offset = offset
        self.end = end
    }

    /// The next bytes, or nil after the last.
    public func next() async throws(ContentFailure) -> [UInt8]? {
        guard !isCancelled, end.map({ offset < $0 }) ?? true else { return nil }
        let bytes = try await read()
        offset += Int64(bytes?.count ?? 0)
        return bytes
    }

    /// The reader takes nothing more.
    public func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        if case .pipe(let pipe) = source { pipe.detachReader() }
    }

    private func read() async throws(ContentFailure) -> [UInt8]? {
        let count = Int(min(Int64(ContentStream.blockLength), (end ?? .max) - offset))
        switch source {
        case .bytes(let bytes):
            guard offset < Int64(bytes.count) else { return nil }
            return Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
        case .file(let file):
            let offset = offset
            return try await reading {
                let bytes = try await file.read(at: offset, count: count)
                guard !bytes.isEmpty else { throw FileError("pread", code: 0) }
                return bytes
            }
        case .spool(let spool):
            await spool.grown(beyond: offset)
            guard offset < spool.length else {
                if spool.isBroken { throw .taskFailed }
                return nil
            }
            return try await reading { try await spool.read(at: self.offset, count: count) }
        case .pipe(let pipe):
            return try await pipe.next()
        }
    }

    private func reading(
        _ read: @LoopActor () async throws -> [UInt8]
    ) async throws(ContentFailure) -> [UInt8] {
        do {
            return try await read()
        } catch {
            throw .unreadable("\(error)")
        }
    }
}
