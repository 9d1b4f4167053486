import Testing

import Semantics

struct ByteRangeTests {
    private static func part(_ first: Int64, _ last: Int64) -> ByteRange.Selection? {
        ByteRange(first: first, last: last).map { .partial($0) }
    }

    @Test(
        arguments: [
            ("bytes=0-0", part(0, 0)), ("bytes=0-9", part(0, 9)), ("bytes=0-99", part(0, 9)),
            ("bytes=5-", part(5, 9)), ("bytes=9-9", part(9, 9)), ("bytes=-1", part(9, 9)),
            ("bytes=-10", part(0, 9)), ("bytes=-99", part(0, 9)), ("BYTES=0-1", part(0, 1)),
            ("bytes= 0-1 ", part(0, 1)), ("bytes=0-99999999999999999999", part(0, 9)),
            ("bytes=-99999999999999999999", part(0, 9)),
            ("bytes=9-9223372036854775807", part(9, 9)),
            ("bytes=10-", .unsatisfiable), ("bytes=10-20", .unsatisfiable),
            ("bytes=-0", .unsatisfiable),
            ("bytes=99999999999999999999-", .unsatisfiable), (nil, .whole), ("", .whole),
            ("bytes", .whole),
            ("bytes=", .whole), ("bytes=-", .whole), ("bytes=5-4", .whole), ("bytes=a-b", .whole),
            ("bytes=0-1,3-4", .whole), ("bytes=0-1,", .whole), ("items=0-1", .whole),
            ("0-1", .whole),
            ("bytes=+0-1", .whole), ("bytes=0 - 1", .whole), ("bytes=0-1-2", .whole),
            ("bytes=--1", .whole),
            ("bytes==0-1", .whole),
        ] as [(String?, ByteRange.Selection?)])
    func `a Range is read against ten bytes (RFC 9110, section 14)`(
        range: String?, selection: ByteRange.Selection?
    ) {
        #expect(ByteRange.select(range, length: 10) == selection)
    }

    @Test(
        arguments: [
            ("bytes=0-", ByteRange.Selection.unsatisfiable), ("bytes=0-0", .unsatisfiable),
            ("bytes=-1", .whole), ("bytes=-0", .unsatisfiable), (nil, .whole),
        ] as [(String?, ByteRange.Selection)])
    func `a Range is read against an empty content`(range: String?, selection: ByteRange.Selection)
    {
        #expect(ByteRange.select(range, length: 0) == selection)
    }
}

struct EntityTagTests {
    @Test(arguments: ["\"a\"", "\"\"", "W/\"a\"", "\"a,b\"", "\"!#~\"", "\"ü\"", "\"a\\b\""])
    func `a tag is read as it is written`(text: String) throws {
        #expect(try #require(EntityTag(text)).description == text)
    }

    @Test(arguments: [
        "", "a", "\"a", "a\"", "w/\"a\"", "W/a", "\"a\"b", "\"a b\"", "\"a\"\"", " \"a\"", "\"\t\"",
    ])
    func `what is no tag is refused`(text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
        ("W/\"1\"", "\"1\"", false, true), ("\"1\"", "\"1\"", true, true),
    ])
    func `tags compare as in RFC 9110, section 8.8.3.2`(
        one: String, other: String, strongly: Bool, weakly: Bool
    ) throws {
        let tags = (try #require(EntityTag(one)), try #require(EntityTag(other)))
        #expect(tags.0.matchesStrongly(tags.1) == strongly)
        #expect(tags.1.matchesStrongly(tags.0) == strongly)
        #expect(tags.0.matchesWeakly(tags.1) == weakly)
    }

    @Test(
        arguments: [
            ("*", 0), (" * ", 0), ("\"a\"", 1), ("\"a\", W/\"b\"", 2), ("\"a\",\"b\"", 2),
            (",\"a\",,", 1),
            ("", nil), (",", nil), ("\"a\" \"b\"", nil), ("\"a\", b", nil), ("*, \"a\"", nil),
            ("\"a\"\"b\"", nil),
        ] as [(String, Int?)])
    func `a condition is a star or a list`(text: String, count: Int?) {
        let found: Int? =
            switch EntityTagCondition(parsing: text) {
            case .any: 0
            case .tags(let tags): tags.count
            case nil: nil
            }
        #expect(found == count)
    }
}

