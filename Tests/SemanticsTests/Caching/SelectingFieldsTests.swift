import Testing

@testable import Semantics

struct SelectingFieldsTests {
    private func matches(_ vary: HeaderList, _ first: HeaderList, _ second: HeaderList) -> Bool {
        SelectingFields(vary: vary, of: first)?.match(second) ?? false
    }

    @Test(
        arguments: [
            ("A", ["A": "1"], ["A": "1"], true), ("A", ["A": "1"], ["a": "1"], true),
            ("a", ["A": "1"], ["A": "2"], false), ("A", ["A": "1"], [:], false),
            ("A", [:], ["A": "1"], false), ("A", [:], [:], true), ("A", ["A": ""], [:], false),
            ("A", ["A": "1", "B": "1"], ["A": "1", "B": "2"], true),
            ("A, B", ["A": "1", "B": "1"], ["A": "1", "B": "2"], false),
            ("A, B, C", ["A": "1", "B": "2", "C": "3"], ["C": "3", "A": "1", "B": "2"], true),
            ("A, B, C", ["A": "1", "C": "3"], ["A": "1", "C": "3"], true),
            ("A, B, C", ["A": "1", "C": "3"], ["A": "1", "B": "2", "C": "3"], false),
            ("A, A", ["A": "1"], ["A": "1"], true), ("", ["A": "1"], ["A": "2"], true),
            (",, A ,", ["A": "1"], ["A": "2"], false), ("A", ["A": "x"], ["A": "X"], false),
        ] as [(String, HeaderList, HeaderList, Bool)])
    func `RFC 9111 4.1: every field that Vary names has the value that it had`(
        vary: String, first: HeaderList, second: HeaderList, expected: Bool
    ) {
        #expect(matches(["Vary": vary], first, second) == expected)
        #expect(matches(["Vary": vary], second, first) == expected)
    }

    @Test(arguments: [
        ["*"], ["*, *"], ["*", "*"], [", *"], ["", "*"], ["A, *"], ["*, A"], ["A", "*"],
    ])
    func `RFC 9111 4.1: a Vary with a star matches nothing`(values: [String]) {
        let vary = HeaderList(values.map { HeaderField("Vary", $0) })
        #expect(SelectingFields(vary: vary, of: ["A": "1"]) == nil)
    }

    @Test func `X-9: a Vary of more than 8 KiB is one with a star`() {
        let start = "A, "
        let rest = String(repeating: "b", count: 8192 - start.utf8.count)
        #expect(matches(["Vary": start + rest], ["A": "1"], ["A": "1"]))
        #expect(!matches(["Vary": start + rest + "b"], ["A": "1"], ["A": "1"]))
        let halves: HeaderList = ["Vary": start + rest, "vary": "c"]
        #expect(!matches(halves, ["A": "1"], ["A": "1"]))
    }

    @Test func `RFC 9111 4.1: several Vary fields are one`() {
        let vary: HeaderList = ["Vary": "A", "vary": "B"]
        #expect(matches(vary, ["A": "1", "B": "2"], ["A": "1", "B": "2"]))
        #expect(!matches(vary, ["A": "1", "B": "2"], ["A": "1", "B": "3"]))
        #expect(!matches(vary, ["A": "1", "B": "2"], ["A": "2", "B": "2"]))
    }

    @Test(
        arguments: [
            ("Foo", ["Foo": "1, 2"], ["Foo": "1,2"], true),
            ("Foo", ["Foo": "1,  2 "], ["Foo": "1 ,2"], true),
            ("Foo", ["Foo": "1, 2"], ["Foo": "1", "foo": "2"], true),
            ("Foo", ["Foo": "1, 2"], ["Foo": "2, 1"], false),
            ("Foo", ["Foo": "1, 2"], ["Foo": "12"], false),
            ("Foo", ["Foo": "\"a, b\""], ["Foo": "\"a,b\""], false),
            ("Foo", ["Foo": "\"a\\\", b\""], ["Foo": "\"a\\\",b\""], false),
            ("Foo", ["Foo": "a b"], ["Foo": "a  b"], false),
            ("Accept-Language", ["Accept-Language": "en, de"], ["Accept-Language": "DE,en"], true),
            (
                "Accept-Language", ["Accept-Language": "en;q=0.5, de"],
                ["Accept-Language": "de, EN; q=0.5"], true
            ),
            (
                "Accept-Language", ["Accept-Language": "en;q=0.5, de"],
                ["Accept-Language": "de;q=0.5, en"], false
            ),
            (
                "Accept-Encoding", ["Accept-Encoding": "gzip, br"], ["Accept-Encoding": "br, gzip"],
                true
            ),
            ("Accept-Encoding", ["Accept-Encoding": "gzip"], ["Accept-Encoding": "br"], false),
            ("Accept", ["Accept": "a/b, c/d"], ["Accept": "c/d,a/b"], true),
            ("Accept", ["Accept": "a/b;v=X"], ["Accept": "a/b;v=x"], false),
            ("Cookie", ["Cookie": "a=1,2"], ["Cookie": "a=1, 2"], false),
            ("Authorization", ["Authorization": "X a,b"], ["Authorization": "X a, b"], false),
        ] as [(String, HeaderList, HeaderList, Bool)])
    func `RFC 9111 4.1: values are the same when they mean the same`(
        vary: String, first: HeaderList, second: HeaderList, expected: Bool
    ) {
        #expect(matches(["Vary": vary], first, second) == expected)
        #expect(matches(["Vary": vary], second, first) == expected)
    }

    @Test func `fields that were kept select as those that were read`() throws {
        let request: HeaderList = ["A": "1, 2"]
        let fields = try #require(SelectingFields(vary: ["Vary": "A, B"], of: request))
        let kept = SelectingFields(
            stored: fields.fields.map { .init(name: $0.name, value: $0.value) })
        #expect(kept.match(request))
        #expect(!kept.match(["A": "1, 2", "B": "x"]))
        #expect(kept.byteCount == 5)
    }

    @Test(
        arguments: [
            ("gzip", true, true, true), ("gzip", true, false, false), ("gzip", false, true, false),
            ("gzip", false, false, true), (nil, true, false, true), ("identity", true, false, true),
            ("utf-8", true, true, true), ("utf-8", false, true, true),
            (nil, false, true, true),
        ] as [(String?, Bool, Bool, Bool)])
    func `S-76: decoded bytes answer tasks that decode, coded bytes those that do not`(
        coding: String?, storedDecodes: Bool, decodes: Bool, expected: Bool
    ) throws {
        let headers = HeaderList(coding.map { [HeaderField("Content-Encoding", $0)] } ?? [])
        let entry = try StoredResponse.make(headers, to: .make(decodes: storedDecodes))
        #expect(entry.answers(.make(decodes: decodes)) == expected)
    }
}
