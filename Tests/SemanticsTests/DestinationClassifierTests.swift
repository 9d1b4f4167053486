import Testing

import Semantics

/// Every block of the two IANA registries: the address before it, its first, its last, and the one
/// after it.
struct DestinationClassifierTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let block: String
        let before: (String, DestinationClass)?
        let first: String
        let last: String
        let after: (String, DestinationClass)?
        let kind: DestinationClass

        init(
            _ block: String, _ kind: DestinationClass, _ first: String, _ last: String,
            before: (String, DestinationClass)? = nil, after: (String, DestinationClass)? = nil
        ) {
            self.block = block
            self.kind = kind
            self.first = first
            self.last = last
            self.before = before
            self.after = after
        }

        var testDescription: String { block }
    }

    static let version4 = [
        Row("0/8", .unspecified, "0.0.0.0", "0.255.255.255", after: ("1.0.0.0", .global)),
        Row(
            "10/8", .privateUse, "10.0.0.0", "10.255.255.255", before: ("9.255.255.255", .global),
            after: ("11.0.0.0", .global)),
        Row(
            "100.64/10", .privateUse, "100.64.0.0", "100.127.255.255",
            before: ("100.63.255.255", .global), after: ("100.128.0.0", .global)),
        Row(
            "127/8", .loopback, "127.0.0.0", "127.255.255.255",
            before: ("126.255.255.255", .global),
            after: ("128.0.0.0", .global)),
        Row(
            "168.63.129.16", .platform, "168.63.129.16", "168.63.129.16",
            before: ("168.63.129.15", .global), after: ("168.63.129.17", .global)),
        Row(
            "169.254/16", .linkLocal, "169.254.0.0", "169.254.255.255",
            before: ("169.253.255.255", .global), after: ("169.255.0.0", .global)),
        Row(
            "172.16/12", .privateUse, "172.16.0.0", "172.31.255.255",
            before: ("172.15.255.255", .global), after: ("172.32.0.0", .global)),
        Row(
            "192.0.0/24", .protocolUse, "192.0.0.0", "192.0.0.255",
            before: ("191.255.255.255", .global), after: ("192.0.1.0", .global)),
        Row(
            "192.0.2/24", .documentation, "192.0.2.0", "192.0.2.255",
            before: ("192.0.1.255", .global), after: ("192.0.3.0", .global)),
        Row(
            "192.88.99/24", .translated, "192.88.99.0", "192.88.99.255",
            before: ("192.88.98.255", .global), after: ("192.88.100.0", .global)),
        Row(
            "192.168/16", .privateUse, "192.168.0.0", "192.168.255.255",
            before: ("192.167.255.255", .global), after: ("192.169.0.0", .global)),
        Row(
            "198.18/15", .documentation, "198.18.0.0", "198.19.255.255",
            before: ("198.17.255.255", .global), after: ("198.20.0.0", .global)),
        Row(
            "198.51.100/24", .documentation, "198.51.100.0", "198.51.100.255",
            before: ("198.51.99.255", .global), after: ("198.51.101.0", .global)),
        Row(
            "203.0.113/24", .documentation, "203.0.113.0", "203.0.113.255",
            before: ("203.0.112.255", .global), after: ("203.0.114.0", .global)),
        Row(
            "224/4", .multicast, "224.0.0.0", "239.255.255.255",
            before: ("223.255.255.255", .global), after: ("240.0.0.0", .reserved)),
        Row(
            "240/4", .reserved, "240.0.0.0", "255.255.255.254",
            before: ("239.255.255.255", .multicast), after: ("255.255.255.255", .multicast)),
    ]

    static let version6 = [
        Row("::", .unspecified, "::", "::", after: ("::1", .loopback)),
        Row("::1", .loopback, "::1", "::1", after: ("::2", .translated)),
        Row(
            "::/96 compatible", .translated, "::2", "::ffff:ffff",
            after: ("::1:0:0", .reserved)),
        Row(
            "::ffff:0:0/96 mapped", .translated, "::ffff:0.0.0.0", "::ffff:255.255.255.255",
            before: ("::fffe:ffff:ffff", .reserved), after: ("::1:0:0:0", .reserved)),
        Row(
            "::ffff:0:0:0/96 translated", .translated, "::ffff:0:0:0", "::ffff:0:ffff:ffff",
            before: ("::fffe:ffff:ffff:ffff", .reserved), after: ("::ffff:1:0:0", .reserved)),
        Row(
            "64:ff9b::/96 NAT64", .translated, "64:ff9b::", "64:ff9b::ffff:ffff",
            before: ("64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", .reserved),
            after: ("64:ff9b::1:0:0", .reserved)),
        Row(
            "64:ff9b:1::/48 NAT64, local", .translated, "64:ff9b:1::",
            "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
            before: ("64:ff9b:0:ffff:ffff:ffff:ffff:ffff", .reserved),
            after: ("64:ff9b:2::", .reserved)),
        Row(
            "100::/64", .protocolUse, "100::", "100::ffff:ffff:ffff:ffff",
            before: ("ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .reserved),
            after: ("100:0:0:1::", .protocolUse)),
        Row(
            "100:0:0:1::/64", .protocolUse, "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff",
            after: ("100:0:0:2::", .reserved)),
        Row(
            "2000::/3, before its exceptions", .global, "2000::",
            "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            before: ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .reserved),
            after: ("2001::", .protocolUse)),
        Row(
            "2001::/23, with Teredo 2001::/32", .protocolUse, "2001::",
            "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
            before: ("2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .global),
            after: ("2001:200::", .global)),
        Row(
            "2001:db8::/32", .documentation, "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            before: ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", .global),
            after: ("2001:db9::", .global)),
        Row(
            "2002::/16 6to4", .translated, "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            before: ("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .global), after: ("2003::", .global)
        ),
        Row(
            "3fff::/20", .documentation, "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
            before: ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .global),
            after: ("3fff:1000::", .global)),
        Row(
            "2000::/3, its end", .global, "3fff:1000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            after: ("4000::", .reserved)),
        Row(
            "5f00::/16", .protocolUse, "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            before: ("5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .reserved),
            after: ("5f01::", .reserved)),
        Row(
            "fc00::/7", .privateUse, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            before: ("fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .reserved),
            after: ("fe00::", .reserved)),
        Row(
            "fe80::/10", .linkLocal, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            before: ("fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .reserved),
            after: ("fec0::", .privateUse)),
        Row(
            "fec0::/10", .privateUse, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            after: ("ff00::", .multicast)),
        Row("ff00::/8", .multicast, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ]

    @Test(arguments: version4 + version6)
    func `X-2: a block ends where the registry says`(row: Row) throws {
        let inside = [(row.first, row.kind), (row.last, row.kind)]
        for (text, kind) in inside + [row.before, row.after].compactMap({ $0 }) {
            let place = try address(text)
            #expect(DestinationClassifier.classify(place) == kind, "\(text)")
        }
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "93.184.216.34", "151.101.1.69", "2606:4700::1111", "2a00:1450::1",
        "2001:4860:4860::8888", "192.31.196.1", "192.52.193.1", "192.175.48.1", "2620:4f:8000::1",
    ])
    func `X-2: public servers are global`(text: String) throws {
        #expect(DestinationClassifier.classify(try address(text)) == .global)
    }

    @Test(arguments: [
        ("127.0.0.1", DestinationClass.loopback), ("169.254.169.254", .linkLocal),
        ("100.100.100.200", .privateUse), ("192.0.0.192", .protocolUse),
        ("fd00:ec2::254", .privateUse),
        ("168.63.129.16", .platform), ("::ffff:169.254.169.254", .translated),
        ("::ffff:8.8.8.8", .translated), ("::127.0.0.1", .translated),
        ("64:ff9b::7f00:1", .translated),
        ("64:ff9b::808:808", .translated), ("2002:7f00:1::", .translated),
        ("2002:808:808::1", .translated),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", .protocolUse), ("255.255.255.255", .multicast),
    ])
    func `X-2: metadata services and carried addresses are never global`(
        text: String, kind: DestinationClass
    ) throws {
        #expect(DestinationClassifier.classify(try address(text)) == kind)
    }
}
