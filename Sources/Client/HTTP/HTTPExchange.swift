internal import CCurl

/// One request to the gateway and its answer: an easy handle of libcurl.
///
/// It belongs to one thread, and moves only while a `Connections` that it was started on takes a
/// turn.
final class HTTPExchange {
    /// What is asked.
    struct Request {
        var method = "GET"
        /// Path and query, from the slash on.
        var path: String
        var headers: [(name: String, value: String)] = []
        var body: Body?
        /// What is read while it is sent; in place of `body`.
        var stream: BodyStream?
        /// Seconds for the whole exchange; nil for one that may last.
        var timeLimit: Int?
    }

    /// A request's body that is there already.
    struct Body {
        /// Its media type (RFC 9110 §8.3).
        var type = "application/json"
        var bytes: [UInt8]
    }

    /// A request's body that is read while it is sent, once and in order.
    struct BodyStream {
        /// How many bytes there are.
        var length: Int64
        /// Fills the room from its beginning and tells how far; nil ends the exchange.
        var read: (UnsafeMutableRawBufferPointer) -> Int?
    }

    /// How it ended.
    enum Ending: Equatable {
        /// The answer is whole.
        case whole
        /// It is not; libcurl's words.
        case broken(String)
        /// It was not asked: the gateway is not known to be the one that was meant.
        case untrusted(GatewayDistrust)
    }

    /// Takes a piece of the body of a 2xx answer; false ends the exchange.
    typealias Receiver = (UnsafeRawBufferPointer) -> Bool

    let handle: UnsafeMutableRawPointer
    /// Set once it has ended.
    private(set) var ending: Ending?
    /// The body of an answer that is not 2xx, its first MiB.
    private(set) var refusal: [UInt8] = []
    private let receiver: Receiver
    private let stream: BodyStream?
    private var headers: UnsafeMutablePointer<curl_slist>?
    /// What libcurl says about a failure.
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private static let refusalLimit = 1 << 20

