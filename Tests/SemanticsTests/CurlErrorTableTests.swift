import Testing

import Semantics

struct CurlErrorTableTests {
    /// curl.h of 7.88.1 from 0 to 99, and what a client is told where nothing else is known.
    static let expected: [(name: String, code: URLErrorCode?)] = [
        ("OK", nil), ("UNSUPPORTED_PROTOCOL", .unsupportedURL), ("FAILED_INIT", .unknown),
        ("URL_MALFORMAT", .badURL), ("NOT_BUILT_IN", .unknown),
        ("COULDNT_RESOLVE_PROXY", .cannotFindHost), ("COULDNT_RESOLVE_HOST", .cannotFindHost),
        ("COULDNT_CONNECT", .cannotConnectToHost), ("WEIRD_SERVER_REPLY", .badServerResponse),
        ("REMOTE_ACCESS_DENIED", .unknown), ("FTP_ACCEPT_FAILED", .unknown),
        ("FTP_WEIRD_PASS_REPLY", .unknown), ("FTP_ACCEPT_TIMEOUT", .unknown),
        ("FTP_WEIRD_PASV_REPLY", .unknown), ("FTP_WEIRD_227_FORMAT", .unknown),
        ("FTP_CANT_GET_HOST", .unknown), ("HTTP2", .networkConnectionLost),
        ("FTP_COULDNT_SET_TYPE", .unknown), ("PARTIAL_FILE", .networkConnectionLost),
        ("FTP_COULDNT_RETR_FILE", .unknown), ("OBSOLETE20", .unknown), ("QUOTE_ERROR", .unknown),
        ("HTTP_RETURNED_ERROR", .badServerResponse), ("WRITE_ERROR", .cannotWriteToFile),
        ("OBSOLETE24", .unknown), ("UPLOAD_FAILED", .networkConnectionLost),
        ("READ_ERROR", .requestBodyStreamExhausted), ("OUT_OF_MEMORY", .unknown),
        ("OPERATION_TIMEDOUT", .timedOut), ("OBSOLETE29", .unknown), ("FTP_PORT_FAILED", .unknown),
        ("FTP_COULDNT_USE_REST", .unknown), ("OBSOLETE32", .unknown),
        ("RANGE_ERROR", .badServerResponse), ("HTTP_POST_ERROR", .unknown),
        ("SSL_CONNECT_ERROR", .secureConnectionFailed), ("BAD_DOWNLOAD_RESUME", .badServerResponse),
        ("FILE_COULDNT_READ_FILE", .unknown), ("LDAP_CANNOT_BIND", .unknown),
        ("LDAP_SEARCH_FAILED", .unknown), ("OBSOLETE40", .unknown),
        ("FUNCTION_NOT_FOUND", .unknown),
        ("ABORTED_BY_CALLBACK", .cancelled), ("BAD_FUNCTION_ARGUMENT", .unknown),
        ("OBSOLETE44", .unknown), ("INTERFACE_FAILED", .cannotConnectToHost),
        ("OBSOLETE46", .unknown),
        ("TOO_MANY_REDIRECTS", .httpTooManyRedirects), ("UNKNOWN_OPTION", .unknown),
        ("SETOPT_OPTION_SYNTAX", .unknown), ("OBSOLETE50", .unknown), ("OBSOLETE51", .unknown),
        ("GOT_NOTHING", .networkConnectionLost), ("SSL_ENGINE_NOTFOUND", .secureConnectionFailed),
        ("SSL_ENGINE_SETFAILED", .secureConnectionFailed), ("SEND_ERROR", .networkConnectionLost),
        ("RECV_ERROR", .networkConnectionLost), ("OBSOLETE57", .unknown),
        ("SSL_CERTPROBLEM", .clientCertificateRejected), ("SSL_CIPHER", .secureConnectionFailed),
        ("PEER_FAILED_VERIFICATION", .serverCertificateUntrusted),
        ("BAD_CONTENT_ENCODING", .cannotDecodeRawData), ("OBSOLETE62", .unknown),
        ("FILESIZE_EXCEEDED", .dataLengthExceedsMaximum),
        ("USE_SSL_FAILED", .secureConnectionFailed),
        ("SEND_FAIL_REWIND", .requestBodyStreamExhausted),
        ("SSL_ENGINE_INITFAILED", .secureConnectionFailed),
        ("LOGIN_DENIED", .userAuthenticationRequired), ("TFTP_NOTFOUND", .unknown),
        ("TFTP_PERM", .unknown), ("REMOTE_DISK_FULL", .unknown), ("TFTP_ILLEGAL", .unknown),
        ("TFTP_UNKNOWNID", .unknown), ("REMOTE_FILE_EXISTS", .unknown),
        ("TFTP_NOSUCHUSER", .unknown),
        ("OBSOLETE75", .unknown), ("OBSOLETE76", .unknown),
        ("SSL_CACERT_BADFILE", .secureConnectionFailed), ("REMOTE_FILE_NOT_FOUND", .unknown),
        ("SSH", .unknown), ("SSL_SHUTDOWN_FAILED", .networkConnectionLost),
        ("AGAIN", .networkConnectionLost), ("SSL_CRL_BADFILE", .secureConnectionFailed),
        ("SSL_ISSUER_ERROR", .serverCertificateUntrusted), ("FTP_PRET_FAILED", .unknown),
        ("RTSP_CSEQ_ERROR", .unknown), ("RTSP_SESSION_ERROR", .unknown),
        ("FTP_BAD_FILE_LIST", .unknown), ("CHUNK_FAILED", .unknown),
        ("NO_CONNECTION_AVAILABLE", .cannotConnectToHost),
        ("SSL_PINNEDPUBKEYNOTMATCH", .serverCertificateUntrusted),
        ("SSL_INVALIDCERTSTATUS", .serverCertificateUntrusted),
        ("HTTP2_STREAM", .networkConnectionLost), ("RECURSIVE_API_CALL", .unknown),
        ("AUTH_ERROR", .userAuthenticationRequired), ("HTTP3", .cannotParseResponse),
        ("QUIC_CONNECT_ERROR", .cannotConnectToHost), ("PROXY", .cannotConnectToHost),
        ("SSL_CLIENTCERT", .clientCertificateRequired), ("UNRECOVERABLE_POLL", .unknown),
    ]

