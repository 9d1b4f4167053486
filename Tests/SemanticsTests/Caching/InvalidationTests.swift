import Testing

@testable import Semantics

struct InvalidationTests {
    private func keys(
        _ method: String, _ status: Int = 200, location: WebURL? = nil,
        contentLocation: WebURL? = nil
    ) throws -> [String] {
        let request = CacheRequest.make(method: method)
        let forwarding = try #require(
            CacheDecision(request, candidates: [], at: .arrival).forwarding)
        let answer = OriginAnswer.make(
            status, location: location, contentLocation: contentLocation)
        return CacheUpdate(answer, to: forwarding, candidates: []).invalidated.map(\.url)
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "XYZ", "get"])
    func `RFC 9111 4.4: an unsafe or unknown method invalidates its URL unless it fails`(
        method: String
    ) throws {
        for status in [200, 201, 204, 299, 301, 303, 307, 399] {
            #expect(try keys(method, status) == ["http://example.com/a"])
        }
        for status in [400, 404, 409, 412, 500, 503, 599] {
            #expect(try keys(method, status).isEmpty)
        }
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "PROPFIND", "QUERY"])
    func `RFC 9111 4.4: a safe method invalidates nothing`(method: String) throws {
        #expect(try keys(method, location: .make("/b"), contentLocation: .make("/c")).isEmpty)
    }

    @Test func `RFC 9111 4.4: Location and Content-Location count on the same origin only`() throws
    {
        #expect(
            try keys("POST", location: .make("/b"), contentLocation: .make("/c"))
                == ["http://example.com/a", "http://example.com/b", "http://example.com/c"])
        #expect(
            try keys("POST", location: .make("/a"), contentLocation: .make("/b"))
                == ["http://example.com/a", "http://example.com/b"])
        #expect(
            try keys(
                "POST", location: .make("/b", host: "other.example"),
                contentLocation: .make("/b", port: 81)) == ["http://example.com/a"])
        #expect(
            try keys("POST", location: .make("/b", host: "EXAMPLE.com")).count == 2)
        #expect(try keys("POST", 500, location: .make("/b")).isEmpty)
    }
}
