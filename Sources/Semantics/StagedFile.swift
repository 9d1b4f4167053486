/// A file that a client has sent ahead of the task that uploads it, as it is kept.
public struct StagedFile: Equatable, Sendable {
    /// Unique in the gateway, and in the order of creation.
    public let id: FileID
    /// Whom the file belongs to; for other tenants it does not exist.
    public let tenant: TenantID
    /// Bytes that are there for good: after a crash the upload goes on from here.
    public var length: Int64
    /// Whether nothing more may be appended; only then a task may send it.
    public var isComplete: Bool
    /// The series in which its bytes were put that are whole; nil where they have none.
    public var series: Int64?
    /// What the client said the whole is going to be; nil where it did not.
    public let announcedLength: Int64?
    /// What the whole must have (RFC 9530 `Repr-Digest`); nil checks nothing.
    public var expectedDigest: ContentDigest?
    /// The media type that the client gave, for the request that sends the file; nil without one.
    public let mediaType: String?
    /// By the wall clock; the order of creation is that of `id`.
    public let createdAt: Timestamp
    /// When it was last written, read or sent: from here its time to live counts.
    public var usedAt: KeptTime

    /// A file without a byte.
    public init(
        id: FileID, tenant: TenantID, announcedLength: Int64?, expectedDigest: ContentDigest?,
        mediaType: String?, createdAt: Timestamp, usedAt: KeptTime
    ) {
        self.id = id
        self.tenant = tenant
        self.length = 0
        self.isComplete = false
        self.announcedLength = announcedLength
        self.expectedDigest = expectedDigest
        self.mediaType = mediaType
        self.createdAt = createdAt
        self.usedAt = usedAt
    }
}
