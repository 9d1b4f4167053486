import Testing

import Semantics

/// Which requests ask for a part, and which answers are the part that was asked for (S-36, X-9).
struct RangeRequestTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func entity(
        tag: String? = "\"v1\"", date: String? = nil, total: Int64? = 1000
    ) throws -> RangedEntity {
        let validators = EntityValidators(tag: tag.flatMap(EntityTag.init), date: date)
        return try #require(RangedEntity(validators: validators, total: total))
    }

    private func headers(_ range: String?, _ tag: String? = nil) -> HeaderList {
        var headers = HeaderList()
        if let range { headers.append("Content-Range", range) }
        if let tag { headers.append("ETag", tag) }
        return headers
    }

    @Test func `S-36: a part is asked for by Range and If-Range, by the tag before the date`()
        throws
    {
        let both = try RangeRequest(of: entity(date: Self.date), from: 400)
        #expect(
            both.fields == [HeaderField("Range", "bytes=400-"), HeaderField("If-Range", "\"v1\"")])
        let part = try RangeRequest(of: entity(), from: 400, to: 401)
        #expect(part.fields.first == HeaderField("Range", "bytes=400-400"))
        let dated = try RangeRequest(of: entity(tag: nil, date: Self.date), from: 0, to: 1000)
        #expect(
            dated.fields == [
                HeaderField("Range", "bytes=0-999"), HeaderField("If-Range", Self.date),
            ])
    }

    @Test func `S-36: the date is tried once, where the tag was not honoured`() throws {
        let request = try RangeRequest(of: entity(date: Self.date), from: 400, to: 500)
        let second = try #require(request.byDate)
        #expect(
            second.fields == [
                HeaderField("Range", "bytes=400-499"), HeaderField("If-Range", Self.date),
            ])
        #expect(second.byDate == nil)
        #expect(try RangeRequest(of: entity(), from: 400).byDate == nil)
        #expect(try RangeRequest(of: entity(tag: nil, date: Self.date), from: 400).byDate == nil)
    }

    @Test(
        arguments: [
            ("bytes 400-999/1000", "\"v1\"", 1000), ("bytes 400-999/1000", nil, 1000),
            ("bytes 400-999/*", "\"v1\"", 1000), ("bytes 400-699/1000", "\"v1\"", 700),
            ("bytes 400-400/*", nil, 401), ("bytes 401-999/1000", "\"v1\"", nil),
            ("bytes 399-999/1000", "\"v1\"", nil), ("bytes 0-999/1000", "\"v1\"", nil),
            ("bytes 400-1999/2000", "\"v1\"", nil), ("bytes 400-999/2000", "\"v1\"", nil),
            ("bytes 400-998/999", "\"v1\"", nil), ("bytes 400-1000/*", "\"v1\"", nil),
            ("bytes 400-999/1000", "\"v2\"", nil), ("bytes 400-999/1000", "W/\"v1\"", nil),
            ("bytes 400-999/1000", "v1", nil), ("bytes */1000", "\"v1\"", nil),
            ("400-999/1000", "\"v1\"", nil), (nil, "\"v1\"", nil), ("", "\"v1\"", nil),
        ] as [(String?, String?, Int64?)])
    func `X-9: a 206 is the rest where offset, total and validator are exactly right`(
        range: String?, tag: String?, upTo: Int64?
    ) throws {
        let answer = try RangeRequest(of: entity(), from: 400)
            .judge(status: 206, headers: headers(range, tag))
        if let upTo {
            #expect(answer == .rest(upTo: upTo, total: 1000))
        } else {
            #expect(answer.isMismatch)
        }
    }

    @Test(
        arguments: [
            ("bytes 400-499/1000", 500), ("bytes 400-449/1000", 450), ("bytes 400-500/1000", nil),
            ("bytes 400-999/1000", nil),
        ] as [(String, Int64?)])
    func `X-9: a part is never longer than was asked, and may be shorter`(
        range: String, upTo: Int64?
    ) throws {
        let answer = try RangeRequest(of: entity(), from: 400, to: 500)
            .judge(status: 206, headers: headers(range))
        #expect(upTo.map { answer == .rest(upTo: $0, total: 1000) } ?? answer.isMismatch)
    }

    @Test(
        arguments: [
            ("bytes 400-999/1000", .rest(upTo: 1000, total: 1000)),
            ("bytes 400-999/*", .rest(upTo: 1000, total: nil)),
        ] as [(String, RangeAnswer)])
    func `S-36: a total that was not known is learnt`(range: String, answer: RangeAnswer) throws {
        let request = try RangeRequest(of: entity(total: nil), from: 400)
        #expect(request.judge(status: 206, headers: headers(range)) == answer)
    }

    @Test(
        arguments: [
            (["Content-Length": "600"], false), (["Content-Length": "599"], true),
            (["Content-Length": "600, 600"], false), (["Content-Length": "600, 601"], true),
            (["Content-Length": "many"], true), (["Content-Encoding": "identity"], false),
            (["Content-Encoding": "gzip"], true), (["Content-Type": "text/plain"], false),
            (["Content-Type": "multipart/byteranges; boundary=b"], true),
            (["content-range": "bytes 400-999/1000"], false),
            (["content-range": "bytes 0-999/1000"], true),
            (["ETag": "\"v2\""], true),
        ] as [(HeaderList, Bool)])
    func `X-9: the other fields of a 206 must not contradict it`(
        more: HeaderList, isMismatch: Bool
    ) throws {
        let fields = headers("bytes 400-999/1000", "\"v1\"").fields + more.fields
        let answer = try RangeRequest(of: entity(), from: 400)
            .judge(status: 206, headers: HeaderList(fields))
        #expect(answer.isMismatch == isMismatch)
    }

    @Test(
        arguments: [
            ("\"v1\"", date, nil, date, false), ("\"v1\"", date, nil, "other", true),
            ("\"v1\"", date, "\"v1\"", "other", true), ("\"v1\"", date, "\"v2\"", date, true),
            (nil, date, "\"v2\"", date, false), (nil, date, "\"v2\"", "other", true),
            (nil, date, nil, nil, false), ("\"v1\"", nil, nil, "other", false),
            ("\"v1\"", date, "\"v1\"", date, false), ("\"v1\"", date, "\"v1\"", nil, false),
        ] as [(String?, String?, String?, String?, Bool)])
    func `X-9: of two validators either one tells that the content has changed`(
        ourTag: String?, ourDate: String?, tag: String?, date: String?, isMismatch: Bool
    ) throws {
        var headers = headers("bytes 400-999/1000", tag)
        if let date { headers.append("Last-Modified", date) }
        let answer = try RangeRequest(of: entity(tag: ourTag, date: ourDate), from: 400)
            .judge(status: 206, headers: headers)
        #expect(answer.isMismatch == isMismatch)
    }

    @Test(
        arguments: [
            (1000, 1000, "bytes */1000", nil, true), (1000, 1000, "bytes */1000", "\"v1\"", true),
            (1000, 1000, "bytes */1000", "\"v2\"", false), (1000, 1000, "bytes */999", nil, false),
            (1000, 1000, "bytes */2000", nil, false), (1000, 1000, nil, nil, false),
            (1000, 1000, "bytes 0-999/1000", nil, false),
            (1000, 400, "bytes */1000", nil, false), (1000, 400, "bytes */400", nil, false),
            (nil, 400, "bytes */400", nil, true), (nil, 400, "bytes */399", nil, false),
            (nil, 400, "bytes */401", nil, false),
        ] as [(Int64?, Int64, String?, String?, Bool)])
    func `S-36: a 416 of the same total ends a download that has everything`(
        total: Int64?, start: Int64, range: String?, tag: String?, isComplete: Bool
    ) throws {
        let answer = try RangeRequest(of: entity(total: total), from: start)
            .judge(status: 416, headers: headers(range, tag))
        #expect(answer == .complete || answer.isMismatch)
        #expect((answer == .complete) == isComplete)
    }

    @Test(
        arguments: [
            ("\"v1\"", "\"v1\"", true), ("\"v1\"", "\"v2\"", false), ("\"v1\"", "W/\"v1\"", false),
            ("\"v1\"", nil, false), (nil, "\"v1\"", false),
        ] as [(String?, String?, Bool)])
    func `S-36: a 200 begins from zero, and tells whether the entity is still the same`(
        ours: String?, theirs: String?, isSame: Bool
    ) throws {
        let request = try RangeRequest(of: entity(tag: ours, date: Self.date), from: 400)
        let answer = request.judge(status: 200, headers: headers(nil, theirs))
        #expect(answer == .whole(isSameEntity: isSame))
    }

    @Test(arguments: [204, 301, 304, 403, 404, 412, 429, 500, 503])
    func `S-49: any other status is a response like any other`(status: Int) throws {
        let answer = try RangeRequest(of: entity(), from: 400)
            .judge(status: status, headers: headers("bytes 400-999/1000", "\"v1\""))
        #expect(answer == .other)
    }
}

extension RangeAnswer {
    fileprivate var isMismatch: Bool {
        guard case .mismatch(let words) = self else { return false }
        return words.hasSuffix(".")
    }
}
