/// NSURLSessionTaskMetrics (S-47).
public struct TaskMetrics: Equatable, Sendable {
    public var redirectCount = 0
    /// One for every exchange with a server, in order.
    public var transactions: [TransactionMetrics] = []
    public init() {}
}

/// NSURLSessionTaskTransactionMetrics: one exchange.
///
/// Instants are microseconds since 1970, nil where the phase did not take place (a reused connection has
/// no look-up, no connect and no TLS handshake).
/// <https://developer.apple.com/documentation/foundation/urlsessiontasktransactionmetrics>
public struct TransactionMetrics: Equatable, Sendable {
    public var url = ""
    public var method = ""
    public var status: Int?
    public var fetchStart: Int64 = 0
    public var domainLookupStart: Int64?
    public var domainLookupEnd: Int64?
    public var connectStart: Int64?
    /// The end of the TCP connect and, where there is one, of the TLS handshake.
    public var connectEnd: Int64?
    public var secureConnectionStart: Int64?
    public var secureConnectionEnd: Int64?
    public var requestStart: Int64?
    public var requestEnd: Int64?
    public var responseStart: Int64?
    public var responseEnd: Int64?
    /// ALPN's names: `http/1.0`, `http/1.1`, `h2`.
    public var networkProtocolName: String?
    public var isReusedConnection = false
    public var isProxyConnection = false
    public var localAddress: String?
    public var localPort: Int?
    public var remoteAddress: String?
    public var remotePort: Int?
    public var countOfRequestHeaderBytesSent: Int64 = 0
    public var countOfRequestBodyBytesSent: Int64 = 0
    public var countOfResponseHeaderBytesReceived: Int64 = 0
    /// On the wire, before decoding.
    public var countOfResponseBodyBytesReceived: Int64 = 0
    public init() {}
}
