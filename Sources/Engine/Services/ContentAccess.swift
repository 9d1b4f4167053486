internal import Loop
public import Semantics

/// A content that may be read.
public struct ContentAccess: Sendable {
    /// The task at the time of asking: its response has the content's type and name.
    public let record: TaskRecord
    /// Bytes; nil while the content grows or is streamed.
    public let length: Int64?
    /// Opens a reader of the bytes in a range, which must lie within `length`, or of all for nil;
    /// call it once.
    ///
    /// Throws `notComplete` for a range of a content whose length is nil, and `alreadyRead` for a
    /// streamed content that another reader was faster at.
    public let open: @LoopActor (Range<Int64>?) async throws(GatewayError) -> ContentStream
}
