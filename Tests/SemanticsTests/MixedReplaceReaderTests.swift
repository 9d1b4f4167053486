import Testing

import Semantics

/// What a reader made of a body: its parts, and how it ended.
struct ReadBody: Equatable, CustomStringConvertible {
    struct Part: Equatable {
        var headers: HeaderList
        var content: [UInt8] = []
    }

    enum Ending: Equatable { case connection, delimiter, malformed }

    var parts: [Part] = []
    var ending = Ending.connection
    /// Pieces after the end, or content before the first part: there are none.
    var isDisordered = false

    var description: String {
        let texts = parts.map { part in
            "[\(part.headers.fields.map { "\($0.name)=\($0.value)" }.joined(separator: ";"))"
                + "]\(String(decoding: part.content, as: UTF8.self))"
        }
        return texts.joined(separator: "|") + (ending == .delimiter ? "|end" : "")
            + (ending == .malformed ? "|malformed" : "") + (isDisordered ? "|disordered" : "")
    }

    /// Reads a body that comes in these pieces.
    init(_ chunks: [ArraySlice<UInt8>], type: String) throws {
        var reader = try #require(MixedReplaceReader(contentType: type))
        for chunk in chunks {
            try chunk.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while true {
                    let buffer = UnsafeRawBufferPointer(rebasing: rest)
                    let (piece, consumed) = reader.next(buffer)
                    if let piece { take(piece, buffer) }
                    rest = rest.dropFirst(consumed)
                    guard piece != nil else {
                        try #require(rest.isEmpty)
                        break
                    }
                }
            }
        }
        if let piece = reader.finish() { take(piece, UnsafeRawBufferPointer(start: nil, count: 0)) }
        isDisordered = isDisordered || reader.finish() != nil
    }

    private mutating func take(
        _ piece: MixedReplaceReader.Piece, _ bytes: UnsafeRawBufferPointer
    ) {
        isDisordered = isDisordered || ending != .connection
        switch piece {
        case .head(let headers): parts.append(Part(headers: headers))
        case .body(let range): append(Array(bytes[range]))
        case .heldBody(let bytes): append(bytes)
        case .end: ending = .delimiter
        case .malformed(let sentence):
            ending = .malformed
            isDisordered = isDisordered || !sentence.hasSuffix(".")
        }
    }

    private mutating func append(_ bytes: [UInt8]) {
        isDisordered = isDisordered || parts.isEmpty || bytes.isEmpty
        if !parts.isEmpty { parts[parts.count - 1].content += bytes }
    }
}

struct MixedReplaceReaderTests {
    private static let type = "multipart/x-mixed-replace; boundary=b"

    /// Reads a body whole, in two pieces by every border, and byte by byte: always the same must
    /// come out.
    private func read(_ text: String, type: String = type) throws -> String {
        let bytes = Array(text.utf8)
        let whole = try ReadBody([bytes[...]], type: type)
        for border in 0...bytes.count {
            let halves = try ReadBody([bytes[..<border], bytes[border...]], type: type)
            guard halves == whole else { return "\(whole) but \(halves) if split at \(border)" }
        }
        let single = try ReadBody(bytes.indices.map { bytes[$0...$0] }, type: type)
        return single == whole ? whole.description : "\(whole) but \(single) byte by byte"
    }

    @Test(
        arguments: [
            ("multipart/x-mixed-replace; boundary=b", true),
            ("Multipart/X-Mixed-Replace;BOUNDARY=\"b\"", true),
            ("multipart/x-mixed-replace; charset=x; boundary =--b", true),
            ("multipart/x-mixed-replace; boundary=\"a b\"", true),
            ("multipart/x-mixed-replace", false), ("multipart/x-mixed-replace; boundary=", false),
            ("multipart/x-mixed-replace; boundary=\"\"", false),
            ("multipart/x-mixed-replace; boundary=\"b \"", false),
            ("multipart/x-mixed-replace; boundary=\"b\u{7f}\"", false),
            ("multipart/x-mixed-replace; boundary=bä", false),
            ("multipart/x-mixed-replace; boundary=" + String(repeating: "b", count: 70), true),
            ("multipart/x-mixed-replace; boundary=" + String(repeating: "b", count: 71), false),
            ("multipart/x-mixed-replace; boundary=--" + String(repeating: "b", count: 70), true),
            ("multipart/x-mixed-replace; boundary=--" + String(repeating: "b", count: 71), false),
            ("multipart/mixed; boundary=b", false), ("image/jpeg", false), ("", false),
        ])
    func `S-46: the type and its boundary tell whether a body comes in parts`(
        type: String, isRead: Bool
    ) {
        #expect((MixedReplaceReader(contentType: type) != nil) == isRead)
    }

