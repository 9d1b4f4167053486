internal import Loop
public import Semantics

/// What a client says of a file before its first byte.
public struct StagedFileSpec: Sendable {
    /// How many bytes the whole is going to have; nil where only its end will tell.
    public var announcedLength: Int64?
    /// What the whole must have; nil checks nothing.
    public var expectedDigest: ContentDigest?
    /// For the request that sends the file; nil without one.
    public var mediaType: String?

    /// A file from its parts; they are not checked again.
    public init(
        announcedLength: Int64? = nil, expectedDigest: ContentDigest? = nil,
        mediaType: String? = nil
    ) {
        self.announcedLength = announcedLength
        self.expectedDigest = expectedDigest
        self.mediaType = mediaType
    }
}

/// What a request does to the upload of a staged file.
public struct FileAppend: Sendable {
    /// Where its first byte belongs.
    public var offset: Int64
    /// How many bytes it brings; nil where only its end will tell.
    public var length: Int64?
    /// Whether the file is whole with them.
    public var completes: Bool
    /// The length of the whole, if it is told now; it must not contradict what was told before.
    public var announcedLength: Int64?
    /// The digest of the whole, if it is told now; it must not contradict what was told before.
    public var expectedDigest: ContentDigest?

    /// A request from its parts.
    public init(
        offset: Int64, length: Int64?, completes: Bool, announcedLength: Int64? = nil,
        expectedDigest: ContentDigest? = nil
    ) {
        self.offset = offset
        self.length = length
        self.completes = completes
        self.announcedLength = announcedLength
        self.expectedDigest = expectedDigest
    }

    /// The offset behind its last byte; nil where only its end will tell.
    var end: Int64? {
        length.map { length in
            let (end, isTooFar) = offset.addingReportingOverflow(length)
            return isTooFar ? .max : end
        }
    }

    /// What the request tells of the whole's length; nil for nothing.
    /// - Throws: `inconsistentLength` where it contradicts itself.
    public func total() throws(GatewayError) -> Int64? {
        guard let end else { return announcedLength }
        if let announcedLength, completes ? end != announcedLength : end > announcedLength {
            throw .inconsistentLength(announced: announcedLength)
        }
        return completes ? end : announcedLength
    }
}

/// The bytes of a request, piece by piece.
public struct ByteFeed {
    /// The next bytes; nil at the end. One call at a time.
    let next: @LoopActor () async throws -> [UInt8]?
    /// Makes a call of `next` that waits throw: nothing more is wanted.
    let interrupt: @LoopActor () -> Void

    /// A feed from its two ends.
    public init(
        next: @escaping @LoopActor () async throws -> [UInt8]?,
        interrupt: @escaping @LoopActor () -> Void
    ) {
        self.next = next
        self.interrupt = interrupt
    }
}

/// Why a request did not do to an upload what it was to do, and what there is nevertheless.
public struct UploadInterruption: Error {
    /// What went wrong: a `GatewayError`, or what the feed has thrown.
    public let cause: any Error
    /// The file with the bytes that are there for good, from where the upload can go on; nil where
    /// there is none, or none any more.
    public let file: StagedFile?
}

/// A complete staged file that may be read.
public struct StagedFileAccess: Sendable {
    /// The file, which does not change any more.
    public let file: StagedFile
    /// Opens a reader of the bytes in a range, which must lie within the file's length, or of all
    /// for nil; call it once. Throws `noSuchFile` where the file has gone meanwhile.
    public let open: @LoopActor (Range<Int64>?) async throws(GatewayError) -> ContentStream
}

extension StagedFile {
    /// The length of the whole, as it was told before, and is by a request; nil where nobody has
    /// told it.
    func announced(also order: FileAppend) throws(GatewayError) -> Int64? {
        let total = try order.total()
        guard let announcedLength else { return total }
        guard total ?? announcedLength == announcedLength, order.end ?? 0 <= announcedLength else {
            throw .inconsistentLength(announced: announcedLength)
        }
        return announcedLength
    }

    /// The digest of the whole, as it was told before and now.
    func digest(also digest: ContentDigest?) throws(GatewayError) -> ContentDigest? {
        guard let expectedDigest, let digest else { return digest ?? expectedDigest }
        guard expectedDigest == digest else { throw .digestMismatch(expected: expectedDigest) }
        return digest
    }

    /// The file with what is known of its whole now.
    func expecting(_ length: Int64?, _ digest: ContentDigest?) -> StagedFile {
        var file = StagedFile(
            id: id, tenant: tenant, announcedLength: length, expectedDigest: digest,
            mediaType: mediaType, createdAt: createdAt, usedAt: usedAt)
        file.length = self.length
        return file
    }
}
