import TestSupport
import Testing

/// What tasks do with the answers of good origins.
@Suite(.sharedGateway)
struct TransferTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/quick", .fixed(200, [:], "done"))
    }

    @Test func `session headers are sent unless the request has its own (S-20)`() async throws {
        let headers: TestJSON = ["X-One": "session", "User-Agent": "mirror/1", "X-Two": "2"]
        let session = try await client.createSession(
            "default", ["configuration": ["httpAdditionalHeaders": headers]])
        _ = try await session.run(
            "data", origin.url("/quick"),
            request: ["headers": ["x-one": "request", "X-Many": ["a", "b"]]])
        let sent = try #require(origin.requests.first).headers
        #expect(sent.values(of: "X-One") == ["request"])
        #expect(sent.values(of: "X-Two") == ["2"])
        #expect(sent.values(of: "User-Agent") == ["mirror/1"])
        #expect(sent.values(of: "X-Many") == ["a", "b"])
    }

    @Test(arguments: UncompressedCoding.allCases)
    func `data tasks deliver decoded bytes (S-76)`(coding: UncompressedCoding) async throws {
        let text = Array(String(repeating: "Ferry ", count: 30_000).utf8)
        origin.on("/coded", .coded(coding, text, ["Content-Type": "text/plain"]))
        let session = try await client.createSession()
        let task = try await session.run("data", origin.url("/coded"))
        #expect(origin.requests.first?.headers["Accept-Encoding"] == "gzip, deflate, br, zstd")
        #expect(try await client.content(task.id) == text)
        #expect(task["response"]["expectedContentLength"].int == -1)
        #expect(task["countOfBytesReceived"].int == text.count)
        let headers = task["response"]["headers"].array ?? []
        #expect(headers.contains(["Content-Encoding", .string(coding.rawValue)]))
    }

    @Test func `downloads ask for identity, and a client's own wish leaves the bytes (S-76)`()
        async throws
    {
        let text = Array("plain".utf8)
        let coded = UncompressedCoding.gzip.encode(text)
        origin.on("/coded", .coded(.gzip, text))
        let session = try await client.createSession()
        let download = try await session.run("download", origin.url("/coded"))
        #expect(try await client.content(download.id) == coded)
        let own = try await session.run(
            "data", origin.url("/coded"), request: ["headers": ["Accept-Encoding": "gzip"]])
        #expect(try await client.content(own.id) == coded)
        let asked = origin.requests.map { $0.headers["Accept-Encoding"] }
        #expect(asked == ["identity", "gzip"])
    }

    @Test func `1xx answers are told, and are not the response (S-48)`() async throws {
        origin.on("/early", .informational([(103, ["Link": "</a.css>"]), (102, [:])]))
        let session = try await client.createSession()
        let task = try await session.run("data", origin.url("/early"))
        #expect(task["response"]["status"].int == 200)
        let events = try await client.events("/v1/tasks/\(task.id)/events?replay=all").waitForEnd()
        let told = events.filter { $0.event == "task.didReceiveInformationalResponse" }
        #expect(told.map { $0.json["status"].int } == [103, 102])
        #expect(told.first?.json["headers"] == [["Link", "</a.css>"]])
        #expect(events.count { $0.event == "task.didReceiveResponse" } == 1)
    }

    @Test(arguments: [404, 500, 304, 300])
    func `a status is a response and no error (S-49)`(status: Int) async throws {
        let headers: HeaderLines = ["Location": "/elsewhere"]
        origin.on("/status", .fixed(status, headers, status == 304 ? "" : "words"))
        let task = try await client.createSession().run("download", origin.url("/status"))
        #expect(task["error"].isNull)
        #expect(task["response"]["status"].int == status)
        let content = try await client.content(task.id)
        #expect(String(decoding: content, as: UTF8.self) == (status == 304 ? "" : "words"))
        #expect(origin.requests.count == 1)
    }

    @Test func `redirects are followed, and told (S-47, S-69)`() async throws {
        let other = try ScriptedOrigin()
        origin.on("/start", .redirect(301, to: "/next"))
        origin.on("/next", .redirect(307, to: other.url("/end")))
        other.on("/end", .fixed(200, [:], "there"))
        let session = try await client.createSession()
        let task = try await session.run(
            "data", origin.url("/start"), ["body": ["text": "a"]],
            request: [
                "method": "POST",
                "headers": ["Authorization": "Basic eDp5", "X-Key": "k", "X-Kept": "1"],
                "sensitiveHeaders": ["X-Key"],
            ])
        #expect(task["error"].isNull)
        #expect(task["metrics"]["redirectCount"].int == 2)
        #expect(task["metrics"]["transactions"].array?.count == 3)
        #expect(task["originalRequest"]["url"].string == origin.url("/start"))
        #expect(task["currentRequest"]["url"].string == other.url("/end"))
        #expect(task["response"]["url"].string == other.url("/end"))
        // 301 turned POST into GET; the same origin got the secrets, the other one did not.
        #expect(origin.requests.map(\.method) == ["POST", "GET"])
        #expect(origin.requests.last?.headers["Authorization"] == "Basic eDp5")
        let last = try #require(other.requests.first)
        #expect(last.headers["Authorization"] == nil && last.headers["X-Key"] == nil)
        #expect(last.headers["X-Kept"] == "1" && last.headers["Content-Type"] == nil)
    }

    @Test(arguments: ["sha-256", "sha-512"])
    func `the expected digest is verified`(name: String) async throws {
        let bytes = Pattern.bytes(count: 100_000)
        origin.on("/file", .bytes(bytes))
        let digest = try await ReferenceDigest.of(bytes, .init(rawValue: name) ?? .sha256)
        let session = try await client.createSession()
        let right = try await session.run(
            "download", origin.url("/file"), ["expectedDigest": .string(digest)])
        #expect(right["error"].isNull && right["content"]["digest"].string == digest)
        let served = try await client.get("/v1/tasks/\(right.id)/content")
        #expect(served.headers["Repr-Digest"] == digest)
        let wrong = try await ReferenceDigest.of([1], .init(rawValue: name) ?? .sha256)
        let failed = try await session.run(
            "data", origin.url("/file"), ["expectedDigest": .string(wrong)])
        #expect(failed["error"]["domain"].string == "FerryErrorDomain")
        #expect(failed["error"]["name"].string == "digestMismatch")
        #expect(failed["content"].isNull)
    }

    @Test(arguments: ["default", "ephemeral"], [10, 200_000])
    func `computeDigest tells the digest of what came`(type: String, length: Int) async throws {
        origin.on("/file", .large(length))
        let session = try await client.createSession(type)
        let task = try await session.run("data", origin.url("/file"), ["computeDigest": true])
        let digest = try await ReferenceDigest.of(Pattern.bytes(count: length))
        #expect(task["content"]["digest"].string == digest)
        #expect(try await session.run("data", origin.url("/file"))["content"]["digest"].isNull)
    }

    @Test(arguments: [(true, 300_000), (false, -1)])
    func `the length of a content is told as soon as it is known`(
        isTold: Bool, length: Int
    ) async throws {
        origin.on("/half") { exchange in
            let framing: HeaderLines =
                isTold ? ["Content-Length": "300000"] : ["Transfer-Encoding": "chunked"]
            try exchange.head(200, framing)
            if isTold { try exchange.body(Pattern.bytes(count: 1000)) }
            try exchange.stall()
        }
        let session = try await client.createSession()
        let id = try await session.start("download", origin.url("/half"))
        try await eventually("the response") {
            try await !client.task(id)["response"].isNull
        }
        let task = try await client.task(id)
        #expect(task["content"]["length"].int == length)
        #expect(task["countOfBytesExpectedToReceive"].int == length)
    }

    @Test func `a body without a length is marked so (R-3)`() async throws {
        origin.on("/close", .closeDelimited(50_000))
        origin.on("/chunks", .chunked(50_000))
        let session = try await client.createSession()
        let closed = try await session.run("download", origin.url("/close"))
        #expect(closed["error"].isNull)
        #expect(closed["content"]["lengthVerified"].bool == false)
        let chunked = try await session.run("download", origin.url("/chunks"))
        #expect(chunked["content"]["lengthVerified"].bool == true)
        #expect(chunked["content"]["length"].int == 50_000)
    }

    @Test func `the TLS range is in force (S-22)`() async throws {
        let forge = try await CertificateForge()
        let secure = try await SecureOrigin(forge.leaf(), ["-tls1_2"])
        let newer = try await client.createSession(
            "default", ["configuration": ["tlsMinimumSupportedProtocolVersion": "1.3"]])
        let refused = try await newer.run("data", secure.url())
        #expect(refused.errorCode == -1200)
        #expect(refused["error"]["name"].string == "secureConnectionFailed")
        // Inside the range it is the certificate that is wrong: nobody here knows its authority.
        let wide = try await client.createSession()
        let untrusted = try await wide.run("data", secure.url())
        #expect(untrusted.errorCode == -1203 || untrusted.errorCode == -1202)
        #expect(untrusted["error"]["underlying"]["layer"].string == "tls")
    }
}
