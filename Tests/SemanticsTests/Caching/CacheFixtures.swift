import Syntax

@testable import Semantics

extension Timestamp {
    /// Fri, 15 Jan 2027 08:00:00 GMT.
    static let arrival = Timestamp(milliseconds: 1_800_000_000_000)

    /// So many seconds after everything arrived.
    static func later(_ seconds: Double) -> Timestamp {
        Timestamp(milliseconds: arrival.milliseconds + Int64(seconds * 1000))
    }

    /// The value of a field that names the instant so many seconds after everything arrived.
    static func field(_ seconds: Int64) -> String {
        HTTPDate(secondsSince1970: arrival.milliseconds / 1000 + seconds).description
    }
}

extension WebURL {
    static func make(_ path: String = "/a", host: String = "example.com", port: Int = 80) -> WebURL
    {
        WebURL(
            string: "http://\(host)\(port == 80 ? "" : ":\(port)")\(path)", scheme: "http",
            host: host, port: port, path: path)
    }
}

extension CacheRequest {
    static func make(
        _ headers: HeaderList = [:], method: String = "GET", url: WebURL = .make(),
        policy: RequestCachePolicy = .useProtocolCachePolicy, decodes: Bool = true
    ) -> CacheRequest {
        CacheRequest(
            method: method, url: url, headers: headers, policy: policy, decodes: decodes)
    }
}

extension StoredResponse {
    /// Ten bytes that arrived at `Timestamp.arrival` with these fields, as an answer to such a
    /// request.
    static func make(
        _ headers: HeaderList = [:], id: Int64 = 1, to request: CacheRequest = .make(),
        status: Int = 200, length: Int64 = 10, delay: Int64 = 0, at time: Timestamp = .arrival
    ) throws -> StoredResponse {
        guard
            let entry = StoredResponse(
                id: id, answering: request, status: status, httpVersion: "1.1", headers: headers,
                requestTime: Timestamp(milliseconds: time.milliseconds - delay), responseTime: time,
                length: length)
        else { throw NotStorable() }
        return entry
    }

    struct NotStorable: Error {}
}

extension OriginAnswer {
    /// An answer whose head was there so many seconds after everything else arrived.
    static func make(
        _ status: Int, _ headers: HeaderList = [:], after seconds: Double = 100,
        location: WebURL? = nil, contentLocation: WebURL? = nil
    ) -> OriginAnswer {
        OriginAnswer(
            status: status, headers: headers, requestTime: .later(seconds),
            responseTime: .later(seconds), location: location, contentLocation: contentLocation)
    }
}

extension CacheDecision {
    /// What was decided, in a word: `hit`, `hit+`, a reason to forward with `?` where it is a
    /// condition, or an error.
    var word: String {
        switch self {
        case .serve(.gatewayTimeout): "504"
        case .serve: "hit"
        case .serveWhileRevalidating: "hit+"
        case .forward(let forwarding):
            forwarding.reason.rawValue + (forwarding.isConditional ? "?" : "")
        case .fail(let code): String(code.rawValue)
        }
    }

    var answer: CachedAnswer? {
        switch self {
        case .serve(let answer), .serveWhileRevalidating(let answer, _): answer
        case .forward, .fail: nil
        }
    }

    var forwarding: Forwarding? {
        switch self {
        case .forward(let forwarding), .serveWhileRevalidating(_, let forwarding): forwarding
        case .serve, .fail: nil
        }
    }
}
