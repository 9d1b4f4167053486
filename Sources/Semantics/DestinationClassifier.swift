/// What kind of place an address names, seen from the public internet.
public enum DestinationClass: String, Hashable, Sendable {
    /// A unicast address that is routed globally.
    case global
    /// "This network" and the unspecified addresses: 0.0.0.0/8, ::.
    case unspecified
    /// Loopback: 127.0.0.0/8, ::1.
    case loopback
    /// Private networks: RFC 1918, unique local fc00::/7, shared address space 100.64.0.0/10,
    /// site-local.
    case privateUse
    /// One link only: 169.254.0.0/16 (with the clouds' metadata services), fe80::/10.
    case linkLocal
    /// Reserved for protocols: 192.0.0.0/24, 2001::/23 (with Teredo), 5f00::/16, discard-only.
    case protocolUse
    /// For documentation and benchmarks.
    case documentation
    /// Forms that carry another address: mapped, compatible, NAT64, 6to4 and its relays.
    case translated
    /// Multicast and broadcast.
    case multicast
    /// A cloud's control plane on a public address: 168.63.129.16.
    case platform
    /// Not handed out: 240.0.0.0/4, and all of version 6 outside of 2000::/3.
    case reserved
}

/// Tells the addresses that are routed globally from all others.
///
/// Follows the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890, as of 2025). It
/// is stricter where a place that is "globally reachable" by the registry answers from the network
/// that asks: 192.0.0.0/24 whole (with the anycast addresses of the local NAT), 2001::/23 whole,
/// and every form that carries another address, whatever it carries: such a form never is the only
/// way to a public server. Of version 6 all but 2000::/3 is refused.
public enum DestinationClassifier {
    /// The kind of place that an address names. Costs at most one pass over twenty blocks.
    public static func classify(_ address: IPAddress) -> DestinationClass {
        let (blocks, otherwise) =
            switch address {
            case .v4: (blocks4, DestinationClass.global)
            case .v6(let number): (blocks6, number >> 125 == 0b001 ? .global : .reserved)
            }
        return blocks.first { $0.block.contains(address) }?.kind ?? otherwise
    }

    /// A block and what it is for.
    struct Row: Sendable {
        let block: AddressBlock
        let kind: DestinationClass

        init(_ bytes: (UInt8, UInt8, UInt8, UInt8), _ length: Int, _ kind: DestinationClass) {
            let (a, b, c, d) = bytes
            let number = UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
            self.block = AddressBlock(.v4(number), length)
            self.kind = kind
        }

        init(_ leading: [UInt16], _ length: Int, _ kind: DestinationClass) {
            let number = leading.reduce(UInt128(0)) { $0 << 16 | UInt128($1) }
            self.block = AddressBlock(.v6(number << UInt128(128 - 16 * leading.count)), length)
            self.kind = kind
        }
    }

    /// <https://www.iana.org/assignments/iana-ipv4-special-registry>
    static let blocks4 = [
        Row((0, 0, 0, 0), 8, .unspecified),  // RFC 791 §3.2
        Row((10, 0, 0, 0), 8, .privateUse),  // RFC 1918
        Row((100, 64, 0, 0), 10, .privateUse),  // RFC 6598
        Row((127, 0, 0, 0), 8, .loopback),  // RFC 1122 §3.2.1.3
        Row((168, 63, 129, 16), 32, .platform),  // Azure's host services
        Row((169, 254, 0, 0), 16, .linkLocal),  // RFC 3927
        Row((172, 16, 0, 0), 12, .privateUse),  // RFC 1918
        Row((192, 0, 0, 0), 24, .protocolUse),  // RFC 6890 §2.1
        Row((192, 0, 2, 0), 24, .documentation),  // RFC 5737
        Row((192, 88, 99, 0), 24, .translated),  // RFC 7526: 6to4 relays, withdrawn
        Row((192, 168, 0, 0), 16, .privateUse),  // RFC 1918
        Row((198, 18, 0, 0), 15, .documentation),  // RFC 2544
        Row((198, 51, 100, 0), 24, .documentation),  // RFC 5737
        Row((203, 0, 113, 0), 24, .documentation),  // RFC 5737
        Row((224, 0, 0, 0), 4, .multicast),  // RFC 1112 §4
        Row((255, 255, 255, 255), 32, .multicast),  // RFC 919 §7; before the block that holds it
        Row((240, 0, 0, 0), 4, .reserved),  // RFC 1112 §4, class E
    ]

    /// <https://www.iana.org/assignments/iana-ipv6-special-registry>
    static let blocks6 = [
        Row([0, 0, 0, 0, 0, 0, 0, 0], 128, .unspecified),  // RFC 4291 §2.5.2
        Row([0, 0, 0, 0, 0, 0, 0, 1], 128, .loopback),  // RFC 4291 §2.5.3
        Row([0, 0, 0, 0, 0, 0], 96, .translated),  // RFC 4291 §2.5.5.1: IPv4-compatible
        Row([0, 0, 0, 0, 0, 0xffff], 96, .translated),  // RFC 4291 §2.5.5.2: IPv4-mapped
        Row([0, 0, 0, 0, 0xffff, 0], 96, .translated),  // RFC 2765 §2.1: IPv4-translated
        Row([0x64, 0xff9b, 0, 0, 0, 0], 96, .translated),  // RFC 6052: NAT64
        Row([0x64, 0xff9b, 1], 48, .translated),  // RFC 8215: NAT64, local use
        Row([0x100], 64, .protocolUse),  // RFC 6666: discard only
        Row([0x100, 0, 0, 1], 64, .protocolUse),  // RFC 9780: dummy prefix
        Row([0x2001], 23, .protocolUse),  // RFC 2928; Teredo, benchmarking, ORCHID within
        Row([0x2001, 0xdb8], 32, .documentation),  // RFC 3849
        Row([0x2002], 16, .translated),  // RFC 3056: 6to4
        Row([0x3fff], 20, .documentation),  // RFC 9637
        Row([0x5f00], 16, .protocolUse),  // RFC 9602: segment routing
        Row([0xfc00], 7, .privateUse),  // RFC 4193
        Row([0xfe80], 10, .linkLocal),  // RFC 4291 §2.5.6
        Row([0xfec0], 10, .privateUse),  // RFC 3879: site-local, withdrawn
        Row([0xff00], 8, .multicast),  // RFC 4291 §2.7
    ]
}
