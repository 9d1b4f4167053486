public import Loop
public import Semantics

/// What the engine asks of the network.
@LoopActor
public protocol Transport: AnyObject {
    /// Reads a URL by the parser whose result is fetched.
    /// - Throws: `URLRejection` for anything that is not a plain http or https URL.
    nonisolated func parse(_ url: String) throws(URLRejection) -> WebURL
    /// Resolves a reference, such as a Location, against the URL that it came from (RFC 3986 §5).
    nonisolated func resolve(_ reference: String, against base: WebURL) throws(URLRejection)
        -> WebURL
    /// Makes ready what a client presents: it is a certificate, and the key is its own. Opening a
    /// PKCS #12 file may take seconds, of a thread that nothing else waits for.
    /// - Returns: the same in PEM.
    /// - Throws: `IdentityRejection`, in words that hold nothing of the key or the passphrase.
    func prepare(_ identity: ClientIdentity) async throws(IdentityRejection) -> ClientIdentity
    /// Connections that are shared by the attempts of one session and nobody else.
    func makePool(_ settings: PoolSettings) -> any ConnectionPool
}

/// Why a URL is not fetched.
public enum URLRejection: Error, Equatable, Sendable {
    /// Not a URL, or one with user information, control characters, port 0 or the like (-1000).
    case malformed(String)
    /// A scheme other than http and https (-1002).
    case unsupportedScheme(String)
}

/// Why a client certificate cannot be used.
public struct IdentityRejection: Error, Equatable, Sendable {
    /// One sentence for the client.
    public let sentence: String

    /// A rejection with its sentence.
    public init(_ sentence: String) { self.sentence = sentence }
}

/// What all attempts of a session have in common.
public struct PoolSettings: Sendable {
    /// S-22: the oldest version that a server may speak.
    public var tlsMinimum: TLSVersion
    /// S-22: the newest version that is offered.
    public var tlsMaximum: TLSVersion
    /// Where the tenant's transfers may go; nil for wherever the gateway's may.
    public var egress: TenantEgress?

    /// Settings from their parts.
    public init(tlsMinimum: TLSVersion, tlsMaximum: TLSVersion, egress: TenantEgress? = nil) {
        self.tlsMinimum = tlsMinimum
        self.tlsMaximum = tlsMaximum
        self.egress = egress
    }
}

/// A session's connections.
@LoopActor
public protocol ConnectionPool: AnyObject {
    /// Begins an exchange. The observer is told of everything on later turns of the loop, never
    /// from inside this call; it is held until the attempt has ended.
    func start(_ request: AttemptRequest, observer: any AttemptObserver) -> any Attempt
    /// Closes every connection with its attempt, and idle ones at the latest with the last attempt,
    /// at once if there is none. What is started afterwards ends as cancelled.
    func close()
}

/// One exchange with one server, as it goes on the wire.
public struct AttemptRequest: Sendable {
    /// What is fetched; a redirect is another attempt.
    public var url: WebURL
    /// As it goes into the request line: upper and lower case differ.
    public var method: String
    /// Every header but Host, Content-Length and what the connection needs.
    public var headers: HeaderList
    /// What is sent; nil for none. Not with HEAD.
    public var body: AttemptBody?
    /// Whether content codings are taken off (S-76): where they are known (`ContentCoding.layers`),
    /// and then to the end of the coded content, or the attempt fails with `cannotDecodeRawData`.
    /// `headers` has the Accept-Encoding that goes with it.
    public var decodesContent: Bool
    /// 0…1: the weight of an HTTP/2 stream (S-43).
    public var priority: Double
    /// Whether the reader, or the source of the body, may stop for long. Such an attempt gets a
    /// connection of its own where it might share one (HTTP/2): then pausing stops the socket, and
    /// an answer or the loss of the connection is noticed while the source waits.
    public var mayPause: Bool
    /// Seconds from the start after which no connection is a time-out (-1001), greater than 0; nil
    /// for a week. It does not stand still. Each address of the host gets half of what is left, the
    /// last one all of it.
    public var connectTimeout: Double?
    /// Whether the attempt ends when the connection is there, trusted and proved, before a byte of
    /// the request is sent: then its end has no error, and there is no head.
    public var onlyConnects = false
    /// Whether the request may be sent again where a kept connection has ended without an answer,
    /// and the server may have acted on it (RFC 9110 §9.2.2). Else that is `networkConnectionLost`.
    public var mayRepeat: Bool
    /// Whether no kept connection is used, so that the body is never asked to begin anew: for one
    /// that cannot. The connection is kept for others afterwards, but for one of NTLM.
    public var usesFreshConnection = false
    /// The proxy that is asked in place of the server; nil to go there directly. For https it makes
    /// a tunnel.
    public var proxy: ProxyAddress?
    /// What is presented to the server; nil for nothing. What the scheme needs beyond one request,
    /// such as the messages of NTLM, is the transport's: the observer sees the last answer only.
    public var credential: AttemptCredential?
    /// The same for the proxy.
    public var proxyCredential: AttemptCredential?
    /// Whom to trust, where the scheme is https.
    public var trust = TrustPolicy.system
    /// What is presented where the server wants a certificate.
    public var identity = IdentityPolicy.without

