internal import Glibc

/// What is known of a failed libcurl transfer beside its CURLcode.
public struct CurlCircumstances: Equatable, Sendable {
    /// The egress policy refused a socket or a reused connection during the transfer.
    public var wasDenied = false
    /// `CURLINFO_OS_ERRNO`; 0 for none.
    public var osErrno: Int32 = 0
    /// Whether a way leads to one of the addresses that were tried, or to somebody who could be
    /// asked for a name; nil where nobody has looked.
    public var hasRoute: Bool?
    /// `CURLINFO_PROXY_ERROR`: a `CURLPX_…`; 0 for none.
    public var proxyError = 0
    /// `CURLINFO_SSL_VERIFYRESULT`: an `X509_V_ERR_…`; 0 for a chain that verified.
    public var sslVerifyResult = 0
    /// `CURLINFO_REQUEST_SIZE`: bytes of request heads that went out; 0 where none did.
    public var requestByteCount: Int64 = 0

    /// Nothing is known.
    public init() {}
}

/// The one table CURLcode → NSURLError (S-61), complete for libcurl 7.88.1 (0…99) and
/// CURLE_TOO_LARGE of 8.6.
///
/// Meanings: <https://curl.se/libcurl/c/libcurl-errors.html>.
public enum CurlErrorTable {
    /// CURLE_PEER_FAILED_VERIFICATION.
    static let peerFailedVerification = 60

    /// What a code of libcurl means to a client.
    public enum Meaning: Hashable, Sendable {
        /// CURLE_OK.
        case success
        /// Always this error.
        case error(URLErrorCode)
        /// No host by that name, or no way to ask for it.
        case lookup
        /// No connection, by the errno.
        case connect
        /// A SOCKS proxy has not connected; libcurl's code for that tells why.
        case proxy
        /// `unsupportedURL` before, `cannotParseResponse` after a request went out (HTTP/0.9 and
        /// the like).
        case protocolUnsupported
        /// The verify result tells which certificate error.
        case certificate
    }

    /// A code's name in curl.h and its meaning.
    public struct Row: Hashable, Sendable {
        /// Without the prefix `CURLE_`.
        public let name: String
        /// What a client is told.
        public let meaning: Meaning
    }

    /// The row of a CURLcode; nil for a number that libcurl does not have.
    public static func row(_ curlCode: Int) -> Row? {
        rows.indices.contains(curlCode) ? rows[curlCode] : nil
    }

    /// Whether a CURLcode tells of a connection that was lost, whatever the reason.
    public static func isLostConnection(_ curlCode: Int) -> Bool {
        row(curlCode)?.meaning == .error(.networkConnectionLost)
    }

    /// The error of a transfer that ended with this CURLcode; nil for CURLE_OK.
    ///
    /// - Parameters:
    ///   - curlCode: the result of the transfer.
    ///   - words: `CURLOPT_ERRORBUFFER`, or `curl_easy_strerror` where that is empty.
    ///   - circumstances: what else the handle tells.
    ///   - url: what was being loaded.
    /// - Returns: the error, with libcurl's words underneath; the same for every denied
    ///   destination.
    public static func transferError(
        curlCode: Int, words: String, circumstances: CurlCircumstances = CurlCircumstances(),
        at url: String? = nil
    ) -> TransferError? {
        let meaning = row(curlCode)?.meaning ?? .error(.unknown)
        guard let code = urlErrorCode(meaning, circumstances) else { return nil }
        guard !circumstances.wasDenied else { return .destinationDenied }
        let isCertificate = meaning == .certificate && circumstances.sslVerifyResult != 0
        let underlying = TransferError.Underlying(
            layer: isCertificate ? .tls : .curl,
            code: isCertificate ? circumstances.sslVerifyResult : curlCode, message: words)
        return .url(code, at: url, underlying: underlying)
    }

    private static func urlErrorCode(
        _ meaning: Meaning, _ circumstances: CurlCircumstances
    ) -> URLErrorCode? {
        switch meaning {
        case .success: nil
        case .error(let code): code
        case .lookup: circumstances.hasRoute == false ? .notConnectedToInternet : .cannotFindHost
        case .connect: connectError(circumstances)
        case .proxy: proxyError(circumstances.proxyError)
        case .protocolUnsupported:
            circumstances.requestByteCount > 0 ? .cannotParseResponse : .unsupportedURL
        case .certificate: certificateError(circumstances.sslVerifyResult)
        }
    }

