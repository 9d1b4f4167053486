import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// What goes over the wire.
@Suite struct Requests {
    init() { TestLoop.start() }

    @LoopActor
    @Test func `the header is what was asked and no more (X-7)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/a/b", .fixed(200))
        let headers: HeaderList = [
            "X-One": "1", "x-ONE": "2", "Empty": "", "Semicolon;": "odd", "Text": "a: b; c=\"d\"",
            "Unicode": "café",
        ]
        try await Network().fetch(origin.url("/a/b?c=d&e=%20"), headers: headers)
        let request = origin.requests[0]
        #expect(request.method == "GET")
        #expect(request.target == "/a/b?c=d&e=%20")
        #expect(
            request.headers == [
                "Host": "127.0.0.1:\(origin.port)", "User-Agent": "ferry/test", "X-One": "1",
                "x-ONE": "2", "Empty": "", "Semicolon;": "odd", "Text": "a: b; c=\"d\"",
                "Unicode": "café",
            ])
    }

    @LoopActor
    @Test func `Accept, User-Agent and Content-Type are the request's own`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echo)
        let headers: HeaderList = [
            "accept": "text/*", "user-agent": "mine", "content-type": "text/plain",
        ]
        let network = Network()
        try await network.fetch(origin.url(), method: "POST", headers: headers, body: [1, 2])
        try await network.fetch(origin.url(), method: "POST", body: [1, 2])
        let own = origin.requests[0].headers
        #expect(own.values(of: "Accept") == ["text/*"])
        #expect(own.values(of: "User-Agent") == ["mine"])
        #expect(own.values(of: "Content-Type") == ["text/plain"])
        let none = origin.requests[1].headers
        #expect(none.values(of: "Accept").isEmpty && none.values(of: "Content-Type").isEmpty)
    }

    @LoopActor
    @Test(
        arguments: [
            ("GET", nil, nil), ("DELETE", nil, nil), ("OPTIONS", nil, nil), ("PROPFIND", nil, nil),
            ("POST", nil, "0"), ("PUT", nil, "0"), ("PATCH", nil, "0"), ("POST", [], "0"),
            ("DELETE", [], "0"),
            ("POST", [1, 2, 3], "3"), ("PUT", [1, 2, 3], "3"), ("PATCH", [0, 0], "2"),
            ("DELETE", [9], "1"), ("GET", [9], "1"), ("get", nil, nil),
        ] as [(String, [UInt8]?, String?)])
    func `every method goes as it is, with a length where it has one (RFC 9110 §8.6)`(
        method: String, body: [UInt8]?, length: String?
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echo)
        let probe = try await Network().fetch(origin.url(), method: method, body: body)
        #expect(probe.error == nil)
        #expect(probe.body == body ?? [])
        let request = origin.requests[0]
        #expect(request.method == method)
        #expect(request.headers["Content-Length"] == length)
        #expect(request.headers["Expect"] == nil && request.headers["Transfer-Encoding"] == nil)
        #expect(request.body == body ?? [])
    }

    @LoopActor
    @Test func `HEAD has no body, whatever is promised`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { try $0.head(200, ["Content-Length": "5"]) }
        let network = Network()
        let plain = try await network.fetch(origin.url(), method: "HEAD")
        #expect(plain.error == nil && plain.head?.headers.first("Content-Length") == "5")
        let withBody = try await network.fetch(origin.url(), method: "HEAD", body: [1, 2])
        #expect(withBody.error?.kind == .url(.dataLengthExceedsMaximum))
        #expect(origin.requests.map(\.method) == ["HEAD"])
    }

    @LoopActor
    @Test func `a long body is sent whole, and its way is told (S-42)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echo)
        let body = Pattern.bytes(count: 3_000_000)
        let probe = try await Network().fetch(origin.url(), method: "POST", body: body)
        #expect(probe.error == nil)
        #expect(probe.body == body)
        #expect(probe.sent.last == 3_000_000)
        #expect(probe.sent == probe.sent.sorted() && Set(probe.sent).count == probe.sent.count)
        #expect(origin.requests[0].headers["Expect"] == nil)
        #expect(origin.requests[0].bodyLength == 3_000_000)
        let metrics = probe.ends[0].metrics
        #expect(metrics.countOfRequestBodyBytesSent == 3_000_000)
        #expect(metrics.requestEnd ?? 0 >= metrics.requestStart ?? 1)
    }

    @LoopActor
    @Test(arguments: ["a\r\nEvil: 1", "a\nb", "a\rb", "a\u{0}b"])
    func `a line break reaches no wire (X-7)`(text: String) async throws {
        let decoy = try Decoy()
        let network = Network()
        let inValue = try await network.fetch(decoy.url(), headers: ["X": text])
        let inName = try await network.fetch(
            decoy.url(), headers: HeaderList([HeaderField(text, "v")]))
        let inMethod = try await network.fetch(decoy.url(), method: text)
        for probe in [inValue, inName, inMethod] { #expect(probe.error != nil) }
        #expect(decoy.acceptCount == 0)
    }

    @LoopActor
    @Test func `redirects are the engine's to follow (X-3)`() async throws {
        let decoy = try Decoy()
        let origin = try ScriptedOrigin()
        origin.on("/", .redirect(to: decoy.url("/there")))
        let probe = try await Network().fetch(origin.url())
        #expect(probe.head?.status == 302)
        #expect(probe.head?.headers.first("Location") == decoy.url("/there"))
        #expect(probe.text == "moved")
        #expect(decoy.acceptCount == 0)
    }
}
