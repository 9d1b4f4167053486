/// An opaque identifier as clients see it: a prefix and a 60-bit number in base 32.
///
/// Numbers grow with time (see `IdentifierSource` in Engine), so the order of identifiers is the
/// order of creation, and an index over them only ever grows at its end.
public protocol Identifier: RawRepresentable<Int64>, Hashable, Comparable, Sendable,
    LosslessStringConvertible
{
    /// What the text begins with, such as `tsk_`.
    static var prefix: String { get }
    /// The identifier with this number.
    init(rawValue: Int64)
}

extension Identifier {
    /// `prefix` and twelve digits.
    public var description: String {
        String(unsafeUninitializedCapacity: Self.textLength) { write(to: $0) }
    }

    /// Bytes of every `description`, all of them ASCII.
    public static var textLength: Int { prefix.utf8.count + Base32.digitCount }

    /// Writes `description` into a buffer that has room for it.
    /// - Returns: how many bytes it has.
    public func write(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        // Read once: in generic code each is a call.
        var (prefix, number) = (Self.prefix, rawValue)
        let length = Self.textLength
        prefix.withUTF8 { _ = buffer.update(fromContentsOf: $0) }
        for place in 1...Base32.digitCount {
            buffer[length - place] = Base32.digits.utf8Start[Int(number & 31)]
            number >>= 5
        }
        return length
    }

    /// Reads what `description` writes, and nothing else.
    public init?(_ description: String) {
        self.init(bytes: Array(description.utf8)[...])
    }

    /// Reads the bytes of what `description` writes, and nothing else.
    public init?(bytes: ArraySlice<UInt8>) {
        var prefix = Self.prefix
        let isOfThisKind = prefix.withUTF8 {
            bytes.count == $0.count + Base32.digitCount && bytes.starts(with: $0)
        }
        guard isOfThisKind else { return nil }
        var number: Int64 = 0
        for byte in bytes.suffix(Base32.digitCount) {
            guard let value = Base32.value(byte) else { return nil }
            number = number << 5 | Int64(value)
        }
        self.init(rawValue: number)
    }

    /// Dictionaries go by this: the number's own, since by way of a `Hasher` it would take twice as
    /// long.
    public func _rawHashValue(seed: Int) -> Int { rawValue._rawHashValue(seed: seed) }

    /// Whether the left identifier was given before the right one.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Names a session: `ses_…`.
public struct SessionID: Identifier {
    /// `ses_`.
    public static var prefix: String { "ses_" }
    /// 0 up to 2⁶⁰, unique among all identifiers of a gateway.
    public let rawValue: Int64
    /// The session of this number, whether it exists or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Names a task: `tsk_…`.
public struct TaskID: Identifier {
    /// `tsk_`.
    public static var prefix: String { "tsk_" }
    /// 0 up to 2⁶⁰, unique among all identifiers of a gateway.
    public let rawValue: Int64
    /// The task of this number, whether it exists or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Names a staged file: `fil_…`.
public struct FileID: Identifier {
    /// `fil_`.
    public static var prefix: String { "fil_" }
    /// 0 up to 2⁶⁰, unique among all identifiers of a gateway.
    public let rawValue: Int64
    /// The file of this number, whether it exists or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Names a decision: `dec_…`.
public struct DecisionID: Identifier {
    /// `dec_`.
    public static var prefix: String { "dec_" }
    /// 0 up to 2⁶⁰, unique among all identifiers of a gateway.
    public let rawValue: Int64
    /// The decision of this number, whether it exists or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Names a stored response, and the file that its content may lie in: `cch_…`. Clients never see
/// it.
public struct CacheEntryID: Identifier {
    /// `cch_`.
    public static var prefix: String { "cch_" }
    /// 0 up to 2⁶⁰, unique among all identifiers of a gateway.
    public let rawValue: Int64
    /// The stored response of this number, whether it exists or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Names a webhook: `whk_…`.
public struct WebhookID: Identifier {
    /// `whk_`.
    public static var prefix: String { "whk_" }
    /// 0 up to 2⁶⁰, unique among all identifiers of a gateway.
    public let rawValue: Int64
    /// The webhook of this number, whether it exists or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Names a token: `tok_…`. Who knows it can revoke the token, and do nothing else with it.
public struct TokenID: Identifier {
    /// `tok_`.
    public static var prefix: String { "tok_" }
    /// 0 up to 2⁶⁰, unique among all identifiers of a gateway.
    public let rawValue: Int64
    /// The token of this number, whether it exists or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Names a tenant. Part of every key; never shown.
public struct TenantID: RawRepresentable, Hashable, Sendable {
    /// 1 and more; no tenant has the number 0.
    public let rawValue: Int64
    /// The tenant of this number, whether it exists or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// The tenant of the operator, whose token the first start makes.
    public static let operatorTenant = TenantID(rawValue: 1)

    /// As an identifier's.
    public func _rawHashValue(seed: Int) -> Int { rawValue._rawHashValue(seed: seed) }
}

/// Lower-case digits in the order of their values, so that text sorts as numbers do.
private enum Base32 {
    static let digitCount = 12

    static var digits: StaticString { "0123456789abcdefghijklmnopqrstuv" }

    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "v"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
