/// A place that the operator opens beside the public internet: `--allow-destination CIDR[:port]`.
public struct AllowedDestination: Hashable, Sendable, CustomStringConvertible {
    /// The addresses that are open.
    public let block: AddressBlock
    /// The one port that is open, 1…65,535; nil for every port.
    public let port: Int?

    /// Whether an address and port are of this place.
    ///
    /// A version 4 block does not hold the forms of version 6 that carry its addresses.
    public func holds(_ address: IPAddress, port: Int) -> Bool {
        self.port.map { $0 == port } ?? true && block.contains(address)
    }

    /// Reads an operator's text: `10.0.0.0/8`, `127.0.0.1/32:9000`, `[::1]/128:8080`, `fd00::/8`, a
    /// bare address, a bare address with a port (`127.0.0.1:9000`, `[::1]:8080`).
    ///
    /// - Throws: what is wrong, in a sentence that names the text.
    public init(parsing text: String) throws(SyntaxError) {
        let parts = try Self.split(text)
        guard let address = IPAddress(String(parts.host)) else {
            throw .notAnAddress(String(parts.host))
        }
        self.block = try Self.block(of: address, prefix: parts.prefix)
        self.port = try parts.port.map { (text) throws(SyntaxError) in
            guard let port = FieldSyntax.decimal(text), (1...65_535).contains(port) else {
                throw .invalidPort(String(text))
            }
            return Int(port)
        }
    }

    /// The text that gives the same destination again.
    public var description: String {
        switch (block.first, port) {
        case (_, nil): "\(block)"
        case (.v4, let port?): "\(block):\(port)"
        case (.v6(_), let port?): "[\(block.first)]/\(block.prefixLength):\(port)"
        }
    }

    /// What is wrong with an operator's text.
    public enum SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Neither a dotted IPv4 nor an IPv6 address.
        case notAnAddress(String)
        /// `[` without `]`, or something between `]` and `/` or `:`.
        case unbalancedBrackets(String)
        /// Not a number of bits of the address's family.
        case invalidPrefixLength(String, maximum: Int)
        /// Bits are set after the prefix; the block that was probably meant.
        case addressInsideBlock(String, block: String)
        /// Not 1…65,535.
        case invalidPort(String)

        /// One sentence for the operator.
        public var description: String {
            switch self {
            case .notAnAddress(let text):
                "“\(text)” is not an IP address; names cannot be allowed, only addresses and blocks"
            case .unbalancedBrackets(let text):
                "“\(text)” is not of the form [IPv6 address]/bits:port"
            case .invalidPrefixLength(let text, let maximum):
                "“\(text)” is not a prefix length of 0 to \(maximum) bits"
            case .addressInsideBlock(let text, let block):
                "“\(text)” has bits set after its prefix; the block that holds it is \(block)"
            case .invalidPort(let text):
                "“\(text)” is not a port of 1 to 65535"
            }
        }
    }

    private typealias Parts = (host: Substring, prefix: Substring?, port: Substring?)

    private static func split(_ text: String) throws(SyntaxError) -> Parts {
        var rest = text[...]
        var parts: Parts = (rest, nil, nil)
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { throw .unbalancedBrackets(text) }
            parts.host = rest[..<end].dropFirst()
            rest = rest[end...].dropFirst()
            guard rest.isEmpty || rest.hasPrefix("/") || rest.hasPrefix(":"),
                parts.host.contains(":")
            else { throw .unbalancedBrackets(text) }
        } else {
            // One colon is a port's; an IPv6 address has two or more, and needs brackets or a slash
            // for a port.
            let colon =
                rest.utf8.count { $0 == UInt8(ascii: ":") } == 1 ? rest.firstIndex(of: ":") : nil
            let end = rest.firstIndex(of: "/") ?? colon ?? rest.endIndex
            parts.host = rest[..<end]
            rest = rest[end...]
        }
        if rest.hasPrefix("/") {
            rest = rest.dropFirst()
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            parts.prefix = rest[..<end]
            rest = rest[end...]
        }
        parts.port = rest.hasPrefix(":") ? rest.dropFirst() : nil
        return parts
    }

    private static func block(
        of address: IPAddress, prefix: Substring?
    ) throws(SyntaxError) -> AddressBlock {
        guard let prefix else { return AddressBlock(address, address.bitCount) }
        guard let length = FieldSyntax.decimal(prefix), length <= Int64(address.bitCount) else {
            throw .invalidPrefixLength(String(prefix), maximum: address.bitCount)
        }
        let block = AddressBlock(address, Int(length))
        guard block.first == address else {
            throw .addressInsideBlock("\(address)/\(prefix)", block: "\(block)")
        }
        return block
    }
}
