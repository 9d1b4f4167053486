internal import CCurl
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics

/// From libcurl's results to errors (S-61).
@LoopActor
enum AttemptOutcome {
    /// Why a transfer has failed; `tried` are the addresses that there was a socket for.
    static func error(
        of failure: CurlFailure, on easy: EasyHandle, wasDenied: Bool, tried: [IPAddress],
        of request: AttemptRequest
    ) -> TransferError {
        var circumstances = CurlCircumstances()
        circumstances.wasDenied = wasDenied
        circumstances.hasRoute = hasRoute(failure, tried, request)
        circumstances.proxyError = easy.long(CURLINFO_PROXY_ERROR)
        circumstances.osErrno = Int32(truncatingIfNeeded: easy.long(CURLINFO_OS_ERRNO))
        circumstances.sslVerifyResult = easy.long(CURLINFO_SSL_VERIFYRESULT)
        circumstances.requestByteCount = Int64(easy.long(CURLINFO_REQUEST_SIZE))
        var words = easy.words(for: failure)
        // libcurl's own words do not tell a refusal from a host that does not answer.
        if failure.code == CURLE_COULDNT_CONNECT, circumstances.osErrno != 0 {
            words += " (\(String(cString: strerror(circumstances.osErrno))))"
        }
        return error(failure, words, circumstances, at: request.url)
    }

    /// A name was not found by the address book, which knows whether that is an answer: one is not
    /// waited out (S-26).
    static func error(
        ofLookingUp host: String, _ failure: AddressBook.Failure, at url: WebURL,
        hasWayOut: Bool = RouteProbe.hasWayOut
    ) -> TransferError {
        var circumstances = CurlCircumstances()
        circumstances.hasRoute =
            failure.isAnswer || !RouteFailure.isLackOfRoute(lookingUp: host, hasWayOut: hasWayOut)
        return error(.unknownHost, failure.words, circumstances, at: url)
    }

    /// Why a transfer could not begin.
    static func error(of failure: CurlFailure, at url: WebURL) -> TransferError {
        error(failure, failure.words, CurlCircumstances(), at: url)
    }

    private static func hasRoute(
        _ failure: CurlFailure, _ tried: [IPAddress], _ request: AttemptRequest
    ) -> Bool? {
        switch failure.code {
        case CURLE_COULDNT_RESOLVE_HOST: hasRoute(lookingUp: request.url.host)
        case CURLE_COULDNT_RESOLVE_PROXY: hasRoute(lookingUp: request.proxy?.host ?? "")
        case CURLE_COULDNT_CONNECT: RouteProbe.hasRoute(toOneOf: tried)
        default: nil
        }
    }

    private static func hasRoute(lookingUp host: String) -> Bool {
        !RouteFailure.isLackOfRoute(lookingUp: host, hasWayOut: RouteProbe.hasWayOut)
    }

    private static func error(
        _ failure: CurlFailure, _ words: String, _ circumstances: CurlCircumstances, at url: WebURL
    ) -> TransferError {
        CurlErrorTable.transferError(
            curlCode: Int(failure.code.rawValue), words: words, circumstances: circumstances,
            at: url.string)
            ?? .url(.unknown, at: url.string)
    }
}
