import JSON
import TestSupport
import Testing

@testable import Client

/// What `ferry status` asks the gateway, and what it shows of the answers.
struct GatewayStatusTests {
    private static let gateway = #"{"version":"1.2.3","commit":"abc","sessions":{"active":2}}"#

    private static func json(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    /// The lines of quotas, for the answer of `GET /v1/usage` with these.
    private static func lines(_ quotas: String) throws -> [String] {
        let usage = try json(#"{"quotas":{\#(quotas)}}"#)
        let status = GatewayStatus(try json(gateway), usage: usage, of: "http://gw")
        let lines = status.lines
        guard let first = lines.firstIndex(where: { $0.hasPrefix("quotas") }) else { return [] }
        return Array(lines[first...])
    }

    @Test(arguments: [
        ("sessions", 1, 10, "1 of 10"),
        ("sessions", 89, 100, "89 of 100"),
        ("sessions", 90, 100, "90 of 100, 90 % used"),
        ("sessions", 8, 9, "8 of 9"),
        ("sessions", 17, 18, "17 of 18, 94 % used"),
        ("webhooks", 999_999, 1_000_000, "999999 of 1000000, 99 % used"),
        ("sessions", 10, 10, "10 of 10, at the limit"),
        ("sessions", 12, 10, "12 of 10, over the limit"),
        ("sessions", 0, 0, "0 of 0, at the limit"),
        ("storedBytes", 734_003_200, 1 << 40, "700 MiB of 1.00 TiB"),
        (
            "storedBytes", 999_999_999_999_999, 1_000_000_000_000_000,
            "909 TiB of 909 TiB, 99 % used"
        ),
        ("stagedBytes", 0, 1 << 30, "0 B of 1.00 GiB"),
        ("bytesPerSecond", 10 << 20, 20 << 20, "10.0 MiB/s of 20.0 MiB/s"),
    ])
    func `a quota says what is used, and plainly when it is nearly all`(
        _ name: String, _ used: Int, _ limit: Int, _ shown: String
    ) throws {
        let lines = try Self.lines(#""\#(name)":{"used":\#(used),"limit":\#(limit)}"#)
        #expect(lines == ["quotas         \(name)  \(shown)"])
    }

    @Test(arguments: [
        (4096, 495 << 10, "ok", "4.00 KiB, and 495 KiB of log"),
        (0, 0, "ok", "a database on a server"),
        (
            0, 0, "away",
            "a database on a server; the database cannot be reached, nothing can be noted"
        ),
    ])
    func `the database has a size, unless it is on a server`(
        _ bytes: Int, _ log: Int, _ state: String, _ shown: String
    ) throws {
        let gateway = try Self.json(
            #"{"store":{"state":"\#(state)","databaseBytes":\#(bytes),"logBytes":\#(log)}}"#)
        let lines = GatewayStatus(gateway, usage: nil, of: "http://gw").lines
        #expect(lines.contains { $0.hasPrefix("store ") && $0.hasSuffix("  \(shown)") })
    }

    @Test func `quotas that are not set are left out, and without any of them all is as ever`()
        throws
    {
        let lines = try Self.lines(
            """
            "sessions":{"used":4,"limit":1000},"outstandingTasks":{"used":3,"limit":null},\
            "webhooks":{"used":20,"limit":20}
            """)
        #expect(
            lines == [
                "quotas         sessions  4 of 1000",
                "               webhooks  20 of 20, at the limit",
            ])
        #expect(try Self.lines(#""sessions":{"used":4,"limit":null}"#) == [])
    }

    @Test func `names of a later gateway are shown as they are, and fit for a terminal (X-8)`()
        throws
    {
        let lines = try Self.lines(#""a\u001b[2Jb":{"used":1,"limit":2},"c":{"used":1},"d":7"#)
        #expect(lines == [#"quotas         a\u{1b}[2Jb  1 of 2"#])
    }

    // MARK: What is asked

    private let fake: FakeGateway

    init() throws { fake = try FakeGateway() }

    private func ask() async throws -> GatewayStatus {
        try await onThread { [fake] () throws(ClientError) in
            try GatewayStatus(from: fake.client())
        }
    }

    private func answer(_ path: String, _ status: Int, _ body: String) {
        fake.origin.on(path, .fixed(status, [:], body))
    }

    private static let usage = #"{"quotas":{"sessions":{"used":9,"limit":10}}}"#

    @Test func `the usage is a member of the gateway's JSON`() async throws {
        answer("/v1/gateway", 200, Self.gateway)
        answer("/v1/usage", 200, Self.usage)
        let status = try await ask()
        #expect(status.json["version"]?.string == "1.2.3")
        #expect(try status.json["usage"] == Self.json(Self.usage))
        #expect(status.lines.last?.hasSuffix("sessions  9 of 10, 90 % used") == true)
    }

    @Test func `who is no administrator is shown the quotas of the tenant`() async throws {
        answer("/v1/gateway", 403, #"{"code":"forbidden"}"#)
        answer("/v1/usage", 200, Self.usage)
        let status = try await ask()
        #expect(status.json.object?.map(\.name) == ["usage"])
        #expect(
            status.lines == [
                "gateway   http://127.0.0.1:\(fake.origin.port)",
                "quotas    sessions  9 of 10, 90 % used",
                "all else  takes a token with the scope admin",
            ])
        answer("/v1/usage", 200, #"{"quotas":{"sessions":{"used":9,"limit":null}}}"#)
        #expect(try await ask().lines.contains("quotas    none"))
    }

    @Test func `an administrator has the rest while the tenant sends too many requests`()
        async throws
    {
        answer("/v1/gateway", 200, Self.gateway)
        answer("/v1/usage", 429, #"{"code":"quota-exceeded"}"#)
        let status = try await ask()
        #expect(status.json["usage"] == .null)
        #expect(status.lines.last?.hasSuffix("unknown: the tenant sends too many requests") == true)
    }

    @Test(arguments: [(401, 401), (403, 429), (200, 500)])
    func `any other refusal is one of the command`(_ ofGateway: Int, _ ofUsage: Int) async throws {
        answer("/v1/gateway", ofGateway, Self.gateway)
        answer("/v1/usage", ofUsage, "{}")
        await #expect {
            try await ask()
        } throws: { error in
            guard case ClientError.refused(let problem) = error else { return false }
            return problem.status == (ofGateway == 401 ? 401 : ofUsage)
        }
    }
}
