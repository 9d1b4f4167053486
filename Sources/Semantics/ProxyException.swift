/// Hosts that are not asked through a proxy: an entry of `ExceptionsList`, as CFNetwork reads it.
///
/// - A name is that host, in any case: `intranet`, `www.example.com`.
/// - `*` stands for any text: `*.local` is every name below `local`, and not `local` itself.
/// - An address, or a block such as `10.0.0.0/8` or, in short, `169.254/16`, is about URLs whose host is an address: no
///   name is looked up for it.
public struct ProxyException: Hashable, Sendable {
    /// As the client wrote it.
    public let pattern: String
    private let rule: Rule

    private enum Rule: Hashable, Sendable {
        case block(AddressBlock)
        /// What stands between the asterisks, in lower case: one piece is the whole name.
        case name([String])
    }

    /// The most bytes of a pattern.
    public static let byteLimit = 255

    /// Reads a pattern.
    ///
    /// - Returns: nil for one that no host could match: empty, too long, or with a character that no name has.
    public init?(_ pattern: String) {
        guard (1...Self.byteLimit).contains(pattern.utf8.count) else { return nil }
        self.pattern = pattern
        if let block = Self.block(pattern) {
            rule = .block(block)
            return
        }
        guard pattern.utf8.allSatisfy(Self.isPatternByte) else { return nil }
        rule = .name(
            pattern.asciiLowercased.droppingFinalDot.split(
                separator: "*", omittingEmptySubsequences: false
            )
            .map(String.init))
    }

    /// Whether the URL's host is one of them.
    public func covers(_ url: WebURL) -> Bool {
        switch rule {
        case .block(let block): IPAddress(url.host).map(block.contains) ?? false
        case .name(let pieces): Self.matches(url.host.asciiLowercased.droppingFinalDot, pieces)
        }
    }

    private static func block(_ text: String) -> AddressBlock? {
        if let address = IPAddress(text) {
            return AddressBlock(containing: address, prefixLength: address.bitCount)
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, FieldSyntax.isDigits(parts[1]), let length = Int(parts[1]),
            let address = IPAddress(String(parts[0])) ?? beginning(parts[0])
        else { return nil }
        return AddressBlock(containing: address, prefixLength: length)
    }

    /// The first numbers of an address of version 4; the others are 0.
    private static func beginning(_ text: Substring) -> IPAddress? {
        let missing = 3 - text.utf8.count { $0 == UInt8(ascii: ".") }
        guard missing > 0 else { return nil }
        return IPAddress(text + String(repeating: ".0", count: missing))
    }

    private static func isPatternByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "_"), UInt8(ascii: "*"):
            true
        default: false
        }
    }

    /// The first piece at the start, the last one at the end, the others in between, each at its first place.
    private static func matches(_ name: String, _ pieces: [String]) -> Bool {
        guard let first = pieces.first, let last = pieces.last else { return false }
        if pieces.count == 1 { return name == first }
        guard name.utf8.count >= first.utf8.count + last.utf8.count, name.hasPrefix(first),
            name.hasSuffix(last)
        else { return false }
        var rest = name.dropFirst(first.count).dropLast(last.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let start = rest.firstIndex(of: piece) else { return false }
            rest = rest[start...].dropFirst(piece.count)
        }
        return true
    }
}

extension Substring {
    /// Where a text of ASCII occurs first.
    fileprivate func firstIndex(of text: String) -> Index? {
        indices.first { self[$0...].hasPrefix(text) }
    }
}
