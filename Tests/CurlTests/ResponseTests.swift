import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Heads and bodies as they reach the engine.
@Suite struct Responses {
    init() { TestLoop.start() }

    @LoopActor
    @Test func `a response is handed over as a head and its bytes`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(404, ["X-One": "1", "x-one": "  2 ", "Empty": ""], "not here"))
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error == nil)
        #expect(probe.offeredHeads.count == 1)
        #expect(probe.head?.status == 404)
        #expect(probe.head?.httpVersion == "1.1")
        #expect(probe.head?.headers.values(of: "X-One") == ["1", "2"])
        #expect(probe.head?.headers.first("Empty") == "")
        #expect(probe.text == "not here")
        #expect(probe.ends.first?.lengthVerified == true)
        #expect(probe.moves > 0)
    }

    @LoopActor
    @Test func `1xx answers come before the head (S-48)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on(
            "/", .informational([(102, [:]), (103, ["Link": "</a.css>; rel=preload"]), (100, [:])]))
        let probe = try await Network().fetch(origin.url())
        #expect(probe.informationals.map(\.status) == [102, 103, 100])
        #expect(probe.informationals[1].headers.first("Link") == "</a.css>; rel=preload")
        #expect(probe.offeredHeads.map(\.status) == [200])
        #expect(probe.head?.headers.contains("Link") == false)
    }

    @LoopActor
    @Test func `switching protocols is an error (S-48)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { try $0.send("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\nbytes") }
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error?.kind == .url(.badServerResponse))
        #expect(probe.offeredHeads.isEmpty && probe.body.isEmpty)
    }

    @LoopActor
    @Test(arguments: ["2.0", "1.2", "0.9", "3.0", "11"])
    func `a version that nobody knows is no answer`(version: String) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { try $0.send("HTTP/\(version) 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error != nil && probe.offeredHeads.isEmpty && probe.body.isEmpty)
    }

    @LoopActor
    @Test(arguments: [
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "1.0", true),
        ("HTTP/1.0 200 OK\r\n\r\nok", "1.0", false),
        ("HTTP/1.1 200\r\nConnection: close\r\n\r\nok", "1.1", false),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "1.1", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok", "1.1", true),
    ])
    func `only a length or chunks verify where a body ends (R-3)`(
        bytes: String, version: String, isVerified: Bool
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { try $0.send(bytes) }
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error == nil)
        #expect(probe.head?.httpVersion == version)
        #expect(probe.text == "ok")
        #expect(probe.ends.first?.lengthVerified == isVerified)
    }

    @LoopActor
    @Test(arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)])
    func `an answer without a body is whole (R-3)`(method: String, status: Int) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { try $0.head(status, status == 200 ? ["Content-Length": "1000"] : [:]) }
        let probe = try await Network().fetch(origin.url(), method: method)
        #expect(probe.error == nil)
        #expect(probe.head?.status == status)
        #expect(probe.body.isEmpty)
        #expect(probe.ends.first?.lengthVerified == true)
    }

    @LoopActor
    @Test func `odd header lines are read as browsers read them`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { exchange in
            var bytes = Array("HTTP/1.1 200 OK\r\nFolded: one\r\n\t two\r\nName : space\r\n".utf8)
            bytes += Array("Latin: caf".utf8) + [0xe9] + Array("\r\nUnicode: café\r\n".utf8)
            try exchange.send(bytes + Array("Content-Length: 0\r\n\r\n".utf8))
        }
        let probe = try await Network().fetch(origin.url())
        #expect(
            probe.head?.headers == [
                "Folded": "one two", "Name": "space", "Latin": "café", "Unicode": "café",
                "Content-Length": "0",
            ])
    }

    @LoopActor
    @Test(arguments: ["no colon", ": no name", " folded into nothing", "nul: a\u{0}b"])
    func `a line that is no field is an error`(line: String) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") {
            try $0.send("HTTP/1.1 200 OK\r\n\(line)\r\nA: b\r\nContent-Length: 0\r\n\r\n")
        }
        let probe = try await Network().fetch(origin.url())
        #expect(probe.error?.kind == .url(.badServerResponse))
    }

    // MARK: X-9

    @LoopActor
    @Test(arguments: [
        (255, 8, true), (256, 8, false), (20_000, 8, false), (10, 6_000, true), (12, 6_000, false),
    ])
    func `a header has at most 256 fields and 64 KiB (X-9)`(
        count: Int, valueSize: Int, isTaken: Bool
    ) async throws {
        let origin = try ScriptedOrigin()
        // The origin adds Content-Length.
        origin.on("/", .manyHeaders(count, valueSize: valueSize))
        let probe = try await Network().fetch(origin.url())
        #expect((probe.error == nil) == isTaken)
        #expect(probe.offeredHeads.count == (isTaken ? 1 : 0))
        if !isTaken { #expect(probe.error?.kind == .url(.badServerResponse)) }
    }

    @LoopActor
    @Test func `endless 1xx answers and trailers are an error (X-9)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/1xx", .informational(Array(repeating: (102, [:]), count: 300)))
        origin.on("/trailers") { exchange in
            try exchange.head(200, ["Transfer-Encoding": "chunked"])
            try exchange.chunk("body")
            var trailers = HeaderLines()
            for number in 0..<300 { trailers.append("X-\(number)", "v") }
            try exchange.endChunks(trailers)
        }
        for path in ["/1xx", "/trailers"] {
            let probe = try await Network().fetch(origin.url(path))
            #expect(probe.error?.kind == .url(.badServerResponse))
        }
    }

    @LoopActor
    @Test func `conflicting lengths are an error (X-9)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/two", .conflictingLengths(2, 4))
        for (path, value) in [("/list", "2, 4"), ("/sign", "+2"), ("/word", "two")] {
            origin.on(path) {
                try $0.send("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nbody")
            }
        }
        for path in ["/two", "/list", "/sign", "/word"] {
            let probe = try await Network().fetch(origin.url(path))
            #expect(probe.error?.kind == .url(.badServerResponse), "\(path)")
            #expect(probe.body.isEmpty)
        }
    }
}
