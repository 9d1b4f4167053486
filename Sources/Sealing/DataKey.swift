internal import Crypto

/// The gateway's 256-bit key for what is sealed at rest. Never shown, never logged: its description
/// and its mirror tell nothing.
public struct DataKey: Equatable, Sendable {
    /// 32.
    public static let byteCount = 32

    let bytes: [UInt8]

    /// A key from its bytes; nil unless there are 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A key from 64 hexadecimal digits of either case, as `openssl rand -hex 32` prints them; nil
    /// for anything else.
    public init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 2 * Self.byteCount else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(of: digits[index]),
                let low = Self.value(of: digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    /// A new random key.
    public init() {
        bytes = SymmetricKey(size: .bits256).withUnsafeBytes(Array.init)
    }

    /// Reads the key from a file, or makes both when there is none.
    ///
    /// Nothing is ever sealed under a key that a power cut takes away: see `KeyFile.make(_:)`.
    /// Blocks.
    ///
    /// - Throws: `DataKeyError`, when the file can be read or written by others, has not 32 bytes,
    ///   or the system refuses.
    public static func loadOrCreate(at path: String) throws(DataKeyError) -> DataKey {
        let file = KeyFile(path: path)
        if let key = try file.load() { return key }
        let key = DataKey()
        if try file.make(key) { return key }
        guard let other = try file.load() else { throw .vanished(path: path) }
        return other
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension DataKey: CustomStringConvertible, CustomReflectable {
    /// The same for every key.
    public var description: String { "<key>" }

    /// Without children, so that `dump` shows no bytes.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
