import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

private typealias Coding = UncompressedCoding

/// What is decoded on its way to the observer (S-76), and that it is whole or an error.
@Suite struct CodedContents {
    private let origin: ScriptedOrigin

    init() throws {
        TestLoop.start()
        origin = try ScriptedOrigin()
    }

    private func serve(
        _ bytes: [UInt8], _ coding: String, status: Int = 200, _ headers: HeaderLines = [:]
    ) {
        let headers = headers.appending(["Content-Encoding": coding])
        origin.on("/") { try $0.answer(status, headers, bytes) }
    }

    @LoopActor
    @Test(arguments: Coding.allCases)
    func `a coded body is decoded where that is asked (S-76)`(
        coding: UncompressedCoding
    ) async throws {
        let plain = Pattern.bytes(count: 100_000)
        let coded = coding.encode(plain)
        serve(coded, coding.rawValue)
        let network = Network()
        let accepts: HeaderList = ["Accept-Encoding": "gzip, deflate, br, zstd"]
        let decoded = try await network.fetch(origin.url(), headers: accepts, decodes: true)
        #expect(decoded.error == nil)
        #expect(decoded.body == plain)
        #expect(decoded.ends[0].lengthVerified)
        #expect(decoded.head?.headers.first("Content-Encoding") == coding.rawValue)
        #expect(decoded.ends[0].metrics.countOfResponseBodyBytesReceived == Int64(coded.count))
        let untouched = try await network.fetch(origin.url(), headers: accepts)
        #expect(untouched.body == coded)
        #expect(
            origin.requests[0].headers.values(of: "Accept-Encoding") == ["gzip, deflate, br, zstd"])
    }

    enum Framing: CaseIterable, Sendable {
        case length, chunks, close
    }

    @LoopActor
    @Test(arguments: Coding.allCases, Framing.allCases)
    func `a coded body that breaks off is -1015, however it is framed (R-3)`(
        coding: UncompressedCoding, framing: Framing
    ) async throws {
        let plain = Pattern.bytes(count: 200_000)
        let coded = coding.encode(plain)
        origin.on("/") { exchange in
            let headers: HeaderLines = ["Content-Encoding": coding.rawValue]
            let half = coded.prefix(coded.count / 2)
            switch framing {
            case .length: try exchange.answer(200, headers, Array(half))
            case .chunks:
                try exchange.head(200, headers.appending(["Transfer-Encoding": "chunked"]))
                try exchange.chunk(half)
                try exchange.endChunks()
            case .close:
                try exchange.head(200, headers)
                try exchange.body(half)
            }
        }
        let probe = try await Network().fetch(origin.url(), decodes: true)
        #expect(probe.error?.kind == .url(.cannotDecodeRawData))
        #expect(
            probe.error?.message == "The \(coding.rawValue) content breaks off before its end.")
        #expect(probe.error?.failingURL == origin.url())
        #expect(probe.body.count < plain.count && plain.starts(with: probe.body))
    }

    @LoopActor
    @Test(arguments: Coding.allCases)
    func `a connection that is lost in a coded body stays -1005`(
        coding: UncompressedCoding
    ) async throws {
        let coded = coding.encode(Pattern.bytes(count: 100_000))
        origin.on("/") { exchange in
            try exchange.head(
                200, ["Content-Encoding": coding.rawValue, "Content-Length": "\(coded.count)"])
            try exchange.body(coded.prefix(50_000))
        }
        let probe = try await Network().fetch(origin.url(), decodes: true)
        #expect(probe.error?.kind == .url(.networkConnectionLost))
    }

    @LoopActor
    @Test func `what is damaged, or goes on behind its end, is -1015 and says which`() async throws
    {
        var wrongSum = Coding.gzip.encode(Pattern.bytes(count: 70_000))
        wrongSum[wrongSum.count - 5] ^= 1
        let rows: [(String, [UInt8], String)] = [
            ("gzip", Array("this is not gzip at all".utf8), "is damaged"),
            ("gzip", wrongSum, "does not agree with its checksum"),
            ("gzip", Coding.gzip.encode([1, 2]) + Array("extra".utf8), "bytes behind the end"),
            ("deflate", Coding.deflate.encode([1, 2]) + [0], "bytes behind the end"),
            ("br", Coding.br.encode([1, 2]) + [0], "bytes behind the end"),
            ("zstd", Coding.zstd.encode([1, 2]) + [0], "bytes behind the end"),
            ("zstd", Array("this is not zstd at all".utf8), "is damaged"),
        ]
        let network = Network()
        for (coding, bytes, words) in rows {
            serve(bytes, coding)
            let probe = try await network.fetch(origin.url(), decodes: true)
            #expect(probe.error?.kind == .url(.cannotDecodeRawData), "\(words)")
            #expect(probe.error?.message.contains(words) == true, "\(probe.error as Any)")
        }
    }

    @LoopActor
    @Test func `members of gzip that follow each other are one content (RFC 1952 2.2)`()
        async throws
    {
        let plain = Pattern.bytes(count: 90_000)
        serve(
            Coding.gzip.encode(plain) + Coding.gzip.encode([]) + Coding.gzip.encode(plain), "gzip")
        let probe = try await Network().fetch(origin.url(), decodes: true)
        #expect(probe.error == nil && probe.body == plain + plain)
    }

    @LoopActor
    @Test func `codings on top of each other are taken off in turn`() async throws {
        let plain = Pattern.bytes(count: 90_000)
        serve(Coding.br.encode(Coding.gzip.encode(Coding.zstd.encode(plain))), "zstd, x-gzip, br")
        let probe = try await Network().fetch(origin.url(), decodes: true)
        #expect(probe.error == nil && probe.body == plain)
    }

    @LoopActor
    @Test(arguments: ["rot13", "utf-8", "aws-chunked", "compress", "gzip, rot13", "rot13, gzip"])
    func `an unknown coding leaves the content as it is (S-76)`(coding: String) async throws {
        serve(Array("uryyb".utf8), coding)
        let probe = try await Network().fetch(origin.url(), decodes: true)
        #expect(probe.error == nil && probe.text == "uryyb" && probe.ends[0].lengthVerified)
    }

    @LoopActor
    @Test func `a part of a coded content is left as it is (RFC 9110 14.2)`() async throws {
        let part = Array(Coding.gzip.encode(Pattern.bytes(count: 1000))[100..<200])
        serve(part, "gzip", status: 206, ["Content-Range": "bytes 100-199/1023"])
        let probe = try await Network().fetch(
            origin.url(), headers: ["Range": "bytes=100-199"], decodes: true)
        #expect(probe.error == nil && probe.body == part)
    }

    @LoopActor
    @Test(arguments: Coding.allCases, [("GET", 200), ("HEAD", 200), ("GET", 204), ("GET", 304)])
    func `no body is a whole one in any coding`(
        coding: UncompressedCoding, row: (method: String, status: Int)
    ) async throws {
        let headers: HeaderLines = ["Content-Encoding": coding.rawValue]
        origin.on("/") { try $0.answer(row.status, headers, row.method == "HEAD" ? "long" : "") }
        origin.on("/chunks") { exchange in
            try exchange.head(200, headers.appending(["Transfer-Encoding": "chunked"]))
            try exchange.endChunks()
        }
        for path in row == ("GET", 200) ? ["/", "/chunks"] : ["/"] {
            let probe = try await Network().fetch(
                origin.url(path), method: row.method, decodes: true)
            #expect(probe.error == nil && probe.body.isEmpty, "\(path)")
            #expect(probe.head?.status == row.status)
        }
    }

    @LoopActor
    @Test(arguments: ["gzip, chunked", "deflate", "chunked, chunked", "gzip"])
    func `a transfer coding that was not asked for is refused (RFC 9112 7.4)`(
        codings: String
    ) async throws {
        let half = Coding.gzip.encode(Pattern.bytes(count: 1000)).prefix(500)
        origin.on("/") { exchange in
            try exchange.head(200, ["Transfer-Encoding": codings])
            try exchange.chunk(half)
            try exchange.endChunks()
            exchange.close()
        }
        for decodes in [true, false] {
            let probe = try await Network().fetch(origin.url(), decodes: decodes)
            #expect(probe.error?.kind == .url(.badServerResponse), "\(probe.error as Any)")
            #expect(probe.offeredHeads.isEmpty)
        }
    }

    // MARK: Verdicts

    @LoopActor
    @Test func `the decoder's verdict waits for an observer that has paused (S-70)`() async throws {
        let coded = Coding.zstd.encode(Pattern.bytes(count: 1000))
        serve(coded + coded.prefix(500), "zstd")
        var offers = 0
        let probe = try Network().start(origin.url(), decodes: true) { probe in
            probe.onBody = { bytes in
                offers += 1
                return offers < 3 ? .take(offers * 10) : .proceed
            }
        }
        for round in 1...2 {
            try await eventually { offers == round }
            try await origin.waitUntilIdle()
            #expect(probe.ends.isEmpty)
            #expect(probe.bodyByteCount == round * (round + 1) * 5)
            probe.attempt?.resume()
        }
        try await probe.end()
        #expect(probe.error?.kind == .url(.cannotDecodeRawData))
        #expect(probe.body.prefix(1000) == Pattern.bytes(count: 1000)[...])
    }

    @LoopActor
    @Test func `every coded byte is a sign of life (S-16)`() async throws {
        let gates = [Gate(), Gate()]
        origin.on("/") { exchange in
            try exchange.head(200, ["Content-Encoding": "zstd", "Content-Length": "10"])
            // A frame that is skipped: nothing can be delivered.
            try exchange.body([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0])
            for gate in gates {
                try exchange.stall(until: gate)
                try exchange.body([0])
            }
        }
        let probe = try Network().start(origin.url(), decodes: true)
        try await eventually { !probe.offeredHeads.isEmpty }
        for gate in gates {
            var moves = probe.moves
            var quietLooks = 0
            try await eventually("what was sent to be heard of") {
                quietLooks = probe.moves == moves ? quietLooks + 1 : 0
                moves = probe.moves
                return quietLooks == 10
            }
            gate.open()
            try await eventually { probe.moves > moves }
        }
        try await probe.end()
        #expect(probe.error == nil && probe.body.isEmpty)
    }

    @LoopActor
    @Test(arguments: [true, false])
    func `a paused bomb waits, and stops the origin (R-9, X-9)`(mayPause: Bool) async throws {
        let origin = try ScriptedOrigin(sendBuffer: 65_536)
        origin.on("/", .gzipBomb(8 << 30))
        let probe = try Network().start(origin.url(), decodes: true, mayPause: mayPause) { probe in
            probe.keepsBody = false
            probe.onBody = { _ in probe.bodyByteCount < 1 << 20 ? .proceed : .take(1000) }
        }
        try await eventually { probe.bodyByteCount >= 1 << 20 }
        var last: UInt64 = 0
        var quietLooks = 0
        try await eventually("the origin to stop") {
            quietLooks = origin.bytesSent == last ? quietLooks + 1 : 0
            last = origin.bytesSent
            return quietLooks == 10
        }
        #expect(origin.bytesSent < 16 << 20)
        #expect(probe.bodyByteCount < 2 << 20 && probe.ends.isEmpty)
        #expect(probe.attempt?.cancel().status == 200)
    }

    @LoopActor
    @Test func `a gzip bomb is counted as it is decoded and stopped (X-9)`() async throws {
        origin.on("/", .gzipBomb(1 << 30))
        let probe = try await Network().fetch(origin.url(), decodes: true) { probe in
            probe.keepsBody = false
            probe.onBody = { _ in probe.bodyByteCount > 10_000_000 ? .stop : .proceed }
        }
        #expect(probe.error == nil)
        #expect(probe.bodyByteCount < 12_000_000)
        #expect(probe.ends.first?.lengthVerified == false)
    }

    @LoopActor
    @Test(arguments: [1, 2])
    func `others have their turns while a bomb is decoded (X-9)`(layers: Int) async throws {
        if layers == 1 {
            origin.on("/bomb", .gzipBomb(4 << 30))
        } else {
            // Members without a byte, for ever: much to do, and nothing to deliver.
            let empty = Coding.gzip.encode([])
            let nothing = Coding.gzip.encode(Array(repeatElement(empty, count: 100_000).joined()))
            origin.on("/bomb") { exchange in
                try exchange.head(
                    200, ["Content-Encoding": "gzip, gzip", "Transfer-Encoding": "chunked"])
                while true { try exchange.chunk(nothing) }
            }
        }
        origin.on("/small", .fixed(200, [:], "small"))
        let network = Network()
        let bomb = try network.start(origin.url("/bomb"), decodes: true) { $0.keepsBody = false }
        try await eventually { bomb.moves > 10 }
        for _ in 1...20 {
            let small = try await network.fetch(origin.url("/small"))
            #expect(small.text == "small")
        }
        #expect(bomb.ends.isEmpty)
        _ = bomb.attempt?.cancel()
    }
}
