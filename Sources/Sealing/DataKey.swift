internal import Syntax

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
        guard let bytes = Hex.bytes(of: text), bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A key for another purpose, that tells nothing of this one: HMAC-SHA256 of the purpose.
    ///
    /// - Parameter purpose: what it is for; no two purposes have the same words.
    /// - Returns: 32 bytes.
    public func derived(for purpose: String) -> [UInt8] {
        SHADigests().authenticationCode(of: Array(purpose.utf8), key: bytes)
    }

    /// A new random key.
    public init() {
        var generator = SystemRandomNumberGenerator()
        bytes = (0..<Self.byteCount).map { _ in .random(in: .min ... .max, using: &generator) }
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
}

extension DataKey: CustomStringConvertible, CustomReflectable {
    /// The same for every key.
    public var description: String { "<key>" }

    /// Without children, so that `dump` shows no bytes.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
