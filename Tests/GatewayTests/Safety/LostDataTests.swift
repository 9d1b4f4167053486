import Foundation
import TestSupport
import Testing

/// A data directory that has lost a part of what belongs together: the gateway does not start, and
/// leaves what is there as it is.
struct LostDataTests {
    private let home: TemporaryDirectory
    private var data: String { home.file("data") }

    init() throws { home = try TemporaryDirectory() }

    private var serve: Serve {
        Serve(
            arguments: [
                "--port", "0", "--data-directory", data, "--allow-destination", "127.0.0.0/8",
            ], home: home)
    }

    /// A directory with a session, and one content that is a file.
    private func fill() async throws {
        try await Permits.gateways.use {
            let origin = try ScriptedOrigin()
            origin.on("/large", .fixed(200, [:], String(repeating: "x", count: 100_000)))
            let (process, client) = try await serve.ready()
            let token = try #require(home.token(in: "data"))
            let session = try await client.with(token: token).createSession()
            _ = try await session.run("download", origin.url("/large"))
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
    }

    private func contents() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: data + "/content")
            .filter { $0.contains("/") }
    }

    private func refuses(_ words: String) async throws {
        let refusal = try await serve.refusal()
        #expect(refusal.exit == .status(65), "\(refusal.reason)")
        #expect(refusal.reason.contains(words), "\(refusal.reason)")
    }

    @Test(arguments: ["missing", "empty", "a log alone"])
    func `without its database nothing starts, and no content is removed`(loss: String)
        async throws
    {
        try await fill()
        let before = try contents()
        #expect(!before.isEmpty)
        let database = data + "/ferry.sqlite"
        try FileManager.default.removeItem(atPath: database)
        if loss == "empty" { try Data().write(to: URL(fileURLWithPath: database)) }
        if loss == "a log alone" {
            try Data([1]).write(to: URL(fileURLWithPath: database + "-wal"))
        }
        try await refuses("ferry.sqlite is missing or empty")
        #expect(try contents() == before)
        #expect(FileManager.default.fileExists(atPath: database) == (loss == "empty"))
        // The way out that it names.
        try FileManager.default.moveItem(atPath: data + "/content", toPath: home.file("before"))
        for name in ["", "-wal"] {
            try? FileManager.default.removeItem(atPath: database + name)
        }
        try await runs(withSessions: 0)
    }

    @Test(arguments: ["missing", "empty", "without a file"])
    func `without its contents nothing starts`(loss: String) async throws {
        try await fill()
        let moved = home.file("elsewhere")
        try FileManager.default.moveItem(atPath: data + "/content", toPath: moved)
        if loss != "missing" { try makeFolder(data + "/content") }
        if loss == "without a file" {
            for part in 0..<32 {
                try makeFolder(data + "/content/" + (part < 10 ? "0\(part)" : "\(part)"))
            }
        }
        try await refuses("content is missing or empty")
        #expect(FileManager.default.fileExists(atPath: data + "/content") == (loss != "missing"))
        try? FileManager.default.removeItem(atPath: data + "/content")
        try FileManager.default.moveItem(atPath: moved, toPath: data + "/content")
        try await runs(withSessions: 1)
    }

    @Test func `a gateway that has no contents starts without their folder`() async throws {
        try await Permits.gateways.use {
            let (process, client) = try await serve.ready()
            let token = try #require(home.token(in: "data"))
            _ = try await client.with(token: token).createSession()
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
        try FileManager.default.removeItem(atPath: data + "/content")
        try await runs(withSessions: 1)
    }

    private func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    private func runs(withSessions count: Int) async throws {
        try await Permits.gateways.use {
            let (process, client) = try await serve.ready()
            let token = try #require(home.token(in: "data"))
            let list = try await client.with(token: token).get("/v1/sessions").json
            let made = list["sessions"].array?.filter { $0["type"].string == "default" }
            #expect(made?.count == count)
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
    }
}
