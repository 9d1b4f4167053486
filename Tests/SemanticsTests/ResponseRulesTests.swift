import Testing

import Semantics

struct MediaTypeTests {
    @Test(
        arguments: [
            ("text/html", "text/html", nil), ("Text/HTML; Charset=UTF-8", "text/html", "utf-8"),
            ("text/plain;charset=\"iso-8859-1\"", "text/plain", "iso-8859-1"),
            ("text/plain; a=b; charset=utf-8; charset=latin1", "text/plain", "utf-8"),
            ("text/plain; a=\"x;charset=no\"; charset=yes", "text/plain", "yes"),
            ("text/plain; charset=", "text/plain", nil),
            ("text/plain; charset=\"open", "text/plain", nil),
            ("text/plain; charset=\"a b\"", "text/plain", nil),
            (" image/svg+xml ;", "image/svg+xml", nil),
            ("", nil, nil), ("text", nil, nil), ("text/", nil, nil), ("/html", nil, nil),
            ("text/html/x", nil, nil), ("te xt/html", nil, nil),
            ("text/html, text/plain", nil, nil),
        ] as [(String, String?, String?)])
    func `S-47: Content-Type gives the MIME type and the text's encoding`(
        text: String, mimeType: String?, encoding: String?
    ) {
        let type = MediaType(parsing: text)
        #expect(type?.mimeType == mimeType)
        #expect(type?.textEncodingName == encoding)
    }

    @Test func `X-9: a Content-Type of more than 8 KiB is none`() {
        let start = "text/html; charset=utf-8; a="
        let rest = String(repeating: "b", count: 8192 - start.utf8.count)
        #expect(MediaType(parsing: start + rest)?.textEncodingName == "utf-8")
        #expect(MediaType(parsing: start + rest + "b") == nil)
    }
}

struct SuggestedFilenameTests {
    private func choose(
        _ disposition: String? = nil, path: String = "/", mimeType: String? = nil,
        host: String = "host.example"
    ) -> String {
        let url = WebURL(
            string: "https://\(host)\(path)", scheme: "https", host: host, port: 443, path: path)
        return SuggestedFilename.choose(
            contentDisposition: disposition, url: url, mimeType: mimeType)
    }

    @Test(arguments: [
        ("attachment; filename=a.iso", "a.iso"), ("attachment; filename=\"a b.iso\"", "a b.iso"),
        ("inline; FileName=a.iso", "a.iso"), ("attachment; filename=\"a\\\"b.txt\"", "a\"b.txt"),
        ("attachment; filename=plain name.txt", "plain name.txt"),
        ("attachment; filename=a.txt; filename*=UTF-8''%e2%82%ac.txt", "€.txt"),
        ("attachment; filename*=utf-8'en'na%C3%AFve.txt; filename=x.txt", "naïve.txt"),
        ("attachment; filename*=iso-8859-1''%A3.txt", "£.txt"),
        ("attachment; filename*=UTF-8''%ff.txt; filename=safe.txt", "safe.txt"),
        ("attachment; filename*=utf-16''a.txt; filename=safe.txt", "safe.txt"),
        ("attachment; filename*=UTF-8''a%2.txt; filename=safe.txt", "safe.txt"),
        ("attachment; filename=a%20b.txt", "a%20b.txt"), ("attachment", "path.bin"),
        ("attachment; filename=", "path.bin"), ("attachment; filename=\"\"", "path.bin"),
        ("attachment; filename=\"unclosed", "path.bin"),
        ("attachment; filename=\"..\"", "path.bin"),
        ("", "path.bin"), (";;;", "path.bin"),
    ])
    func `S-47: Content-Disposition names the file`(disposition: String, name: String) {
        #expect(choose(disposition, path: "/dir/path.bin") == name)
    }

