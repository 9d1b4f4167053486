/// A request as the scripted origin saw it.
public struct RecordedRequest: Sendable {
    /// The method, as it was written.
    public let method: String
    /// The request target, as it was written.
    public let target: String
    /// The header lines.
    public let headers: HeaderLines
    /// The number of the connection it came over, from 1.
    public let connection: Int
    /// Its number among the requests for this path since the path got its behaviour, from 1.
    public let attempt: Int
    /// The body's first MiB, once the behaviour has ended or has read it.
    public internal(set) var body: [UInt8] = []
    /// The length of the body read.
    public internal(set) var bodyLength = 0
    /// Whether the whole body arrived.
    public internal(set) var bodyIsComplete = false

    /// The target up to the question mark.
    public var path: String { Self.path(of: target) }

    /// The target behind the question mark, or nil.
    public var query: String? {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count > 1 ? String(parts[1]) : nil
    }

    static func path(of target: String) -> String {
        String(target.prefix { $0 != "?" })
    }

    static let recordedBodyLimit = 1 << 20
}