struct ContentConditionsTests {
    private static let part = ByteRange(first: 2, last: 3).map(ContentConditions.Answer.partial)

    @Test(
        arguments: [
            (ContentConditions(), .whole), (.init(range: "bytes=2-3"), part),
            (.init(range: "bytes=2-3", ifRange: "\"e\""), part),
            (.init(range: "bytes=2-3", ifRange: "\"f\""), .whole),
            (.init(range: "bytes=2-3", ifRange: "W/\"e\""), .whole),
            (.init(range: "bytes=2-3", ifRange: "Sun, 06 Nov 1994 08:49:37 GMT"), .whole),
            (.init(range: "bytes=2-3", ifRange: ""), .whole), (.init(ifRange: "\"f\""), .whole),
            (.init(range: "bytes=10-"), .unsatisfiable),
            (.init(range: "bytes=10-", ifRange: "\"f\""), .whole),
            (.init(ifNoneMatch: "\"e\""), .notModified),
            (.init(ifNoneMatch: "W/\"e\""), .notModified),
            (.init(ifNoneMatch: "\"f\", \"e\""), .notModified),
            (.init(ifNoneMatch: "*"), .notModified),
            (.init(ifNoneMatch: "\"f\""), .whole), (.init(ifNoneMatch: "rubbish"), .whole),
            (.init(ifNoneMatch: "\"e\"", range: "bytes=2-3"), .notModified),
            (.init(ifNoneMatch: "\"f\"", range: "bytes=2-3"), part),
            (.init(ifMatch: "\"e\""), .whole), (.init(ifMatch: "*"), .whole),
            (.init(ifMatch: "W/\"e\""), .preconditionFailed),
            (.init(ifMatch: "\"f\""), .preconditionFailed),
            (.init(ifMatch: "rubbish"), .preconditionFailed),
            (.init(ifMatch: "\"f\"", ifNoneMatch: "\"e\""), .preconditionFailed),
            (.init(ifMatch: "\"e\"", ifNoneMatch: "\"e\""), .notModified),
            (.init(ifMatch: "\"f\"", range: "bytes=10-"), .preconditionFailed),
        ] as [(ContentConditions, ContentConditions.Answer?)])
    func `conditions of a GET are met in the order of RFC 9110, section 13.2.2`(
        conditions: ContentConditions, answer: ContentConditions.Answer?
    ) {
        let tag = EntityTag(opaque: "e")
        #expect(conditions.answer(isHead: false, entityTag: tag, length: 10) == answer)
    }

    @Test func `a HEAD has no ranges, and all other conditions`() {
        let tag = EntityTag(opaque: "e")
        let range = ContentConditions(range: "bytes=10-")
        #expect(range.answer(isHead: true, entityTag: tag, length: 10) == .whole)
        let match = ContentConditions(ifNoneMatch: "\"e\"")
        #expect(match.answer(isHead: true, entityTag: tag, length: 10) == .notModified)
    }

    @Test func `a content without a tag matches the star only`() {
        let rows: [(ContentConditions, ContentConditions.Answer)] = [
            (.init(ifMatch: "*"), .whole), (.init(ifMatch: "\"e\""), .preconditionFailed),
            (.init(ifNoneMatch: "*"), .notModified), (.init(ifNoneMatch: "\"e\""), .whole),
            (.init(range: "bytes=0-1", ifRange: "\"e\""), .whole),
        ]
        for (conditions, answer) in rows {
            #expect(conditions.answer(isHead: false, entityTag: nil, length: 10) == answer)
        }
    }
}
