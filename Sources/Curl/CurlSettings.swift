public import Semantics

/// What the operator decides about all transfers of the gateway.
public struct CurlSettings: Sendable {
    /// Where connections may go.
    public var egress: EgressPolicy
    /// The User-Agent of requests that have none, such as `ferry/1.0`.
    public var userAgent: String
    /// A file of PEM certificates to trust in place of the system's.
    public var trustedCertificates: String?
    /// How long the connections of a session stay open while it has no transfer. Default: 60 s.
    public var idleLifetime = Duration.seconds(60)
    /// The size of a transfer's receive buffer in bytes, 1024…10,485,760. One turn of the loop
    /// reads up to 101 of them; pages that are never filled cost nothing. Default: 64 KiB.
    public var receiveBufferSize = 65_536
    /// The size of a transfer's send buffer in bytes, 16,384…2,097,152, which a body that is pulled
    /// has while it is sent. One turn of the loop sends at most one of them. Default: 256 KiB.
    public var sendBufferSize = 262_144

    /// How many descriptors connections may take, those in use and those kept, with two for each
    /// session that has any. Beyond it those that are kept are given up; attempts are not held
    /// back. Default: no limit.
    public var descriptors = Int.max

    /// Settings with their defaults.
    public init(egress: EgressPolicy, userAgent: String, trustedCertificates: String? = nil) {
        self.egress = egress
        self.userAgent = userAgent
        self.trustedCertificates = trustedCertificates
    }
}
