import TestSupport
import Testing

/// What a description may have at most: what is said in openapi.yaml is taken, one more is 422 with
/// its place.
@Suite(.sharedGateway)
struct BoundTests {
    struct Bound: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let method: String
        let path: String
        let code: String
        let pointer: String
        /// The most that is taken.
        let limit: Int
        /// The description with so much of it.
        let body: @Sendable (Int) -> TestJSON

        init(
            _ name: String, _ limit: Int, at pointer: String, code: String = "invalid-value",
            _ method: String = "POST", _ path: String = "/v1/sessions",
            _ body: @escaping @Sendable (Int) -> TestJSON
        ) {
            testDescription = name
            (self.limit, self.pointer, self.code) = (limit, pointer, code)
            (self.method, self.path, self.body) = (method, path, body)
        }
    }

    private static let url = "http://127.0.0.1:9/"

    private static func text(_ count: Int) -> TestJSON {
        .string(String(repeating: "x", count: count))
    }

    private static func names(_ count: Int) -> [String] { (1...count).map { "X-\($0)" } }

    /// A member of a session.
    private static func session(
        _ name: String, _ limit: Int, at pointer: String? = nil,
        _ value: @escaping @Sendable (Int) -> TestJSON
    ) -> Bound {
        Bound(name, limit, at: pointer ?? "/" + name) { [name: value($0)] }
    }

    /// A member of a session's configuration.
    private static func configuration(
        _ name: String, _ limit: Int, at pointer: String = "", code: String = "invalid-value",
        _ value: @escaping @Sendable (Int) -> TestJSON
    ) -> Bound {
        Bound(name, limit, at: "/configuration/\(name)\(pointer)", code: code) {
            ["configuration": [name: value($0)]]
        }
    }

    /// A member of a download.
    private static func task(
        _ name: String, _ limit: Int, at pointer: String? = nil,
        _ value: @escaping @Sendable (Int) -> TestJSON
    ) -> Bound {
        Bound(
            name, limit, at: pointer ?? "/" + name, "POST", "/v1/sessions/shared/tasks"
        ) { ["type": "download", "request": ["url": .string(url)], name: value($0)] }
    }

    /// Members of a request.
    private static func request(
        _ name: String, _ limit: Int, at pointer: String, code: String = "invalid-header",
        _ members: @escaping @Sendable (Int) -> [String: TestJSON]
    ) -> Bound {
        Bound(
            name, limit, at: "/request" + pointer, code: code, "POST", "/v1/sessions/shared/tasks"
        ) {
            let request = ["url": .string(url)].merging(members($0)) { $1 }
            return ["type": "data", "request": .object(request)]
        }
    }

    private static func headers(_ count: Int) -> TestJSON {
        .object(Dictionary(uniqueKeysWithValues: names(count).map { ($0, "v") }))
    }

    private static func credential(
        _ name: String, _ limit: Int, at pointer: String, code: String = "credential-not-usable",
        _ members: @escaping @Sendable (Int) -> [String: TestJSON]
    ) -> Bound {
        Bound(
            name, limit, at: pointer, code: code, "PUT", "/v1/sessions/shared/credentials"
        ) { count in
            let entry: [String: TestJSON] = [
                "protectionSpace": [
                    "host": "bound.test", "protocol": "https", "realm": "r",
                    "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
                ], "user": "u", "password": "p",
            ]
            return .object(entry.merging(members(count)) { $1 })
        }
    }

    private static func cookie(
        _ name: String, _ limit: Int, at pointer: String,
        _ members: @escaping @Sendable (Int) -> [String: TestJSON]
    ) -> Bound {
        Bound(
            name, limit, at: pointer, code: "invalid-cookie", "POST",
            "/v1/sessions/shared/cookies"
        ) { count in
            let cookie: [String: TestJSON] = ["name": "n", "value": "v", "domain": "bound.test"]
            return .object(cookie.merging(members(count)) { $1 })
        }
    }

    static let all: [Bound] = [
        session("description", 1024, text),
        Bound("handles", 8, at: "/delegate/handles/8") {
            ["delegate": ["handles": .array(Array(repeating: "redirect", count: $0))]]
        },
        configuration("httpAdditionalHeaders", 100, code: "invalid-header", headers),
        configuration("httpAdditionalHeaders", 32_767, code: "invalid-header") { ["X": text($0)] },
        configuration("connectionProxyDictionary", 1000, at: "/ExceptionsList/1000") {
            ["ExceptionsList": .array(Array(repeating: "*.local", count: $0))]
        },
        configuration("connectionProxyDictionary", 255, at: "/ExceptionsList/0") {
            ["ExceptionsList": [text($0)]]
        },
        configuration("connectionProxyDictionary", 253, at: "/HTTPProxy") { count in
            let labels = String(repeating: "abcdefg.", count: 31) + "abcdefg"
            return ["HTTPProxy": .string(labels.prefix(count - 1) + "x")]
        },
        configuration("httpMaximumConnectionsPerHost", 10_000) { .int($0) },
        task("description", 1024, text), task("fileName", 255, text),
        task("mirrors", 16, at: "/mirrors/16") {
            .array(Array(repeating: .string(url), count: $0))
        },
        task("mirrors", 16_384, at: "/mirrors/0") {
            [.string(url + String(repeating: "x", count: $0 - url.utf8.count))]
        },
        task("retry", 200, at: "/retry/statuses") {
            ["attempts": 1, "statuses": .array(Array(repeating: 503, count: $0))]
        },
        request("url", 16_384, at: "/url", code: "invalid-value") {
            ["url": .string(url + String(repeating: "x", count: $0 - url.utf8.count))]
        },
        request("method", 64, at: "/method") { ["method": text($0)] },
        request("headers", 100, at: "/headers") { ["headers": headers($0)] },
        request("values of one header", 100, at: "/headers") {
            ["headers": ["X": .array(Array(repeating: "v", count: $0))]]
        },
        request("bytes of headers", 32_767, at: "/headers") { ["headers": ["X": text($0)]] },
        request("sensitiveHeaders", 1, at: "/sensitiveHeaders/1") {
            ["headers": ["X-1": "v"], "sensitiveHeaders": .array(names($0).map { .string($0) })]
        },
        request("all of sensitiveHeaders", 100, at: "/sensitiveHeaders/100") {
            [
                "headers": headers(100),
                "sensitiveHeaders": .array(names($0).map { .string($0) }),
            ]
        },
        credential("user", 1024, at: "/user") { ["user": text($0)] },
        credential("password", 1024, at: "/password") { ["password": text($0)] },
        credential("realm", 1024, at: "/protectionSpace/realm", code: "invalid-value") {
            [
                "protectionSpace": [
                    "host": "bound.test", "protocol": "https", "realm": text($0),
                    "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
                ]
            ]
        },
        cookie("name and value of a cookie", 4095, at: "") { ["value": text($0)] },
        cookie("path of a cookie", 1024, at: "/path") {
            ["path": .string("/" + String(repeating: "x", count: $0 - 1))]
        },
    ]

    @Test(arguments: all)
    func `the most that is taken is taken, and one more is refused at its place`(
        bound: Bound
    ) async throws {
        let client = try RunningGateway.shared.client
        let headers: HeaderLines = ["Content-Type": "application/json"]
        let most = try await client.send(
            bound.method, bound.path, headers, body: bound.body(bound.limit).text())
        #expect((200...299).contains(most.status), "\(most.text.prefix(500))")
        let over = try await client.send(
            bound.method, bound.path, headers, body: bound.body(bound.limit + 1).text())
        #expect(over.status == 422 && over.problem == bound.code, "\(over.text.prefix(500))")
        #expect(over.json["pointer"].string == bound.pointer)
    }

    @Test func `an array of 500 is created, and one of 501 not`() async throws {
        let session = try await RunningGateway.shared.client.createSession("ephemeral")
        let spec = TestSession.spec("data", Self.url)
        let path = session.path + "/tasks"
        let over = try await session.client.post(
            path, .array(Array(repeating: spec, count: 501)))
        #expect(over.status == 422 && over.json["pointer"].string == "/500")
        #expect(try await session.now()["taskCounts"]["suspended"].int == 0)
        let most = try await session.client.post(
            path, .array(Array(repeating: spec, count: 500)))
        #expect(most.json["results"].array?.count == 500)
        #expect(try await session.now()["taskCounts"]["suspended"].int == 500)
    }

    /// One of 140,000 names made each look at the task cost seconds.
    @Test func `names of headers that there are not are no sensitive ones`() async throws {
        let client = try RunningGateway.shared.client
        let names = (0..<80_000).map { TestJSON.string("x-\($0)") }
        let answer = try await client.post(
            "/v1/sessions/shared/tasks",
            [
                "type": "data",
                "request": ["url": .string(Self.url), "sensitiveHeaders": .array(names)],
            ])
        #expect(answer.status == 422 && answer.problem == "invalid-header")
        #expect(answer.json["pointer"].string == "/request/sensitiveHeaders/100")
    }

    @Test func `what joins a request from its session can be marked in it (S-20)`() async throws {
        let session = try await RunningGateway.shared.client.createSession(
            "default", ["configuration": ["httpAdditionalHeaders": ["X-App": "secret"]]])
        let task = try await session.create(
            "data", Self.url, request: ["sensitiveHeaders": ["x-app", "Authorization"]])
        #expect(task["originalRequest"]["sensitiveHeaders"] == ["x-app", "Authorization"])
    }
}
