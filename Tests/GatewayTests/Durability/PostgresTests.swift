import Foundation
import TestSupport
import Testing

/// A gateway whose database is on a server (`ferry serve --store`): what it has acknowledged is
/// there after its own end and after the server's.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresTests {
    private static let key = String(repeating: "5a", count: 32)

    /// Runs the body with the options of a gateway on tables of its own.
    private func withTables(
        _ body: (RunningGateway.Options) async throws -> Void
    ) async throws {
        let server = try await PostgresServer.shared()
        let schema = server.newSchema()
        try await server.run("CREATE SCHEMA \(schema)")
        try await body(options(server.url(schema: schema)))
        try await server.run("DROP SCHEMA \(schema) CASCADE")
    }

    private func options(_ url: String) -> RunningGateway.Options {
        var options = RunningGateway.Options()
        options.environment = ["FERRY_STORE": url, "FERRY_KEY": Self.key]
        return options
    }

    @Test func `all is there after kill -9, and the events are told again`() async throws {
        try await withTables { options in
            try await RunningGateway.alone(options) { gateway in
                let work = try await KeyWork(at: gateway.client)
                try await gateway.kill9()
                let again = try await gateway.restarted()
                try await work.verify(at: again.client)
                let status = try await again.client.get("/v1/gateway").json(200, of: "GET gateway")
                #expect(status["store"]["state"].string == "ok")
                again.process.terminate()
                #expect(try await again.process.waitForExit() == .status(0))
                let last = try await again.restarted()
                try await work.verify(at: last.client)
                try await last.kill9()
            }
        }
    }

    @Test func `while the server is away nothing is acknowledged, and then all goes on (R-1)`()
        async throws
    {
        let server = try await PostgresServer()
        let origin = try ScriptedOrigin()
        origin.on("/small", .large(1000))
        origin.on("/large", .large(300_000))
        try await RunningGateway.alone(options(server.url())) { gateway in
            let client = gateway.client
            let session = try await client.createSession()
            let tasks = Acknowledged()
            for atOnce in [true, false] {
                try await withThrowingTaskGroup { group in
                    for worker in 0..<4 {
                        group.addTask {
                            for number in 0..<25 {
                                let path = number % 5 == 0 ? "/large" : "/small"
                                await tasks.append(
                                    try await create(
                                        origin.url(path), in: session,
                                        "\(atOnce)-\(worker)-\(number)"))
                            }
                        }
                    }
                    let count = await tasks.all.count
                    try await eventually("some tasks") { await tasks.all.count >= count + 10 }
                    try await server.stop(atOnce: atOnce)
                    try await missDatabase(gateway)
                    try await server.start()
                    try await eventually("the gateway to be ready again") {
                        try await client.get("/readyz").status == 200
                    }
                    try await group.waitForAll()
                }
            }
            let all = await tasks.all
            #expect(Set(all).count == 200)
            for id in all {
                let task = try await client.completedTask(id)
                #expect(task["error"]["code"].string == nil)
            }
            let report = try await InvariantChecker(client).check()
            #expect(report.violations.isEmpty, "\(report.violations)")
            try await gateway.kill9()
            let again = try await gateway.restarted()
            let after = try await InvariantChecker(again.client).check()
            #expect(after.violations.isEmpty, "\(after.violations)")
            for id in all {
                #expect(try await again.client.task(id)["state"].string == "completed")
            }
            try await again.kill9()
        }
    }

    /// Waits until a gateway says that its database is away, and refuses what it cannot note.
    private func missDatabase(_ gateway: RunningGateway) async throws {
        let client = gateway.client
        try await eventually("the gateway to miss its database") {
            let readiness = try await client.get("/readyz")
            guard readiness.status == 503 else { return false }
            #expect(
                readiness.json["checks"]["store"].string == "The database cannot be reached.")
            return true
        }
        try await eventually("a session to be refused") {
            let answer = try await client.post("/v1/sessions", ["type": "default"])
            guard answer.status == 503 else { return false }
            #expect(answer.json["code"].string == "unavailable")
            return true
        }
        #expect(gateway.process.exit == nil)
    }

    /// Creates a download as a client does that gives up on nothing: with one key, until it is
    /// acknowledged.
    private func create(
        _ url: String, in session: TestSession, _ key: String
    ) async throws -> String {
        let spec = TestSession.spec("download", url, ["resume": true])
        var id: String?
        try await eventually(within: .seconds(120), "task \(key) to be created") {
            let answer = try await session.client.post(
                session.path + "/tasks", spec, ["Idempotency-Key": key])
            guard answer.status != 503 else { return false }
            id = try answer.json(201, of: "POST task")["id"].string
            return true
        }
        return try #require(id)
    }

    @Test func `what is wrong is said in plain words`() async throws {
        let server = try await PostgresServer.shared()
        let schema = server.newSchema()
        try await server.run(
            """
            CREATE SCHEMA \(schema);
            CREATE TABLE \(schema).schema_migration (number bigint PRIMARY KEY);
            INSERT INTO \(schema).schema_migration VALUES (1000);
            """)
        let place = "127.0.0.1:\(server.port)/postgres"
        let cases: [(url: String, key: String?, code: Int32, words: String)] = [
            ("mysql://a", Self.key, 64, "--store names a PostgreSQL database"),
            (server.url(), nil, 78, "--store needs FERRY_KEY or --key-file"),
            (
                "postgres://a@127.0.0.1:1/b", Self.key, 69,
                "There is no connection to the database 127.0.0.1:1/b: "
            ),
            (
                server.url(password: "no"), Self.key, 69,
                "password authentication failed for user \"ferry\""
            ),
            (
                server.url(schema: schema), Self.key, 74,
                "The database \(place) cannot be used: The database was written by a later version"
            ),
        ]
        for (url, key, code, words) in cases {
            let directory = try TemporaryDirectory()
            var environment = ["FERRY_STORE": url, "HOME": directory.path]
            environment["FERRY_KEY"] = key
            let process = try ChildProcess(
                RunningGateway.executable,
                ["serve", "--port", "0", "--data-directory", directory.file("data")],
                environment: environment)
            #expect(try await process.waitForEnd() == .status(code))
            #expect(process.errorText.contains(words), "\(process.errorText)")
            #expect(!process.errorText.contains("p%3Aw"))
        }
    }

    @Test func `results of one database are not given to another`() async throws {
        try await withTables { options in
            let directory = try TemporaryDirectory()
            var local = RunningGateway.Options()
            local.environment = ["FERRY_KEY": Self.key]
            let first = try await RunningGateway(local, in: directory)
            try await first.kill9()
            for isCopied in [false, true] {
                if isCopied {
                    try FileManager.default.removeItem(atPath: directory.file("data/ferry.sqlite"))
                    try directory.write("data/content/00/x", [1])
                }
                let process = try ChildProcess(
                    RunningGateway.executable,
                    ["serve", "--port", "0", "--data-directory", directory.file("data")],
                    environment: options.environment)
                #expect(try await process.waitForEnd() == .status(isCopied ? 65 : 78))
                #expect(
                    process.errorText.contains(
                        isCopied ? "knows nothing of" : "a data directory of its own"),
                    "\(process.errorText)")
            }
        }
    }
}

/// What several clients have been promised.
private actor Acknowledged {
    private(set) var all: [String] = []

    func append(_ id: String) { all.append(id) }
}
