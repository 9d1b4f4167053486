import Foundation
import TestSupport
import Testing

@testable import Client

/// What people type, and what is made of it.
struct GivenTests {
    @Test(arguments: [
        ("https://h/a", "https://h/a"), ("example.com/a?b=c", "https://example.com/a?b=c"),
        ("example.com:8443", "https://example.com:8443"),
        ("localhost:8000/a", "http://localhost:8000/a"), ("10.0.0.1/a", "http://10.0.0.1/a"),
        ("[::1]:80/", "http://[::1]:80/"), (" https://h/a\t", "https://h/a"),
        ("magnet:?xt=urn:btih:a", "magnet:?xt=urn:btih:a"),
        ("ftp://h/a", "ftp://h/a"), ("", ""), ("h/http://i/", "https://h/http://i/"),
        ("example.com/r?to=https://b", "https://example.com/r?to=https://b"),
        ("localhost:80/#http://b", "http://localhost:80/#http://b"),
        ("git+ssh://h/a", "git+ssh://h/a"),
    ])
    func `a URL without a scheme is https, but http where that is near`(
        _ typed: String, _ url: String
    ) {
        let given = GivenURL(typed)
        #expect(given.url == url)
        #expect(given.login == nil)
    }

    @Test(
        arguments: [
            ("http://u:p@h/a@b", "http://h/a@b", "u", "p"), ("https://u@h", "https://h", "u", nil),
            ("u%40x:p%3A%2F@h:1/", "https://h:1/", "u@x", "p:/"),
            ("http://u:@h/", "http://h/", "u", ""),
            ("u:p@example.com/?u=http://x", "https://example.com/?u=http://x", "u", "p"),
            ("https://u:p@h/?u=http://x@y", "https://h/?u=http://x@y", "u", "p"),
        ] as [(String, String, String, String?)])
    func `a user in front of the host is taken off, and a password told of`(
        _ typed: String, _ url: String, _ user: String, _ password: String?
    ) {
        let given = GivenURL(typed)
        #expect(given.url == url)
        #expect(given.login == Login(user: user, password: password))
        #expect(given.remarks.contains { $0.contains("Warning") } == (password != nil))
        #expect(!given.remarks.contains { $0.contains("p@") || $0.contains("p%3A") })
    }

    static let hex = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    static let field = "sha-256=:WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=:"

    @Test(arguments: [
        hex, "sha-256=" + hex, "sha256:" + hex, "SHA-256=" + hex.uppercased(), "sha256=" + hex,
        field,
    ])
    func `a checksum may be hexadecimal, or as RFC 9530 has it`(_ text: String) throws {
        #expect(try GivenDigest.field(parsing: text) == Self.field)
    }

    @Test(arguments: ["", "sha-256=", "sha-512=" + hex, "md5=00", hex + "0", "sha-256=xyz"])
    func `another checksum is refused`(_ text: String) {
        #expect(throws: ClientError.self) { try GivenDigest.field(parsing: text) }
    }

    @Test func `what has another checksum is told of in the digits that people compare`() {
        let other = Self.field.replacing("vgM=", with: "vgQ=")
        let failure = TransferFailure(
            domain: "FerryErrorDomain", code: 2, name: "digestMismatch",
            message: "The content has the digest \(Self.field), not \(other) as expected.")
        let remedy = ClientError.transferFailed(failure).remedy()
        #expect(remedy?.hasPrefix("What came, sha-256=\(Self.hex), is not what") == true)
        #expect(GivenDigest.digits(in: "It is sha-256=:AAAA:, or sha-256=, or md5=:AAAA:.") == nil)
    }

