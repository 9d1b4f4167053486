import TestSupport
import Testing

/// `ferry key rotate` of a database on a server.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct DatabaseKeyRotationTests {
    @Test func `a gateway goes on with the new key, and nothing opens with the old one`()
        async throws
    {
        let server = try await PostgresServer.shared()
        let schema = server.newSchema()
        try await server.run("CREATE SCHEMA \(schema)")
        let (old, new) = (OperatorKey.digits(), OperatorKey.digits())
        var options = RunningGateway.Options()
        options.environment = ["FERRY_STORE": server.url(schema: schema), "FERRY_KEY": old]
        let gateway = try await RunningGateway(options)
        let work = try await KeyWork(at: gateway.client)
        gateway.process.terminate()
        #expect(try await gateway.process.waitForExit() == .status(0))

        var rotation = Rotation(directory: gateway.dataDirectory, environment: options.environment)
        let none = try await rotation.run()
        #expect(none.exit == .status(64) && none.reason.contains("FERRY_NEW_KEY"))
        rotation.environment["FERRY_NEW_KEY"] = new
        rotation.environment["FERRY_KEY"] = OperatorKey.digits()
        let wrong = try await rotation.run()
        #expect(wrong.exit == .status(78), "\(wrong.reason)")
        #expect(wrong.reason.contains("Nothing has been changed."))
        rotation.environment["FERRY_KEY"] = old
        let done = try await rotation.run()
        #expect(done.exit == .status(0), "\(done.reason)")
        #expect(done.said.contains("are sealed with now."))
        let again = try await rotation.run()
        #expect(again.exit == .status(0) && again.said.contains("are sealed with."))

        options.environment["FERRY_KEY"] = new
        let next = try await RunningGateway(options, in: gateway.directory)
        try await work.verify(at: next.client)
        try await work.verifySecrets(at: next.client)
        try await next.kill9()
        try await server.run("DROP SCHEMA \(schema) CASCADE")
    }
}
