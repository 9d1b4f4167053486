/// A block of addresses that share their first bits, written `10.0.0.0/8` (RFC 4632 §3.1, RFC 4291
/// §2.3).
public struct AddressBlock: Hashable, Sendable, CustomStringConvertible {
    /// The block's lowest address.
    public let first: IPAddress
    /// How many leading bits are fixed: 0…32 or 0…128.
    public let prefixLength: Int

    /// The block that an address lies in; bits after the prefix are cleared.
    ///
    /// Nil where the length is not one of the family's.
    public init?(containing address: IPAddress, prefixLength: Int) {
        guard (0...address.bitCount).contains(prefixLength) else { return nil }
        self.init(address, prefixLength)
    }

    /// A block that the source code names.
    init(_ address: IPAddress, _ prefixLength: Int) {
        self.prefixLength = prefixLength
        switch address {
        // A shift by the whole width gives zero, so that /0 needs no case of its own.
        case .v4(let number): self.first = .v4(number & (UInt32.max << (32 - prefixLength)))
        case .v6(let number): self.first = .v6(number & (UInt128.max << (128 - prefixLength)))
        }
    }

    /// The block's highest address.
    public var last: IPAddress {
        switch first {
        case .v4(let number): .v4(number | ~(UInt32.max << (32 - prefixLength)))
        case .v6(let number): .v6(number | ~(UInt128.max << (128 - prefixLength)))
        }
    }

    /// Whether the address lies in the block; never for an address of the other family.
    public func contains(_ address: IPAddress) -> Bool {
        switch (first, last, address) {
        case (.v4(let low), .v4(let high), .v4(let number)): low <= number && number <= high
        case (.v6(let low), .v6(let high), .v6(let number)): low <= number && number <= high
        default: false
        }
    }

    /// Address and length, such as `2001:db8::/32`.
    public var description: String { "\(first)/\(prefixLength)" }
}
