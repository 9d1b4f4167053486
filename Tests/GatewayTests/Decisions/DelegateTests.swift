import TestSupport
import Testing

/// What a session says of its delegate and its proxies, and how it is shown (S-5, S-23, S-63).
@Suite(.sharedGateway)
struct DelegateTests {
    private let client: TestClient

    init() throws {
        client = try RunningGateway.shared.client
    }

    @Test(
        arguments: [
            (["challenge"], ["challenge"]),
            (["sessionChallenge", "taskChallenge"], ["challenge"]),
            (["challenge", "taskChallenge"], ["challenge"]),
            (["taskChallenge"], ["taskChallenge"]),
            (["redirect", "sessionChallenge"], ["sessionChallenge", "redirect"]),
            (["bodyStream", "bodyStream"], ["bodyStream"]),
            (
                ["bodyStream", "delayedRequest", "cache", "response", "redirect", "challenge"],
                ["challenge", "redirect", "response", "cache", "delayedRequest", "bodyStream"]
            ), ([], []),
        ] as [([String], [String])])
    func `what a delegate handles is echoed, and makes an equal delegate (S-5)`(
        given: [String], shown: [String]
    ) async throws {
        let first = try await client.createSession(
            "ephemeral", ["delegate": ["handles": .array(given.map { .string($0) })]])
        #expect(first.json["delegate"]["handles"] == .array(shown.map { .string($0) }))
        let second = try await client.createSession(
            "ephemeral", ["delegate": first.json["delegate"]])
        #expect(second.json["delegate"] == first.json["delegate"])
    }

    @Test(
        arguments: [
            (
                ["HTTPEnable": true, "HTTPProxy": "Proxy.Example", "HTTPPort": 3128],
                ["HTTPEnable": true, "HTTPProxy": "proxy.example", "HTTPPort": 3128]
            ),
            (
                ["HTTPEnable": 1, "HTTPProxy": "a", "HTTPSEnable": 1, "HTTPSProxy": "b"],
                [
                    "HTTPEnable": true, "HTTPProxy": "a", "HTTPPort": 80, "HTTPSEnable": true,
                    "HTTPSProxy": "b", "HTTPSPort": 443,
                ]
            ),
            (
                ["HTTPSEnable": true, "HTTPSProxy": "::1", "HTTPSPort": 8080],
                ["HTTPSEnable": true, "HTTPSProxy": "::1", "HTTPSPort": 8080]
            ),
            (
                [
                    "HTTPEnable": false, "HTTPProxy": "unused", "HTTPSEnable": true,
                    "HTTPSProxy": "127.0.0.1",
                ], ["HTTPSEnable": true, "HTTPSProxy": "127.0.0.1", "HTTPSPort": 443]
            ),
            (
                ["SOCKSEnable": 1, "SOCKSProxy": "Socks.Example"],
                [
                    "SOCKSEnable": true, "SOCKSProxy": "socks.example", "SOCKSPort": 1080,
                    "SOCKSVersion": "5h",
                ]
            ),
            (
                [
                    "SOCKSEnable": true, "SOCKSProxy": "::1", "SOCKSPort": 9050,
                    "SOCKSVersion": "4",
                    "ExceptionsList": ["*.Local", "intranet", "10.0.0.0/8", "::1"],
                ],
                [
                    "SOCKSEnable": true, "SOCKSProxy": "::1", "SOCKSPort": 9050,
                    "SOCKSVersion": "4",
                    "ExceptionsList": ["*.Local", "intranet", "10.0.0.0/8", "::1"],
                ]
            ),
            (["ExceptionsList": ["*"], "SOCKSVersion": "5"], nil),
            (["HTTPEnable": 0, "HTTPProxy": "unused", "HTTPPort": 1], nil),
            (["HTTPProxy": "unused"], nil), ([:], nil), (nil, nil),
        ] as [(TestJSON, TestJSON)])
    func `proxies are echoed as they are in force, and make an equal session (S-5, S-23)`(
        given: TestJSON, shown: TestJSON
    ) async throws {
        let first = try await client.createSession(
            "ephemeral", ["configuration": ["connectionProxyDictionary": given]])
        let configuration = first.json["configuration"]
        #expect(configuration.object?["connectionProxyDictionary"] == shown)
        let second = try await client.createSession("ephemeral", ["configuration": configuration])
        #expect(second.json["configuration"] == configuration)
        #expect(
            first.json["noEffect"].array?.contains("connectionProxyDictionary") == false)
    }

    @Test(
        arguments: [
            (["HTTPEnable": true], "invalid-value", "HTTPProxy"),
            (["HTTPSEnable": 1, "HTTPProxy": "a"], "invalid-value", "HTTPSProxy"),
            (["HTTPEnable": 2], "invalid-value", "HTTPEnable"),
            (["HTTPEnable": "yes"], "invalid-value", "HTTPEnable"),
            (["HTTPPort": 0], "invalid-value", "HTTPPort"),
            (["HTTPSPort": 65_536], "invalid-value", "HTTPSPort"),
            (["HTTPProxy": nil], "invalid-value", "HTTPProxy"),
            (["SOCKSEnable": true], "invalid-value", "SOCKSProxy"),
            (["SOCKSPort": 0], "invalid-value", "SOCKSPort"),
            (["SOCKSVersion": "http"], "invalid-value", "SOCKSVersion"),
            (["SOCKSVersion": 5], "invalid-value", "SOCKSVersion"),
            (["ExceptionsList": "*.local"], "invalid-value", "ExceptionsList"),
            (["ExceptionsList": ["*.local", ""]], "invalid-value", "ExceptionsList/1"),
            (["ExceptionsList": ["a b"]], "invalid-value", "ExceptionsList/0"),
            (["ExceptionsList": ["10.0.0.0/33"]], "invalid-value", "ExceptionsList/0"),
            (
                ["ExceptionsList": .array(Array(repeating: "a", count: 1001))], "invalid-value",
                "ExceptionsList/1000"
            ),
            (["FTPEnable": true], "unknown-member", "FTPEnable"),
        ] as [(TestJSON, String, String)])
    func `proxies that cannot be are refused where they are wrong (S-23)`(
        given: TestJSON, code: String, member: String
    ) async throws {
        let answer = try await client.post(
            "/v1/sessions", ["configuration": ["connectionProxyDictionary": given]])
        #expect(answer.status == 422 && answer.problem == code)
        #expect(
            answer.json["pointer"].string == "/configuration/connectionProxyDictionary/\(member)")
    }

    @Test(
        arguments: [
            "", "a b", "a/b", "user@proxy", "proxy:3128", "http://proxy", "a?b", "a#b", "[::1]",
            "fe80::1%25lo", "%61", "a\\b", "a\r\nX: y", "a\u{0}", "::g",
            String(repeating: "a.", count: 127),
        ])
    func `a proxy is a host and nothing else (X-4)`(host: String) async throws {
        for enabled in [true, false] {
            let proxies: TestJSON = [
                "HTTPEnable": .bool(enabled), "HTTPProxy": .string(host), "HTTPPort": 80,
            ]
            let answer = try await client.post(
                "/v1/sessions", ["configuration": ["connectionProxyDictionary": proxies]])
            #expect(answer.status == 422 && answer.problem == "invalid-value")
            let pointer = "/configuration/connectionProxyDictionary/HTTPProxy"
            #expect(answer.json["pointer"].string == pointer)
        }
    }

    @Test func `a session links to its decisions`() async throws {
        let (session, _) = try await client.createAskingSession("redirect")
        let path = try #require(session.json["links"]["decisions"].string)
        #expect(try await client.get(path).json == ["decisions": []])
    }
}
