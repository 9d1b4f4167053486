import Foundation
import Semantics
import TestSupport
import Testing

/// `ferry check`: what it finds in the data of a stopped gateway, and what it sets aside (api:
/// Command line).
struct CheckTests {
    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin()
        origin.on("/large", .large(100_000))
        origin.on("/small", .large(100))
        origin.on("/cached", .bytes(Pattern.bytes(count: 50_000), ["Cache-Control": "max-age=999"]))
        origin.on("/never", .stall())
    }

    private func stop(_ gateway: RunningGateway) async throws {
        gateway.process.terminate()
        #expect(try await gateway.process.waitForExit() == .status(0))
    }

    private func check(_ gateway: RunningGateway, _ arguments: String...) async throws -> WholeRun {
        try await WholeRun(
            ChildProcess(
                RunningGateway.executable, ["check", gateway.dataDirectory] + arguments,
                environment: ["HOME": gateway.directory.path]))
    }

    @Test func `of whole data nothing is told, and nothing is changed`() async throws {
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(at: gateway.client)
            let running = try await check(gateway)
            #expect(running.exit == .status(75), "\(running.reason)")
            try await stop(gateway)
            let before = try gateway.directory.read("data/ferry.sqlite")
            for arguments in [[], ["--repair"]] {
                let run = try await WholeRun(
                    ChildProcess(
                        RunningGateway.executable,
                        ["check", gateway.dataDirectory] + arguments,
                        environment: ["HOME": gateway.directory.path]))
                #expect(run.exit == .status(0), "\(run.said)\(run.reason)")
                #expect(run.said == "\(gateway.dataDirectory) is whole.\n")
                if arguments.isEmpty {
                    #expect(try gateway.directory.read("data/ferry.sqlite") == before)
                }
            }
            let again = try await gateway.restarted()
            try await work.verify(at: again.client)
            try await again.kill9()
            // What a crash leaves is no damage.
            #expect(try await check(gateway).exit == .status(0))
        }
    }

    /// What is done to a table, and what of it is told.
    private static let damages: [(statement: String, told: String)] = [
        ("UPDATE task SET request = x'FFFF' WHERE id = TASK", "task tsk_"),
        ("DELETE FROM task_status WHERE task = TASK", "How it ended is missing"),
        ("UPDATE task SET state = 77 WHERE id = TASK", "task tsk_"),
        ("DELETE FROM task WHERE id = TASK", "Its task is missing"),
        ("UPDATE session SET constants = x'0AFF01' WHERE id = SESSION", "session ses_"),
        ("DELETE FROM session WHERE id = SESSION", "Its session is missing"),
        ("UPDATE file SET expectedDigest = 'odd'", "staged file fil_"),
        ("UPDATE file SET length = length + 1", "should have 6 bytes, and has 5"),
        ("UPDATE content SET bytes = x'00'", "task tsk_"),
        ("UPDATE creation SET fingerprint = x'00'", "an Idempotency-Key"),
        ("UPDATE cookie SET sealed = x'00'", "a cookie of session"),
        ("UPDATE cache_metadata SET metadata = x'00'", "cached response"),
        ("UPDATE event_pack SET events = x'02' WHERE session = SESSION", "events of session"),
        ("UPDATE tenant SET lastSequence = 'odd'", "Its counters"),
        ("UPDATE task_count SET count = count + 1 WHERE session = SESSION", "The counts of its"),
    ]

    @Test(arguments: damages.indices)
    func `what is damaged is told and set aside, and all else is there`(number: Int) async throws {
        let (statement, told) = Self.damages[number]
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            let bad = try await client.createSession()
            let good = try await client.createSession()
            var kept: [TestJSON] = []
            let task = try await bad.run("download", origin.url("/large"))
            for session in [bad, good] {
                _ = try await session.run("data", origin.url("/small"))
                _ = try await session.run("data", origin.url("/cached"))
            }
            kept.append(try await good.run("download", origin.url("/large")))
            _ = try await client.send(
                "POST", "/v1/files", ["Upload-Complete": "?1"], body: Array("hello".utf8))
            _ = try await client.post(
                good.path + "/tasks", TestSession.spec("data", origin.url("/small")),
                ["Idempotency-Key": "k"])
            try await bad.add(.cookie("a", "b"))
            try await stop(gateway)
            let row = try #require(TaskID(task.id)?.rawValue)
            let owner = try #require(SessionID(bad.id)?.rawValue)
            try gateway.damage([
                statement.replacing("TASK", with: "\(row)").replacing("SESSION", with: "\(owner)")
            ])

            let found = try await check(gateway)
            #expect(found.exit == .status(1), "\(found.said)\(found.reason)")
            #expect(found.said.contains(told), "\(found.said)")
            #expect(try await check(gateway).said == found.said)
            let repaired = try await check(gateway, "--repair")
            #expect(repaired.exit == .status(1), "\(repaired.said)\(repaired.reason)")
            #expect(repaired.said.contains(told), "\(repaired.said)")
            let after = try await check(gateway)
            #expect(after.exit == .status(0), "\(after.said)\(after.reason)")

            let again = try await gateway.restarted()
            for task in kept {
                #expect(try await again.client.content(task.id).count == 100_000)
            }
            let next = TestSession(client: again.client, id: good.id, json: .null)
            let events = try await next.allEvents()
            try await eventually { events.names.contains("task.didComplete") }
            #expect(try await next.run("data", origin.url("/large"))["error"].isNull)
            try await stop(again)
        }
    }

    @Test func `a damaged tenant keeps what it has, and goes nowhere until somebody says where`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let client = try await gateway.client.makeTenant("team")
            let session = try await client.createSession()
            let task = try await session.run("download", origin.url("/large"))
            try await stop(gateway)
            try gateway.damage([
                "UPDATE tenant_record SET properties = x'0AFF01' WHERE name = 'team'"
            ])
            let found = try await check(gateway, "--repair")
            #expect(found.said.contains("tenant "), "\(found.said)")
            #expect(try await check(gateway).exit == .status(0))
            #expect(try gateway.setAside().map(\.source) == ["tenant_record"])

            let again = try await gateway.restarted()
            let later = again.client.with(token: client.token)
            #expect(try await later.content(task.id).count == 100_000)
            let next = TestSession(client: later, id: session.id, json: .null)
            let denied = try await next.run("data", origin.url("/small"))
            #expect(denied["error"]["name"].string == "destinationDenied")
            _ = try await again.client.patch("/v1/tenants/team", ["egress": [:]])
                .json(200, of: "PATCH")
            #expect(try await next.run("data", origin.url("/small"))["error"].isNull)
            try await stop(again)
        }
    }

    @Test func `a tenant whose name is lost gets one that nobody has`() async throws {
        try await RunningGateway.alone { gateway in
            let client = try await gateway.client.makeTenant("team")
            let session = try await client.createSession()
            let task = try await session.run("download", origin.url("/large"))
            for name in ["one", "two"] { _ = try await gateway.client.makeTenant(name) }
            try await stop(gateway)
            let number = "'tenant-' || (SELECT id FROM tenant_record WHERE name = 'team')"
            try gateway.damage([
                "UPDATE tenant_record SET name = \(number) WHERE name = 'one'",
                "UPDATE tenant_record SET name = \(number) || '-2' WHERE name = 'two'",
                "UPDATE tenant_record SET name = 'No Name' WHERE name = 'team'",
            ])
            let found = try await check(gateway, "--repair")
            #expect(found.exit == .status(1), "\(found.said)\(found.reason)")
            #expect(try await check(gateway).exit == .status(0))
            let again = try await gateway.restarted()
            let later = again.client.with(token: client.token)
            #expect(try await later.content(task.id).count == 100_000)
            let tenants = try await again.client.get("/v1/tenants").json(200, of: "GET")
            let names = try #require(tenants["tenants"].array).compactMap { $0["name"].string }
            #expect(names.count == 4 && names.contains { $0.hasSuffix("-3") }, "\(names)")
            try await stop(again)
        }
    }

    @Test func `rows and files that are set aside can be looked at, and put back`() async throws {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            let task = try await session.run("download", origin.url("/large"))
            try await stop(gateway)
            let file = try #require(try gateway.files(of: task.id).first)
            let whole = try Data(contentsOf: URL(fileURLWithPath: file))
            try whole.dropLast().write(to: URL(fileURLWithPath: file))
            let found = try await check(gateway)
            #expect(found.said.contains("should have 100000 bytes, and has 99999"), "\(found.said)")
            #expect(try await check(gateway, "--repair").exit == .status(1))
            let names = try gateway.directory.contents()
            #expect(names.contains { $0.hasPrefix("data/ferry.sqlite.before-repair-") })
            let aside = try #require(
                names.first { $0.contains("/damaged-") && $0.hasSuffix(task.id) })
            #expect(try gateway.directory.read(aside).count == 99_999)
            let rows = try gateway.setAside()
            #expect(rows.map(\.source).sorted().starts(with: ["event_pack"]))
            #expect(rows.contains { $0.source == "task" })

            let again = try await gateway.restarted()
            #expect(try await again.client.get("/v1/tasks/\(task.id)").status == 404)
            try await stop(again)
            try gateway.damage(rows.filter { $0.source.hasPrefix("task") }.map(\.statement))
            try whole.write(to: URL(fileURLWithPath: file))
            let last = try await gateway.restarted()
            #expect(try await last.client.content(task.id).count == 100_000)
            try await stop(last)
        }
    }

    @Test func `a file without a row is told, and set aside`() async throws {
        try await RunningGateway.alone { gateway in
            _ = try await gateway.client.createSession()
            try await stop(gateway)
            let stray = try gateway.makeStray()
            let found = try await check(gateway)
            #expect(found.exit == .status(1) && found.said.contains("No row tells of this file"))
            #expect(FileManager.default.fileExists(atPath: stray))
            #expect(try await check(gateway, "--repair").exit == .status(1))
            #expect(!FileManager.default.fileExists(atPath: stray))
            #expect(try await check(gateway).exit == .status(0))
            #expect(try gateway.directory.contents().contains { $0.contains("/damaged-") })
        }
    }

    @Test func `without its contents a gateway starts again after a repair`() async throws {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            let lost = try await session.run("download", origin.url("/large"))
            let small = try await session.run("data", origin.url("/small"))
            try await stop(gateway)
            try FileManager.default.removeItem(atPath: gateway.dataDirectory + "/content")
            let found = try await check(gateway)
            #expect(found.exit == .status(1) && found.said.contains("Its content is missing"))
            #expect(try await check(gateway, "--repair").exit == .status(1))
            let again = try await gateway.restarted()
            #expect(try await again.client.get("/v1/tasks/\(lost.id)").status == 404)
            #expect(try await again.client.content(small.id).count == 100)
            try await stop(again)
        }
    }

    @Test func `a page that is damaged is told, and no repair is claimed`() async throws {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            for _ in 0..<60 { _ = try await session.create("data", origin.url("/small")) }
            try await stop(gateway)
            let path = gateway.dataDirectory + "/ferry.sqlite"
            var bytes = try gateway.directory.read("data/ferry.sqlite")
            // All pages of the tables, but for the first, which names them.
            for index in stride(from: 8192, to: bytes.count, by: 8192) {
                bytes.replaceSubrange(index..<index + 16, with: repeatElement(0xEE, count: 16))
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let found = try await check(gateway, "--key-file", gateway.dataDirectory + "/key")
            #expect([.status(1), .status(65)].contains(found.exit), "\(found.said)\(found.reason)")
            let repair = try await check(gateway, "--repair")
            #expect(repair.exit == .status(65), "\(repair.said)\(repair.reason)")
        }
    }

    @Test func `wrong arguments and folders are refused`() async throws {
        let home = try TemporaryDirectory()
        for (arguments, code) in [([home.path], 66), (["--frob"], 64)] as [([String], Int32)] {
            let run = try await WholeRun(
                ChildProcess(
                    RunningGateway.executable, ["check"] + arguments,
                    environment: ["HOME": home.path]))
            #expect(run.exit == .status(code), "\(run.reason)")
        }
    }
}
