internal import CCurl
internal import Loop

/// A CURLcode other than CURLE_OK.
struct CurlFailure: Error, Equatable {
    let code: CURLcode

    /// Nil for CURLE_OK.
    init?(_ code: CURLcode) {
        guard code != CURLE_OK else { return nil }
        self.code = code
    }

    private init(failing code: CURLcode) { self.code = code }

    static let outOfMemory = CurlFailure(failing: CURLE_OUT_OF_MEMORY)
    static let malformedURL = CurlFailure(failing: CURLE_URL_MALFORMAT)
    static let unknownHost = CurlFailure(failing: CURLE_COULDNT_RESOLVE_HOST)

    /// libcurl's own words for the code.
    var words: String { String(cString: curl_easy_strerror(code)) }
}

/// A libcurl easy handle with what its options point into; released, it is cleaned up.
///
/// Made for one exchange and never used again: `curl_easy_reset` keeps the TLS sessions of the
/// origins that a handle has seen, and saves nothing that counts (a new handle costs about 1 µs).
/// <https://curl.se/libcurl/c/curl_easy_init.html>
@LoopActor
final class EasyHandle {
    /// The CURL itself, alive as long as this object.
    let raw: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var header: RequestHeaderLines?
    private var proxyHeaderLines: UnsafeMutablePointer<curl_slist>?
    private var connectTo: UnsafeMutablePointer<curl_slist>?
    private var url: OpaquePointer?
    /// What the loop's clock had lost when the transfer began, in nanoseconds.
    private let lostBefore = LoopActor.loop.clock.lost

    init() {
        guard let raw = curl_easy_init() else { preconditionFailure("curl_easy_init: no memory") }
        self.raw = raw
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.pointee = 0
        _ = ccurl_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText)
    }

    isolated deinit {
        curl_easy_cleanup(raw)
        curl_slist_free_all(proxyHeaderLines)
        curl_slist_free_all(connectTo)
        curl_url_cleanup(url)
        errorText.deallocate()
    }

    // MARK: Options

    /// Sets an option that takes a `long`.
    func set(_ option: CURLoption, _ value: Int) throws(CurlFailure) {
        try check(ccurl_set_long(raw, option, value))
    }

    /// Sets an option that takes a string, which libcurl copies.
    func set(_ option: CURLoption, _ value: String) throws(CurlFailure) {
        try check(ccurl_set_string(raw, option, value))
    }

    /// Takes away the string that an option has by default.
    func clear(_ option: CURLoption) throws(CurlFailure) {
        try check(ccurl_set_string(raw, option, nil))
    }

    /// Sets the pointer that a callback gets.
    func set(_ option: CURLoption, context: UnsafeMutableRawPointer) throws(CurlFailure) {
        try check(ccurl_set_pointer(raw, option, context))
    }

    /// Sets the bytes that are sent, which libcurl copies; they are sent again when a connection
    /// that was kept turns out to be dead.
    func set(body: [UInt8]) throws(CurlFailure) {
        try check(ccurl_set_offset(raw, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
        let code = body.withUnsafeBytes { bytes in
            // A null pointer would mean "read from a callback" to libcurl.
            withUnsafePointer(to: UInt8(0)) { empty in
                ccurl_set_pointer(
                    raw, CURLOPT_COPYPOSTFIELDS,
                    UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? UnsafeRawPointer(empty)))
            }
        }
        try check(code)
    }

    /// Sets an option that takes bytes, which libcurl copies.
    func set(_ option: CURLoption, bytes: [UInt8]) throws(CurlFailure) {
        let code = bytes.withUnsafeBytes {
            ccurl_set_blob(raw, option, $0.baseAddress, $0.count)
        }
        try check(code)
    }

    /// Takes the URL to fetch; libcurl uses this very handle, which this object then owns.
    /// Its text libcurl only reports back; without it libcurl would compose one from the parts.
    func set(url: OpaquePointer, text: String) throws(CurlFailure) {
        self.url = url
        try check(ccurl_set_pointer(raw, CURLOPT_CURLU, UnsafeMutableRawPointer(url)))
        try set(CURLOPT_URL, text)
    }

    /// Takes the request's header, which this object then owns.
    func set(_ header: consuming RequestHeaderLines) throws(CurlFailure) {
        try check(ccurl_set_pointer(raw, CURLOPT_HTTPHEADER, header.first))
        self.header = consume header
    }

    /// Takes the line that only a proxy gets, also with CONNECT.
    func set(proxyHeaderLine line: String) throws(CurlFailure) {
        guard let longer = curl_slist_append(proxyHeaderLines, line) else { throw .outOfMemory }
        proxyHeaderLines = longer
        try check(ccurl_set_pointer(raw, CURLOPT_PROXYHEADER, proxyHeaderLines))
    }

    /// Takes what is connected to in place of the URL's host, in libcurl's form. The host stays
    /// what requests and certificates are about.
    func set(connectTo place: String) throws(CurlFailure) {
        guard let longer = curl_slist_append(connectTo, place) else { throw .outOfMemory }
        connectTo = longer
        try check(ccurl_set_pointer(raw, CURLOPT_CONNECT_TO, connectTo))
    }

    /// The process stood still since the transfer began, and libcurl's clock did not: what is left
    /// of so many seconds for the connection stays what it was.
    func prolongConnecting(_ limit: Double) {
        let lost = Double(LoopActor.loop.clock.lost - lostBefore) / 1e9
        do throws(CurlFailure) {
            try limitConnecting(to: limit + lost)
        } catch {
            preconditionFailure("libcurl takes any number for this option: \(error)")
        }
    }

    /// Whether the connection is kept for another transfer. May be called from inside libcurl.
    func keepConnection(_ isKept: Bool) {
        let code = ccurl_set_long(raw, CURLOPT_FORBID_REUSE, isKept ? 0 : 1)
        precondition(code == CURLE_OK, "libcurl has no CURLOPT_FORBID_REUSE")
    }

    /// Turns the result of a setting into an error.
    func check(_ code: CURLcode) throws(CurlFailure) {
        if let failure = CurlFailure(code) { throw failure }
    }

    // MARK: Information

    /// A number, or 0 where libcurl does not have it.
    func long(_ info: CURLINFO) -> Int {
        var value = 0
        return ccurl_get_long(raw, info, &value) == CURLE_OK ? value : 0
    }

    /// A size in bytes or a time in microseconds, or 0 where libcurl does not have it.
    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return ccurl_get_offset(raw, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    /// A text, nil where it is missing or empty.
    func string(_ info: CURLINFO) -> String? {
        var value: UnsafePointer<CChar>?
        guard ccurl_get_string(raw, info, &value) == CURLE_OK, let value, value.pointee != 0 else {
            return nil
        }
        return String(cString: value)
    }

    /// The SSL of the connection in use, which is the connection's; nil without one.
    var ssl: OpaquePointer? { ccurl_get_ssl(raw).map { OpaquePointer($0) } }

    /// The socket of the connection that was used last; nil where it is closed.
    var socket: CInt? {
        let socket = ccurl_get_socket(raw)
        return socket == ccurl_socket_bad ? nil : socket
    }

    /// What libcurl wrote about the failure; the code's own sentence where it wrote nothing.
    func words(for failure: CurlFailure) -> String {
        errorText.pointee == 0 ? failure.words : String(cString: errorText)
    }
}
