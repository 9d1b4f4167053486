import Foundation
import TestSupport
import Testing

/// `ferry migrate`: a gateway goes on with a database on a server.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct MigrateTests {
    @Test func `a gateway goes on where it was, on a server, also when it is moved twice`()
        async throws
    {
        let server = try await PostgresServer.shared()
        let schema = server.newSchema()
        try await server.run("CREATE SCHEMA \(schema)")
        let url = server.url(schema: schema)
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(at: gateway.client)
            let from = "sqlite:" + gateway.dataDirectory
            let early = try await migrate(gateway, from, url)
            #expect(early.exit == .status(75))
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
            let file = gateway.dataDirectory + "/ferry.sqlite"
            let copy = gateway.directory.file("copy")
            try FileManager.default.copyItem(atPath: file, toPath: copy)

            let moved = try await migrate(gateway, from, url)
            #expect(moved.exit == .status(0), "\(moved.errors)")
            #expect(moved.output.contains(" tasks are in 127.0.0.1:\(server.port)/postgres now."))
            #expect(moved.output.contains("--key-file \(gateway.dataDirectory)/key"))
            #expect(!moved.output.contains("p%3Aw"))
            #expect(!FileManager.default.fileExists(atPath: file))
            // As if it had been interrupted behind its transaction.
            try FileManager.default.moveItem(atPath: copy, toPath: file)
            let late = try await migrate(gateway, from, url, contents: gateway.directory.path)
            #expect(late.exit == .status(74), "\(late.errors)")
            #expect(late.errors.contains("was not told of a place with its contents"))
            let again = try await migrate(gateway, from, url)
            #expect(again.exit == .status(0), "\(again.errors)")
            #expect(again.output.contains("had all of it already"))

            var options = RunningGateway.Options()
            options.environment = [
                "FERRY_STORE": url, "FERRY_KEY_FILE": gateway.dataDirectory + "/key",
            ]
            let next = try await RunningGateway(options, in: gateway.directory)
            try await work.verify(at: next.client)
            try await work.verifySecrets(at: next.client, isRotated: false)
            try await next.kill9()
        }
        try await server.run("DROP SCHEMA \(schema) CASCADE")
    }

    @Test func `contents go to where another gateway finds them, and are not copied twice`()
        async throws
    {
        let server = try await PostgresServer.shared()
        let schema = server.newSchema()
        try await server.run("CREATE SCHEMA \(schema)")
        let url = server.url(schema: schema)
        let place = try TemporaryDirectory()
        let others = try TemporaryDirectory()
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(at: gateway.client)
            let tasks = try await downloadAndEnd(gateway)
            let from = "sqlite:" + gateway.dataDirectory
            let contents = gateway.dataDirectory + "/content"
            let file = try #require(
                FileManager.default.subpaths(atPath: contents)?.first { $0.hasSuffix(tasks[0]) })

            // Others' contents, and a content that is missing, leave all as it is.
            try Data("mark".utf8).write(to: URL(fileURLWithPath: others.file("ferry-contents")))
            let refused = try await migrate(gateway, from, url, contents: others.path)
            #expect(refused.exit == .status(65), "\(refused.errors)")
            #expect(refused.errors.contains("has the contents of another gateway"))
            try FileManager.default.moveItem(
                atPath: contents + "/" + file, toPath: gateway.directory.file("hidden"))
            let missing = try await migrate(gateway, from, url, contents: place.path)
            #expect(missing.exit == .status(65), "\(missing.errors)")
            #expect(missing.errors.contains("are missing or not whole in \(contents) (1: "))
            #expect(missing.errors.contains("(1: task \(tasks[0])): `ferry check --repair`"))
            // The other download, and the part that resume data speaks of.
            #expect(missing.output.contains("Contents copied to \(place.path): 2 ("))
            #expect(missing.output.contains(" bytes); there already: 0."))
            let before = try await gateway.restarted()
            #expect(try await before.client.content(tasks[1]).count == 100_000)
            before.process.terminate()
            _ = try await before.process.waitForExit()

            try FileManager.default.moveItem(
                atPath: gateway.directory.file("hidden"), toPath: contents + "/" + file)
            let notes = ["ferry.sqlite", "contents-copy"]
            for note in notes {
                try FileManager.default.copyItem(
                    atPath: gateway.dataDirectory + "/" + note,
                    toPath: gateway.directory.file(note))
            }
            let moved = try await migrate(gateway, from, url, contents: place.path)
            #expect(moved.exit == .status(0), "\(moved.errors)")
            #expect(moved.output.contains(": 1 (100000 bytes); there already: 2."))
            #expect(FileManager.default.subpaths(atPath: contents)?.count == 32)
            // As if it had been interrupted behind its transaction, and before its last step.
            for left in [notes, [notes[0]]] {
                for note in left {
                    try FileManager.default.copyItem(
                        atPath: gateway.directory.file(note),
                        toPath: gateway.dataDirectory + "/" + note)
                }
                let again = try await migrate(gateway, from, url, contents: place.path)
                #expect(again.exit == .status(0), "\(again.errors)")
                #expect(again.output.contains("had all of it already"))
                for note in notes {
                    let path = gateway.dataDirectory + "/" + note
                    #expect(!FileManager.default.fileExists(atPath: path))
                }
            }

            var options = RunningGateway.Options()
            options.environment = [
                "FERRY_STORE": url, "FERRY_KEY_FILE": gateway.dataDirectory + "/key",
                "FERRY_CONTENTS": place.path,
            ]
            let next = try await RunningGateway(options)
            for task in tasks {
                let content = try await next.client.content(task)
                #expect(content.count == 100_000 && Pattern.firstDifference(in: content) == nil)
            }
            try await work.verifySecrets(at: next.client, isRotated: false)
            try await next.kill9()
            // The directory of before has nothing that would be mistaken for all of it.
            let old = try await serve(gateway)
            #expect(old.exit == .status(65), "\(old.errors)")
        }
        try await server.run("DROP SCHEMA \(schema) CASCADE")
    }

    @Test func `a place is served once it has all contents of a database on a server`()
        async throws
    {
        let server = try await PostgresServer.shared()
        let schema = server.newSchema()
        try await server.run("CREATE SCHEMA \(schema)")
        let place = try TemporaryDirectory()
        var options = RunningGateway.Options()
        options.environment = [
            "FERRY_STORE": server.url(schema: schema),
            "FERRY_KEY": String(repeating: "5a", count: 32),
        ]
        let own = options.environment
        options.environment["FERRY_CONTENTS"] = place.path
        let moved = options
        options.environment = own
        try await RunningGateway.alone(options) { gateway in
            let tasks = try await downloadAndEnd(gateway)
            let (files, data) = (FileManager.default, gateway.dataDirectory)
            let contents = data + "/content"
            let file = try #require(
                files.subpaths(atPath: contents)?.first { $0.hasSuffix(tasks[0]) })
            let (hidden, other) = (
                gateway.directory.file("hidden"), gateway.directory.file("other")
            )
            let command = ["migrate", "--data-directory", data, "--contents", place.path]
            let start = ["serve", "--port", "0", "--data-directory", other]

            // Half of it is there, which is nothing to serve from, for one or for several.
            try files.moveItem(atPath: contents + "/" + file, toPath: hidden)
            let missing = try await ferry(gateway, command, own)
            #expect(missing.exit == .status(65), "\(missing.errors)")
            #expect(missing.errors.contains("(1: task \(tasks[0])): put them back, or"))
            for node in [[], ["--node-address", "http://127.0.0.1:1"]] {
                let early = try await ferry(gateway, start + node, moved.environment)
                #expect(early.exit == .status(65), "\(early.errors)")
                let words = "part of the contents that `ferry migrate --contents \(place.path)`"
                #expect(early.errors.contains(words), "\(early.errors)")
            }
            try files.moveItem(atPath: hidden, toPath: contents + "/" + file)
            let done = try await ferry(gateway, command, own)
            #expect(done.exit == .status(0), "\(done.errors)")
            #expect(done.output.contains(": 1 (100000 bytes); there already: 1."))

            // As if it had been interrupted behind what it told the database.
            let kept = try #require(
                files.contentsOfDirectory(atPath: data).first { $0.hasPrefix("content.moved-") })
            try files.removeItem(atPath: contents)
            try files.moveItem(atPath: data + "/" + kept, toPath: contents)
            let mark = try String(contentsOfFile: place.file("ferry-contents"), encoding: .utf8)
            try Data("\(mark)\(place.path)\n".utf8).write(
                to: URL(fileURLWithPath: data + "/contents-copy"))
            let forgetful = try await ferry(
                gateway, ["serve", "--port", "0", "--data-directory", data], own)
            #expect(forgetful.exit == .status(78), "\(forgetful.errors)")
            #expect(forgetful.errors.contains("start the gateway with --contents \(place.path)."))
            let again = try await ferry(gateway, command, own)
            #expect(again.exit == .status(0), "\(again.errors)")
            #expect(again.output.contains("was told of \(place.path) already."))
            #expect(!again.output.contains("Contents copied"))
            #expect(files.subpaths(atPath: contents)?.count == 32)
            #expect(!files.fileExists(atPath: data + "/contents-copy"))
            let blind = try await ferry(gateway, start, own)
            #expect(blind.exit == .status(78), "\(blind.errors)")

            let next = try await RunningGateway(moved)
            for task in tasks {
                #expect(try await next.client.content(task).count == 100_000)
            }
            try await next.kill9()
        }
        try await server.run("DROP SCHEMA \(schema) CASCADE")
    }

    @Test(.enabled(if: isOnAnotherFileSystem("/dev/shm"), "/dev/shm is on the same file system"))
    func `results of a directory whose content folder is on another disk go alone`() async throws {
        let place = try TemporaryDirectory()
        let disk = "/dev/shm/ferry-\(UUID().uuidString)"
        let files = FileManager.default
        defer { try? files.removeItem(atPath: disk) }
        try await RunningGateway.alone { gateway in
            let tasks = try await downloadAndEnd(gateway)
            let contents = gateway.dataDirectory + "/content"
            try files.moveItem(atPath: contents, toPath: disk)
            try files.createSymbolicLink(atPath: contents, withDestinationPath: disk)
            let file = try #require(files.subpaths(atPath: disk)?.first { $0.hasSuffix(tasks[0]) })
            // As if another attempt had been interrupted.
            let earlier = disk + "/moved-20260101T000000Z/" + file
            let command = [
                "migrate", "--data-directory", gateway.dataDirectory, "--contents", place.path,
            ]
            try files.createDirectory(
                atPath: URL(fileURLWithPath: earlier).deletingLastPathComponent().path,
                withIntermediateDirectories: true)
            let moved = try await ferry(gateway, command)
            #expect(moved.exit == .status(0), "\(moved.errors)")
            #expect(moved.output.contains("are in \(contents)/moved-20260101T000000Z;"))
            #expect(files.fileExists(atPath: earlier))

            var options = RunningGateway.Options()
            options.arguments = ["--contents", place.path]
            let next = try await RunningGateway(options, in: gateway.directory)
            for task in tasks {
                #expect(try await next.client.content(task).count == 100_000)
            }
            try await next.kill9()
            #expect(files.fileExists(atPath: earlier))
        }
    }

    @Test func `what is wrong is said in plain words`() async throws {
        let server = try await PostgresServer.shared()
        try await RunningGateway.alone { gateway in
            try await gateway.kill9()
            let from = "sqlite:" + gateway.dataDirectory
            let cases: [(from: String, to: String?, code: Int32, words: String)] = [
                ("postgres://a:p%3Aw@h/b", from, 64, "The other way round there is nothing yet"),
                (from, "mysql://a", 64, "Name the database on a server"),
                (from, nil, 64, "Name the database on a server"),
                ("sqlite:/nowhere", server.url(), 66, "is no data directory"),
                (from, server.url(password: "no"), 69, "password authentication failed"),
            ]
            for (from, to, code, words) in cases {
                let result = try await migrate(gateway, from, to)
                #expect(result.exit == .status(code), "\(result.errors)")
                #expect(result.errors.contains(words), "\(result.errors)")
                #expect(!result.errors.contains("p%3Aw"))
            }
            // Nothing has been changed.
            let again = try await gateway.restarted()
            try await again.kill9()
        }
    }

    /// Two downloads of 100,000 bytes, behind which the gateway has ended.
    private func downloadAndEnd(_ gateway: RunningGateway) async throws -> [String] {
        let origin = try ScriptedOrigin()
        origin.on("/large", .resource(Resource(100_000)))
        let session = try await gateway.client.createSession()
        var tasks: [String] = []
        for _ in 0..<2 {
            tasks.append(try await session.run("download", origin.url("/large")).id)
        }
        gateway.process.terminate()
        #expect(try await gateway.process.waitForExit() == .status(0))
        return tasks
    }

    private static func isOnAnotherFileSystem(_ path: String) -> Bool {
        let temporary = FileManager.default.temporaryDirectory.path
        let numbers = [path, temporary].map { path in
            (try? FileManager.default.attributesOfItem(atPath: path)[.systemNumber]) as? Int
        }
        return numbers[0] != nil && numbers[0] != numbers[1]
    }

    private func migrate(
        _ gateway: RunningGateway, _ from: String, _ to: String?, contents: String? = nil
    ) async throws -> (exit: ChildProcess.Exit, output: String, errors: String) {
        let place = contents.map { ["--contents", $0] } ?? []
        return try await ferry(gateway, ["migrate", from] + (to.map { [$0] } ?? []) + place)
    }

    /// A gateway that does not start.
    private func serve(
        _ gateway: RunningGateway
    ) async throws -> (exit: ChildProcess.Exit, output: String, errors: String) {
        let directory = ["--data-directory", gateway.dataDirectory]
        return try await ferry(gateway, ["serve", "--port", "0"] + directory)
    }

    private func ferry(
        _ gateway: RunningGateway, _ words: [String], _ environment: [String: String] = [:]
    ) async throws -> (exit: ChildProcess.Exit, output: String, errors: String) {
        let process = try ChildProcess(
            RunningGateway.executable, words,
            environment: environment.merging(["HOME": gateway.directory.path]) { $1 })
        let exit = try await process.waitForEnd()
        return (exit, process.outputText, process.errorText)
    }
}
