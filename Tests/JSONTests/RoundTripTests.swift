import TestSupport
import JSON
import Testing

struct RoundTripTests {
    /// A tree of at most `depth` levels, with names and strings of all kinds of characters.
    static func tree(_ depth: Int, _ generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: depth > 0 ? 0...7 : 0...4, using: &generator) {
        case 0: return .null
        case 1: return .bool(.random(using: &generator))
        case 2: return .number(number(&generator))
        case 3, 4: return .string(string(&generator))
        case 5:
            return .array(
                (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                    tree(depth - 1, &generator)
                })
        default:
            var names: Set<[UInt8]> = []
            var members: [JSONValue.Member] = []
            for _ in 0..<Int.random(in: 0...(depth > 4 ? 60 : 6), using: &generator) {
                let name = string(&generator)
                guard names.insert(Array(name.utf8)).inserted else { continue }
                members.append(.init(name: name, value: tree(depth - 1, &generator)))
            }
            return .object(members)
        }
    }

    static func number(_ generator: inout SeededGenerator) -> String {
        if Bool.random(using: &generator) {
            return String(
                Int64(truncatingIfNeeded: generator.next())
                    >> Int64.random(in: 0...63, using: &generator))
        }
        let double = Double(bitPattern: generator.next())
        return double.isFinite ? written { $0.double(double) } : "0"
    }

    static func string(_ generator: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...20, using: &generator) {
            let highest: UInt32 = [0x20, 0x7F, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF][
                Int.random(in: 0...5, using: &generator)]
            if let scalar = Unicode.Scalar(UInt32.random(in: 0...highest, using: &generator)) {
                text.append(scalar)
            }
        }
        return String(text)
    }

    /// Equality by code points, unlike that of `String`.
    static func isSame(_ one: JSONValue, _ other: JSONValue) -> Bool {
        switch (one, other) {
        case (.string(let one), .string(let other)): return one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)): return one.elementsEqual(other, by: isSame)
        case (.object(let one), .object(let other)):
            return one.elementsEqual(other) {
                $0.name.utf8.elementsEqual($1.name.utf8) && isSame($0.value, $1.value)
            }
        default: return one == other
        }
    }

    @Test(arguments: 0..<20)
    func `what is written is read back the same, on one line`(seed: UInt64) throws {
        var generator = SeededGenerator(seed)
        for _ in 0..<30 {
            let tree = RoundTripTests.tree(6, &generator)
            var json = JSONWriter()
            json.value(tree)
            let bytes = json.finish()
            #expect(bytes.allSatisfy { $0 >= 0x20 })
            #expect(RoundTripTests.isSame(try parse(bytes).get(), tree))
            let raw = try JSONReader.read(bytes) { reader throws(JSONError) in
                try reader.rawValue()
            }
            #expect(raw == bytes)
        }
    }

    @Test(arguments: 0..<20)
    func `damaged text is read or refused the same, read or skipped, and stops nothing`(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(1000 + seed)
        var json = JSONWriter()
        json.array { json in
            for _ in 0..<3 { json.value(RoundTripTests.tree(4, &generator)) }
        }
        let bytes = json.finish()
        let marks = Array("{}[]\",:\\u0eE-+.9dD8 \n\u{0}".utf8) + [0x80, 0xC3, 0xED, 0xF4, 0xFF]
        for _ in 0..<1000 {
            var damaged = bytes
            for _ in 0...Int.random(in: 0...3, using: &generator) {
                let place = Int.random(in: 0..<damaged.count, using: &generator)
                let byte = marks[Int.random(in: 0..<marks.count, using: &generator)]
                switch Int.random(in: 0...2, using: &generator) {
                case 0: damaged[place] = byte
                case 1: damaged.insert(byte, at: place)
                default: if damaged.count > 1 { damaged.remove(at: place) }
                }
            }
            let read = parse(damaged)
            var refusal: JSONError?
            do throws(JSONError) { try JSONReader.skipAll(damaged) } catch { refusal = error }
            switch read {
            case .success(let value):
                #expect(refusal == nil)
                var json = JSONWriter()
                json.value(value)
                #expect(RoundTripTests.isSame(try parse(json.finish()).get(), value))
            case .failure(let error):
                #expect(refusal == error)
                #expect(error.kind == .malformed)
                #expect((0...damaged.count).contains(error.offset))
            }
        }
    }

    @Test
    func `a random double is read back bit by bit`() throws {
        var generator = SeededGenerator(3)
        for _ in 0..<10_000 {
            let number = Double(bitPattern: generator.next())
            guard number.isFinite else { continue }
            let read = try JSONReader.read(utf8(written { $0.double(number) })) {
                reader throws(JSONError) in try reader.double()
            }
            #expect(read.bitPattern == number.bitPattern)
        }
    }
}
