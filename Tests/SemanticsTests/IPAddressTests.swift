import Testing

@testable import Semantics

/// The address that a row of a table names.
func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text), "\(text)") }

struct IPAddressTests {
    @Test(
        arguments: [
            ("0.0.0.0", 0x0000_0000), ("127.0.0.1", 0x7f00_0001), ("255.255.255.255", 0xffff_ffff),
            ("10.20.30.40", 0x0a14_1e28),
        ] as [(String, UInt32)])
    func `dotted text and number say the same`(text: String, number: UInt32) {
        #expect(IPAddress(text) == .v4(number))
        #expect(IPAddress.v4(number).description == text)
    }

    @Test(arguments: [
        ("::", "::"), ("::1", "::1"), ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),  // the first of two runs (RFC 5952 §4.2.3)
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),  // one zero is not shortened (§4.2.2)
        ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),  // the longest run
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ("fe80::0001", "fe80::1"), ("::ffff:127.0.0.1", "::ffff:127.0.0.1"),
        ("::ffff:7f00:1", "::ffff:127.0.0.1"), ("64:ff9b::10.0.0.1", "64:ff9b::a00:1"),
        ("1:2:3:4:5:6:7.8.9.10", "1:2:3:4:5:6:708:90a"), ("1::", "1::"),
        ("0:0:1::", "0:0:1::"),
    ])
    func `version 6 is read in every form and written in one`(text: String, canonical: String)
        throws
    {
        let place = try address(text)
        #expect(place.description == canonical)
        #expect(IPAddress(canonical) == place)
    }

    @Test(arguments: [
        "", ".", "1.2.3", "1.2.3.4.", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "1.2.3.-4", "1.2.3.+4",
        " 1.2.3.4",
        "1.2.3.4 ", "0x7f.0.0.1", "2130706433", "１.2.3.4", "1..2.3", ":", ":::", "1",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9", "1::2::3", "::12345", "::g", "[::1]", "fe80::1%eth0", "fe80::1%25eth0",
        "1:2:3:4:5:6:7:1.2.3.4", "1.2.3.4::", "::1.2.3", "::1.2.3.4:5", "1:2:3:4:5:6:7:8::", "::+1",
        "::1\0",
    ])
    func `what is not strict is refused`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(
        arguments: [
            ("2130706433", 0x7f00_0001), ("0x7f000001", 0x7f00_0001), ("017700000001", 0x7f00_0001),
            ("127.1", 0x7f00_0001), ("127.0.1", 0x7f00_0001), ("0x7f.1", 0x7f00_0001),
            ("0177.0.0.01", 0x7f00_0001), ("0", 0), ("0x", 0), ("4294967295", 0xffff_ffff),
            ("1.16777215", 0x01ff_ffff), ("169.254.43518", 0xa9fe_a9fe),
        ] as [(String, UInt32)])
    func `X-1: every spelling that resolvers take is known`(text: String, number: UInt32) {
        #expect(IPAddress(anySpelling: text) == .v4(number))
    }

    @Test(arguments: [
        "", "a", "1.2.3.4.5", "4294967296", "1.16777216", "256.1", "1.2.3.256", "09", "0xg", "1..2",
        "-1",
        "99999999999999999999", "1.2.3.4.",
    ])
    func `X-1: what no resolver takes for an address is none`(text: String) {
        #expect(IPAddress(anySpelling: text) == nil)
    }

    @Test func `bytes of a socket address go both ways`() throws {
        #expect(IPAddress(networkBytes: [127, 0, 0, 1]) == .v4(0x7f00_0001))
        let bytes: [UInt8] = [0x20, 1, 0xd, 0xb8] + Array(repeating: 0, count: 11) + [1]
        #expect(IPAddress(networkBytes: bytes) == IPAddress("2001:db8::1"))
        #expect(try address("2001:db8::1").networkBytes == bytes)
        #expect(IPAddress.v4(0x7f00_0001).networkBytes == [127, 0, 0, 1])
        #expect(IPAddress(networkBytes: [1, 2, 3]) == nil)
    }

    @Test(arguments: [
        ("10.1.2.3", 8, "10.0.0.0", "10.255.255.255"), ("10.1.2.3", 32, "10.1.2.3", "10.1.2.3"),
        ("10.1.2.3", 0, "0.0.0.0", "255.255.255.255"), ("10.1.2.3", 31, "10.1.2.2", "10.1.2.3"),
        ("::1", 128, "::1", "::1"), ("::1", 0, "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001:db8:1::5", 33, "2001:db8::", "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff"),
    ])
    func `a block has a first and a last address`(
        text: String, length: Int, first: String, last: String
    ) throws {
        let block = try #require(
            AddressBlock(containing: address(text), prefixLength: length))
        #expect(block.first == IPAddress(first))
        #expect(block.last == IPAddress(last))
        #expect(block.contains(block.first))
        #expect(block.contains(block.last))
    }

    @Test func `a block has no address of the other family, and no impossible length`() throws {
        let all4 = try #require(AddressBlock(containing: .v4(0), prefixLength: 0))
        #expect(!all4.contains(.v6(0)))
        #expect(AddressBlock(containing: .v4(0), prefixLength: 33) == nil)
        #expect(AddressBlock(containing: .v6(0), prefixLength: 129) == nil)
        #expect(AddressBlock(containing: .v4(0), prefixLength: -1) == nil)
    }
}
