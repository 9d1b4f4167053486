import HTTP
import TestSupport
import Testing

/// on any doubt about framing, 400 and close; what follows is never taken for a request.
@Suite struct FramingTests {
    static let second = "GET /second HTTP/1.1\r\nHost: h\r\n\r\n"

    static let doubtful: [(name: String, bytes: String)] = [
        (
            "two lengths",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 35\r\n\r\n"
        ),
        (
            "two equal lengths",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"
        ),
        ("a list of lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0, 0\r\n\r\n"),
        ("a signed length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +0\r\n\r\n"),
        ("a negative length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n"),
        ("a hexadecimal length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x0\r\n\r\n"),
        ("an empty length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n"),
        (
            "a length beyond 64 bits",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551616\r\n\r\n"
        ),
        ("a length with space inside", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0 0\r\n\r\n"),
        ("space before the colon", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 0\r\n\r\n"),
        ("tab before the colon", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length\t: 0\r\n\r\n"),
        (
            "length and chunks",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            "chunks and length",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
        ),
        (
            "gzip, chunked",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            "chunked, identity",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"
        ),
        ("identity", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n"),
        (
            "chunked twice",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        ("xchunked", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        (
            "chunked with a vertical tab",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \u{0B}chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            "quoted chunked",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"
        ),
        (
            "chunks in HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        ("a folded line", "POST / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n"),
        (
            "a folded encoding",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"
        ),
        ("a first line that is folded", "POST / HTTP/1.1\r\n Host: h\r\n\r\n"),
        ("bare LF in the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n"),
        ("bare LF after a field", "GET / HTTP/1.1\r\nHost: h\n\r\n"),
        ("bare LF for the empty line", "GET / HTTP/1.1\r\nHost: h\r\n\n"),
        ("bare CR in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n"),
        ("bare CR as a line end", "GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n"),
        ("two CRs", "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n"),
        ("NUL in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n"),
        ("NUL in a name", "GET / HTTP/1.1\r\nHost: h\r\nX\0: a\r\n\r\n"),
        ("DEL in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: \u{7F}\r\n\r\n"),
        ("no name", "GET / HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n"),
        ("no colon", "GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n"),
        ("a name with a space", "GET / HTTP/1.1\r\nHost: h\r\nX Y: a\r\n\r\n"),
        ("a name outside of ASCII", "GET / HTTP/1.1\r\nHost: h\r\nÄ: a\r\n\r\n"),
        ("no host", "GET / HTTP/1.1\r\n\r\n"),
        ("an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        ("two hosts", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n"),
        ("a host list", "GET / HTTP/1.1\r\nHost: h, i\r\n\r\n"),
        ("a host with user information", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n"),
        ("a host with a path", "GET / HTTP/1.1\r\nHost: h/x\r\n\r\n"),
        ("a host with a bad port", "GET / HTTP/1.1\r\nHost: h:65536\r\n\r\n"),
        ("a host with a port of letters", "GET / HTTP/1.1\r\nHost: h:80a\r\n\r\n"),
        ("an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
        ("two spaces after the method", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("two spaces before the version", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a tab in the request line", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a space at the end of the request line", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n"),
        ("no version", "GET /\r\nHost: h\r\n\r\n"),
        ("a version in small letters", "GET / http/1.1\r\nHost: h\r\n\r\n"),
        ("a version of three digits", "GET / HTTP/1.10\r\nHost: h\r\n\r\n"),
        ("a method that is no token", "G@T / HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a space before the method", " GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("two empty lines before the request", "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a target outside of ASCII", "GET /ä HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a fragment", "GET /#a HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a target without a slash", "GET second HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a bad escape in the path", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a short escape in the path", "GET /%4 HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a bad escape in the query", "GET /?a=%g1 HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("an escape that is no UTF-8", "GET /%FF HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("an authority that is not the host", "GET http://other/ HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a target with user information", "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("another scheme", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("an asterisk for GET", "GET * HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("a TLS handshake", "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}\u{00}\u{01}"),
    ]

    static let doubtfulChunks: [(name: String, bytes: String)] = [
        ("a size that is no number", "x\r\n\r\n"),
        ("an empty size", "\r\n\r\n"),
        ("a signed size", "+1\r\na\r\n0\r\n\r\n"),
        ("a size with 0x", "0x1\r\na\r\n0\r\n\r\n"),
        ("a size beyond 60 bits", "1000000000000000\r\n"),
        ("space before a size", " 1\r\na\r\n0\r\n\r\n"),
        ("space after a size", "1 \r\na\r\n0\r\n\r\n"),
        ("a bare LF after a size", "1\na\r\n0\r\n\r\n"),
        ("a bare CR after a size", "1\ra\r\n0\r\n\r\n"),
        ("a bare LF in an extension", "1;a\nb\r\na\r\n0\r\n\r\n"),
        ("too much data", "1\r\nab\r\n0\r\n\r\n"),
        ("a bare LF after data", "1\r\na\n0\r\n\r\n"),
        ("a folded trailer", "0\r\nX: a\r\n b\r\n\r\n"),
        ("a trailer without a colon", "0\r\nX\r\n\r\n"),
        ("a bare LF after a trailer", "0\r\nX: a\n\r\n"),
    ]

    /// What stands between a chunk's size and its line end, and whether RFC 9112 §7.1.1 has it.
    static let chunkExtensions: [(text: String, isAllowed: Bool)] = [
        (";a", true), (";a=b", true), (";a=\"b c\"", true), (";a=\"\"", true),
        (";a;b;c=d", true), (" ; a = b ; c", true), ("\t;\ta\t=\t\"b\"", true),
        (";a=\"b\\\"c;\\\\\"", true), (";a=\"b\";c", true), (";!#$%&'*+-.^_`|~1=1", true),
        (";a=\"ä\"", true), (";a;a", true),
        (";", false), ("; ", false), (";;a", false), (";a;", false), (";a; ", false),
        (" ", false), (" a", false), ("a", false), (";=b", false), (";a=", false),
        (";a= ", false), (";a=;b", false), (";a=b=c", false), (";a b", false),
        (";a=b c", false), (";a=\"b", false), (";a=\"b\"c", false), (";a=\"b\\\"", false),
        (";\"a\"", false), (";a@b", false), (";a=b@c", false), (";ä", false), (";a=ä", false),
        (";a=\"\u{7F}\"", false), (";a=\"\0\"", false), (";a ", false), (";a=b ", false),
        (";a=\"b\\\u{1}\"", false), (",a", false), (";{a}", false),
    ]

    @Test(arguments: chunkExtensions.map(\.text), ["1", "0"])
    func `X-10: a chunk's extensions keep to their grammar, or 400 and close (RFC 9112 7.1.1)`(
        text: String, size: String
    ) async throws {
        let isAllowed = try #require(Self.chunkExtensions.first { $0.text == text }).isAllowed
        let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        let line = "\(size)\(text)\r\n"
        let chunks = size == "1" ? line + "x\r\n0\r\n\r\n" : "1\r\nx\r\n" + line + "\r\n"
        let last = "GET /second HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        let (answer, calls) = try await answer(to: head + chunks + last)
        #expect(answer.hasPrefix(isAllowed ? "HTTP/1.1 200 " : "HTTP/1.1 400 "))
        #expect(calls["second"] == (isAllowed ? 1 : 0))
    }

    private func answer(to bytes: String) async throws -> (text: String, calls: Calls) {
        let calls = Calls()
        let routes = [
            Route("GET", "/second") { _ in
                calls.count("second")
                return .text("second")
            },
            Route("GET", "/") { _ in .text("first") },
            Route("POST", "/") { request in
                _ = try await request.body.collect(limit: 1000)
                return .text("first")
            },
        ]
        let text = try await LiveServer.run(routes) { live in
            let connection = try await live.client.connect()
            try await connection.send(bytes + FramingTests.second)
            return String(decoding: try await connection.bytesToTheEnd(), as: UTF8.self)
        }
        return (text, calls)
    }

    @Test(arguments: doubtful.map(\.name))
    func `X-10: a doubtful header is refused and nothing after it runs`(name: String) async throws {
        let bytes = try #require(Self.doubtful.first { $0.name == name }).bytes
        let (text, calls) = try await answer(to: bytes)
        #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(text.contains("\r\nConnection: close\r\n"))
        #expect(text.hasSuffix("\r\n\r\nmalformed-request"))
        #expect(calls["second"] == 0)
    }

    @Test(arguments: doubtfulChunks.map(\.name))
    func `X-10: a doubtful chunk is refused and nothing after it runs`(name: String) async throws {
        let chunks = try #require(Self.doubtfulChunks.first { $0.name == name }).bytes
        let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        let (text, calls) = try await answer(to: head + chunks)
        #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(text.hasSuffix("\r\n\r\nmalformed-request"))
        #expect(calls["second"] == 0)
    }

    @Test(arguments: [
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505, "http-version-not-supported"),
        ("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 505, "http-version-not-supported"),
        ("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", 501, "not-implemented"),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\n", 417,
            "expectation-failed"
        ),
    ])
    func `X-10: what this server does not speak is refused by its own status`(
        bytes: String, status: Int, code: String
    ) async throws {
        let (text, calls) = try await answer(to: bytes)
        #expect(text.hasPrefix("HTTP/1.1 \(status) "))
        #expect(text.hasSuffix("\r\n\r\n\(code)"))
        #expect(calls["second"] == 0)
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nhOST:h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: \t h:80 \t\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET HTTP://H HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /?a=%20&b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.9\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: ä\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 00003\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n03;x=\"y\"\r\nabc\r\n000\r\nA: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
    ])
    func `X-10: what is strict but unusual is served, and so is what follows`(
        bytes: String
    ) async throws {
        let (text, calls) = try await answer(
            to: bytes + "GET /second HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n")
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(calls["second"] == 1)
    }
}
