internal import Syntax

/// An address of the internet protocol, version 4 or 6.
public enum IPAddress: Hashable, Sendable {
    /// The four bytes as a number: 127.0.0.1 is `0x7f00_0001`.
    case v4(UInt32)
    /// The sixteen bytes as a number: ::1 is 1.
    case v6(UInt128)

    /// Reads the bytes of a socket address, in network order.
    ///
    /// Nil for any count but 4 and 16.
    public init?(networkBytes bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16: self = .v6(bytes.reduce(0) { $0 << 8 | UInt128($1) })
        default: return nil
        }
    }

    /// The bytes of a socket address, in network order: 4 or 16.
    public var networkBytes: [UInt8] {
        switch self {
        case .v4(let number): withUnsafeBytes(of: number.bigEndian, Array.init)
        case .v6(let number): withUnsafeBytes(of: number.bigEndian, Array.init)
        }
    }

    /// How many bits the address has: 32 or 128.
    public var bitCount: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }
}

extension IPAddress: LosslessStringConvertible {
    /// Reads the one strict form of each family.
    ///
    /// Version 4: four decimal numbers without leading zeros (RFC 3986 §3.2.2, `IPv4address`).
    /// Version 6: RFC 4291 §2.2, also with the last 32 bits in dotted form. Brackets and zones are
    /// refused.
    public init?(_ text: String) {
        if let number = Self.dotted(text[...]) {
            self = .v4(number)
        } else if let number = Self.colons(text) {
            self = .v6(number)
        } else {
            return nil
        }
    }

    /// Reads any spelling of a version 4 address that resolvers take: one to four numbers, each
    /// decimal, octal (`0`) or hexadecimal (`0x`), the last filling the bytes that remain.
    ///
    /// The way of `inet_aton(3)` and of the WHATWG URL standard's IPv4 parser, used to judge such a
    /// host before it gets to a resolver.
    public init?(anySpelling text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 4 else { return nil }
        let numbers = parts.compactMap(Self.number)
        guard numbers.count == parts.count, let last = numbers.last else { return nil }
        let leading = numbers.dropLast()
        let freeBits = UInt64(32 - 8 * leading.count)
        guard leading.allSatisfy({ $0 <= 255 }), last < 1 << freeBits else { return nil }
        let high = leading.reduce(0) { $0 << 8 | $1 } << freeBits
        self = .v4(UInt32(truncatingIfNeeded: high | last))
    }

    /// The canonical text: dotted decimal, or RFC 5952 with the mapped block's last 32 bits dotted
    /// (§5).
    public var description: String {
        switch self {
        case .v4(let number): Self.dottedText(number)
        case .v6(let number) where number >> 32 == 0xffff:
            "::ffff:" + Self.dottedText(UInt32(truncatingIfNeeded: number))
        case .v6(let number): Self.colonText(number)
        }
    }

    private static func dotted(_ text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var number: UInt32 = 0
        for part in parts {
            guard FieldSyntax.isDigits(part),
                part.utf8.count == 1 || part.utf8.first != UInt8(ascii: "0"),
                let byte = UInt8(part)
            else { return nil }
            number = number << 8 | UInt32(byte)
        }
        return number
    }

    private static func colons(_ text: String) -> UInt128? {
        var halves: [[UInt16]] = []
        for half in text.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false) {
            guard let groups = groups(half, mayEndDotted: half.endIndex == text.endIndex) else {
                return nil
            }
            halves.append(groups)
        }
        let written = halves.reduce(0) { $0 + $1.count }
        // "::" stands for at least one group (RFC 5952 §4.2.2 writes it for two; RFC 4291 reads
        // one).
        guard halves.count == 2 ? written <= 7 : written == 8 else { return nil }
        if halves.count == 2 {
            halves.insert(Array(repeating: 0, count: 8 - written), at: 1)
        }
        return halves.joined().reduce(0) { $0 << 16 | UInt128($1) }
    }

    private static func groups(_ text: Substring, mayEndDotted: Bool) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var groups: [UInt16] = []
        for (index, part) in parts.enumerated() {
            if mayEndDotted, index == parts.count - 1, let number = dotted(part) {
                groups.append(UInt16(number >> 16))
                groups.append(UInt16(truncatingIfNeeded: number))
            } else {
                guard (1...4).contains(part.utf8.count),
                    part.utf8.allSatisfy({ Hex.value(of: $0) != nil }),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                groups.append(group)
            }
        }
        return groups
    }

    private static func number(_ text: Substring) -> UInt64? {
        var digits = text
        var radix = 10
        if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
            digits = digits.dropFirst(2)
            radix = 16
            if digits.isEmpty { return 0 }
        } else if digits.count > 1, digits.hasPrefix("0") {
            radix = 8
        }
        guard digits.utf8.allSatisfy({ Hex.value(of: $0) != nil }) else { return nil }
        return UInt64(digits, radix: radix)
    }

    private static func dottedText(_ number: UInt32) -> String {
        "\(number >> 24).\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
    }

    /// RFC 5952 §4: lower case, no leading zeros, the first of the longest runs of two or more
    /// zeros as "::".
    private static func colonText(_ number: UInt128) -> String {
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: number >> UInt128(112 - 16 * $0)) }
        var gap = 0..<0
        var index = 0
        while index < 8 {
            let end = groups[index...].firstIndex { $0 != 0 } ?? 8
            if end - index >= 2, end - index > gap.count { gap = index..<end }
            index = max(end, index + 1)
        }
        let words = groups.map { String($0, radix: 16) }
        guard !gap.isEmpty else { return words.joined(separator: ":") }
        return words[..<gap.lowerBound].joined(separator: ":") + "::"
            + words[gap.upperBound...].joined(separator: ":")
    }
}
