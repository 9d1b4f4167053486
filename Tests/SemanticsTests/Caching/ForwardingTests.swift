import Testing

@testable import Semantics

struct ForwardingTests {
    private func sent(
        _ request: CacheRequest, _ response: HeaderList, after seconds: Double = 100
    ) throws -> Forwarding {
        let entry = try StoredResponse.make(response)
        return try #require(
            CacheDecision(request, candidates: [entry], at: .later(seconds)).forwarding)
    }

    @Test(
        arguments: [
            (["ETag": "\"a\""], ["If-None-Match": "\"a\""]),
            (["ETag": "W/\"a\""], ["If-None-Match": "W/\"a\""]),
            (["ETag": "a"], ["If-None-Match": "a"]),
            (["Last-Modified": "x"], ["If-Modified-Since": "x"]),
            (
                ["Last-Modified": "x", "ETag": "\"a\""],
                ["If-None-Match": "\"a\"", "If-Modified-Since": "x"]
            ),
            ([:], [:]), (["ETag": "\"a\"", "etag": "\"b\""], [:]),
        ] as [(HeaderList, HeaderList)])
    func `RFC 9111 4.3.1: a stale response is validated by all validators that it has`(
        response: HeaderList, conditions: HeaderList
    ) throws {
        let forwarding = try sent(.make(["A": "b"]), response)
        #expect(forwarding.headers.fields == [HeaderField("A", "b")] + conditions.fields)
        #expect(forwarding.isConditional == !conditions.isEmpty)
        #expect(forwarding.selected?.id == 1)
        #expect(forwarding.reason == .stale)
    }

    @Test(
        arguments: [
            ["If-None-Match": "\"b\""], ["If-None-Match": "*"], ["If-Modified-Since": "y"],
            ["If-None-Match": "\"a\"", "If-Modified-Since": "y"],
        ] as [HeaderList])
    func `RFC 9111 4.3.1: a client's own conditions go out as they are`(headers: HeaderList) throws
    {
        let forwarding = try sent(.make(headers), ["ETag": "\"a\"", "Last-Modified": "x"])
        #expect(forwarding.headers == headers)
        #expect(!forwarding.isConditional)
        #expect(forwarding.selected?.id == 1)
    }

    @Test func `RFC 9111 4.3.1: Range goes along, so that a changed content is not sent whole`()
        throws
    {
        let forwarding = try sent(.make(["Range": "bytes=0-1"]), ["ETag": "\"a\""])
        #expect(forwarding.headers == ["Range": "bytes=0-1", "If-None-Match": "\"a\""])
    }

    @Test
    func `RFC 9110 14.2: ranges that the cache cannot make are asked for without a condition`()
        throws
    {
        let several = CacheRequest.make(["Range": "bytes=0-1,4-5"])
        let forwarding = try sent(several, ["ETag": "\"a\""])
        #expect(forwarding.reason == .partial)
        #expect(forwarding.headers == several.headers)
        let coded = try sent(
            .make(["Range": "bytes=0-1"]), ["ETag": "\"a\"", "Content-Encoding": "gzip"])
        #expect(coded.reason == .partial)
    }

    @Test func `RFC 5861 3: the validation in the background is a GET of the whole`() throws {
        let request = CacheRequest.make(
            ["Range": "bytes=0-1", "If-Range": "\"a\"", "If-None-Match": "\"b\"", "A": "b"])
        let response: HeaderList = [
            "ETag": "\"a\"", "Cache-Control": "max-age=60, stale-while-revalidate=60",
        ]
        for method in ["GET", "HEAD"] {
            var request = request
            request.method = method
            let forwarding = try sent(request, response)
            #expect(forwarding.request.method == "GET")
            #expect(forwarding.headers == ["A": "b", "If-None-Match": "\"a\""])
            #expect(forwarding.isConditional)
        }
    }
}
