internal import CCurl
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics

/// When an attempt began, and what is known of the request that is under way (S-47).
///
/// libcurl counts bytes, and adds up times, over all requests of a transfer. So the state is noted
/// when a request goes out, and of what follows the first one only instants of our own are told.
@LoopActor
struct AttemptClock: ~Copyable {
    private let start: Int64
    /// From where libcurl counts.
    private var transferStart: Int64
    /// What was so when the request that is under way went out; nil before the first one.
    private var begun: Begun?
    /// A request has gone out before, which libcurl's times tell of too.
    private var isFirst = true
    private var connectStart: Int64?
    private var responseStart: Int64?
    private var requestEnd: Int64?
    /// How much of the body has left with the request that is under way.
    private var sentByteCount: Int64 = 0
    /// The most of it that was told, of this request or of one before.
    private var toldByteCount: Int64 = 0
    /// What the attempt ended with; stays what it is.
    private(set) var metricsAtEnd: TransactionMetrics?

    private struct Begun {
        /// What is known until then.
        let metrics: TransactionMetrics
        /// libcurl's counts.
        let requestSize: Int
        let headerSize: Int
        let connectionCount: Int
        /// The bytes that were sent when the next connection was made: what has come since is not
        /// of this request.
        var sizeAtEnd: Int?
    }

    init() {
        start = Self.now()
        transferStart = start
    }

    /// Another transfer takes the place of the one before.
    mutating func restart() {
        transferStart = Self.now()
        begun = nil
        connectStart = nil
    }

    /// A connection is being made; `sent` is how many bytes of requests libcurl has sent until now.
    mutating func connects(sent: Int) {
        if begun?.sizeAtEnd == nil { begun?.sizeAtEnd = sent }
        connectStart = Self.now()
    }

    /// A request is about to go out.
    mutating func requestBegins(_ request: AttemptRequest, _ easy: EasyHandle) {
        let connectionCount = easy.long(CURLINFO_NUM_CONNECTS)
        var metrics = metrics(of: request)
        let isReused = connectionCount == begun?.connectionCount ?? 0
        addConnection(to: &metrics, of: request, easy, isReused: isReused)
        metrics.requestStart = Self.now()
        begun = Begun(
            metrics: metrics, requestSize: easy.long(CURLINFO_REQUEST_SIZE),
            headerSize: easy.long(CURLINFO_HEADER_SIZE), connectionCount: connectionCount)
        connectStart = nil
        responseStart = nil
        requestEnd = nil
    }

    /// The request that was under way is over; what follows is another one.
    mutating func requestIsOver() {
        isFirst = false
        sentByteCount = 0
    }

    /// Whether anything of the request that is under way has left; `sent` as above.
    func hasSent(_ sent: Int) -> Bool {
        guard let begun else { return false }
        return (begun.sizeAtEnd ?? sent) > begun.requestSize
    }

    /// Whether a request has had a connection.
    var hasBegun: Bool { begun != nil }

    /// Whether the request went out on a connection that was there already.
    var isReused: Bool { begun?.metrics.isReusedConnection ?? false }

    /// A line of an answer has come.
    mutating func answered() {
        if responseStart == nil { responseStart = Self.now() }
    }

    /// So many bytes of the request's body have left. The last time that these are more is the end
    /// of the request.
    /// - Returns: whether they are more.
    mutating func bodySent(_ byteCount: Int64) -> Bool {
        guard byteCount > sentByteCount else { return false }
        sentByteCount = byteCount
        requestEnd = Self.now()
        return true
    }

    /// How many bytes of the body have left, where that is more than was ever told.
    mutating func nextTotal() -> Int64? {
        guard sentByteCount > toldByteCount else { return nil }
        toldByteCount = sentByteCount
        return sentByteCount
    }

    /// The attempt is over.
    mutating func end(_ metrics: TransactionMetrics) { metricsAtEnd = metrics }

    /// Metrics of an attempt that never reached the network, or may not tell.
    func metrics(of request: AttemptRequest) -> TransactionMetrics {
        var metrics = TransactionMetrics()
        metrics.url = request.url.string
        metrics.method = request.method
        metrics.fetchStart = start
        metrics.isProxyConnection = request.proxy != nil
        return metrics
    }

