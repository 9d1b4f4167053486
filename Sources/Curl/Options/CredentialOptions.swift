internal import CCurl
internal import Engine
internal import Semantics

extension EasyHandle {
    /// What is presented to the server. Exactly one scheme is set: libcurl would choose among
    /// several.
    func setCredential(_ credential: AttemptCredential) throws(CurlFailure) {
        guard credential.proof == nil else { return }
        guard let bit = Self.bit(credential.scheme) else {
            return try useOwnConnection(isKept: false)
        }
        try set(CURLOPT_HTTPAUTH, bit)
        try set(CURLOPT_USERNAME, credential.user)
        try set(CURLOPT_PASSWORD, credential.password)
        if credential.scheme == .ntlm { try useOwnConnection(isKept: true) }
    }

    /// NTLM and Negotiate prove who is at the other end of a connection: it may not be shared. Of
    /// NTLM libcurl keeps account; what Negotiate has proven would be there for whoever comes next.
    private func useOwnConnection(isKept: Bool) throws(CurlFailure) {
        try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        guard !isKept else { return }
        try set(CURLOPT_FRESH_CONNECT, 1)
        try set(CURLOPT_FORBID_REUSE, 1)
    }

    /// What is presented to an HTTP proxy.
    func setProxyCredential(_ credential: AttemptCredential) throws(CurlFailure) {
        guard credential.proof == nil else { return }
        guard let bit = Self.bit(credential.scheme) else {
            return try useOwnConnection(isKept: false)
        }
        try set(CURLOPT_PROXYAUTH, bit)
        try set(CURLOPT_PROXYUSERNAME, credential.user)
        try set(CURLOPT_PROXYPASSWORD, credential.password)
    }

    /// Nil for those whose proofs are headers: Digest, which the engine has computed, and Negotiate
    /// (see `Tickets`).
    private static func bit(_ scheme: AttemptCredential.Scheme) -> Int? {
        switch scheme {
        case .basic: ccurl_auth_basic
        case .ntlm: ccurl_auth_ntlm
        case .digest, .negotiate: nil
        }
    }
}

extension AttemptCredential {
    /// whether the bytes that libcurl would pass on as they are hold a line break or NUL.
    var isSafe: Bool {
        [user, password, proof ?? ""].allSatisfy(RequestHeader.hasNoBreak)
    }
}
