/// What a session's cache holds at the moment.
public struct CacheUsage: Equatable, Sendable {
    /// Bytes in RAM.
    public let memoryUsage: Int64
    /// Bytes on disk.
    public let diskUsage: Int64
    /// Stored responses.
    public let entryCount: Int
}
