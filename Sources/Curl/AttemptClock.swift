internal import CCurl
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics

/// When an attempt began, and the instants that libcurl counts from there (S-47).
@LoopActor
struct AttemptClock {
    private let start: Int64
    /// From where libcurl counts.
    private var transferStart: Int64
    private var requestEnd: Int64?

    init() {
        start = Self.now()
        transferStart = start
    }

    /// Another transfer takes the place of the one before.
    mutating func restart() {
        transferStart = Self.now()
    }

    /// More of the request's body has left; the last call is the end of the request.
    mutating func bodySent() {
        requestEnd = Self.now()
    }

    /// Metrics of an attempt that never reached the network, or may not tell.
    func metrics(of request: AttemptRequest) -> TransactionMetrics {
        var metrics = TransactionMetrics()
        metrics.url = request.url.string
        metrics.method = request.method
        metrics.fetchStart = start
        metrics.isProxyConnection = request.proxy != nil
        return metrics
    }

    /// Metrics from what libcurl knows now, of a transfer that has ended or still runs. About 1 µs.
    /// <https://curl.se/libcurl/c/curl_easy_getinfo.html>, "TIMES"
    func metrics(
        of request: AttemptRequest, _ easy: EasyHandle, status: Int?
    ) -> TransactionMetrics {
        var metrics = metrics(of: request)
        metrics.status = status
        addConnection(to: &metrics, of: request, easy)
        let sent = instant(CURLINFO_PRETRANSFER_TIME_T, easy)
        metrics.requestStart = sent
        metrics.responseStart = instant(CURLINFO_STARTTRANSFER_TIME_T, easy)
        // libcurl may tell of the last bytes as late as it tells of the answer to them.
        metrics.requestEnd = requestEnd.map { min($0, metrics.responseStart ?? $0) } ?? sent
        if metrics.responseStart != nil {
            metrics.responseEnd = instant(CURLINFO_TOTAL_TIME_T, easy)
        }
        metrics.countOfResponseHeaderBytesReceived = Int64(easy.long(CURLINFO_HEADER_SIZE))
        metrics.countOfResponseBodyBytesReceived = easy.offset(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.countOfRequestBodyBytesSent = easy.offset(CURLINFO_SIZE_UPLOAD_T)
        metrics.countOfRequestHeaderBytesSent = headerByteCount(of: request, easy)
        return metrics
    }

    /// libcurl counts a body of less than 64 KiB as part of the header that it is sent with.
    private func headerByteCount(of request: AttemptRequest, _ easy: EasyHandle) -> Int64 {
        let bodyByteCount = request.body?.knownBytes?.count ?? 0
        let inHeader = bodyByteCount < 65_536 ? bodyByteCount : 0
        return Int64(max(0, easy.long(CURLINFO_REQUEST_SIZE) - inHeader))
    }

    private func addConnection(
        to metrics: inout TransactionMetrics, of request: AttemptRequest, _ easy: EasyHandle
    ) {
        metrics.remoteAddress = easy.string(CURLINFO_PRIMARY_IP)
        let isConnected = metrics.remoteAddress != nil
        metrics.isReusedConnection = isConnected && easy.long(CURLINFO_NUM_CONNECTS) == 0
        if isConnected {
            metrics.remotePort = easy.long(CURLINFO_PRIMARY_PORT)
            metrics.localAddress = easy.string(CURLINFO_LOCAL_IP)
            metrics.localPort = easy.long(CURLINFO_LOCAL_PORT)
        }
        metrics.networkProtocolName =
            switch easy.long(CURLINFO_HTTP_VERSION) {
            case CURL_HTTP_VERSION_1_0: "http/1.0"
            case CURL_HTTP_VERSION_1_1: "http/1.1"
            case CURL_HTTP_VERSION_2_0: "h2"
            default: nil
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
