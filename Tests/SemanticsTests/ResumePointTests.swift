import Testing

@testable import Semantics

/// A response with these fields, as the rules of resuming look at it.
func resumableResponse(
    _ headers: HeaderList, status: Int = 200, length: Int64 = 1000
) -> ResponseRecord {
    ResponseRecord(
        url: "http://a.test/", status: status, httpVersion: "1.1", headers: headers,
        expectedContentLength: length, mimeType: nil, textEncodingName: nil,
        suggestedFilename: "a")
}

struct EntityValidatorsTests {
    @Test(
        arguments: [
            (["ETag": "\"v1\""], "\"v1\""), (["ETag": "W/\"v1\""], nil), (["ETag": "v1"], nil),
            ([:], nil), (["ETag": "\"v1\"", "etag": "\"v1\""], "\"v1\""),
            (["ETag": "\"v1\"", "etag": "\"v2\""], nil),
        ] as [(HeaderList, String?)])
    func `S-34: a tag counts where it is strong and the only one (RFC 9110, section 8.8.3)`(
        headers: HeaderList, tag: String?
    ) {
        #expect(EntityValidators(of: headers).tag?.description == tag)
        #expect(EntityValidators(of: headers).isEmpty == (tag == nil))
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT", true),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:36 GMT", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sat, 05 Nov 1994 08:49:37 GMT", false),
            ("Sunday, 06-Nov-94 08:49:37 GMT", "Thu, 01 Jan 2026 00:00:00 GMT", true),
            ("Sun Nov  6 08:49:37 1994", "Thu, 01 Jan 2026 00:00:00 GMT", true),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Thursday, 01-Jan-26 00:00:00 GMT", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", nil, false),
            ("yesterday", "Thu, 01 Jan 2026 00:00:00 GMT", false),
            (nil, "Thu, 01 Jan 2026 00:00:00 GMT", false),
        ] as [(String?, String?, Bool)])
    func `S-34: a date counts where it lies a minute before the response's own (section 8.8.2.2)`(
        modified: String?, date: String?, isStrong: Bool
    ) {
        var headers = HeaderList()
        if let modified { headers.append("Last-Modified", modified) }
        if let date { headers.append("Date", date) }
        #expect(EntityValidators(of: headers).date == (isStrong ? modified : nil))
    }

    @Test func `S-34: a weak tag does not get in by the other door`() {
        #expect(EntityValidators(tag: EntityTag("W/\"v1\""), date: nil).isEmpty)
    }
}

struct RangedEntityTests {
    private static let good: HeaderList = ["ETag": "\"v1\"", "Accept-Ranges": "bytes"]
    private static let part: HeaderList = [
        "ETag": "\"v1\"", "Content-Range": "bytes 400-999/1000",
    ]

    @Test(
        arguments: [
            (good, "GET", 200, true), (good, "HEAD", 200, false), (good, "POST", 200, false),
            (good, "get", 200, false), (good, "GET", 206, false), (good, "GET", 203, false),
            (good, "GET", 404, false), (part, "GET", 206, true), (part, "GET", 200, false),
            (["ETag": "\"v1\""], "GET", 200, false),
            (["Accept-Ranges": "bytes"], "GET", 200, false),
            (["ETag": "\"v1\"", "Accept-Ranges": "none"], "GET", 200, false),
            (["ETag": "\"v1\"", "Accept-Ranges": "items, Bytes"], "GET", 200, true),
            (["ETag": "W/\"v1\"", "Accept-Ranges": "bytes"], "GET", 200, false),
            (["ETag": "\"v1\"", "Content-Range": "bytes 400-999"], "GET", 206, false),
            (["ETag": "\"v1\"", "Content-Range": "bytes */1000"], "GET", 206, false),
            (["Content-Range": "bytes 400-999/1000"], "GET", 206, false),
            (
                [
                    "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
                    "Date": "Mon, 07 Nov 1994 08:49:37 GMT", "Accept-Ranges": "bytes",
                ], "GET", 200, true
            ),
        ] as [(HeaderList, String, Int, Bool)])
    func `S-34: only a GET of what has a strong validator and is offered in parts can resume`(
        headers: HeaderList, method: String, status: Int, isEntity: Bool
    ) {
        let response = resumableResponse(headers, status: status)
        #expect((RangedEntity(of: response, method: method) != nil) == isEntity)
        let point = ResumePoint(of: response, method: method, received: [0..<400])
        #expect((point != nil) == isEntity)
    }