    private func code(
        _ curlCode: Int, _ adjust: (inout CurlCircumstances) -> Void = { _ in }
    ) -> Int? {
        var circumstances = CurlCircumstances()
        adjust(&circumstances)
        return CurlErrorTable.transferError(
            curlCode: curlCode, words: "words", circumstances: circumstances)?.code
    }

    @Test func `S-61: every CURLcode from 0 to 99 has its row`() {
        #expect(Self.expected.count == 100)
        for (number, row) in Self.expected.enumerated() {
            #expect(CurlErrorTable.row(number)?.name == row.name, "\(number)")
            #expect(code(number) == row.code?.rawValue, "\(number) \(row.name)")
        }
        #expect(CurlErrorTable.row(100)?.name == "TOO_LARGE")
        #expect(CurlErrorTable.row(101) == nil)
        #expect(CurlErrorTable.row(-1) == nil)
        #expect(code(101) == -1)
    }

    @Test func `S-61: libcurl's words stay underneath`() {
        let error = CurlErrorTable.transferError(
            curlCode: 6, words: "Could not resolve host: nowhere", at: "http://nowhere/")
        #expect(
            error
                == TransferError(
                    .url(.cannotFindHost), at: "http://nowhere/",
                    underlying: .init(
                        layer: .curl, code: 6, message: "Could not resolve host: nowhere")))
    }

    @Test(
        arguments: [
            (0, -1004), (111, -1004), (101, -1009), (100, -1009), (113, -1009), (110, -1001),
            (13, -1004),
        ] as [(Int32, Int)])
    func `S-61: the errno tells no route from no server`(osErrno: Int32, expected: Int) {
        #expect(code(7) { $0.osErrno = osErrno } == expected)
    }

    @Test func `S-26: no way is what the errno tells, unless there was one to another address`() {
        for hasRoute in [nil, false, true] {
            let expected = hasRoute == true ? -1004 : -1009
            #expect(
                code(7) { ($0.osErrno, $0.hasRoute) = (101, hasRoute) } == expected, "\(hasRoute)")
            #expect(code(7) { ($0.osErrno, $0.hasRoute) = (111, hasRoute) } == -1004)
        }
    }

    @Test(arguments: [5, 6])
    func `S-26: a name is not found for lack of a way only where somebody has looked`(number: Int) {
        #expect(code(number) { $0.hasRoute = nil } == -1003)
        #expect(code(number) { $0.hasRoute = true } == -1003)
        #expect(code(number) { $0.hasRoute = false } == -1009)
    }

    @Test(
        arguments: [
            ([0, 9, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 99], -1004), ([7, 8, 12, 33], -1013),
            ([1, 2, 31, 32], -1011), ([3, 13, 14, 15, 16, 28, 29, 30], -1005), ([27], -1003),
        ] as [([Int], Int)])
    func `S-61: why a SOCKS proxy does not connect`(proxyErrors: [Int], expected: Int) {
        for proxyError in proxyErrors {
            #expect(code(97) { $0.proxyError = proxyError } == expected, "\(proxyError)")
        }
        #expect(code(7) { $0.proxyError = 27 } == -1004)
    }

    @Test(arguments: [
        (0, -1202), (2, -1203), (9, -1204), (10, -1201), (13, -1201), (14, -1201), (18, -1203),
        (19, -1203), (20, -1203), (21, -1203), (23, -1202), (26, -1202), (62, -1202), (68, -1202),
    ])
    func `S-61: the verify result tells the certificate's fault`(verifyResult: Int, expected: Int) {
        var circumstances = CurlCircumstances()
        circumstances.sslVerifyResult = verifyResult
        let error = CurlErrorTable.transferError(
            curlCode: 60, words: "words", circumstances: circumstances)
        #expect(error?.code == expected)
        let underlying =
            verifyResult == 0
            ? TransferError.Underlying(layer: .curl, code: 60, message: "words")
            : TransferError.Underlying(layer: .tls, code: verifyResult, message: "words")
        #expect(error?.underlying == underlying)
    }

    @Test func `S-61: HTTP of a version that is not spoken is no unsupported URL`() {
        #expect(code(1) { $0.requestByteCount = 0 } == -1002)
        #expect(code(1) { $0.requestByteCount = 120 } == -1017)
    }

    @Test func `X-1: a denied socket is a denial by any code, and never a success's error`() {
        var circumstances = CurlCircumstances()
        circumstances.wasDenied = true
        circumstances.osErrno = 101
        for number in 1..<100 {
            let error = CurlErrorTable.transferError(
                curlCode: number, words: "10.0.0.1", circumstances: circumstances, at: "http://x/")
            #expect(error == .destinationDenied, "\(number)")
        }
        #expect(
            CurlErrorTable.transferError(curlCode: 0, words: "", circumstances: circumstances)
                == nil)
    }
}
