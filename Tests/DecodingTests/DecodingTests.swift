import Decoding
import Semantics
import TestSupport
import Testing

typealias Layer = ContentCoding.Layer

/// S-76, R-3: a coded content is whole, or an error.
struct DecodingTests {
    @Test(arguments: Sample.all.indices, [1, 2, 3, 7, 64, .max])
    func `a content is decoded in pieces of any size`(sample: Int, pieces: Int) throws {
        let (layer, coded) = Sample.all[sample]
        #expect(try decode(coded, layer, inPieces: pieces) == Sample.text)
    }

    @Test(arguments: Sample.all.indices, [1, .max])
    func `a content that breaks off anywhere is not whole`(sample: Int, pieces: Int) throws {
        let (layer, coded) = Sample.all[sample]
        for cut in 1..<coded.count {
            #expect(throws: DecodingFault.unfinished(layer), "\(cut)") {
                try decode(Array(coded[..<cut]), layer, inPieces: pieces)
            }
        }
    }

    @Test(arguments: Layer.allCases)
    func `no bytes at all are an empty content`(layer: Layer) throws {
        #expect(try decode([], layer) == [])
        #expect(try decode([], layer, .gzip, layer) == [])
    }

    @Test(arguments: UncompressedCoding.allCases, [0, 1, 65_535, 65_536, 200_000])
    func `a content of any length comes to its end`(
        coding: UncompressedCoding, count: Int
    ) throws {
        let layer = try #require(Layer(rawValue: coding.rawValue))
        let plain = Pattern.bytes(count: count)
        #expect(try decode(coding.encode(plain), layer) == plain)
        #expect(try decode(coding.encode(plain), layer, inPieces: 1000) == plain)
    }

    @Test(arguments: Sample.all.indices, [1, .max])
    func `bytes behind the end are no part of a content`(sample: Int, pieces: Int) throws {
        let (layer, coded) = Sample.all[sample]
        for rubbish: [UInt8] in [[0], Array("x".utf8), Array("extra and more".utf8), [0x1f, 0x2a]] {
            #expect(throws: DecodingFault.trailing(layer), "\(rubbish)") {
                try decode(coded + rubbish, layer, inPieces: pieces)
            }
        }
        let isOneOfMany = layer == .gzip || layer == .zstd
        guard !isOneOfMany else { return }
        #expect(throws: DecodingFault.trailing(layer)) {
            try decode(coded + coded, layer, inPieces: pieces)
        }
    }

    @Test(arguments: [1, 5, .max])
    func
        `several members of gzip, and several frames of zstd, are one content (RFC 1952, RFC 8878)`(
            pieces: Int
        ) throws
    {
        let empty = UncompressedCoding.gzip.encode([])
        let members = Sample.gzip + empty + Sample.gzip + empty
        #expect(try decode(members, .gzip, inPieces: pieces) == Sample.text + Sample.text)
        let skippable: [UInt8] = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]
        let frames = skippable + Sample.zstd + skippable + Sample.zstd + skippable
        #expect(try decode(frames, .zstd, inPieces: pieces) == Sample.text + Sample.text)
        #expect(try decode(skippable, .zstd, inPieces: pieces) == [])
        for (layer, coded) in [(Layer.gzip, members), (.zstd, frames)] {
            #expect(throws: DecodingFault.unfinished(layer)) {
                try decode(coded.dropLast(), layer, inPieces: pieces)
            }
        }
    }

    @Test(arguments: [
        // CRC32, ISIZE; Adler-32; the low bytes of XXH64.
        (Layer.gzip, Sample.gzip, 8), (.gzip, Sample.gzip, 1), (.deflate, Sample.zlib, 1),
        (.zstd, Sample.zstd, 1),
    ])
    func `a wrong checksum is found`(layer: Layer, coded: [UInt8], fromEnd: Int) {
        var coded = coded
        coded[coded.count - fromEnd] ^= 1
        #expect(throws: DecodingFault.wrongChecksum(layer)) { try decode(coded, layer) }
    }

    @Test(arguments: Sample.all.indices)
    func `no damaged byte gives another content`(sample: Int) {
        let (layer, coded) = Sample.all[sample]
        // Neither has a checksum: most of what is changed is another content.
        let isUnchecked = layer == .br || coded == Sample.raw
        for index in coded.indices {
            var damaged = coded
            damaged[index] ^= 0x10
            guard let decoded = try? decode(damaged, layer) else { continue }
            #expect(decoded == Sample.text || isUnchecked, "\(index)")
        }
    }

    @Test(arguments: [
        (Layer.gzip, "this is not gzip", "incorrect header check"),
        (.deflate, "\u{78}no zlib", "incorrect header check"),
        (.zstd, "this is not zstd", "it is no zstd"),
    ])
    func `what is something else is damaged, in the decoder's words`(
        layer: Layer, text: String, words: String
    ) {
        #expect(throws: DecodingFault.damaged(layer, words: words)) {
            try decode(Array(text.utf8), layer)
        }
    }

    @Test func `a preset dictionary is nothing that a receiver has`() {
        // FDICT and the dictionary's Adler-32 (RFC 1950 §2.2).
        #expect(throws: DecodingFault.damaged(.deflate, words: "it needs a dictionary")) {
            try decode([0x78, 0xbb, 1, 2, 3, 4, 3, 0], .deflate)
        }
    }

    @Test(
        arguments: [
            // A window descriptor of 8 MiB, of 16 MiB; a single segment of 16 MiB (RFC 8878
            // §3.1.1.1).
            ([0x00, 0x68], true), ([0x00, 0x70], false), ([0xa0, 0, 0, 0, 1], false),
        ] as [([UInt8], Bool)])
    func `zstd needs no window of more than 8 MiB (RFC 9659)`(header: [UInt8], isTaken: Bool) {
        let block: [UInt8] = [0x01 | 3 << 3, 0, 0] + Array("abc".utf8)
        let frame = [0x28, 0xb5, 0x2f, 0xfd] + header + block
        #expect((try? decode(frame, .zstd)) == (isTaken ? Array("abc".utf8) : nil))
    }

    @Test(arguments: [1, 100, .max])
    func `a chain is taken off from its end on`(pieces: Int) throws {
        let all = UncompressedCoding.allCases
        let layers = all.compactMap { Layer(rawValue: $0.rawValue) } + [.gzip]
        let plain = Pattern.bytes(count: 70_000)
        let coded = (all + [.gzip]).reduce(plain) { $1.encode($0) }
        #expect(try decode(coded, layers, inPieces: pieces) == plain)
        #expect(throws: DecodingFault.unfinished(.gzip)) {
            try decode(Array(coded.dropLast()), layers, inPieces: pieces)
        }
        let inner = UncompressedCoding.gzip.encode(Array(Sample.zstd.dropLast()))
        #expect(throws: DecodingFault.unfinished(.zstd)) {
            try decode(inner, [.zstd, .gzip], inPieces: pieces)
        }
        #expect(throws: DecodingFault.trailing(.br)) {
            try decode(
                UncompressedCoding.gzip.encode(Sample.br + [1]), [.br, .gzip],
                inPieces: pieces)
        }
    }

    // MARK: Bombs

    @Test func `a bomb comes in pieces, each of which waits to be taken`() throws {
        let decoder = ContentDecoder([.br])
        var count = 0
        try Sample.brotliBomb.withUnsafeBytes { bytes in
            var input = bytes
            while try decoder.step(&input) {
                let piece = decoder.piece
                guard !piece.isEmpty else { continue }
                #expect(piece.count <= ContentDecoder.pieceLimit)
                #expect(try decoder.step(&input) && decoder.piece.count == piece.count)
                count += piece.count
                decoder.take(piece.count / 2)
                #expect(decoder.piece.count == piece.count - piece.count / 2)
                decoder.take(decoder.piece.count)
            }
        }
        try decoder.finish()
        #expect(count == 32 << 20)
        #expect(!decoder.hasMore)
    }

    @Test func `what a bomb in a bomb expands to is not made before somebody asks`() throws {
        // 2 GiB in 64 KiB: every step takes or makes a few KiB only, whatever may come of it.
        let block: [UInt8] = [0x02 | 0xf8, 0xff, 0x0f, 0]  // RLE, 128 KiB - 1
        let frame =
            [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68]
            + Array(repeatElement(block, count: 16_384).joined())
        let coded = UncompressedCoding.gzip.encode(frame)
        let decoder = ContentDecoder([.zstd, .gzip])
        var count = 0
        try coded.withUnsafeBytes { bytes in
            var input = bytes
            while count < 1 << 20, try decoder.step(&input) {
                count += decoder.piece.count
                decoder.take(decoder.piece.count)
            }
            #expect(bytes.count - input.count <= 32 << 10)
        }
        #expect(count <= 2 << 20)
    }

    @Test func `layers that give nothing still go step by step`() throws {
        // Members without a content, in a gzip: thousands of steps, and each gives the turn back.
        let empty = UncompressedCoding.gzip.encode([])
        let coded = UncompressedCoding.gzip.encode(
            Array(repeatElement(empty, count: 5000).joined()))
        let decoder = ContentDecoder([.gzip, .gzip])
        var steps = 0
        try coded.withUnsafeBytes { bytes in
            var input = bytes
            while try decoder.step(&input) { steps += 1 }
        }
        try decoder.finish()
        #expect(decoder.piece.isEmpty && steps >= 5000)
    }

    @Test(arguments: [
        (DecodingFault.unfinished(.gzip), "The gzip content breaks off before its end."),
        (.trailing(.br), "There are bytes behind the end of the br content."),
        (.wrongChecksum(.deflate), "The deflate content does not agree with its checksum."),
        (.damaged(.zstd, words: "why"), "The zstd content is damaged: why."),
    ])
    func `every fault has its sentence`(fault: DecodingFault, sentence: String) {
        #expect(fault.sentence == sentence)
    }
}

/// A decoder wants no more steps, and has not taken what it was given.
private struct InputIsLeft: Error {}

/// Decodes a content that comes in pieces, to its end.
private func decode(
    _ coded: [UInt8], _ layers: [Layer], inPieces size: Int
) throws -> [UInt8] {
    let decoder = ContentDecoder(layers)
    var plain: [UInt8] = []
    var start = 0
    while start < coded.count {
        let end = start + min(size, coded.count - start)
        try coded[start..<end].withUnsafeBytes { bytes in
            var input = bytes
            while try decoder.step(&input) {
                plain += decoder.piece
                decoder.take(decoder.piece.count)
            }
            guard input.isEmpty else { throw InputIsLeft() }
        }
        start = end
    }
    try decoder.finish()
    return plain
}

private func decode(
    _ coded: some Collection<UInt8>, _ layers: Layer..., inPieces size: Int = .max
) throws -> [UInt8] {
    try decode(Array(coded), layers, inPieces: size)
}
