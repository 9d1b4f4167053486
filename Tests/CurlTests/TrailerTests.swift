import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Trailers (RFC 9112 §7.1.2) are dropped, whatever they look like.
@Suite struct Trailers {
    init() { TestLoop.start() }

    /// A chunked answer of 200,000 bytes, with these bytes where its trailers go.
    private static func answer(_ trailers: String) -> Behaviour {
        Behaviour { exchange in
            try exchange.head(200, ["Transfer-Encoding": "chunked", "Trailer": "X-Sum"])
            for offset in stride(from: 0, to: 200_000, by: 50_000) {
                try exchange.chunk(Pattern.bytes(from: offset, count: 50_000))
            }
            try exchange.wire.send("0\r\n\(trailers)\r\n")
        }
    }

    private static func many(_ count: Int, valueSize: Int = 1) -> String {
        let value = String(repeating: "v", count: valueSize)
        return (0..<count).map { "T\($0): \(value)\r\n" }.joined()
    }

    static let harmless = [
        "", "X-Sum: 1\r\n", "X-Sum: 1\r\nX-Sum: 2\r\n",
        // What they say of framing, connection and cookies comes too late.
        "Content-Length: 5\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n",
        "Location: http://elsewhere.test/\r\nContent-Encoding: gzip\r\nSet-Cookie: a=b\r\n",
        // Not another head, nor a 1xx.
        "HTTP/1.1 500 Oops: no\r\nX: y\r\n", "HTTP/1.1 103 Early: hints\r\nLink: </a>\r\n",
        "folded: one\r\n two\r\n", many(200), many(15, valueSize: 4000),
    ]

    @LoopActor
    @Test(arguments: harmless, [true, false])
    func `a trailer changes nothing, whether it comes at once or is held`(
        trailers: String, isHeld: Bool
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", Self.answer(trailers))
        let probe = try Network().start(origin.url(), decodes: true) { probe in
            var isFirst = true
            probe.onBody = { _ in
                // Paused in the last buffer, libcurl keeps the trailers behind it.
                guard isHeld, isFirst, probe.bodyByteCount > 180_000 else { return .proceed }
                isFirst = false
                LoopActor.post { probe.attempt?.resume() }
                return .pause
            }
        }
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.offeredHeads.count == 1 && probe.informationals.isEmpty)
        #expect(
            probe.head?.headers == ["Transfer-Encoding": "chunked", "Trailer": "X-Sum"])
        #expect(probe.body == Pattern.bytes(count: 200_000))
        #expect(probe.ends[0].lengthVerified && probe.ends[0].metrics.status == 200)
    }

    static let harmful: [(String, URLErrorCode)] = [
        // With the head's, more than 256 fields or 64 KiB.
        (many(255), .badServerResponse), (many(20_000), .badServerResponse),
        (many(17, valueSize: 4000), .badServerResponse),
        // One line beyond libcurl's own limit, 4 KiB.
        (many(1, valueSize: 5000), .networkConnectionLost),
        (many(1, valueSize: 1 << 20), .networkConnectionLost),
        ("no field\r\n", .badServerResponse), ("X: y\r\nno field\r\n", .badServerResponse),
    ]

    @LoopActor
    @Test(arguments: harmful, [true, false])
    func `what is too much, or no field, is an error (X-9)`(
        harmful: (trailers: String, code: URLErrorCode), isHeld: Bool
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", Self.answer(harmful.trailers))
        origin.on("/next", .fixed(200, [:], "next"))
        let network = Network()
        let probe = try network.start(origin.url()) { probe in
            var isFirst = true
            probe.onBody = { _ in
                guard isHeld, isFirst, probe.bodyByteCount > 180_000 else { return .proceed }
                isFirst = false
                LoopActor.post { probe.attempt?.resume() }
                return .pause
            }
        }
        try await probe.end()
        #expect(probe.error?.kind == .url(harmful.code))
        #expect(probe.offeredHeads.count == 1)
        #expect(Pattern.firstDifference(in: probe.body) == nil)
        // Nothing of it is taken for the next answer.
        let next = try await network.fetch(origin.url("/next"))
        #expect(next.text == "next" && next.head?.status == 200)
    }
}
