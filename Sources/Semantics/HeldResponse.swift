/// A response that asks for something, kept with its body until it is decided what becomes of it:
/// another attempt, or the task's result (S-66, S-68).
public struct HeldResponse: Equatable, Sendable {
    /// The head.
    public var response: ResponseRecord
    /// Bytes of the body that are kept, beside the task's row: 0 up to `bodyLimit`.
    public var bodyLength: Int
    /// Whether the body has not come to its end: then it cannot be the result.
    public var isTruncated: Bool
    /// Whether what is missing is missing in its content coding (S-76).
    public var isDamaged: Bool
    /// False when the end was told by the connection's end only.
    public var lengthVerified: Bool

    /// The most bytes of a body that are kept: what is longer waits on the wire, with its
    /// connection.
    public static let bodyLimit = 1 << 20

    /// A response from its parts.
    public init(
        _ response: ResponseRecord, bodyLength: Int = 0, isTruncated: Bool = false,
        isDamaged: Bool = false, lengthVerified: Bool = true
    ) {
        self.response = response
        self.bodyLength = bodyLength
        self.isTruncated = isTruncated
        self.isDamaged = isDamaged
        self.lengthVerified = lengthVerified
    }
}