    /// A request from its parts, with no `connectTimeout`, on whatever connection there is.
    public init(
        url: WebURL, method: String, headers: HeaderList, body: AttemptBody?, decodesContent: Bool,
        priority: Double, mayPause: Bool
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.decodesContent = decodesContent
        self.priority = priority
        self.mayPause = mayPause
        mayRepeat = RetryPolicy.isIdempotent(method)
    }
}

/// Whom an attempt trusts (S-75).
public enum TrustPolicy: Hashable, Sendable {
    /// A chain that verifies, for the host's name.
    case system
    /// One of these leaves, which are the host's and the port's: those that must verify, only with
    /// a chain that does. Any other leaf ends the attempt with `HandshakeQuestion.serverTrust`,
    /// before a byte of the request is sent.
    case known([KnownLeaf])
}

/// What an attempt presents to a server that wants a certificate (S-63).
public enum IdentityPolicy: Hashable, Sendable {
    /// Nothing: the server says what it thinks of that.
    case without
    /// The attempt ends with `HandshakeQuestion.clientCertificate`, before a byte of the request is
    /// sent.
    case ask
    /// Made ready by `Transport.prepare`. Connections with it are not shared with attempts without
    /// it.
    case certificate(ClientIdentity)
}

/// A user name and password, and how they are proved.
public struct AttemptCredential: Hashable, Sendable {
    /// One scheme, never a choice: the strongest one that was offered.
    public enum Scheme: Hashable, Sendable {
        case basic, ntlm
        /// By the proof; user and password are empty.
        case digest
        /// By the ticket cache of the process; user and password are empty.
        case negotiate
    }

    /// How.
    public let scheme: Scheme
    /// Without control characters.
    public let user: String
    /// Without control characters.
    public let password: String
    /// The whole value of the field for this one request, where it is finished.
    public let proof: String?

    /// A credential from its parts, which the transport proves.
    public init(_ scheme: Scheme, user: String, password: String) {
        self.scheme = scheme
        self.user = user
        self.password = password
        proof = nil
    }

    /// A finished proof (RFC 7616).
    public init(digest proof: String) {
        scheme = .digest
        user = ""
        password = ""
        self.proof = proof
    }
}

/// What has come up in a TLS handshake, and ended the attempt.
public enum HandshakeQuestion: Equatable, Sendable {
    case serverTrust(ServerTrust)
    /// The names of the authorities whose certificates the server takes (RFC 2253); maybe none.
    case clientCertificate(distinguishedNames: [String])
}

/// What an attempt sends.
public enum AttemptBody: Sendable {
    /// Sent with its length, and again where a kept connection turns out to be dead. Rests with
    /// `Attempt.pause()`.
    case bytes([UInt8])
    /// Pulled as the connection takes it; `length` in bytes, 0 or more, nil where it is not known:
    /// then it goes in chunks where that is HTTP/1.1 (RFC 9112 §7.1).
    case source(any BodySource, length: Int64?)
}

/// A request body that is pulled, a piece at a time, as the connection takes it.
///
/// Belongs to one attempt, which holds it and calls it until the attempt's end. That may come
/// before the body's: the end of the response ends the attempt, whatever its status, and closes the
/// connection where the body is not over (RFC 9112 §9.3).
@LoopActor
public protocol BodySource: AnyObject, Sendable {
    /// Fills the buffer, of 1 byte up to a few hundred KiB, from its start. Called from inside
    /// libcurl: may not call the attempt.
    ///
    /// After the last byte of a known length it is asked once more, for a byte that is not there:
    /// more than the length ends the attempt with `dataLengthExceedsMaximum`, before the last piece
    /// is sent. `.end` before the length is `requestBodyStreamExhausted`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyPiece
    /// Set by the attempt; the source calls it, never from inside `read`, when after `.wait` there
    /// is more to say, also from inside calls that another attempt makes. It may call `read` before
    /// it returns. Nil once the attempt has ended.
    var onReady: (@LoopActor () -> Void)? { get set }
    /// Begins anew, for a connection that was kept and turned out to be dead; false where it
    /// cannot, which ends the attempt with `requestBodyStreamExhausted`, over libcurl's code 65.
    /// Called from inside libcurl.
    func rewind() -> Bool
}

