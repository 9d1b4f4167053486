import Syntax
import Testing

@testable import Semantics

struct CacheControlTests {
    private func control(_ values: String...) -> CacheControl {
        CacheControl(of: HeaderList(values.map { HeaderField("cache-control", $0) }))
    }

    @Test(
        arguments: [
            ("", .absent), ("no-store", .absent), ("max-age=3600", .value(3600)),
            ("MaX-aGe=3600", .value(3600)), ("max-age=\"3600\"", .value(3600)),
            ("max-age=0", .value(0)), ("max-age=003600", .value(3600)),
            ("foo, max-age=1 ,bar", .value(1)), (",, max-age=1,,", .value(1)),
            ("max-age= 3600", .value(3600)), ("max-age=1\t", .value(1)),
            ("max-age", .invalid), ("max-age=", .invalid), ("max-age=\"\"", .invalid),
            ("max-age=-1", .invalid), ("max-age=+1", .invalid), ("max-age=3600.0", .invalid),
            ("max-age=0.5", .invalid), ("max-age=100a", .invalid), ("max-age=a100", .invalid),
            ("max-age='3600'", .invalid), ("max-age =3600", .invalid), ("max-age=1 2", .invalid),
            ("max-age=\"1\"2", .invalid), ("max-age=\"1", .invalid), ("max-age=1;x=2", .invalid),
            ("max-age=1, max-age=1", .value(1)), ("max-age=1, max-age=\"1\"", .value(1)),
            ("max-age=1, max-age=3600", .invalid), ("max-age=3600, max-age=1", .invalid),
            ("max-age=1, max-age=x", .invalid),
            ("max-age=2147483647", .value(2_147_483_647)),
            ("max-age=2147483648", .value(2_147_483_648)),
            ("max-age=2147483649", .value(2_147_483_648)),
            ("max-age=99999999999999999999999", .value(2_147_483_648)),
            ("s-maxage=7", .absent), ("x-max-age=7", .absent), ("max-age-x=7", .absent),
            ("ext=\"max-age=3600\"", .absent), ("ext=\"a, max-age=3600\"", .absent),
            ("ext=\"a\\\", max-age=3600\"", .absent), ("ext=\"a\", max-age=5", .value(5)),
            ("ext=\"a, max-age=5", .absent), ("ext=x y, max-age=5", .value(5)),
            ("=, max-age=5", .value(5)), ("a \"b, c\" d, max-age=5", .value(5)),
        ] as [(String, CacheControl.Seconds)])
    func `RFC 9111 1.2.2, 4.2.1, 5.2: seconds are digits, in any case, form and place`(
        value: String, expected: CacheControl.Seconds
    ) {
        #expect(control(value).seconds("max-age") == expected)
    }

    @Test func `RFC 9110 5.3: several fields are one list`() {
        let several = control("no-store", "max-age=1", "foo=bar")
        #expect(several == control("no-store,max-age=1,foo=bar"))
        #expect(several.directives.map(\.name) == ["no-store", "max-age", "foo"])
        #expect(control("max-age=1", "max-age=2").seconds("max-age") == .invalid)
        #expect(CacheControl(of: [:]).directives.isEmpty)
    }

    @Test(
        arguments: [
            ("no-store", true), ("NO-STORE", true), ("no-store=x", true), ("no-store x", true),
            ("a, no-store", true), ("no-storex", false), ("a=no-store", false),
            ("a=\"no-store\"", false), ("a=\"x, no-store, y\"", false), ("", false),
        ])
    func `RFC 9111 5.2: a restriction restricts, however it is written`(
        value: String, isThere: Bool
    ) {
        #expect(control(value).has("no-store") == isThere)
    }

    @Test(
        arguments: [
            ("no-cache", true, []), ("no-cache=\"A, b\"", false, ["a", "b"]),
            ("no-cache=a", false, ["a"]), ("no-cache=\"\"", true, []), ("no-cache=", true, []),
            ("no-cache=\"a b\"", true, []), ("no-cache=\"a", true, []),
            ("no-cache, no-cache=\"a\"", true, ["a"]), ("private=\"a\"", false, []),
        ] as [(String, Bool, [String])])
    func `RFC 9111 5.2.2.4: no-cache with names is about these fields, without about all`(
        value: String, isUnqualified: Bool, names: [String]
    ) {
        #expect(control(value).isUnqualified("no-cache") == isUnqualified)
        #expect(control(value).fieldNames("no-cache") == names)
    }

    @Test func `X-9: what is too long to be read forbids to store`() {
        let start = "max-age=10, "
        let rest = String(repeating: "b", count: 8192 - start.utf8.count)
        #expect(control(start + rest).seconds("max-age") == .value(10))
        #expect(control(start + rest + "b").directives.map(\.name) == ["no-store"])
    }

    @Test func `RFC 9111 5.2.3: unknown directives are kept`() {
        let directive = control("Community=\"UCI\"").directives.first
        #expect(directive?.name == "community")
        #expect(directive?.argument == "UCI")
        #expect(directive?.isMalformed == false)
    }
}

struct CacheTimeTests {
    @Test func `the second of an instant is the one that it lies in`() {
        #expect(Timestamp(milliseconds: 1999).httpDate.secondsSince1970 == 1)
        #expect(Timestamp(milliseconds: 0).httpDate.secondsSince1970 == 0)
        #expect(Timestamp(milliseconds: -1).httpDate.secondsSince1970 == -1)
    }

    @Test func `time between instants is neither negative nor too long to add up`() {
        let first = Timestamp(milliseconds: .min)
        let last = Timestamp(milliseconds: .max)
        #expect(first.milliseconds(since: last) == 0)
        #expect(last.milliseconds(since: first) == .max / 8)
        #expect(Timestamp.later(2).milliseconds(since: .arrival) == 2000)
    }
}
