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

    private func migrate(
        _ gateway: RunningGateway, _ from: String, _ to: String?
    ) async throws -> (exit: ChildProcess.Exit, output: String, errors: String) {
        let process = try ChildProcess(
            RunningGateway.executable, ["migrate", from] + (to.map { [$0] } ?? []),
            environment: ["HOME": gateway.directory.path])
        let exit = try await process.waitForEnd()
        return (exit, process.outputText, process.errorText)
    }
}