    @Test(
        arguments: [
            (
                "--b\r\nA: 1\r\n\r\none\r\n--b\r\nA: 2\r\n\r\ntwo\r\n--b--\r\n",
                "[A=1]one|[A=2]two|end"
            ),
            ("\r\n--b\r\nA: 1\r\n\r\none\r\n--b--", "[A=1]one|end"),
            ("preamble\r\n--bx\r\n--b\r\n\r\none\r\n--b--", "[]one|end"),
            ("--b\r\n\r\none\r\n--b--\r\nepilogue\r\n--b\r\n\r\ntwo", "[]one|end"),
            // The line break before a delimiter is the delimiter's own, and no other.
            ("--b\r\n\r\none\r\n\r\n--b--", "[]one\r\n|end"),
            ("--b\r\n\r\none\r\r\n--b--", "[]one\r|end"),
            ("--b\r\n\r\n\r\n\r\n--b--", "[]\r\n|end"),
            // Empty parts, with and without a line break of their own.
            ("--b\r\n\r\n\r\n--b--", "[]|end"), ("--b\r\n\r\n--b--", "[]|end"),
            ("--b\r\nA: 1\r\n\r\n--b\r\nA: 2\r\n\r\n--b--", "[A=1]|[A=2]|end"),
            // Bare line feeds, as old cameras send.
            ("--b\nA: 1\n\none\n--b\nA: 2\n\ntwo\n--b--\n", "[A=1]one|[A=2]two|end"),
            ("--b\r\nA: 1\n\r\none\r\n--b\n\ntwo\n\n--b--", "[A=1]one|[]two\n|end"),
            // Blanks behind a delimiter.
            ("--b \t\r\n\r\none\r\n--b  \r\n\r\ntwo\r\n--b--", "[]one|[]two|end"),
            ("--b--\r\n", "|end"), ("x\n--b--\n--b\n\none", "|end"),
        ])
    func `S-46: every part comes with its head and its content`(text: String, parts: String) throws
    {
        #expect(try read(text) == parts)
    }

    @Test(arguments: [
        "\r", "\n", "\r\n", "\r\r\n", "\n\r", "\r\n-", "\r\n--", "\r\n--c", "\r\n--bb\r\n",
        "\r\n--b x\r\n", "\r\n--b-\r\n", "\r\n--b -- \r\n", "\r\n--b\rx", "\r\n--b\r\r\n",
        "--b\r\nx",
        " \r\n --b\r\n", "\r\n--b\t\tx", "\r\n--\r\n--\r\n", "\r\n-\r\n--B\r\n", "\r--b\r\n",
        "\r\n--b" + String(repeating: " ", count: 65) + "\r\n", "\r\n--b\u{0}\r\n",
    ])
    func `S-46: what only looks like a delimiter is content`(content: String) throws {
        #expect(try read("--b\r\n\r\nx\(content)x\r\n--b--") == "[]x\(content)x|end")
        #expect(try read("--b\r\n\r\nx\(content)\r\n--b--") == "[]x\(content)|end")
    }

    @Test(
        arguments: [
            ("--b\r\n\r\none", "[]one"), ("--b\r\n\r\none\r", "[]one\r"),
            ("--b\r\n\r\none\r\n--", "[]one\r\n--"), ("--b\r\n\r\none\r\n--b", "[]one"),
            ("--b\r\n\r\none\r\n--b-", "[]one"), ("--b\r\n\r\none\r\n--b \r", "[]one"),
            ("--b\r\n\r\none\r\n--b\r\n", "[]one"), ("--b\r\n", ""), ("--b\r\n\r\n", "[]"),
            ("--b\r\n\r\none\r\n--b\r\nA", "[]one|malformed"), ("--b\r\n\r", "|malformed"),
            ("", "|malformed"), ("--b", "|malformed"), ("text\r\n", "|malformed"),
            ("--b\r\nContent-Length: 3\r\n\r\none", "[Content-Length=3]one"),
            ("--b\r\nContent-Length: 3\r\n\r\none\r\n--", "[Content-Length=3]one"),
            ("--b\r\nContent-Length: 4\r\n\r\none", "[Content-Length=4]one|malformed"),
            ("--b\r\nContent-Length: 4\r\n\r\n", "[Content-Length=4]|malformed"),
        ])
    func `S-46, R-3: a connection may end between parts, and in one that tells no length`(
        text: String, parts: String
    ) throws {
        #expect(try read(text) == parts)
    }