    /// Metrics of the request that is under way, or over, from what libcurl knows now. About 1 µs.
    /// <https://curl.se/libcurl/c/curl_easy_getinfo.html>, "TIMES"
    func metrics(
        of request: AttemptRequest, _ easy: EasyHandle, status: Int?
    ) -> TransactionMetrics {
        var metrics: TransactionMetrics
        if let begun {
            metrics = begun.metrics
        } else {
            metrics = self.metrics(of: request)
            addConnection(
                to: &metrics, of: request, easy, isReused: easy.long(CURLINFO_NUM_CONNECTS) == 0)
        }
        metrics.status = status
        metrics.networkProtocolName = protocolName(easy)
        metrics.responseStart = responseStart
        // libcurl may tell of the last bytes as late as it tells of the answer to them.
        metrics.requestEnd =
            requestEnd.map { min($0, responseStart ?? $0) } ?? metrics.requestStart
        if responseStart != nil { metrics.responseEnd = Self.now() }
        metrics.countOfResponseHeaderBytesReceived = Int64(
            easy.long(CURLINFO_HEADER_SIZE) - (begun?.headerSize ?? 0))
        metrics.countOfResponseBodyBytesReceived = easy.offset(CURLINFO_SIZE_DOWNLOAD_T)
        // libcurl counts the framing of chunks too.
        metrics.countOfRequestBodyBytesSent =
            request.body?.isPulled == true ? sentByteCount : easy.offset(CURLINFO_SIZE_UPLOAD_T)
        metrics.countOfRequestHeaderBytesSent = headerByteCount(of: request, easy)
        return metrics
    }

    private func protocolName(_ easy: EasyHandle) -> String? {
        switch easy.long(CURLINFO_HTTP_VERSION) {
        case CURL_HTTP_VERSION_1_0: "http/1.0"
        case CURL_HTTP_VERSION_1_1: "http/1.1"
        case CURL_HTTP_VERSION_2_0: "h2"
        default: nil
        }
    }

    /// libcurl counts a body of less than 64 KiB as part of the header that it is sent with.
    private func headerByteCount(of request: AttemptRequest, _ easy: EasyHandle) -> Int64 {
        let bodyByteCount = request.body?.knownBytes?.count ?? 0
        let inHeader = bodyByteCount < 65_536 ? bodyByteCount : 0
        let sent = begun?.sizeAtEnd ?? easy.long(CURLINFO_REQUEST_SIZE)
        return Int64(max(0, sent - (begun?.requestSize ?? 0) - inHeader))
    }

    private func addConnection(
        to metrics: inout TransactionMetrics, of request: AttemptRequest, _ easy: EasyHandle,
        isReused: Bool
    ) {
        metrics.remoteAddress = easy.string(CURLINFO_PRIMARY_IP)
        let isConnected = metrics.remoteAddress != nil
        metrics.isReusedConnection = isConnected && isReused
        if isConnected {
            metrics.remotePort = easy.long(CURLINFO_PRIMARY_PORT)
            metrics.localAddress = easy.string(CURLINFO_LOCAL_IP)
            metrics.localPort = easy.long(CURLINFO_LOCAL_PORT)
        }
        guard isFirst else {
            let now = Self.now()
            metrics.fetchStart = connectStart ?? now
            metrics.connectStart = connectStart
            metrics.connectEnd = connectStart.map { _ in now }
            return
        }
        guard !metrics.isReusedConnection else { return }
        let lookedUp = instant(CURLINFO_NAMELOOKUP_TIME_T, easy)
        let peer = request.proxy?.host ?? request.url.host
        if IPAddress(peer) == nil {
            metrics.domainLookupStart = transferStart
            metrics.domainLookupEnd = lookedUp
        }
        let connected = instant(CURLINFO_CONNECT_TIME_T, easy)
        let secured = instant(CURLINFO_APPCONNECT_TIME_T, easy)
        metrics.connectStart = lookedUp
        metrics.connectEnd = secured ?? connected
        if let secured {
            metrics.secureConnectionStart = connected
            metrics.secureConnectionEnd = secured
        }
    }

    private func instant(_ info: CURLINFO, _ easy: EasyHandle) -> Int64? {
        let offset = easy.offset(info)
        return offset > 0 ? transferStart + offset : nil
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