    /// No way to the network is the machine's own state (S-26 waits for it); all else is the
    /// server's. The errno is that of one address: another one may have refused.
    private static func connectError(_ circumstances: CurlCircumstances) -> URLErrorCode {
        let isLackOfRoute = RouteFailure.isLackOfRoute(osErrno: circumstances.osErrno)
        if isLackOfRoute, circumstances.hasRoute != true { return .notConnectedToInternet }
        return circumstances.osErrno == ETIMEDOUT ? .timedOut : .cannotConnectToHost
    }

    /// `CURLproxycode` of curl.h. <https://curl.se/libcurl/c/CURLINFO_PROXY_ERROR.html>
    private static func proxyError(_ proxyError: Int) -> URLErrorCode {
        switch proxyError {
        // BAD_ADDRESS_TYPE, BAD_VERSION, UNKNOWN_FAIL, UNKNOWN_MODE: it does not speak SOCKS.
        case 1, 2, 31, 32: .badServerResponse
        // CLOSED, RECV_…, SEND_…
        case 3, 13...16, 28...30: .networkConnectionLost
        // IDENTD, IDENTD_DIFFER, NO_AUTH, USER_REJECTED: it wants to know who asks.
        case 7, 8, 12, 33: .userAuthenticationRequired
        // RESOLVE_HOST
        case 27: .cannotFindHost
        // REPLY_…, REQUEST_FAILED: it could not, or would not, connect.
        default: .cannotConnectToHost
        }
    }

    /// `X509_V_ERR_…` of OpenSSL's x509_vfy.h; 0 is a name that the certificate does not have.
    private static func certificateError(_ verifyResult: Int) -> URLErrorCode {
        switch verifyResult {
        case 9: .serverCertificateNotYetValid  // CERT_NOT_YET_VALID
        case 10: .serverCertificateHasBadDate  // CERT_HAS_EXPIRED
        case 13, 14: .serverCertificateHasBadDate  // ERROR_IN_CERT_NOT_BEFORE_FIELD, …AFTER…
        case 2, 20: .serverCertificateHasUnknownRoot  // UNABLE_TO_GET_ISSUER_CERT, …_LOCALLY
        case 18, 19: .serverCertificateHasUnknownRoot  // DEPTH_ZERO_SELF_SIGNED_CERT, …_IN_CHAIN
        case 21: .serverCertificateHasUnknownRoot  // UNABLE_TO_VERIFY_LEAF_SIGNATURE
        default: .serverCertificateUntrusted
        }
    }

