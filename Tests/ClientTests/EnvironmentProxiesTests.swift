import JSON
import Testing

@testable import Client

/// The proxies of the environment, for a gateway that is private to the user.
struct EnvironmentProxiesTests {
    private func dictionary(_ environment: [String: String]) throws -> String? {
        guard let proxies = try EnvironmentProxies(environment) else { return nil }
        var json = JSONWriter()
        json.object { proxies.write(to: &$0) }
        return String(decoding: json.finish(), as: UTF8.self)
            .replacing(#"{"connectionProxyDictionary":{"#, with: "").replacing("}}", with: "")
    }

    private static func kind(_ name: String, _ host: String, _ port: Int) -> String {
        #""\#(name)Enable":true,"\#(name)Proxy":"\#(host)","\#(name)Port":\#(port)"#
    }

    @Test(
        arguments: [
            (["http_proxy": "http://p:3128/"], [("HTTP", "p", 3128)]),
            (["http_proxy": "p"], [("HTTP", "p", 1080)]),
            (["HTTPS_PROXY": "http://[::1]:80"], [("HTTPS", "::1", 80)]),
            (
                ["ALL_PROXY": "p:1", "https_proxy": "q:2"],
                [("HTTP", "p", 1), ("HTTPS", "q", 2)]
            ),
            (["all_proxy": "SOCKS5://s:9"], [("SOCKS", "s", 9)]),
        ] as [([String: String], [(String, String, Int)])])
    func `they are read as curl reads them`(
        _ environment: [String: String], _ expected: [(String, String, Int)]
    ) throws {
        let version = expected[0].0 == "SOCKS" ? #","SOCKSVersion":"5""# : ""
        #expect(
            try dictionary(environment)
                == expected.map { Self.kind($0, $1, $2) }.joined(separator: ",") + version)
    }

    @Test(arguments: [[:], ["http_proxy": " "], ["HTTP_PROXY": "p:1"], ["no_proxy": "*"]])
    func `without one, and for a CGI program's client, there is none`(
        _ environment: [String: String]
    ) throws {
        #expect(try EnvironmentProxies(environment) == nil)
    }

    @Test func `a name in no_proxy stands for all below it, and blocks for addresses`() throws {
        let environment = [
            "all_proxy": "p:1", "no_proxy": "localhost, .a.org,10.0.0.0/8,[::1],b.org:80,*",
        ]
        let proxies = try #require(try EnvironmentProxies(environment))
        #expect(
            proxies.exceptions == [
                "localhost", "*.localhost", "a.org", "*.a.org", "10.0.0.0/8", "::1", "*",
            ])
    }

    @Test func `what nobody can read in no_proxy stops nothing`() throws {
        let long = String(repeating: "a", count: 254)
        let entries = [
            "192.168.0.0/255.255.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "a/b", "/8",
            "2001:db8::/129", "fe80::1%eth0", "x:y:z", "1.2.3.4.5/8", "*/8", "ex\u{e4}mple", long,
            "10.0.0.0/\u{662}", "10.0.0.0/8", "169.254/16", "2001:db8::/32", "1.2.3.4", "a.org",
        ]
        let environment = ["all_proxy": "p:1", "no_proxy": entries.joined(separator: ",")]
        let proxies = try #require(try EnvironmentProxies(environment))
        #expect(
            proxies.exceptions == [
                "10.0.0.0/8", "169.254/16", "2001:db8::/32", "1.2.3.4", "a.org", "*.a.org",
            ])
        #expect(proxies.place(for: "http://169.254.7.7/") == nil)
    }

    @Test(arguments: ["https://p:1", "ftp://p", "socks4a://p"])
    func `one that cannot be used is named without its password`(_ text: String) {
        let withLogin = text.replacing("://", with: "://me:secret@")
        #expect {
            try EnvironmentProxies(["https_proxy": withLogin])
        } throws: { error in
            "\(error)".hasPrefix("https_proxy: ") && !"\(error)".contains("secret")
        }
    }

    @Test(arguments: [
        ("http://a.example/", "p:1"), ("HTTPS://a.example/", "q:2"), ("http://b.example:8/", nil),
        ("http://x.b.example/", nil), ("http://xb.example/", "p:1"), ("http://10.1.2.3/", nil),
        ("http://11.1.2.3/", "p:1"), ("https://[2001:db8::5]/", nil),
        ("https://[2001:db9::5]/", "q:2"), ("http://192.0.2.1/", nil),
    ])
    func `they tell which one a URL goes through`(_ url: String, _ proxy: String?) throws {
        let environment = [
            "http_proxy": "http://p:1", "https_proxy": "http://q:2",
            "no_proxy": "b.example, 10.0.0.0/8,2001:db8::/32,192.0.2.1",
        ]
        let proxies = try #require(try EnvironmentProxies(environment))
        #expect(proxies.place(for: url)?.text == proxy)
    }

    @Test func `they give way to what was typed, and their user is the proxy's`() throws {
        let proxies = try #require(
            try EnvironmentProxies(["http_proxy": "http://me:a%40b@p:1"]))
        var settings = DelegateSettings()
        settings.take(proxies, variables: [:], hasPrompt: false)
        #expect(settings.proxyUser == Login(user: "me", password: "a@b"))
        let body = settings.sessionJSON(description: "x", decisionTimeout: 60)
        let json = try JSONValue(parsing: body)
        #expect(
            json["configuration"]?["connectionProxyDictionary"]?["HTTPProxy"]?.string == "p")
        #expect(settings.isAnything)

        var typed = DelegateSettings()
        typed.proxy = WebPlace(host: "q", port: 2)
        typed.take(proxies, variables: [:], hasPrompt: false)
        #expect(typed.environmentProxies == nil && typed.proxyUser == nil)
        var named = DelegateSettings()
        named.session = "ses_1"
        named.take(proxies, variables: [:], hasPrompt: false)
        #expect(named.environmentProxies == nil)
    }
}