    /// - Throws: `badArgument` when libcurl refuses an option: the address or a header is unusable.
    init(_ request: Request, to gateway: RemoteGateway, receiver: @escaping Receiver)
        throws(ClientError)
    {
        guard let handle = curl_easy_init() else {
            throw .unreachable(gateway: gateway.name, detail: "out of memory")
        }
        self.handle = handle
        self.receiver = receiver
        stream = request.stream
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let context = Unmanaged.passUnretained(self).toOpaque()
        var results = [
            ccurl_set_string(handle, CURLOPT_URL, gateway.address.origin + request.path),
            ccurl_set_string(handle, CURLOPT_PROTOCOLS_STR, "http,https"),
            // The token goes to the gateway and nowhere else: no proxy of the environment, no
            // .netrc.
            ccurl_set_string(handle, CURLOPT_PROXY, ""),
            ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT, 10),
            ccurl_set_long(handle, CURLOPT_TIMEOUT, request.timeLimit ?? 0),
            ccurl_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1),
            ccurl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1),
            ccurl_set_long(handle, CURLOPT_BUFFERSIZE, 256 * 1024),
            ccurl_set_bytes_callback(handle, CURLOPT_WRITEFUNCTION, receivePiece),
            ccurl_set_pointer(handle, CURLOPT_WRITEDATA, context),
            ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText),
        ]
        if case .unixSocket(let path) = gateway.address {
            results.append(ccurl_set_string(handle, CURLOPT_UNIX_SOCKET_PATH, path))
        }
        if gateway.address.isSecure { results += set(trust: gateway.trust) }
        results.append(ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, request.method))
        // No body follows the answer's head, whatever its Content-Length says.
        if request.method == "HEAD" { results.append(ccurl_set_long(handle, CURLOPT_NOBODY, 1)) }
        if let body = request.body { results += set(body: body.bytes) }
        if let stream { results += set(stream: stream, context: context) }
        var lines = request.headers.map { "\($0.name): \($0.value)" }
        if let token = gateway.token { lines.append("Authorization: Bearer \(token)") }
        if let body = request.body { lines.append("Content-Type: \(body.type)") }
        for line in lines { headers = curl_slist_append(headers, line) }
        results.append(ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, headers))
        guard results.allSatisfy({ $0 == CURLE_OK }) else {
            throw .badArgument("the gateway's address cannot be used: \(gateway.address)")
        }
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headers)
        errorText.deallocate()
    }

    /// libcurl verifies by the system's authorities unless it is told something else.
    private func set(trust: GatewayTrust) -> [CURLcode] {
        var results = [ccurl_set_long(handle, CURLOPT_SSLVERSION, ccurl_tls_1_2)]
        if let path = trust.authorities {
            results.append(ccurl_set_string(handle, CURLOPT_CAINFO, path))
            results.append(ccurl_set_string(handle, CURLOPT_CAPATH, nil))
        } else if let key = trust.publicKey {
            // The key itself is known, so nobody has to vouch for it.
            results.append(ccurl_set_string(handle, CURLOPT_PINNEDPUBLICKEY, key))
            results.append(ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 0))
            results.append(ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 0))
        }
        if let certificate = trust.certificate {
            results.append(ccurl_set_string(handle, CURLOPT_SSLCERT, certificate))
            results.append(ccurl_set_string(handle, CURLOPT_SSLKEY, trust.key ?? certificate))
        }
        return results
    }

    private func set(body: [UInt8]) -> [CURLcode] {
        // The size first: it tells COPYPOSTFIELDS how much to copy.
        let size = ccurl_set_long(handle, CURLOPT_POSTFIELDSIZE, body.count)
        let copy = body.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                ccurl_set_string(handle, CURLOPT_COPYPOSTFIELDS, $0.baseAddress)
            }
        }
        return [size, copy]
    }

    /// libcurl asks with `Expect: 100-continue` first where the body is long, so that a refusal
    /// comes before the bytes. On a connection of its own: where one that was kept turns out to be
    /// dead, libcurl would send the request again, but what has been read cannot be read again.
    private func set(stream: BodyStream, context: UnsafeMutableRawPointer) -> [CURLcode] {
        [
            ccurl_set_long(handle, CURLOPT_UPLOAD, 1),
            ccurl_set_long(handle, CURLOPT_FRESH_CONNECT, 1),
            ccurl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(stream.length)),
            ccurl_set_long(handle, CURLOPT_UPLOAD_BUFFERSIZE, 512 * 1024),
            ccurl_set_bytes_callback(handle, CURLOPT_READFUNCTION, readPiece),
            ccurl_set_pointer(handle, CURLOPT_READDATA, context),
        ]
    }

    // MARK: The answer

    /// The status of the answer; 0 before its head.
    var status: Int {
        var status = 0
        return ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0
    }

    /// Whether a connection was there to send the request on: what follows that failure may have
    /// reached the gateway.
    var wasConnected: Bool {
        var microseconds: curl_off_t = 0
        let result = ccurl_get_offset(handle, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
        return result == CURLE_OK && microseconds > 0
    }

    /// The first value of a header of the answer, once its head is there.
    func header(_ name: String) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        let found = curl_easy_header(handle, name, 0, UInt32(CURLH_HEADER), -1, &header)
        guard found == CURLHE_OK, let value = header?.pointee.value else { return nil }
        return String(cString: value)
    }

    /// What a whole answer refuses with; nil for a good one.
    var problem: ProblemDetails? {
        status < 300 ? nil : ProblemDetails(status: status, body: refusal)
    }

    /// How long a refusal asks to wait (RFC 9110 §10.2.3), at most a minute; nil where it does not
    /// say it in seconds.
    var retryAfter: Duration? {
        header("Retry-After").flatMap { Int64($0) }.map { .seconds(min(max($0, 0), 60)) }
    }

    /// Whether the answer has begun and is a good one.
    var isAccepted: Bool { (200...299).contains(status) }

    func end(_ result: CURLcode) {
        guard result != CURLE_OK else { return ending = .whole }
        if let distrust = distrust(in: result) { return ending = .untrusted(distrust) }
        ending = .broken(String(cString: curl_easy_strerror(result)))
    }

    /// What of the gateway's TLS has ended the exchange; nil where it was something else.
    private func distrust(in result: CURLcode) -> GatewayDistrust? {
        let words = String(cString: errorText)
        switch result {
        case CURLE_PEER_FAILED_VERIFICATION:
            var verdict = 0
            _ = ccurl_get_long(handle, CURLINFO_SSL_VERIFYRESULT, &verdict)
            // X509_V_ERR_… of <openssl/x509_vfy.h>; the chain is verified before the name.
            return switch verdict {
            // libcurl begins with 1, and verifies the name before it notes what the chain is.
            case 0, 1: .otherName
            case 9: .notYetValid
            case 10: .expired
            default: .unknownAuthority
            }
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return .otherKey
        case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE:
            return .badFiles(words.isEmpty ? String(cString: curl_easy_strerror(result)) : words)
        // With TLS 1.3 the gateway says so after the handshake, from the client's view.
        case CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR:
            if words.contains("certificate required") { return .wantsCertificate }
            return result == CURLE_SSL_CONNECT_ERROR ? .handshake(words) : nil
        default: return nil
        }
    }

    func end(broken words: String) {
        ending = .broken(words)
    }

    fileprivate func receive(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard !isAccepted else { return receiver(piece) }
        refusal += piece.prefix(HTTPExchange.refusalLimit - refusal.count)
        return true
    }

    fileprivate func send(into room: UnsafeMutableRawBufferPointer) -> Int? {
        stream.flatMap { $0.read(room) }
    }
}

/// A door from libcurl: CURLOPT_READFUNCTION.
private func readPiece(
    _ room: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let room, let context else { return Int(CURL_READFUNC_ABORT) }
    let exchange = Unmanaged<HTTPExchange>.fromOpaque(context).takeUnretainedValue()
    let bytes = UnsafeMutableRawBufferPointer(start: room, count: size * count)
    return exchange.send(into: bytes) ?? Int(CURL_READFUNC_ABORT)
}

/// A door from libcurl: CURLOPT_WRITEFUNCTION. Less than the whole piece ends the exchange.
private func receivePiece(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let exchange = Unmanaged<HTTPExchange>.fromOpaque(context).takeUnretainedValue()
    let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange.receive(piece) ? piece.count : (piece.isEmpty ? 1 : 0)
}
