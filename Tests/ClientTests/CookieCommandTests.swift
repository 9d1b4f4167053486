import Foundation
import JSON
import TestSupport
import Testing

@testable import Client

/// What `ferry cookies` asks the gateway, and what it shows of the answers.
struct CookieCommandTests {
    private let gateway: FakeGateway
    private let folder: TemporaryDirectory
    private static let path = "/v1/sessions/ses_1/cookies"

    init() throws {
        gateway = try FakeGateway()
        folder = try TemporaryDirectory()
    }

    private static let id = """
        {"name":"id","value":"secret","domain":"example.com","path":"/","secure":true,\
        "httpOnly":true,"sameSite":"lax","hostOnly":false,"expires":"2027-06-01T00:00:00.000Z"}
        """
    private static let hostile = #"""
        {"name":"a\u001b]0;x\u0007","value":"v\r\n","domain":"127.0.0.1","path":"/\u202e","secure":false,
        "httpOnly":false,"sameSite":null,"hostOnly":true,"expires":null}
        """#

    private func cookies() throws -> [RemoteCookie] {
        try [Self.id, Self.hostile].map { try RemoteCookie(JSONValue(parsing: Array($0.utf8))) }
    }

    // MARK: The table

    @Test func `values are shown only where they are wanted`() throws {
        let cookies = try cookies()
        #expect(
            CookieTable.lines(cookies) == [
                "DOMAIN        PATH       EXPIRES               ONLY                 NAME",
                ".example.com  /          2027-06-01 00:00:00Z  secure,httpOnly,lax  id",
                "127.0.0.1     /\\u{202e}  session               -                    "
                    + "a\\u{1b}]0;x\\u{7}",
            ])
        let lines = CookieTable.lines(cookies, showsValues: true)
        #expect(lines[0].hasSuffix("NAME              VALUE"))
        #expect(lines[1].hasSuffix("id                secret"))
        #expect(lines[2].hasSuffix("a\\u{1b}]0;x\\u{7}  v\\u{d}\\u{a}"))
        for line in CookieTable.lines(cookies, width: 20) {
            #expect(DisplayText.columns(of: line) <= 20)
        }
    }

    @Test func `JSON without values has all the rest`() throws {
        let json = RemoteCookie.withoutValue(try JSONValue(parsing: Array(Self.id.utf8)))
        #expect(json["value"] == nil)
        #expect(json["name"]?.string == "id" && json["sameSite"]?.string == "lax")
        #expect(json.object?.count == 8)
    }

    // MARK: Filters

    @Test func `the filter goes with every request`() async throws {
        gateway.origin.on(Self.path) { exchange in
            if exchange.request.method == "DELETE" { return try exchange.answer(204) }
            if exchange.request.headers["Accept"] == "text/plain" {
                return try exchange.answer(200, ["Content-Type": "text/plain"], "# file\n")
            }
            try exchange.answer(200, [:], "{\"cookies\":[\(Self.id)]}")
        }
        let file = try await onThread { [gateway] () throws(ClientError) in
            let client = try gateway.client()
            var filter = CookieFilter()
            _ = try client.cookies(of: "ses_1", filter)
            filter.domain = "example.com"
            filter.name = "a&b=c#"
            _ = try client.cookies(of: "ses_1", filter)
            let file = try client.cookieFile(of: "ses_1", filter)
            filter.path = "/a b"
            filter.domain = nil
            try client.deleteCookies(of: "ses_1", filter)
            return file
        }
        #expect(String(decoding: file, as: UTF8.self) == "# file\n")
        let requests = gateway.origin.requests(for: Self.path)
        let both = "domain=example.com&name=a%26b%3Dc%23"
        #expect(requests.map(\.query) == [nil, both, both, "path=%2Fa%20b&name=a%26b%3Dc%23"])
        #expect(requests.map(\.method) == ["GET", "GET", "GET", "DELETE"])
    }

    // MARK: Import

    private static func line(_ number: Int, padding: Int = 0) -> String {
        ".example.com\tTRUE\t/\tTRUE\t0\tc\(number)\t" + String(repeating: "v", count: padding)
            + "\n"
    }

    @Test(arguments: [0, 1, 999_999, 1_000_000, 1_000_001, 2_500_000])
    func `a file is cut between lines, and nothing is lost`(length: Int) {
        var bytes: [UInt8] = []
        var number = 0
        while bytes.count < length {
            bytes += Array(Self.line(number, padding: number % 4000).utf8)
            number += 1
        }
        // The last line may lack its end.
        bytes = Array(bytes.prefix(length))
        let pieces = CookieFile(bytes: bytes).pieces()
        #expect(pieces.flatMap(\.bytes) == bytes)
        var lines: Int64 = 0
        for (index, piece) in pieces.enumerated() {
            #expect(piece.line == lines)
            #expect(piece.bytes.count <= CookieFile.pieceLimit && !piece.bytes.isEmpty)
            if index < pieces.count - 1 { #expect(piece.bytes.last == UInt8(ascii: "\n")) }
            lines += Int64(piece.bytes.count { $0 == UInt8(ascii: "\n") })
        }
        #expect(pieces.count <= length / 900_000 + 1)
    }

    @Test func `a line that is too long for a request goes alone`() {
        let long = String(repeating: "x", count: CookieFile.pieceLimit + 10) + "\n"
        let bytes = Array((Self.line(1) + long + Self.line(2)).utf8)
        let pieces = CookieFile(bytes: bytes).pieces()
        #expect(pieces.map(\.line) == [0, 1, 2])
        #expect(pieces.flatMap(\.bytes) == bytes)
    }

    @Test func `lines that were not taken are told by their place in the whole file`()
        async throws
    {
        gateway.origin.on(Self.path) { exchange in
            try exchange.readWholeBody()
            // Once it is busy; an import can be repeated.
            switch exchange.request.attempt {
            case 2: try exchange.answer(503)
            default:
                try exchange.answer(
                    200, [:],
                    #"{"stored":2,"faultCount":7,"faults":[{"line":3,"detail":"No\u001b."},"#
                        + #"{"line":4,"detail":"b"}]}"#)
            }
        }
        let text = (0..<300).map { Self.line($0, padding: 5000) }.joined()
        let path = try folder.write("cookies.txt", Array(text.utf8))
        let outcome = try await onThread { [gateway] () throws(ClientError) in
            var outcome = CookieImport()
            try gateway.client().importCookies(
                CookieFile(reading: path), into: "ses_1", outcome: &outcome)
            return outcome
        }
        #expect(outcome.stored == 4)
        let requests = gateway.requests("POST", Self.path)
        #expect(requests.count == 3)
        let before = Int64(requests[0].bodyLength / Self.line(100, padding: 5000).utf8.count) + 1
        #expect(outcome.faults.map(\.line).prefix(2) == [3, 4])
        let shift = outcome.faults.map(\.line).dropFirst(2).map { $0 - before }
        #expect(shift == [3, 4])
        #expect(requests.allSatisfy { $0.headers["Content-Type"] == "text/plain; charset=utf-8" })
        #expect(requests[0].bodyLength + requests[2].bodyLength == text.utf8.count)
        #expect(outcome.complaints(about: "c.txt")[0] == "c.txt:3: No\\u{1b}.")
        #expect(outcome.complaints(about: "-")[1] == "standard input:4: b")
        #expect(outcome.complaints(about: "c.txt").last == "c.txt: 10 more were not taken")
        #expect(
            outcome.json.hasPrefix(
                #"{"stored":4,"faultCount":14,"faults":[{"line":3,"detail":"No\u001b."},"#))
    }

    @Test func `where a later piece fails, what was before it is told`() async throws {
        gateway.origin.on(Self.path) { exchange in
            try exchange.readWholeBody()
            guard exchange.request.attempt == 1 else { return try exchange.answer(410) }
            try exchange.answer(200, [:], #"{"stored":7,"faults":[{"line":3,"detail":"No."}]}"#)
        }
        let text = (0..<300).map { Self.line($0, padding: 5000) }.joined()
        let (outcome, error) = try await onThread { [gateway] () throws(ClientError) in
            var outcome = CookieImport()
            let client = try gateway.client()
            do throws(ClientError) {
                try client.importCookies(
                    CookieFile(bytes: Array(text.utf8)), into: "ses_1", outcome: &outcome)
                return (outcome, ClientError?.none)
            } catch {
                return (outcome, error)
            }
        }
        #expect(error?.exitStatus == .failure)
        #expect(outcome.stored == 7 && outcome.faults.map(\.line) == [3])
        #expect(gateway.requests("POST", Self.path).count == 2)
    }

    @Test func `a file that is not there, and an answer that is none, are told`() async throws {
        #expect {
            try CookieFile(reading: folder.file("none"))
        } throws: { error in
            (error as? ClientError)?.exitStatus == .cannotRead
        }
        gateway.origin.on(Self.path) { exchange in
            try exchange.readWholeBody()
            try exchange.answer(200, [:], #"{"stored":1}"#)
        }
        await #expect {
            try await onThread { [gateway] () throws(ClientError) in
                let file = CookieFile(bytes: Array(Self.line(1).utf8))
                var outcome = CookieImport()
                try gateway.client().importCookies(file, into: "ses_1", outcome: &outcome)
            }
        } throws: { error in
            guard case ClientError.unexpectedAnswer = error else { return false }
            return true
        }
    }

    // MARK: Export

    @Test func `an export is for its owner only, and replaces nothing unasked`() throws {
        let path = folder.file("cookies.txt")
        try CookieFile.write([1, 2], to: path, replacesFile: false)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(throws: ClientError.fileExists(path: path)) {
            try CookieFile.write([3], to: path, replacesFile: false)
        }
        #expect(try folder.read("cookies.txt") == [1, 2])
        try CookieFile.write([3], to: path, replacesFile: true)
        #expect(try folder.read("cookies.txt") == [3])
        #expect(try folder.contents() == ["cookies.txt"])
    }

    @Test func `on a terminal an export moves nothing but the cursor to the next line (X-8)`()
        async throws
    {
        let terminal = try PseudoTerminal(columns: 80)
        let text = "# File\na\tTRUE\t\u{1B}[2J\u{7}\u{202E}x\n"
        try CookieFile.write(Array(text.utf8), toDescriptor: terminal.device)
        try await terminal.waitForLines("the export") { $0.contains("# File") && $0.count > 1 }
        #expect(terminal.unknown.isEmpty)
        #expect(terminal.raw.contains("\\u{1b}[2J\\u{7}\\u{202e}x"))
        #expect(!terminal.raw.contains("\u{1B}") && !terminal.raw.contains("\u{202E}"))
    }

    @Test func `elsewhere an export is what the gateway gave, byte by byte`() throws {
        let path = folder.file("out")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let bytes = Array("a\t\u{1B}[2J\n".utf8) + [0xFF]
        try CookieFile.write(bytes, toDescriptor: descriptor)
        close(descriptor)
        #expect(try folder.read("out") == bytes)
        #expect {
            try CookieFile.write(bytes, toDescriptor: -1)
        } throws: { error in
            (error as? ClientError)?.exitStatus == .cannotWrite
        }
    }
}
