import Engine
import Sealing
import Testing

@Suite struct DataKeyTests {
    private static let context = SealContext(tenant: World.alice, owner: 7, field: "request")

    @Test func `hexadecimal digits of either case are the key's bytes in their order`() throws {
        let bytes = (0..<32).map { UInt8($0 * 8) }
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let key = try #require(DataKey(bytes: bytes))
        #expect(DataKey(hexadecimal: digits) == key)
        #expect(DataKey(hexadecimal: digits.uppercased()) == key)
        let reversed = try #require(DataKey(hexadecimal: String(digits.reversed())))
        #expect(reversed != key)
        let sealed = try AESGCMSealer(key: key).seal([1, 2, 3], for: Self.context)
        #expect(throws: SealError.notAuthentic) {
            try AESGCMSealer(key: reversed).open(sealed, for: Self.context)
        }
    }

    @Test(arguments: [
        "", String(repeating: "0", count: 63), String(repeating: "0", count: 65),
        String(repeating: "g", count: 64), String(repeating: "0", count: 63) + "\n",
        "0x" + String(repeating: "0", count: 62), "+" + String(repeating: "0", count: 63),
        String(repeating: "٣", count: 64), String(repeating: "٣", count: 32),
    ])
    func `anything but 64 hexadecimal digits is no key`(text: String) {
        #expect(DataKey(hexadecimal: text) == nil)
    }

    @Test func `a key shows nothing of itself (security §5)`() throws {
        let key = try #require(DataKey(bytes: [UInt8](repeating: 173, count: 32)))
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(!text.contains("173"), "\(text)")
            #expect(!text.lowercased().contains("ad"), "\(text)")
        }
    }

    @Test func `two new keys differ`() {
        #expect(DataKey() != DataKey())
    }
}
