internal import CCurl
internal import Loop
internal import Semantics

/// From libcurl's results to errors (S-61).
@LoopActor
enum AttemptOutcome {
    /// Why a transfer has failed.
    static func error(
        of failure: CurlFailure, on easy: EasyHandle, wasDenied: Bool, contentEncoding: String?,
        at url: WebURL
    ) -> TransferError {
        var circumstances = CurlCircumstances()
        circumstances.wasDenied = wasDenied
        circumstances.osErrno = Int32(truncatingIfNeeded: easy.long(CURLINFO_OS_ERRNO))
        circumstances.sslVerifyResult = easy.long(CURLINFO_SSL_VERIFYRESULT)
        circumstances.requestByteCount = Int64(easy.long(CURLINFO_REQUEST_SIZE))
        circumstances.contentEncoding = contentEncoding
        return error(failure, easy.words(for: failure), circumstances, at: url)
    }

    /// Why a transfer could not begin.
    static func error(of failure: CurlFailure, at url: WebURL) -> TransferError {
        error(failure, failure.words, CurlCircumstances(), at: url)
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
