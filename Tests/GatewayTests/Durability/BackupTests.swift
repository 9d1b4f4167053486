import Foundation
import Semantics
import TestSupport
import Testing

/// `ferry backup` beside a running gateway: what is restored is the gateway of one moment, as after
/// a crash.
struct BackupTests {
    private let origin: ScriptedOrigin
    private let home: TemporaryDirectory
    /// Holds the ends of what is slow.
    private let gate = Gate()
    private var target: String { home.file("data") }

    init() throws {
        origin = try ScriptedOrigin()
        home = try TemporaryDirectory()
        origin.on("/large", .large(300_000))
        origin.on("/small", .large(500))
        origin.on(
            "/cached", .bytes(Pattern.bytes(count: 50_000), ["Cache-Control": "max-age=86400"]))
        var slow = Resource(20_000_000)
        slow.pause = .milliseconds(5)
        slow.gate = (offset: 16_000_000, gate)
        origin.on("/slow", .resource(slow))
    }

    private func run(_ command: String, _ arguments: String...) async throws -> WholeRun {
        try await WholeRun(
            ChildProcess(
                RunningGateway.executable, [command] + arguments,
                environment: ["HOME": home.path]))
    }

    private func backUp(_ gateway: RunningGateway) async throws -> WholeRun {
        try await run("backup", target, "--data-directory", gateway.dataDirectory)
    }

    @Test func `all that was kept is in a backup, also when its gateway is gone`() async throws {
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(at: gateway.client)
            let empty = try await gateway.client.send(
                "POST", "/v1/files", ["Upload-Complete": "?1"], body: []
            ).json(201, of: "POST file").id
            let made = try await backUp(gateway)
            #expect(made.exit == .status(0) && made.reason.isEmpty, "\(made.reason)")
            try await gateway.kill9()
            try FileManager.default.removeItem(atPath: gateway.dataDirectory)
            let whole = try await run("check", target)
            #expect(whole.exit == .status(0), "\(whole.said)\(whole.reason)")
            let restored = try await RunningGateway(in: home)
            #expect(restored.token == gateway.token)
            try await work.verify(at: restored.client)
            #expect(try await restored.client.get("/v1/files/\(empty)").status == 200)
            try await work.verifySecrets(at: restored.client, isRotated: false)
            try await restored.kill9()
        }
    }

    @Test func `a backup under load is whole, and downloads go on where it has them (R-2)`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            let session = try await client.createSession()
            var kept: [String: Int] = [:]
            for (path, type) in [
                ("/large", "download"), ("/small", "data"), ("/cached", "data"), ("/large", "data"),
            ] {
                let task = try await session.run(type, origin.url(path))
                kept[task.id] = try await client.content(task.id).count
            }
            try await session.add(.cookie("a", "b"))
            let file = try await client.send(
                "POST", "/v1/files", ["Upload-Complete": "?1"], body: Array("whole file".utf8))
            let part = try await client.send(
                "POST", "/v1/files", ["Upload-Complete": "?0"], body: Array("half a".utf8))
            let places = try [file, part].map { try #require($0.headers["Location"]) }
            var running: [String] = []
            for _ in 0..<3 {
                running.append(try await session.start("download", origin.url("/slow")))
            }
            for id in running {
                // A part and its checkpoint, which comes about once a second.
                _ = try await client.task(id) { $0["countOfBytesReceived"].int ?? 0 > 12_000_000 }
            }

            // Contents come and go while it is made.
            let made = try await withThrowingTaskGroup(of: Void.self) { group in
                let isOver = Gate()
                for _ in 0..<3 {
                    group.addTask {
                        while !isOver.isOpen {
                            let task = try await session.run("download", origin.url("/large"))
                            _ = try await client.delete("/v1/tasks/\(task.id)")
                        }
                    }
                }
                let made = try await backUp(gateway)
                isOver.open()
                try await group.waitForAll()
                return made
            }
            #expect(made.exit == .status(0) && made.reason.isEmpty, "\(made.reason)")
            try await gateway.kill9()
            gate.open()
            let whole = try await run("check", target)
            #expect(whole.exit == .status(0), "\(whole.said)\(whole.reason)")

            let restored = try await RunningGateway(in: home)
            let now = restored.client
            #expect(try await InvariantChecker(now).check().violations.isEmpty)
            for (id, length) in kept {
                let content = try await now.content(id)
                #expect(content.count == length && Pattern.firstDifference(in: content) == nil)
            }
            #expect(try await now.get(places[0]).text == "whole file")
            let head = try await now.send("HEAD", places[1])
            #expect(head.headers["Upload-Offset"] == "6")
            let memory = TestSession(client: now, id: session.id, json: .null)
            #expect(try await memory.cookies().count == 1)
            #expect(try await memory.cache()["entryCount"].int ?? 0 >= 1)
            for id in running {
                let task = try await now.completedTask(id)
                #expect(task.errorCode == -997)
                let resumeData = try #require(task.resumeData)
                let before = origin.requests.count
                let next = try await now.post(
                    memory.path + "/tasks",
                    ["type": "download", "resume": true, "resumeData": .string(resumeData)]
                ).json(201, of: "POST task")
                let end = try await now.completedTask(next.id)
                #expect(end["error"].isNull)
                #expect(try await now.content(next.id) == Pattern.bytes(count: 20_000_000))
                let request = try #require(origin.requests.dropFirst(before).first)
                #expect(request.headers["Range"]?.hasPrefix("bytes=") == true, "\(request.headers)")
            }
            try await restored.kill9()
        }
    }

    @Test func `it is private, tells what it holds, and takes no folder that is in use`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            let task = try await session.run(
                "download", origin.url("/large"), ["computeDigest": true])
            #expect(try await backUp(gateway).exit == .status(0))
            let names = try home.contents().filter { !$0.hasSuffix("/") }
            for name in names {
                let attributes = try FileManager.default.attributesOfItem(atPath: home.file(name))
                let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
                #expect(
                    attributes[.posixPermissions] as? Int == (isFolder ? 0o700 : 0o600), "\(name)")
            }
            let manifest = try TestJSON(
                parsing: String(decoding: home.read("data/manifest.json"), as: UTF8.self))
            #expect(manifest["format"].string == "ferry-backup" && manifest["hasKey"] == true)
            let files = try #require(manifest["files"].array)
            let content = try #require(
                files.first { $0["name"].string?.hasSuffix(task.id) == true })
            #expect(content["length"].int == 300_000)
            #expect(content["digest"] == task["content"]["digest"])
            #expect(files.contains { $0["name"].string == "ferry.sqlite" })

            let again = try await backUp(gateway)
            #expect(again.exit == .status(73) && again.reason.contains("has something in it"))
            let none = try await run("backup", home.file("b"), "--data-directory", home.file("no"))
            #expect(none.exit == .status(66))
            #expect(!FileManager.default.fileExists(atPath: home.file("b")))
        }
    }

    @Test func `a backup that was interrupted is none`() async throws {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            _ = try await session.run("download", origin.url("/large"))
            #expect(try await backUp(gateway).exit == .status(0))
            // As it is before the last of its files.
            for name in ["manifest.json", "ferry.sqlite"] {
                try FileManager.default.removeItem(atPath: target + "/" + name)
            }
            #expect(try await run("check", target).exit == .status(66))
            let serve = Serve(arguments: ["--port", "0", "--data-directory", target], home: home)
            #expect(try await serve.refusal().exit == .status(65))
        }
    }
}