    /// By CURLcode, from 0. Codes of other protocols than HTTP cannot come up and are `unknown`; so
    /// are the numbers that libcurl no longer uses, and the codes that tell of a mistake of ours.
    private static let rows: [Row] = [
        Row(name: "OK", meaning: .success),
        Row(name: "UNSUPPORTED_PROTOCOL", meaning: .protocolUnsupported),
        Row(name: "FAILED_INIT", meaning: .error(.unknown)),
        Row(name: "URL_MALFORMAT", meaning: .error(.badURL)),
        Row(name: "NOT_BUILT_IN", meaning: .error(.unknown)),
        Row(name: "COULDNT_RESOLVE_PROXY", meaning: .lookup),
        Row(name: "COULDNT_RESOLVE_HOST", meaning: .lookup),
        Row(name: "COULDNT_CONNECT", meaning: .connect),
        Row(name: "WEIRD_SERVER_REPLY", meaning: .error(.badServerResponse)),
        Row(name: "REMOTE_ACCESS_DENIED", meaning: .error(.unknown)),
        // 10
        Row(name: "FTP_ACCEPT_FAILED", meaning: .error(.unknown)),
        Row(name: "FTP_WEIRD_PASS_REPLY", meaning: .error(.unknown)),
        Row(name: "FTP_ACCEPT_TIMEOUT", meaning: .error(.unknown)),
        Row(name: "FTP_WEIRD_PASV_REPLY", meaning: .error(.unknown)),
        Row(name: "FTP_WEIRD_227_FORMAT", meaning: .error(.unknown)),
        Row(name: "FTP_CANT_GET_HOST", meaning: .error(.unknown)),
        // Also where a connection closes (RFC 9113 §6.8): libcurl does not tell that from frames
        // that are none.
        Row(name: "HTTP2", meaning: .error(.networkConnectionLost)),
        Row(name: "FTP_COULDNT_SET_TYPE", meaning: .error(.unknown)),
        Row(name: "PARTIAL_FILE", meaning: .error(.networkConnectionLost)),
        Row(name: "FTP_COULDNT_RETR_FILE", meaning: .error(.unknown)),
        // 20
        Row(name: "OBSOLETE20", meaning: .error(.unknown)),
        Row(name: "QUOTE_ERROR", meaning: .error(.unknown)),
        Row(name: "HTTP_RETURNED_ERROR", meaning: .error(.badServerResponse)),
        Row(name: "WRITE_ERROR", meaning: .error(.cannotWriteToFile)),
        Row(name: "OBSOLETE24", meaning: .error(.unknown)),
        Row(name: "UPLOAD_FAILED", meaning: .error(.networkConnectionLost)),
        Row(name: "READ_ERROR", meaning: .error(.requestBodyStreamExhausted)),
        Row(name: "OUT_OF_MEMORY", meaning: .error(.unknown)),
        Row(name: "OPERATION_TIMEDOUT", meaning: .error(.timedOut)),
        Row(name: "OBSOLETE29", meaning: .error(.unknown)),
        // 30
        Row(name: "FTP_PORT_FAILED", meaning: .error(.unknown)),
        Row(name: "FTP_COULDNT_USE_REST", meaning: .error(.unknown)),
        Row(name: "OBSOLETE32", meaning: .error(.unknown)),
        Row(name: "RANGE_ERROR", meaning: .error(.badServerResponse)),
        Row(name: "HTTP_POST_ERROR", meaning: .error(.unknown)),
        Row(name: "SSL_CONNECT_ERROR", meaning: .error(.secureConnectionFailed)),
        Row(name: "BAD_DOWNLOAD_RESUME", meaning: .error(.badServerResponse)),
        Row(name: "FILE_COULDNT_READ_FILE", meaning: .error(.unknown)),
        Row(name: "LDAP_CANNOT_BIND", meaning: .error(.unknown)),
        Row(name: "LDAP_SEARCH_FAILED", meaning: .error(.unknown)),
        // 40
        Row(name: "OBSOLETE40", meaning: .error(.unknown)),
        Row(name: "FUNCTION_NOT_FOUND", meaning: .error(.unknown)),
        Row(name: "ABORTED_BY_CALLBACK", meaning: .error(.cancelled)),
        Row(name: "BAD_FUNCTION_ARGUMENT", meaning: .error(.unknown)),
        Row(name: "OBSOLETE44", meaning: .error(.unknown)),
        Row(name: "INTERFACE_FAILED", meaning: .error(.cannotConnectToHost)),
        Row(name: "OBSOLETE46", meaning: .error(.unknown)),
        Row(name: "TOO_MANY_REDIRECTS", meaning: .error(.httpTooManyRedirects)),
        Row(name: "UNKNOWN_OPTION", meaning: .error(.unknown)),
        Row(name: "SETOPT_OPTION_SYNTAX", meaning: .error(.unknown)),
        // 50
        Row(name: "OBSOLETE50", meaning: .error(.unknown)),
        Row(name: "OBSOLETE51", meaning: .error(.unknown)),
        Row(name: "GOT_NOTHING", meaning: .error(.networkConnectionLost)),
        Row(name: "SSL_ENGINE_NOTFOUND", meaning: .error(.secureConnectionFailed)),
        Row(name: "SSL_ENGINE_SETFAILED", meaning: .error(.secureConnectionFailed)),
        Row(name: "SEND_ERROR", meaning: .error(.networkConnectionLost)),
        Row(name: "RECV_ERROR", meaning: .error(.networkConnectionLost)),
        Row(name: "OBSOLETE57", meaning: .error(.unknown)),
        Row(name: "SSL_CERTPROBLEM", meaning: .error(.clientCertificateRejected)),
        Row(name: "SSL_CIPHER", meaning: .error(.secureConnectionFailed)),
        // 60
        Row(name: "PEER_FAILED_VERIFICATION", meaning: .certificate),
        Row(name: "BAD_CONTENT_ENCODING", meaning: .error(.cannotDecodeRawData)),
        Row(name: "OBSOLETE62", meaning: .error(.unknown)),
        Row(name: "FILESIZE_EXCEEDED", meaning: .error(.dataLengthExceedsMaximum)),
        Row(name: "USE_SSL_FAILED", meaning: .error(.secureConnectionFailed)),
        Row(name: "SEND_FAIL_REWIND", meaning: .error(.requestBodyStreamExhausted)),
        Row(name: "SSL_ENGINE_INITFAILED", meaning: .error(.secureConnectionFailed)),
        Row(name: "LOGIN_DENIED", meaning: .error(.userAuthenticationRequired)),
        Row(name: "TFTP_NOTFOUND", meaning: .error(.unknown)),
        Row(name: "TFTP_PERM", meaning: .error(.unknown)),
        // 70
        Row(name: "REMOTE_DISK_FULL", meaning: .error(.unknown)),
        Row(name: "TFTP_ILLEGAL", meaning: .error(.unknown)),
        Row(name: "TFTP_UNKNOWNID", meaning: .error(.unknown)),
        Row(name: "REMOTE_FILE_EXISTS", meaning: .error(.unknown)),
        Row(name: "TFTP_NOSUCHUSER", meaning: .error(.unknown)),
        Row(name: "OBSOLETE75", meaning: .error(.unknown)),
        Row(name: "OBSOLETE76", meaning: .error(.unknown)),
        Row(name: "SSL_CACERT_BADFILE", meaning: .error(.secureConnectionFailed)),
        Row(name: "REMOTE_FILE_NOT_FOUND", meaning: .error(.unknown)),
        Row(name: "SSH", meaning: .error(.unknown)),
        // 80
        Row(name: "SSL_SHUTDOWN_FAILED", meaning: .error(.networkConnectionLost)),
        Row(name: "AGAIN", meaning: .error(.networkConnectionLost)),
        Row(name: "SSL_CRL_BADFILE", meaning: .error(.secureConnectionFailed)),
        Row(name: "SSL_ISSUER_ERROR", meaning: .error(.serverCertificateUntrusted)),
        Row(name: "FTP_PRET_FAILED", meaning: .error(.unknown)),
        Row(name: "RTSP_CSEQ_ERROR", meaning: .error(.unknown)),
        Row(name: "RTSP_SESSION_ERROR", meaning: .error(.unknown)),
        Row(name: "FTP_BAD_FILE_LIST", meaning: .error(.unknown)),
        Row(name: "CHUNK_FAILED", meaning: .error(.unknown)),
        Row(name: "NO_CONNECTION_AVAILABLE", meaning: .error(.cannotConnectToHost)),
        // 90
        Row(name: "SSL_PINNEDPUBKEYNOTMATCH", meaning: .error(.serverCertificateUntrusted)),
        Row(name: "SSL_INVALIDCERTSTATUS", meaning: .error(.serverCertificateUntrusted)),
        Row(name: "HTTP2_STREAM", meaning: .error(.networkConnectionLost)),
        Row(name: "RECURSIVE_API_CALL", meaning: .error(.unknown)),
        Row(name: "AUTH_ERROR", meaning: .error(.userAuthenticationRequired)),
        Row(name: "HTTP3", meaning: .error(.cannotParseResponse)),
        Row(name: "QUIC_CONNECT_ERROR", meaning: .error(.cannotConnectToHost)),
        Row(name: "PROXY", meaning: .proxy),
        Row(name: "SSL_CLIENTCERT", meaning: .error(.clientCertificateRequired)),
        Row(name: "UNRECOVERABLE_POLL", meaning: .error(.unknown)),
        // 100
        Row(name: "TOO_LARGE", meaning: .error(.cannotParseResponse)),
    ]
}

extension ServerTrust {
    /// What default handling makes of a chain that does not verify; also for one that does, where a
    /// client has refused it (S-66).
    public var error: TransferError {
        let failure = failures.first
        var circumstances = CurlCircumstances()
        circumstances.sslVerifyResult = failure?.code ?? 0
        return CurlErrorTable.transferError(
            curlCode: CurlErrorTable.peerFailedVerification,
            words: failure?.message ?? "the client does not trust the certificate",
            circumstances: circumstances)
            ?? .url(.serverCertificateUntrusted)
    }
}
