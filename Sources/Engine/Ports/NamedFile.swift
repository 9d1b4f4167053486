public import Semantics

/// A file of a gateway's own folder that a row of its store tells of.
public struct NamedFile: Sendable {
    /// Whose it is.
    public let owner: ContentOwner
    /// `whole`, or the `part` of a download or an upload that is not at its end.
    public let kind: ContentKind
    /// Bytes: all of a whole file, and those of a part that the row counts on. Nil for stored
    /// responses, whose rows are sealed.
    public let length: Int64?
    /// The content's own digest (RFC 9530), where it is known.
    public let digest: String?
    /// Of the part of a download: what it is a part of, and how much of that there is.
    public let point: ResumePoint?

    /// A file from what its row tells.
    public init(
        owner: ContentOwner, kind: ContentKind, length: Int64?, digest: String?, point: ResumePoint?
    ) {
        self.owner = owner
        self.kind = kind
        self.length = length
        self.digest = digest
        self.point = point
    }
}
