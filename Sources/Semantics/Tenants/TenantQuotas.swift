/// How much of the gateway a tenant may use at a time.
public struct TenantQuotas: Sendable, Equatable {
    /// What is counted; the raw values are the members' names on the wire.
    public enum Quota: String, CaseIterable, Sendable {
        /// Sessions that have not ended; the shared one, which cannot end, is none of them.
        case sessions
        /// Tasks that have not ended.
        case outstandingTasks
        /// Exchanges with origins that run at a time.
        case runningAttempts
        /// Bytes of results, caches and staged files that the gateway keeps.
        case storedBytes
        /// Those of `storedBytes` that are staged files.
        case stagedBytes
        /// Event streams that are open at a time.
        case eventStreams
        /// Webhooks, bound ones among them.
        case webhooks
        /// Requests to the API, as an average; twice as many may come at once.
        case requestsPerSecond
        /// Bytes that all transfers together move, in both directions.
        case bytesPerSecond
    }

    private var limits: [Quota: Int64]

    /// What a tenant has that nobody has decided about.
    public static let defaults = TenantQuotas([
        .sessions: 1000, .outstandingTasks: 100_000, .runningAttempts: 1024, .storedBytes: 1 << 40,
        .stagedBytes: 100 << 30, .eventStreams: 1000, .webhooks: 20, .requestsPerSecond: 1000,
    ])

    /// Quotas with these limits; what is not among them has none.
    public init(_ limits: [Quota: Int64]) { self.limits = limits }

    /// The limit of a quota; nil where it has none.
    public subscript(quota: Quota) -> Int64? {
        get { limits[quota] }
        set { limits[quota] = newValue }
    }
}