    @Test(arguments: [
        ("../../etc/passwd", "passwd"), ("..\\..\\boot.ini", "boot.ini"), ("/etc/shadow", "shadow"),
        ("dir/", "dir"), (".bashrc", "bashrc"), ("...hidden.txt", "hidden.txt"), (". .x", "x"),
        ("a.txt.", "a.txt"), ("a.txt . ", "a.txt"), (" a.txt", "a.txt"), ("a\r\nb.txt", "ab.txt"),
        ("a\0b.txt", "ab.txt"), ("a\u{7f}\u{85}.txt", "a.txt"), ("gpj.\u{202e}exe", "gpj.exe"),
        ("a\u{2028}b", "ab"), ("\u{feff}a.txt", "a.txt"), ("日本語.txt", "日本語.txt"),
        ("a/\u{338}b.txt", "\u{338}b.txt"), ("..\\\u{301}/\u{301}b", "\u{301}b"),
        ("a\r\nevent: x", "aevent: x"), ("👩‍👩‍👧.png", "👩‍👩‍👧.png"),
    ])
    func `X-8: a name is safe in any folder`(text: String, name: String) {
        #expect(SuggestedFilename.sanitized(text) == name)
    }

    @Test(arguments: [
        "", ".", "..", "...", "/", "//", "\\", " ", "\r\n", "./..", "\u{202e}", "a/..",
    ])
    func `X-8: of some texts nothing can be kept`(text: String) {
        #expect(SuggestedFilename.sanitized(text) == nil)
    }

    @Test func `X-9: a Content-Disposition of more than 8 KiB names nothing`() {
        let start = "attachment; filename=a.iso; b="
        let rest = String(repeating: "b", count: 8192 - start.utf8.count)
        #expect(choose(start + rest, path: "/path.bin") == "a.iso")
        #expect(choose(start + rest + "b", path: "/path.bin") == "path.bin")
        let marks = String(repeating: "%CC%81", count: 10_000)
        #expect(choose("attachment; filename*=UTF-8''a" + marks, path: "/path.bin") == "path.bin")
        #expect(choose(path: "/" + marks) == "host.example")
    }

    @Test func `X-8: a name is cut to 255 bytes, between characters and before the extension`() {
        let euro = String(repeating: "€", count: 100)
        #expect(SuggestedFilename.sanitized(euro) == String(repeating: "€", count: 85))
        #expect(
            SuggestedFilename.sanitized(euro + ".tar.gz")
                == String(repeating: "€", count: 84) + ".gz")
        let exact = String(repeating: "x", count: 251) + ".iso"
        #expect(SuggestedFilename.sanitized(exact) == exact)
        #expect(
            SuggestedFilename.sanitized("x" + exact) == exact)
        let family = String(repeating: "👩‍👩‍👧", count: 20)
        #expect(SuggestedFilename.sanitized(family) == String(repeating: "👩‍👩‍👧", count: 14))
        let marks = "a" + String(repeating: "\u{301}", count: 200)
        #expect(SuggestedFilename.sanitized(marks)?.utf8.count == 255)
        let added = choose(path: "/" + String(repeating: "y", count: 300), mimeType: "image/png")
        #expect(added == String(repeating: "y", count: 251) + ".png")
    }

    @Test(
        arguments: [
            ("/a/b.iso", nil, "b.iso"), ("/a/b/", nil, "b"), ("/a%20b.txt", nil, "a b.txt"),
            ("/a%2Fb.txt", nil, "b.txt"), ("/%2e%2e", nil, "host.example"),
            ("/a%ff.txt", nil, "a%ff.txt"),
            ("/a%.txt", nil, "a%.txt"), ("/", nil, "host.example"),
            ("/", "text/html", "host.example.html"),
            ("/page", "text/html", "page.html"), ("/page.php", "text/html", "page.php"),
            ("/v1.2", "application/json", "v1.2"), ("/data", "application/octet-stream", "data"),
            ("/data", "x/y", "data"), ("/a.b c", "image/png", "a.b c.png"),
        ] as [(String, String?, String)])
    func `S-47: else the path names it, else the host, with an extension by the type`(
        path: String, mimeType: String?, name: String
    ) {
        #expect(choose(path: path, mimeType: mimeType) == name)
    }

    @Test func `S-47: with nothing to go by it is unknown`() {
        #expect(choose(path: "/", host: "..") == "unknown")
    }
}

