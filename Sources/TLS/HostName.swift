internal import Glibc

/// A name or an address that a certificate can be for.
public struct HostName: Sendable, Hashable {
    /// The name in lower case, or the address as inet_ntop(3) writes it.
    public let text: String
    /// Whether it is an address, of IPv4 or IPv6.
    public let isAddress: Bool

    /// Reads a DNS name, whose first label may be a star, or an address; nil for anything else.
    public init?(_ text: String) {
        if let address = HostName.canonicalAddress(text) {
            (self.text, isAddress) = (address, true)
        } else if HostName.isName(text) {
            (self.text, isAddress) = (text.lowercased(), false)
        } else {
            return nil
        }
    }

    /// An address of 4 or 16 bytes.
    init?(address bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var room = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard let text = inet_ntop(family, bytes, &room, socklen_t(room.count)) else { return nil }
        (self.text, isAddress) = (String(cString: text), true)
    }

    private static func canonicalAddress(_ text: String) -> String? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &bytes) == 1 { return HostName(address: bytes)?.text }
        }
        return nil
    }

    /// Labels of letters, digits and hyphens (RFC 1123 §2.1); the last one is no number.
    private static func isName(_ text: String) -> Bool {
        var labels = text.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count > 2, labels[0] == "*" { labels.removeFirst() }
        guard text.utf8.count <= 253, let last = labels.last, UInt64(last) == nil else {
            return false
        }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy {
                    switch $0 {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"),
                        UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                        UInt8(ascii: "_"):
                        true
                    default: false
                    }
                }
        }
    }
}
