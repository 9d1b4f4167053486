internal import CCurl
internal import Engine
internal import Semantics

extension EasyHandle {
    /// The request line, the header and the body.
    func setRequest(
        _ request: AttemptRequest, _ proofs: Tickets.Proofs, userAgent: String, bufferSize: Int
    ) throws(CurlFailure) {
        try setMethod(request.method, body: request.body, bufferSize: bufferSize)
        var headers = request.headers
        // libcurl would send both.
        if let credential = request.credential {
            headers = headers.removing(["Authorization"])
            try setCredential(credential)
        }
        if let proof = request.credential?.proof ?? proofs.server {
            headers.append("Authorization", proof)
        }
        try set(RequestHeaderLines(headers))
        let proxyProof = request.httpProxy == nil ? nil : request.proxyCredential?.proof
        if let proof = proxyProof ?? proofs.proxy {
            try set(proxyHeaderLine: "Proxy-Authorization: " + proof)
        }
        if !request.headers.contains("User-Agent") { try set(CURLOPT_USERAGENT, userAgent) }
    }

    /// Each of libcurl's options for a body or its absence implies a method, and CUSTOMREQUEST
    /// names another one.
    private func setMethod(
        _ method: String, body: AttemptBody?, bufferSize: Int
    ) throws(CurlFailure) {
        var implied = "GET"
        if method == "HEAD" {
            try set(CURLOPT_NOBODY, 1)
            implied = "HEAD"
        } else if let body = body ?? RequestHeader.impliedBody(method) {
            implied = try setBody(body, bufferSize: bufferSize)
        }
        if method != implied { try set(CURLOPT_CUSTOMREQUEST, method) }
    }

    /// The body, and the method that it implies.
    private func setBody(_ body: AttemptBody, bufferSize: Int) throws(CurlFailure) -> String {
        switch body {
        case .bytes(let bytes):
            try set(body: bytes)
            return "POST"
        case .source(_, let length):
            try set(CURLOPT_UPLOAD, 1)
            // Without a length libcurl sends chunks (RFC 9112 §7.1).
            try check(ccurl_set_offset(raw, CURLOPT_INFILESIZE_LARGE, curl_off_t(length ?? -1)))
            try set(CURLOPT_UPLOAD_BUFFERSIZE, bufferSize)
            return "PUT"
        }
    }

    /// How the response is read. Without CURLOPT_ACCEPT_ENCODING libcurl hands out a coded content
    /// as it comes.
    func setResponse(bufferSize: Int) throws(CurlFailure) {
        try set(CURLOPT_BUFFERSIZE, bufferSize)
    }
}

/// What a request's header must be.
enum RequestHeader {
    /// RFC 9110 §8.6: methods that give a body a meaning say `Content-Length: 0` where there is
    /// none.
    static func impliedBody(_ method: String) -> AttemptBody? {
        switch method {
        case "POST", "PUT", "PATCH": .bytes([])
        default: nil
        }
    }

    /// whether the bytes that libcurl would pass on as they are hold a line break or NUL.
    /// Clients' requests were checked by `HeaderRules`; this is the last look before the wire.
    static func isSafe(_ request: AttemptRequest) -> Bool {
        hasNoBreak(request.method)
            && request.headers.fields.allSatisfy { hasNoBreak($0.name) && hasNoBreak($0.value) }
            && (request.credential?.isSafe ?? true) && (request.proxyCredential?.isSafe ?? true)
    }

    static func hasNoBreak(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        for index in bytes.indices
        where bytes[index] == 0x0a || bytes[index] == 0x0d || bytes[index] == 0 {
            return false
        }
        return true
    }
}

extension AttemptBody {
    /// The bytes, where they are not pulled.
    var knownBytes: [UInt8]? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    /// Whether it is known that there are no bytes.
    var isEmpty: Bool {
        switch self {
        case .bytes(let bytes): bytes.isEmpty
        case .source(_, let length): length == 0
        }
    }

    /// Whether it may have bytes, and these come from a source.
    var isPulled: Bool {
        if case .source = self { !isEmpty } else { false }
    }
}

extension AttemptRequest {
    /// A proxy that has refused a body while it came may never read what follows on that
    /// connection, though it keeps it: measured with Squid 5.7, which had the next request whole,
    /// and left it unanswered.
    var sendsBodyToProxy: Bool { body != nil && httpProxy != nil && !url.isSecure }
}