    @Test func `what opens a forbidden destination is told, and who else may forbid it`() {
        let failure = TransferFailure(
            domain: "FerryErrorDomain", code: 1, name: "destinationDenied",
            message: "The gateway's policy does not allow this destination.")
        let remedy = ClientError.transferFailed(failure).remedy(for: "http://127.0.0.1:1/a") ?? ""
        #expect(remedy.contains("`ferry serve --allow-destination 127.0.0.1/32`"))
        // An address that is allowed already is forbidden by these.
        #expect(
            remedy.hasSuffix(
                "the tenant's own rules forbid it: `ferry tenants show NAME` has them."))
    }

    @Test func `a list has a URL on each line, and mirrors behind tabs`() throws {
        let folder = try TemporaryDirectory()
        let text = "# mine\r\nhttp://h/a\thttp://i/a \n\n  http://h/b\n"
        let list = try URLList(reading: try folder.write("list", Array(text.utf8)))
        #expect(
            list.entries == [
                URLList.Entry(url: "http://h/a", mirrors: ["http://i/a"]),
                URLList.Entry(url: "http://h/b", mirrors: []),
            ])
        // Windows' editors begin with a byte order mark.
        let marked = try folder.write("marked", [0xEF, 0xBB, 0xBF] + Array("http://h/a\r\n".utf8))
        #expect(try URLList(reading: marked).entries.map(\.url) == ["http://h/a"])
        let empty = try folder.write("empty", Array("#\n".utf8))
        #expect(throws: ClientError.self) { try URLList(reading: empty) }
    }

    @Test func `what a list has twice is fetched once`() {
        let entries = ["http://h/a", "h/b", "http://h/a", "https://h/b", "http://h/A"].map {
            URLList.Entry(url: $0, mirrors: [])
        }
        #expect(URLList.unique(entries).map(\.url) == ["http://h/a", "h/b", "http://h/A"])
    }

    @Test(arguments: ["-rf", "/tmp/a b", "'$(x)"])
    func `a command for a file gets a name that is no option`(_ path: String) throws {
        let folder = try TemporaryDirectory()
        let receipt = DownloadReceipt(
            task: "tsk_1", url: "http://h/", path: path, status: 200, length: 0, fetched: 0,
            digest: nil, elapsed: .zero)
        let command = CompletionCommand(
            #"printf '%s|%s' "$1" "$FERRY_FILE" > "$OUT""#,
            environment: ["OUT": folder.file("out"), "PATH": "/usr/bin:/bin"])
        try command.run(for: receipt)
        let name = path == "-rf" ? "./-rf" : path
        #expect(try folder.read("out") == Array("\(name)|\(name)".utf8))
    }

    @Test func `a body is joined of pieces and files`() throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("body", [0, 10, 255])
        #expect(try GivenBody.bytes(of: ["a=1", "@" + file]) == Array("a=1&".utf8) + [0, 10, 255])
        #expect(throws: ClientError.self) { try GivenBody.bytes(of: ["@" + folder.file("none")]) }
        let large = String(repeating: "x", count: 800 << 10)
        #expect(throws: ClientError.self) { try GivenBody.bytes(of: [large]) }
    }

    @Test(arguments: [
        (["ferry", "get", "http://h/a b"], "ferry get 'http://h/a b'"),
        (["ferry", "get", "-u", "me:secret", "h"], "ferry get -u me h"),
        (["ferry", "get", "--user=me:secret", "h"], "ferry get '--user=me' h"),
        (["ferry", "get", "http://me:secret@h/a"], "ferry get 'http://me@h/a'"),
        (["ferry", "get", "-H", "A: it's"], #"ferry get -H 'A: it'\''s'"#),
        (["ferry", "get", "-ume:secret", "h"], "ferry get -ume h"),
        (["ferry", "get", "-fqu", "me:secret", "h"], "ferry get -fqu me h"),
        (["ferry", "get", "-fume:secret"], "ferry get -fume"),
        (["ferry", "get", "--proxy-user=me:secret", "h"], "ferry get '--proxy-user=me' h"),
        (["ferry", "get", "--mirror=http://me:secret@h/m"], "ferry get '--mirror=http://me@h/m'"),
        (["ferry", "get", "--mirror", "me:secret@h/m"], "ferry get --mirror 'me@h/m'"),
        (
            ["ferry", "get", "h/a?u=http://me:se@cret@h/m#x@y"],
            "ferry get 'h/a?u=http://me@h/m#x@y'"
        ),
        (["ferry", "get", "-q", "me:secret@h"], "ferry get -q 'me@h'"),
        (
            [
                "ferry", "get", "-o", "a:b@c", "--on-complete", "mail -s a: me@h", "--cert=a:b@c",
                "h",
            ],
            "ferry get -o 'a:b@c' --on-complete 'mail -s a: me@h' '--cert=a:b@c' h"
        ),
        (
            ["ferry", "get", "--on-complete=curl http://me:secret@h/", "h"],
            "ferry get '--on-complete=curl http://me@h/' h"
        ),
        (["ferry", "get", "-HAuthorization: Basic secret"], "ferry get '-HAuthorization: …'"),
        (["ferry", "get", "--header", "X-Api-Key: secret"], "ferry get --header 'X-Api-Key: …'"),
        (
            ["ferry", "get", "--data=user=me&password=secret"],
            "ferry get '--data=user=me&password=…'"
        ),
        (
            ["ferry", "get", "--data", "a=b&at=http://me:secret@h"],
            "ferry get --data 'a=b&at=http://me@h'"
        ),
    ])
    func `a command that is shown to be typed again has no password`(
        _ words: [String], _ text: String
    ) {
        #expect(CommandText.text(words) == text)
        #expect(!CommandText.text(words).contains("secret"))
    }

    static let names = ["get", "put", "add", "tasks", "watch", "show", "resume", "rm", "help"]

    @Test(arguments: [
        ("gett", "get"), ("gte", "get"), ("task", "tasks"), ("wacth", "watch"), ("resum", "resume"),
        ("shwo", "show"), ("Get", "get"),
    ])
    func `a mistyped command is told which it may have been (F15)`(_ word: String, _ name: String) {
        #expect(
            throws: ClientError.badArgument(
                "there is no command '\(word)': did you mean `ferry \(name)`?")
        ) { try CommandName.check(word, among: Self.names) }
    }

    @Test func `what is like no command is only refused, and options pass`() throws {
        #expect(
            throws: ClientError.badArgument(
                "there is no command 'frobnicate': `ferry help` lists them")
        ) { try CommandName.check("frobnicate", among: Self.names) }
        #expect(throws: ClientError.badArgument("a URL needs a command: ferry get http://h/a")) {
            try CommandName.check("http://h/a", among: Self.names)
        }
        for word in [nil, "--help", "-h", "get", "---completion", "--experimental-dump-help"] {
            try CommandName.check(word, among: Self.names)
        }
    }

    @Test(arguments: [
        ("music", "http://h/a/b%20c.flac?x", #""folder":"music","path":"b c.flac""#),
        ("music/", "http://h", #""folder":"music","path":"download""#),
        ("music/new/", "http://h/a.flac", #""folder":"music","path":"new/a.flac""#),
        ("music/a/b.flac", "http://h/c", #""folder":"music","path":"a/b.flac""#),
    ])
    func `a place is a folder of the gateway's, and a path in it or the URL's name`(
        _ place: String, _ url: String, _ members: String
    ) throws {
        var order = DownloadOrder(url: url)
        order.destination = try DownloadDestination(
            parsing: place, of: url, ifExists: "rename")
        let json = String(decoding: order.json(), as: UTF8.self)
        #expect(json.contains(#""destination":{\#(members),"ifExists":"rename"}"#))
        #expect(throws: ClientError.self) {
            try DownloadDestination(parsing: "/a", of: url, ifExists: "fail")
        }
    }
}
