import Testing

import Semantics

struct WebURLTests {
    private func url(
        _ host: String, scheme: String = "https", zone: String? = nil, port: Int = 443
    ) -> WebURL {
        WebURL(string: "-", scheme: scheme, host: host, zone: zone, port: port, path: "/")
    }

    @Test func `S-69: an origin is scheme, host and port, and nothing else`() {
        let base = url("example.com")
        #expect(url("EXAMPLE.com").origin == base.origin)
        #expect(url("example.com", port: 8443).origin != base.origin)
        #expect(url("example.com", scheme: "http").origin != base.origin)
        #expect(url("www.example.com").origin != base.origin)
        #expect(url("fe80::1", zone: "eth0").origin != url("fe80::1", zone: "eth1").origin)
        let other = WebURL(
            string: "+", scheme: "https", host: "example.com", port: 443, path: "/x", query: "y")
        #expect(other.origin == base.origin)
    }
}
