internal import COpenSSL

/// What OpenSSL says of its calls.
enum OpenSSLWords {
    /// Why the last call of this thread failed; empties the thread's queue of errors.
    static func takeError() -> String {
        defer { ERR_clear_error() }
        return lastError
    }

    /// The same, which leaves the queue as it is.
    static var lastError: String {
        let code = ERR_peek_last_error()
        guard code != 0 else { return "no reason is known" }
        return ERR_reason_error_string(code).map(String.init(cString:)) ?? "error \(code)"
    }
}