struct ContentLengthTests {
    @Test(
        arguments: [
            ([], nil), (["0"], 0), (["5"], 5), (["5", "5"], 5), (["5, 5"], 5),
            (["5 ", " 5,\t5"], 5),
            (["9223372036854775807"], .max), (["005"], 5),
        ] as [([String], Int64?)])
    func `X-9: lengths that agree are one`(values: [String], length: Int64?) throws {
        #expect(try ContentLength.parse(values) == length)
    }

    /// A number, if an endless one.
    private static let zeros = String(repeating: "0", count: 10_000) + "5"

    @Test(
        arguments: [
            (["5", "6"], .conflicting(5, 6)), (["5, 6"], .conflicting(5, 6)),
            ([""], .malformed("")),
            (["5,"], .malformed("")), (["+5"], .malformed("+5")), (["-1"], .malformed("-1")),
            (["5x"], .malformed("5x")), (["0x5"], .malformed("0x5")), (["5 5"], .malformed("5 5")),
            (["9223372036854775808"], .malformed("9223372036854775808")), (["٥"], .malformed("٥")),
            ([zeros], .malformed(zeros)),
        ] as [([String], ContentLength.Violation)])
    func `X-9: lengths that differ or are none are an error`(
        values: [String], error: ContentLength.Violation
    ) {
        #expect(throws: error) { try ContentLength.parse(values) }
    }

    @Test(
        arguments: [
            (nil, [], nil), (nil, ["0"], nil), (.bytes([1, 2]), ["2"], .bytes([1, 2])),
            (.bytes([]), ["0"], .bytes([])), (.stream(length: 5), ["5"], .stream(length: 5)),
            (.stream(length: unknownSize), ["5"], .stream(length: 5)),
            (.stream(length: unknownSize), [], .stream(length: unknownSize)),
        ] as [(BodyRecord?, [String], BodyRecord?)])
    func `S-38: a client's own Content-Length is taken where it is the body's`(
        body: BodyRecord?, values: [String], agreed: BodyRecord?
    ) throws {
        #expect(try ContentLength.agreed(body, with: values) == agreed)
    }

    @Test(
        arguments: [
            (nil, ["1"], .another(0)), (.bytes([1, 2]), ["3"], .another(2)),
            (.stream(length: 5), ["6"], .another(5)), (.bytes([1]), ["1", "2"], .unreadable),
            (.bytes([1]), ["x"], .unreadable), (.bytes([1]), [""], .unreadable),
            (.stream(length: unknownSize), ["-1"], .unreadable),
        ] as [(BodyRecord?, [String], ContentLength.Disagreement)])
    func `S-38: a Content-Length that is not the body's is refused`(
        body: BodyRecord?, values: [String], error: ContentLength.Disagreement
    ) {
        #expect(throws: error) { try ContentLength.agreed(body, with: values) }
    }
}

struct ContentRangeTests {
    @Test(arguments: ["bytes 0-0/1", "bytes 5-9/10", "bytes 0-99/*", "bytes */0", "bytes */1234"])
    func `X-9: a range is read as it is written`(text: String) throws {
        #expect(try #require(ContentRange(parsing: text)).description == text)
    }

    @Test func `X-9: offset, end and total are told`() {
        let range = ByteRange(first: 5, last: 9)
        #expect(ContentRange(parsing: "Bytes 5-9/10") == range.map { .satisfied($0, total: 10) })
        #expect(range?.count == 5)
    }