    @Test(
        arguments: [
            ("Content-Length: 3", "one", "one|end"),
            ("content-length:9", "a\r\n--b\r\nc", "a\r\n--b\r\nc|end"),
            ("Content-Length: 0", "", "|end"),
            ("Content-Length: 2", "one", "on|malformed"),
            ("Content-Length: 0", "one", "|malformed"),
            // The line feed alone is a line break too; without one it is no delimiter.
            ("Content-Length: 4", "one", "one\r|end"),
            ("Content-Length: 5", "one", "one\r\n|malformed"),
        ])
    func `S-46: a part's length tells its end, and must be right`(
        field: String, content: String, parts: String
    ) throws {
        let text = try read("--b\r\n\(field)\r\n\r\n\(content)\r\n--b--")
        #expect(text.split(separator: "]", maxSplits: 1).last.map(String.init) == parts)
    }

    @Test func `S-46: an empty part of known length may do without a line break of its own`() throws
    {
        let text = "--b\r\nContent-Length: 0\r\n\r\n--b\r\n\r\ntwo\r\n--b--"
        #expect(try read(text) == "[Content-Length=0]|[]two|end")
    }

    @Test(arguments: ["x", "-1", "1, 2", "1\r\nContent-Length: 2", ""])
    func `S-46, X-9: a part's length must be a number, and one`(length: String) throws {
        #expect(try read("--b\r\nContent-Length: \(length)\r\n\r\none") == "|malformed")
    }

    @Test(
        arguments: [
            ("A:1\r\nB :  2 \r\na: 3", "[A=1;B=2;a=3]x"), ("A: 1\r\n 2\r\n\t3", "[A=1 2 3]x"),
            ("A:", "[A=]x"), ("A: b: c", "[A=b: c]x"), ("A: ü", "[A=ü]x"), ("A: 1\t2", "[A=1\t2]x"),
            (" A: 1", "|malformed"), ("A", "|malformed"), (": 1", "|malformed"),
            ("A B: 1", "|malformed"), ("A: 1\u{0}", "|malformed"), ("A: 1\r2", "|malformed"),
            ("A: 1\r\n 2\u{0}", "|malformed"), ("Ä: 1", "|malformed"),
        ])
    func `S-46, X-8: a part's head has header fields and nothing else`(
        head: String, parts: String
    ) throws {
        #expect(try read("--b\r\n\(head)\r\n\r\nx\r\n--b\r\n") == parts)
    }

    @Test(
        arguments: [
            // The parameter has the hyphens that belong before it, or has some of its own.
            ("--b", "--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--", "[]one|[]two|end"),
            ("--b", "----b\r\n\r\none\r\n----b\r\n\r\ntwo\r\n----b--", "[]one|[]two|end"),
            ("--b", "----b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n----b--", "[]one\r\n--b\r\n\r\ntwo|end"),
            ("--b", "--b--\r\n", "|end"), ("--b", "----b--\r\n", "|end"),
            ("----", "----\r\n\r\none\r\n----\r\n\r\ntwo\r\n------", "[]one|[]two|end"),
            ("----", "------\r\n\r\none\r\n----\r\n\r\n------\r\n\r\n", "[]one\r\n----\r\n|[]"),
            ("--", "----\r\n\r\none\r\n----\r\n\r\ntwo\r\n------", "[]one|[]two|end"),
            ("b", "b\r\n\r\none\r\nb", "|malformed"),
            (
                "\"=_a b'()+,./:?\"", "--=_a b'()+,./:?\r\n\r\none\r\n--=_a b'()+,./:?--",
                "[]one|end"
            ),
        ])
    func `S-46: the first delimiter tells how the boundary is written`(
        boundary: String, text: String, parts: String
    ) throws {
        let type = "multipart/x-mixed-replace; boundary=\(boundary)"
        #expect(try read(text, type: type) == parts)
    }
}
