import Semantics
import Testing

/// Which downloads can go on by range, and which answers are the rest of them (S-32, X-9).
struct ContinuationTests {
    private func response(
        _ headers: HeaderList, status: Int = 200, length: Int64 = 1000
    ) -> ResponseRecord {
        ResponseRecord(
            url: "http://a.test/", status: status, httpVersion: "1.1", headers: headers,
            expectedContentLength: length, mimeType: nil, textEncodingName: nil,
            suggestedFilename: "a")
    }

    private static let good: HeaderList = ["ETag": "\"v1\"", "Accept-Ranges": "bytes"]

    @Test
    func `a download goes on behind what it has, if its tag is strong and ranges are offered`()
        throws
    {
        let rest = try #require(Continuation(of: response(Self.good), received: 400))
        #expect(
            rest.fields == [HeaderField("Range", "bytes=400-"), HeaderField("If-Range", "\"v1\"")])
        #expect(Continuation(of: response(Self.good, length: -1), received: 400)?.total == nil)
    }

    @Test(
        arguments: [
            HeaderList(), ["ETag": "\"v1\""], ["Accept-Ranges": "bytes"],
            ["ETag": "W/\"v1\"", "Accept-Ranges": "bytes"],
            ["ETag": "\"v1\"", "Accept-Ranges": "none"], ["ETag": "v1", "Accept-Ranges": "bytes"],
        ] as [HeaderList])
    func `without a strong tag or without ranges it cannot go on`(headers: HeaderList) {
        #expect(Continuation(of: response(headers), received: 400) == nil)
    }

    @Test func `another status than 200, or nothing left, cannot go on`() {
        #expect(Continuation(of: response(Self.good, status: 206), received: 400) == nil)
        #expect(Continuation(of: response(Self.good), received: 1000) == nil)
    }

    @Test(
        arguments: [
            (206, "bytes 400-999/1000", "\"v1\"", true), (206, "bytes 400-999/1000", nil, true),
            (206, "bytes 400-999/*", "\"v1\"", true), (206, "bytes 401-999/1000", "\"v1\"", false),
            (206, "bytes 0-999/1000", "\"v1\"", false),
            (206, "bytes 400-998/1000", "\"v1\"", false),
            (206, "bytes 400-999/2000", "\"v1\"", false),
            (206, "bytes 400-1999/2000", "\"v1\"", false),
            (206, "bytes 400-999/1000", "\"v2\"", false),
            (206, "bytes 400-999/1000", "W/\"v1\"", false),
            (206, nil, "\"v1\"", false), (200, "bytes 400-999/1000", "\"v1\"", false),
            (416, "bytes */1000", "\"v1\"", false),
        ] as [(Int, String?, String?, Bool)])
    func `only a 206 of the rest of the same entity goes on`(
        status: Int, range: String?, tag: String?, isRest: Bool
    ) throws {
        let rest = try #require(Continuation(of: response(Self.good), received: 400))
        var headers = HeaderList()
        if let range { headers.append("Content-Range", range) }
        if let tag { headers.append("ETag", tag) }
        #expect(rest.isContinued(by: status, headers) == isRest)
    }
}
