internal import Syntax

/// Hosts that are not asked through a proxy: an entry of `ExceptionsList`, as CFNetwork reads it.
///
/// - A name is that host, in any case: `intranet`, `www.example.com`.
/// - `*` stands for any text: `*.local` is every name below `local`, and not `local` itself.
/// - An address, or a block such as `10.0.0.0/8` or, in short, `169.254/16`, is about URLs whose
///   host is an address: no name is looked up for it.
public struct ProxyException: Hashable, Sendable {
    /// As the client wrote it.
    public let pattern: String
    private let rule: Rule

    private enum Rule: Hashable, Sendable {
        case block(AddressBlock)
        /// In lower case.
        case name(WildcardPattern)
    }

    /// The most bytes of a pattern, and of a name (RFC 1035 §2.3.4): no pattern covers a longer
    /// one.
    public static let byteLimit = 255

    /// Reads a pattern.
    ///
    /// - Returns: nil for one that no host could match: empty, too long, or with a character that
    ///   no name has.
    public init?(_ pattern: String) {
        guard (1...Self.byteLimit).contains(pattern.utf8.count) else { return nil }
        self.pattern = pattern
        if let block = Self.block(pattern) {
            rule = .block(block)
            return
        }
        guard pattern.utf8.allSatisfy(Self.isPatternByte) else { return nil }
        rule = .name(WildcardPattern(pattern.asciiLowercased.droppingFinalDot))
    }

    /// A URL's host, made ready for any number of patterns.
    struct Host {
        fileprivate let name: [UInt8]
        fileprivate let address: IPAddress?

        init(_ url: WebURL) {
            name = Array(url.host.asciiLowercased.droppingFinalDot.utf8)
            address = IPAddress(url.host)
        }
    }

    /// Whether the URL's host is one of them.
    public func covers(_ url: WebURL) -> Bool { covers(Host(url)) }

    /// Whether the host is one of them. Takes time linear in the lengths of the pattern and of the
    /// host.
    func covers(_ host: Host) -> Bool {
        switch rule {
        case .block(let block): host.address.map(block.contains) ?? false
        case .name(let pattern):
            host.name.count <= Self.byteLimit && pattern.matches(host.name)
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
        Octets.isUnreserved(byte) && byte != UInt8(ascii: "~") || byte == UInt8(ascii: "*")
    }
}
