import Foundation
import TestSupport
import Testing

/// `ferry key rotate`: everything is sealed with another key, and nothing is lost (security §5).
struct KeyRotationTests {
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    private func stop(_ gateway: RunningGateway) async throws {
        gateway.process.terminate()
        #expect(try await gateway.process.waitForExit() == .status(0))
    }

    @Test func `the data directory's key is replaced, and everything is there`() async throws {
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(at: gateway.client)
            try await stop(gateway)
            let before = try gateway.directory.read("data/key")
            let names = try gateway.directory.contents()
            let rotation = try await Rotation(directory: gateway.dataDirectory).run()
            #expect(rotation.exit == .status(0), "\(rotation.reason)")
            let after = try gateway.directory.read("data/key")
            #expect(after.count == 32 && after != before)
            #expect(try Set(gateway.directory.contents()).isSubset(of: names))

            let again = try await gateway.restarted()
            try await work.verify(at: again.client)
            try await work.verifySecrets(at: again.client)
            try await stop(again)

            // The old key opens nothing any more.
            try Data(before).write(to: URL(fileURLWithPath: gateway.dataDirectory + "/key"))
            let serve = Serve(
                arguments: ["--port", "0", "--data-directory", gateway.dataDirectory], home: home)
            let refusal = try await WholeRun(serve.start())
            #expect(refusal.exit == .status(78))
            #expect(refusal.reason.contains("is not the key"), "\(refusal.reason)")
        }
    }

    @Test func `a key of the operator's replaces the data directory's, and the other way round`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(at: gateway.client)
            try await stop(gateway)
            let file = home.file("mine")
            var rotation = Rotation(directory: gateway.dataDirectory)
            rotation.arguments = ["--new-key-file", file]
            let moved = try await rotation.run()
            #expect(moved.exit == .status(0) && moved.said.contains("--key-file \(file)"))
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try !gateway.directory.contents().contains("data/key"))
            // The same command again changes nothing.
            let key = try home.read("mine")
            #expect(try await rotation.run().exit == .status(0))
            #expect(try home.read("mine") == key)

            var options = RunningGateway.Options()
            options.arguments = ["--key-file", file]
            let second = try await RunningGateway(options, in: gateway.directory)
            try await work.verify(at: second.client)
            try await stop(second)

            // In place, with the file of the operator's.
            rotation.arguments = ["--key-file", file]
            #expect(try await rotation.run().exit == .status(0))
            #expect(try home.read("mine") != key)
            #expect(try home.contents() == ["mine"])
            let third = try await second.restarted()
            try await work.verify(at: third.client)
            try await stop(third)

            rotation.arguments += ["--new-key-file", gateway.dataDirectory + "/key"]
            let back = try await rotation.run()
            #expect(back.exit == .status(0) && back.said.contains("without --key-file"))
            #expect(try home.contents() == ["mine"])
            let fourth = try await gateway.restarted()
            try await work.verify(at: fourth.client)
            try await work.verifySecrets(at: fourth.client)
            try await stop(fourth)
        }
    }

    @Test func `keys of the environment are rotated without a file`() async throws {
        let (first, second) = (OperatorKey.digits(), OperatorKey.digits())
        var options = RunningGateway.Options()
        options.environment = ["FERRY_KEY": first]
        try await RunningGateway.alone(options) { gateway in
            let work = try await KeyWork(at: gateway.client)
            try await stop(gateway)
            var rotation = Rotation(directory: gateway.dataDirectory)
            rotation.environment = ["FERRY_KEY": first]
            let nowhere = try await rotation.run()
            #expect(nowhere.exit == .status(64) && nowhere.reason.contains("FERRY_NEW_KEY"))
            rotation.environment = ["FERRY_KEY": first, "FERRY_NEW_KEY": second]
            let done = try await rotation.run()
            #expect(done.exit == .status(0), "\(done.reason)")
            #expect(!(done.said + done.reason).contains(second))

            var options = RunningGateway.Options()
            options.environment = ["FERRY_KEY": second]
            let again = try await RunningGateway(options, in: gateway.directory)
            try await work.verify(at: again.client)
            try await work.verifySecrets(at: again.client)
            try await stop(again)
            #expect(try !gateway.directory.contents().contains { $0.hasPrefix("data/key") })
        }
    }

    @Test func `it does nothing while a gateway runs, nor with another key`() async throws {
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(1, at: gateway.client)
            let key = try gateway.directory.read("data/key")
            let running = try await Rotation(directory: gateway.dataDirectory).run()
            #expect(running.exit == .status(75) && running.reason.contains("Another gateway"))
            try await stop(gateway)

            let database = try gateway.directory.read("data/ferry.sqlite")
            let wrong = try OperatorKey.makeFile("wrong", in: home)
            for (status, arguments, environment) in [
                (78, ["--key-file", wrong], [:]),
                (78, [], ["FERRY_KEY": OperatorKey.digits()]),
                (78, ["--key-file", wrong], ["FERRY_KEY": OperatorKey.digits()]),
                (78, [], ["FERRY_NEW_KEY": "secret"]),
                (78, ["--key-file", wrong, "--new-key-file", home.file("new")], [:]),
                (
                    78, ["--new-key-file", home.file("new")],
                    ["FERRY_NEW_KEY": OperatorKey.digits()]
                ),
                (66, ["--key-file", home.file("none")], [:]),
                (66, ["--data-directory", home.file("none")], [:]),
                (74, ["--new-key-file", home.file("no/such/folder")], [:]),
                (64, ["--new-key-file", gateway.dataDirectory + "/key"], [:]),
                (64, ["--new-key-file", gateway.dataDirectory + "/../data/key.rotation"], [:]),
            ] as [(Int32, [String], [String: String])] {
                let refused = try await Rotation(
                    directory: gateway.dataDirectory, arguments: arguments, environment: environment
                ).run()
                #expect(refused.exit == .status(status), "\(arguments): \(refused.reason)")
                #expect(!refused.reason.isEmpty && refused.said.isEmpty)
            }
            #expect(try home.contents() == ["wrong"])
            #expect(try gateway.directory.read("data/key") == key)
            #expect(try gateway.directory.read("data/ferry.sqlite") == database)
            let again = try await gateway.restarted()
            try await work.verify(at: again.client)
            try await stop(again)
        }
    }
}
