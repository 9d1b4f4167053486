import TestSupport
import Testing

import Semantics

/// Random bodies, and bodies that are too much of something (S-46, X-9).
struct MixedReplaceLimitTests {
    private static let type = "multipart/x-mixed-replace; boundary=b"

    private func read(_ text: String) throws -> ReadBody {
        try ReadBody([Array(text.utf8)[...]], type: Self.type)
    }

    private func part(fields: Int, valueLength: Int) -> String {
        let value = String(repeating: "v", count: valueLength)
        return "--b\r\n" + String(repeating: "A: \(value)\r\n", count: fields) + "\r\nx\r\n--b--"
    }

    @Test func `X-9: a part has 64 header fields at most`() throws {
        let most = try read(part(fields: 64, valueLength: 1))
        #expect(most.ending == .delimiter)
        #expect(most.parts.first?.headers.count == 64)
        #expect(try read(part(fields: 65, valueLength: 1)).ending == .malformed)
    }

    @Test func `X-9: a part's head has 16 KiB at most`() throws {
        // "A: ", the value and two line ends.
        #expect(try read(part(fields: 1, valueLength: 16 * 1024 - 7)).ending == .delimiter)
        #expect(try read(part(fields: 1, valueLength: 16 * 1024 - 6)).ending == .malformed)
        let endless = "--b\r\n" + String(repeating: "x", count: 20_000)
        #expect(try read(endless).ending == .malformed)
        let folded = "--b\r\nA: 1\r\n" + String(repeating: " x\r\n", count: 5000) + "\r\n"
        #expect(try read(folded).ending == .malformed)
    }

    @Test(arguments: ["x", "--b\r"])
    func `X-9: a megabyte without a part is given up`(line: String) throws {
        let preamble = String(repeating: line, count: (1 << 20) / line.utf8.count - 1)
        #expect(try read("\(preamble)\n--b\r\n\r\none").ending == .malformed)
        let shorter = String(preamble.dropLast(100))
        #expect(try read("\(shorter)\n--b\r\n\r\none").parts.count == 1)
    }

    @Test(arguments: 0..<200)
    func `S-46: parts of any content come out as they went in, however they are cut`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed)
        // Mostly of what delimiters are made of. No content of these pieces has one that is whole.
        let pieces = ["\r", "\n", "-", "--", "\r\n", "\r\n--", "\r\n--b", "\n--b", "b", "x", " "]
        var body: [UInt8] = []
        var expected: [[UInt8]] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let isMeasured = Bool.random(using: &random)
            var content: [UInt8] = []
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                let piece = pieces[Int.random(in: 0..<pieces.count, using: &random)]
                content += Array(piece.utf8)
                // Behind a boundary of the content stands what no delimiter has there.
                if !isMeasured, piece.hasSuffix("b") { content += Array("x".utf8) }
            }
            if !isMeasured { content += Array("x".utf8) }
            let head = isMeasured ? "Content-Length: \(content.count)\r\n\r\n" : "A: 1\r\n\r\n"
            let lineEnd = Bool.random(using: &random) ? "\r\n" : "\n"
            body += Array("--b\(lineEnd)\(head)".utf8) + content + Array(lineEnd.utf8)
            expected.append(content)
        }
        body += Array("--b--".utf8)
        for _ in 0..<10 {
            let read = try ReadBody(cut(body, &random), type: Self.type)
            #expect(read.parts.map(\.content) == expected)
            #expect(read.ending == .delimiter)
            #expect(!read.isDisordered)
        }
    }

    private func cut(
        _ body: [UInt8], _ random: inout SeededGenerator
    ) -> [ArraySlice<UInt8>] {
        let longest = Int.random(in: 1...40, using: &random)
        var rest = body[...]
        var chunks: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            chunks.append(rest.prefix(Int.random(in: 0...longest, using: &random)))
            rest = rest.dropFirst(chunks.last?.count ?? 0)
        }
        return chunks
    }
}