/// What a body source has to say when it is read.
public enum BodyPiece: Sendable {
    /// So many bytes were put into the buffer: 1 up to its size.
    case bytes(Int)
    /// Nothing yet: `onReady` tells when to read again.
    case wait
    /// The body is over.
    case end
    /// The body will never be whole: ends the attempt with this error.
    case failed(TransferError)
}

/// A running exchange.
@LoopActor
public protocol Attempt: AnyObject {
    /// Stops delivering, and with it the socket; a no-op while paused. A body that is pulled goes
    /// on being sent until its source waits.
    func pause()
    /// Goes on; may deliver bytes before it returns. A no-op unless paused.
    func resume()
    /// Another observer hears the rest; a paused head or body is delivered to it again.
    func handOver(to observer: any AttemptObserver)
    /// Ends the exchange: the observer hears nothing more, and its metrics so far are returned.
    func cancel() -> TransactionMetrics
}

/// The head of a response as it came.
public struct ResponseHead: Equatable, Sendable {
    /// 100…999.
    public var status: Int
    /// `1.0`, `1.1`, `2`.
    public var httpVersion: String
    /// As they came: at most 256 fields and 64 KiB, names in the origin's spelling.
    public var headers: HeaderList

    /// A head from its parts.
    public init(status: Int, httpVersion: String, headers: HeaderList) {
        self.status = status
        self.httpVersion = httpVersion
        self.headers = headers
    }
}

/// What an observer wants after it was handed something.
public enum FlowVerdict: Equatable, Sendable {
    /// Taken; more, please.
    case proceed
    /// Nothing was taken: deliver the same again after `resume`.
    case pause
    /// So many bytes from the front were taken, 0 up to all; deliver the rest after `resume`. Of a
    /// head nothing can be taken: `pause`.
    case take(Int)
    /// Enough: end the attempt without an error.
    case stop
}

/// Hears of an attempt. Called on the loop, from inside libcurl: it may not start, pause, resume or
/// cancel an attempt from these calls; verdicts are the way to pause and stop.
@LoopActor
public protocol AttemptObserver: AnyObject {
    /// Header bytes have come or body bytes have gone: the exchange is alive (S-16).
    func attemptDidMove()
    /// A 1xx answer other than 101 (S-48).
    func attemptDidReceiveInformational(_ head: ResponseHead)
    /// The final head, once, before any body byte, also where there is no body.
    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict
    /// Body bytes, decoded if that was asked for. Valid during the call only.
    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict
    /// A request of this attempt is over, and another one follows it in the same attempt: on
    /// another connection, or as the next step of NTLM (S-47). The end tells of the last one only.
    func attemptGoesOn(after request: TransactionMetrics)
    /// Request body bytes that have left so far.
    func attemptDidSend(total: Int64)
    /// The end, once; nothing follows. Not called after `cancel()`. From here everything may be
    /// called.
    func attemptDidEnd(_ end: AttemptEnd)
}

/// How an attempt ended.
public struct AttemptEnd: Sendable {
    /// Nil when the response is whole, or was ended by `.stop`: then its head was taken, unless the
    /// attempt was only to connect.
    public var error: TransferError?
    /// S-47: of the attempt's last request; without addresses and phases for a denied destination.
    public var metrics: TransactionMetrics
    /// False where only the end of the connection told that the body was over.
    public var lengthVerified: Bool
    /// What has to be known before the exchange can be had; `error` is what it is without an
    /// answer.
    public var question: HandshakeQuestion?
    /// What the proxy has answered in place of making a tunnel; `error` is set beside it.
    public var tunnelResponse: ResponseHead?

    /// An end from its parts.
    public init(error: TransferError?, metrics: TransactionMetrics, lengthVerified: Bool) {
        self.error = error
        self.metrics = metrics
        self.lengthVerified = lengthVerified
    }
}
