/// NSURLSessionTaskMetrics (S-47).
public struct TaskMetrics: Equatable, Sendable {
    /// Redirects that were followed, so at most 20 (S-62).
    public var redirectCount = 0
    /// The exchanges with servers, in order: all of them, or of very many the first and the newest.
    public var transactions: [TransactionMetrics] = []

    /// How many exchanges are kept; it is for servers to say how many a download over many ranges
    /// takes.
    public static let transactionLimit = 512

    /// Metrics of a task that has not been on the wire.
    public init() {}

    /// One more exchange is over.
    public mutating func add(_ transaction: TransactionMetrics) {
        if transactions.count >= Self.transactionLimit {
            transactions.remove(at: Self.transactionLimit / 2)
        }
        transactions.append(transaction)
    }
}

/// NSURLSessionTaskTransactionMetrics: one exchange.
///
/// Instants are microseconds of the wall clock since 1970 (UTC), nil where the phase did not take
/// place: a reused connection has no look-up, no connect and no TLS handshake. Sizes are bytes.
/// <https://developer.apple.com/documentation/foundation/urlsessiontasktransactionmetrics>
public struct TransactionMetrics: Equatable, Sendable {
    /// The URL of this exchange: after a redirect, the one that it led to.
    public var url = ""
    /// The method of this exchange: a redirect may have made it GET (S-69).
    public var method = ""
    /// The status of the final response; nil where none came.
    public var status: Int?
    /// Where what was delivered came from. What came from the cache has no phase but `fetchStart`,
    /// `responseStart` and `responseEnd`.
    public var resourceFetchType = ResourceFetchType.networkLoad
    /// When the attempt was handed to the network, before look-up and connect.
    public var fetchStart: Int64 = 0
    /// Nil also where the host is an address, which needs no look-up.
    public var domainLookupStart: Int64?
    /// When the host's addresses were known.
    public var domainLookupEnd: Int64?
    /// The start of the TCP connect, which the look-up comes before.
    public var connectStart: Int64?
    /// The end of the TCP connect and, where there is one, of the TLS handshake.
    public var connectEnd: Int64?
    /// The start of the TLS handshake; nil for plain http.
    public var secureConnectionStart: Int64?
    /// The end of the TLS handshake, which is `connectEnd` too.
    public var secureConnectionEnd: Int64?
    /// When the connection was ready for the request's first byte.
    public var requestStart: Int64?
    /// When the last byte of the request's body had left; `requestStart` where there is no body.
    public var requestEnd: Int64?
    /// The first byte of the response.
    public var responseStart: Int64?
    /// The last byte of the response, or the moment when it broke off; nil where none came.
    public var responseEnd: Int64?
    /// ALPN's names: `http/1.0`, `http/1.1`, `h2`; nil where no response came.
    public var networkProtocolName: String?
    /// Whether the connection was there already, from an earlier exchange of the session.
    public var isReusedConnection = false
    /// Whether the connection went to a proxy (S-23): then the remote address is the proxy's.
    public var isProxyConnection = false
    /// This end's IP address, without brackets; nil where there was no connection.
    public var localAddress: String?
    /// This end's port; nil where there was no connection.
    public var localPort: Int?
    /// The IP address that was connected to, without brackets; nil where there was no connection.
    public var remoteAddress: String?
    /// The port that was connected to; nil where there was no connection.
    public var remotePort: Int?
    /// The request line and the header fields; their size before HTTP/2 packs them.
    public var countOfRequestHeaderBytesSent: Int64 = 0
    /// What has left of the request's body, also of an exchange that broke off.
    public var countOfRequestBodyBytesSent: Int64 = 0
    /// Status lines and header fields, those of 1xx responses with them.
    public var countOfResponseHeaderBytesReceived: Int64 = 0
    /// On the wire, before decoding.
    public var countOfResponseBodyBytesReceived: Int64 = 0

    /// Metrics of an exchange that has not begun: no phase took place.
    public init() {}
}
