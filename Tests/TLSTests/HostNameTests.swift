import TLS
import Testing

/// What a certificate can be for.
@Suite struct HostNameTests {
    @Test(arguments: [
        ("gateway", "gateway"), ("Gateway.LAN", "gateway.lan"), ("*.example.com", "*.example.com"),
        ("a-1.b_2.example", "a-1.b_2.example"),
        ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example"),
    ])
    func `A name is letters, digits and hyphens in labels`(text: String, shown: String) {
        let name = HostName(text)
        #expect(name?.text == shown)
        #expect(name?.isAddress == false)
    }

    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1"), ("::1", "::1"), ("2001:DB8:0:0::1", "2001:db8::1"),
    ])
    func `An address is an address, in one form`(text: String, shown: String) {
        let name = HostName(text)
        #expect(name?.text == shown)
        #expect(name?.isAddress == true)
    }

    @Test(arguments: [
        "", ".", "a..b", "-a", "a-", "*", "*.com", "a.*.com", "a b", "a,DNS:b", "a\nb", "1.2.3",
        "1.2.3.256", "münchen.example", "https://a", "a:8080", "[::1]",
        String(repeating: "a", count: 64), String(repeating: "a.", count: 127) + "a",
    ])
    func `Anything else is no name`(text: String) {
        #expect(HostName(text) == nil)
    }
}
