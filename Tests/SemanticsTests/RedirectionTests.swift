import Testing

import Semantics

struct RedirectionTests {
    private func url(_ host: String, scheme: String = "https", path: String = "/") -> WebURL {
        WebURL(
            string: "\(scheme)://\(host)\(path)", scheme: scheme, host: host,
            port: scheme == "https" ? 443 : 80, path: path)
    }

    private func decide(
        _ status: Int, _ method: String = "GET", headers: HeaderList = [:],
        sensitive: [String] = [],
        from: WebURL? = nil, to target: WebURL?? = .none, count: Int = 0
    ) -> Redirection {
        Redirection.decide(
            status: status, target: target ?? url("a.example", path: "/next"),
            source: .init(
                url: from ?? url("a.example"), method: method, headers: headers,
                sensitiveHeaders: sensitive), count: count)
    }

    private func followed(_ redirection: Redirection) throws -> RedirectedRequest {
        guard case .follow(let request, nil) = redirection else {
            Issue.record("not followed: \(redirection)")
            throw NotFollowed()
        }
        return request
    }

    private struct NotFollowed: Error {}

    @Test(arguments: [
        (301, "POST", "GET", true), (302, "POST", "GET", true), (303, "POST", "GET", true),
        (307, "POST", "POST", false), (308, "POST", "POST", false), (301, "PUT", "PUT", false),
        (302, "DELETE", "DELETE", false), (303, "PUT", "GET", true), (303, "DELETE", "GET", true),
        (303, "PATCH", "GET", true), (303, "GET", "GET", false), (303, "HEAD", "HEAD", false),
        (301, "HEAD", "HEAD", false), (302, "GET", "GET", false), (307, "PUT", "PUT", false),
        (308, "PATCH", "PATCH", false), (302, "post", "post", false), (303, "QUERY", "GET", true),
    ])
    func `S-69: status and method give the next method`(
        status: Int, method: String, next: String, dropsBody: Bool
    ) throws {
        let headers: HeaderList = [
            "Accept": "*/*", "content-type": "text/plain", "Content-Encoding": "gzip",
            "Content-Language": "en", "Content-Location": "/x", "Repr-Digest": "sha-256=:x:",
        ]
        let request = try followed(decide(status, method, headers: headers))
        #expect(request.method == next)
        #expect(request.dropsBody == dropsBody)
        #expect(request.headers == (dropsBody ? ["Accept": "*/*"] : headers))
        #expect(request.url == url("a.example", path: "/next"))
        #expect(!request.isCrossOrigin)
    }

    @Test(arguments: [200, 204, 300, 304, 305, 306, 309, 399, 404])
    func `S-69: other statuses are results`(status: Int) {
        #expect(decide(status) == .result)
        #expect(decide(status, count: 20) == .result)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `S-69: without a Location the response is the result`(status: Int) {
        #expect(decide(status, to: .some(nil), count: 20) == .result)
    }

    @Test func `S-69: across origins credentials and marked headers stay behind`() throws {
        let headers: HeaderList = [
            "authorization": "Basic x", "COOKIE": "a=b", "Proxy-Authorization": "Basic y",
            "X-Api-Key": "k", "Accept": "*/*", "Content-Type": "text/plain",
        ]
        let here = url("a.example")
        let elsewhere: [WebURL] = [
            url("b.example"), url("sub.a.example"),
            WebURL(string: "-", scheme: "https", host: "a.example", port: 8443, path: "/"),
        ]
        for there in elsewhere {
            let request = try followed(
                decide(
                    307, "POST", headers: headers, sensitive: ["x-api-key"], from: here,
                    to: there))
            #expect(request.isCrossOrigin)
            #expect(request.headers == ["Accept": "*/*", "Content-Type": "text/plain"])
        }
        let up = try followed(
            decide(302, headers: headers, from: url("a.example", scheme: "http"), to: here))
        #expect(up.isCrossOrigin)
        #expect(!up.headers.contains("Authorization"))
        let same = try followed(decide(302, headers: headers, sensitive: ["X-Api-Key"], from: here))
        #expect(same.headers == headers)
    }

    @Test func `S-69, S-81: https leads to http only where a delegate says so`() throws {
        let insecure = url("a.example", scheme: "http")
        guard
            case .follow(let request, .appTransportSecurityRequiresSecureConnection) = decide(
                302, to: insecure)
        else {
            Issue.record("followed unasked")
            return
        }
        #expect(request.isCrossOrigin && request.url == insecure)
        #expect(try followed(decide(302, from: insecure, to: insecure)).url == insecure)
    }

    @Test func `S-62: the twenty-first redirect fails`() throws {
        #expect(try followed(decide(302, count: 19)).method == "GET")
        #expect(
            decide(302, count: 20) == .refuse(.url(.httpTooManyRedirects, at: "https://a.example/"))
        )
    }

    @Test(arguments: [
        (WebURL(unfetchable: "http:///x", isURL: false), URLErrorCode.badURL),
        (WebURL(unfetchable: "myapp://x", isURL: true), .unsupportedURL),
    ])
    func `S-62, S-81: what cannot be fetched is proposed as it is, without what is secret`(
        target: WebURL, obstacle: URLErrorCode
    ) {
        let proposal = decide(303, "POST", headers: ["Cookie": "a=b", "Accept": "*/*"], to: target)
        guard case .follow(let request, obstacle) = proposal else {
            Issue.record("\(proposal)")
            return
        }
        #expect(request.url.string == target.string && request.url.obstacle == obstacle)
        #expect(request.headers == ["Accept": "*/*"] && request.method == "GET")
    }
}