    @Test(arguments: [
        "", "bytes", "bytes 0-0", "bytes 5-4/10", "bytes 0-10/10", "bytes 0-9/9", "bytes */*",
        "items 0-1/2",
        "bytes=0-1/2", "bytes -1/2", "bytes 0-/2", "bytes +0-1/2", "bytes 0-1/2 x", "bytes 0-1/2/3",
        "bytes 0-1-2/3", "bytes 99999999999999999999-1/2", "bytes 0-9223372036854775807/*",
    ])
    func `X-9: what contradicts itself is no range`(text: String) {
        #expect(ContentRange(parsing: text) == nil)
    }
}

struct ContentCodingTests {
    @Test(
        arguments: [
            (TaskType.data, [:], "gzip, deflate, br, zstd", true),
            (.upload, [:], "gzip, deflate, br, zstd", true),
            (.download, [:], "identity", false), (.data, ["accept-ENCODING": "gzip"], nil, false),
            (.download, ["Accept-Encoding": "gzip"], nil, false),
            (.data, ["Accept-Encoding": ""], nil, false),
            (.data, ["Accept": "*/*"], "gzip, deflate, br, zstd", true),
        ] as [(TaskType, HeaderList, String?, Bool)])
    func `S-76: type and own header decide what is asked and decoded`(
        type: TaskType, headers: HeaderList, accept: String?, decodes: Bool
    ) {
        let coding = ContentCoding(for: type, headers: headers)
        #expect(coding.acceptEncoding == accept)
        #expect(coding.decodes == decodes)
    }

    @Test(
        arguments: [
            (TaskType.data, 10, 200, nil, 10), (.data, 10, 200, "identity", 10),
            (.data, 10, 200, "", 10), (.data, 10, 200, "gzip", -1),
            (.data, 10, 404, "identity, BR", -1), (.data, nil, 200, nil, -1),
            (.data, 10, 200, "utf-8", 10), (.data, 10, 200, "gzip, aws-chunked", 10),
            (.data, 10, 206, "gzip", 10), (.upload, 10, 200, "zstd", -1),
            (.download, 10, 200, "gzip", 10), (.download, nil, 200, "gzip", -1),
        ] as [(TaskType, Int64?, Int, String?, Int64)])
    func `S-76: a length is known unless bytes are decoded`(
        type: TaskType, length: Int64?, status: Int, contentEncoding: String?, expected: Int64
    ) {
        let coding = ContentCoding(for: type, headers: [:])
        let headers = HeaderList(
            contentEncoding.map { [HeaderField("Content-Encoding", $0)] } ?? [])
        #expect(
            coding.expectedLength(contentLength: length, status: status, headers: headers)
                == expected)
    }

    @Test(
        arguments: [
            ([], []), (["identity"], []), ([""], []), ([" , ,"], []), (["gzip"], [.gzip]),
            (["X-GZip"], [.gzip]), (["deflate, br"], [.deflate, .br]),
            (["BR", "zstd"], [.br, .zstd]),
            (["gzip,identity,\tgzip "], [.gzip, .gzip]), (["compress"], []), (["utf-8"], []),
            (["gzip, utf-8"], []), (["aws-chunked,gzip"], []), (["gzip;q=1"], []), (["gz ip"], []),
            (["br, br, br, br, br"], [.br, .br, .br, .br, .br]),
            (["br, br, br", "br, br, br"], []),
            ([String(repeating: "identity, ", count: 200) + "gzip"], []),
        ] as [([String], [ContentCoding.Layer])])
    func `S-76: what is known is taken off, and all that is not leaves the content as it is`(
        values: [String], layers: [ContentCoding.Layer]
    ) {
        let headers = HeaderList(values.map { HeaderField("Content-Encoding", $0) })
        #expect(ContentCoding.layers(of: headers, status: 200) == layers)
        #expect(ContentCoding.layers(of: headers, status: 500) == layers)
        #expect(ContentCoding.layers(of: headers, status: 206) == [])
    }
}