    @Test(arguments: [("gzip", false), ("identity", true), ("identity, br", false), ("", true)])
    func `S-34: a coded content cannot resume`(coding: String, isEntity: Bool) {
        var headers = Self.good
        headers.append("Content-Encoding", coding)
        let entity = RangedEntity(of: resumableResponse(headers), method: "GET")
        #expect((entity != nil) == isEntity)
    }

    @Test(
        arguments: [
            (good, 200, 1000, 1000), (good, 200, -1, nil), (good, 200, 0, 0),
            (part, 206, 600, 1000),
            (["ETag": "\"v1\"", "Content-Range": "bytes 400-999/*"], 206, 600, nil),
        ] as [(HeaderList, Int, Int64, Int64?)])
    func `S-36: the total is that of the entity, also where a part of it came`(
        headers: HeaderList, status: Int, length: Int64, total: Int64?
    ) throws {
        let response = resumableResponse(headers, status: status, length: length)
        #expect(try #require(RangedEntity(of: response, method: "GET")).total == total)
    }

    @Test func `S-36: what was kept is an entity only if it can have been one`() {
        let validators = EntityValidators(tag: EntityTag("\"v1\""), date: nil)
        #expect(RangedEntity(validators: validators, total: 0) != nil)
        #expect(RangedEntity(validators: validators, total: -1) == nil)
        let none = EntityValidators(tag: nil, date: nil)
        #expect(RangedEntity(validators: none, total: 1) == nil)
    }
}

struct ResumePointTests {
    private func resumePoint(_ received: [Range<Int64>], total: Int64 = 1000) -> ResumePoint? {
        let headers: HeaderList = ["ETag": "\"v1\"", "Accept-Ranges": "bytes"]
        return ResumePoint(
            of: resumableResponse(headers, length: total), method: "GET", received: received)
    }

    @Test(
        arguments: [
            ([], nil), ([0..<0], nil), ([0..<1], [0..<1]), ([0..<1000], [0..<1000]),
            ([0..<1001], nil), ([500..<600, 0..<100], [0..<100, 500..<600]),
            ([0..<100, 100..<200], [0..<200]), ([0..<100, 50..<70], [0..<100]),
            ([7..<7, 8..<9], [8..<9]),
        ] as [([Range<Int64>], [Range<Int64>]?)])
    func `S-34: what was received is kept in one form, and must be part of the entity`(
        received: [Range<Int64>], kept: [Range<Int64>]?
    ) {
        #expect(resumePoint(received)?.received == kept)
    }

    @Test(
        arguments: [
            ([0..<400], 400, 400, [400..<1000]),
            ([100..<400], 0, 300, [0..<100, 400..<1000]),
            ([0..<100, 200..<300, 900..<1000], 100, 300, [100..<200, 300..<900]),
            ([0..<1000], 1000, 1000, []),
        ] as [([Range<Int64>], Int64, Int64, [Range<Int64>])])
    func `S-36: what is missing is what was not received`(
        received: [Range<Int64>], prefix: Int64, count: Int64, gaps: [Range<Int64>]
    ) throws {
        let point = try #require(resumePoint(received))
        #expect(point.prefixLength == prefix)
        #expect(point.receivedCount == count)
        #expect(
            point.gaps == gaps.map { ResumePoint.Gap(start: $0.lowerBound, end: $0.upperBound) })
    }

    @Test func `S-36: without a total, everything behind the prefix is missing`() throws {
        let point = try #require(resumePoint([0..<100, 200..<300], total: unknownSize))
        #expect(point.gaps == [ResumePoint.Gap(start: 100, end: nil)])
        #expect(point.total == nil)
    }

    @Test(
        arguments: [
            ([0..<400], true), ([0..<1000], true), ([0..<1, 2..<3], true), ([], false),
            ([0..<1001], false), ([-1..<1], false), ([5..<5], false), ([0..<1, 1..<2], false),
            ([2..<3, 0..<1], false), ([0..<2, 1..<3], false),
        ] as [([Range<Int64>], Bool)])
    func `S-36: ranges that were kept are believed in their one form only`(
        received: [Range<Int64>], isPoint: Bool
    ) throws {
        let entity = try #require(
            RangedEntity(
                validators: EntityValidators(tag: EntityTag("\"v1\""), date: nil), total: 1000))
        #expect((ResumePoint(entity: entity, received: received) != nil) == isPoint)
    }
}
