/// Room on the store's disk that nothing else can take: what is released of it is there for the
/// store.
///
/// Calls come one at a time or together; they are done in their order.
public protocol Reserve: Sendable {
    /// Releases a part.
    /// - Returns: false where there is nothing left to release.
    func release() async -> Bool
    /// Takes room from the disk until the reserve is whole, or the disk is full.
    /// - Returns: whether it is whole.
    /// - Throws: why there can be no reserve, where that is not for want of room.
    func refill() async throws -> Bool
}
