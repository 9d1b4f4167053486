import Foundation
import TestSupport
import Testing

/// Key files that are in use twice: the key that data are sealed with is never lost (security §5).
struct SharedKeyFileTests {
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    /// Data that are sealed with the key in `mine.rotation`, as a rotation of the key in `mine`
    /// leaves them that is killed between its transaction and the new key's taking its place.
    ///
    /// - Returns: the key that opens them.
    private func interruptedRotation(of gateway: RunningGateway, _ file: String) async throws
        -> [UInt8]
    {
        try await gateway.kill9()
        var rotation = Rotation(directory: gateway.dataDirectory)
        rotation.arguments = ["--new-key-file", file]
        #expect(try await rotation.run().exit == .status(0))
        let old = try home.read("mine")
        rotation.arguments = ["--key-file", file]
        #expect(try await rotation.run().exit == .status(0))
        let new = try home.read("mine")
        try FileManager.default.moveItem(atPath: file, toPath: file + ".rotation")
        _ = try home.write("mine", old)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        return new
    }

    @Test func `the old key's file is refused as the new one's, by any name of it`() async throws {
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(2, at: gateway.client)
            let file = home.file("mine")
            let key = try await interruptedRotation(of: gateway, file)
            let link = home.file("link")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            let roundabout = home.path + "/./mine"
            for (old, new) in [
                (file, file), (file, link), (link, file), (file, roundabout),
                (file, file + ".rotation"),
            ] {
                let refused = try await Rotation(
                    directory: gateway.dataDirectory,
                    arguments: ["--key-file", old, "--new-key-file", new]
                ).run()
                #expect(refused.exit == .status(64), "\(old), \(new): \(refused.reason)")
                #expect(try home.read("mine.rotation") == key)
            }
            var options = RunningGateway.Options()
            options.arguments = ["--key-file", file]
            let again = try await RunningGateway(options, in: gateway.directory)
            try await work.verify(at: again.client)
            #expect(try home.read("mine") == key)
            #expect(try home.contents() == ["link", "mine"])
            try await again.kill9()
        }
    }

    @Test func `a start with another, empty data directory leaves both keys alone`() async throws {
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(2, at: gateway.client)
            let file = home.file("mine")
            let key = try await interruptedRotation(of: gateway, file)
            let typo = home.file("typo")
            let refusal = try await WholeRun(
                Serve(
                    arguments: ["--port", "0", "--data-directory", typo, "--key-file", file],
                    home: home
                ).start())
            #expect(refusal.exit == .status(78))
            #expect(refusal.reason.contains("is being rotated for other data"))
            #expect(!FileManager.default.fileExists(atPath: typo + "/ferry.sqlite"))
            #expect(try home.read("mine.rotation") == key)
            var options = RunningGateway.Options()
            options.arguments = ["--key-file", file]
            let again = try await RunningGateway(options, in: gateway.directory)
            try await work.verify(at: again.client)
            #expect(try home.read("mine") == key)
            try await again.kill9()
        }
    }

    @Test func `a new key's file in the data directory may be named relative to it`() async throws {
        try await RunningGateway.alone { gateway in
            _ = try await KeyWork(1, at: gateway.client)
            try await gateway.kill9()
            let file = home.file("mine")
            var rotation = Rotation(directory: gateway.dataDirectory)
            rotation.arguments = ["--new-key-file", file]
            #expect(try await rotation.run().exit == .status(0))
            rotation.arguments = [
                "--key-file", file, "--new-key-file", gateway.dataDirectory + "/../data/key",
            ]
            let back = try await rotation.run()
            #expect(back.exit == .status(0) && back.said.contains("without --key-file"))
        }
    }

    /// Mounting needs root and a namespace of one's own.
    private static let canMount =
        getuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/unshare")

    @Test(.enabled(if: canMount))
    func `a key on a mount that cannot be written is used`() async throws {
        let folder = home.file("secrets")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        _ = try OperatorKey.makeFile("secrets/mine", in: home)
        let mounting = """
            mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && ! touch "$1/x" && shift \
            && exec "$@"
            """
        try await Permits.gateways.use {
            let process = try ChildProcess(
                "/usr/bin/unshare",
                [
                    "-m", "sh", "-c", mounting, "sh", folder, RunningGateway.executable, "serve",
                    "--port", "0", "--data-directory", home.file("data"), "--key-file",
                    folder + "/mine",
                ],
                environment: [
                    "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "HOME": home.path,
                    "XDG_RUNTIME_DIR": home.path,
                ])
            _ = try await process.waitForLine { $0.hasPrefix("Ferry listens on http") }
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
    }
}
