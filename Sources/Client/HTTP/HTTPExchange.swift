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
    private static let refusalLimit = 1 << 20

    /// - Throws: `badArgument` when libcurl refuses an option: the address or a header is unusable.
    init(_ request: Request, to gateway: RemoteGateway, receiver: @escaping Receiver)
        throws(ClientError)
    {
        guard let handle = curl_easy_init() else {
            throw .unreachable(gateway: gateway.address.description, detail: "out of memory")
        }
        self.handle = handle
        self.receiver = receiver
        stream = request.stream
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
        ]
        if case .unixSocket(let path) = gateway.address {
            results.append(ccurl_set_string(handle, CURLOPT_UNIX_SOCKET_PATH, path))
        }
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

    /// Whether the answer has begun and is a good one.
    var isAccepted: Bool { (200...299).contains(status) }

    func end(_ result: CURLcode) {
        ending = result == CURLE_OK ? .whole : .broken(String(cString: curl_easy_strerror(result)))
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
