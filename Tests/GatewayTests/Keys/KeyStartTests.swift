import Foundation
import TestSupport
import Testing

/// Whose key a gateway starts with, and when it refuses (security §5; api: Command line).
struct KeyStartTests {
    private let home: TemporaryDirectory
    private let data: String

    init() throws {
        home = try TemporaryDirectory()
        data = home.file("data")
    }

    private func serve(
        _ arguments: [String] = [], _ environment: [String: String] = [:]
    ) -> Serve {
        Serve(
            arguments: ["--port", "0", "--data-directory", data] + arguments,
            environment: environment, home: home)
    }

    private func runs(_ serve: Serve) async throws {
        try await Permits.gateways.use {
            let (process, _) = try await serve.ready()
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
    }

    @Test func `the option, the environment and the file name a key file`() async throws {
        let key = try OperatorKey.makeFile("mine", in: home)
        let file = try home.write("ferry.json", Array(#"{"keyFile": "\#(key)"}"#.utf8))
        for way in [
            serve(["--key-file", key]), serve([], ["FERRY_KEY_FILE": key]),
            serve(["--configuration", file]),
        ] {
            try await runs(way)
            #expect(!FileManager.default.fileExists(atPath: data + "/key"))
        }
        // Each has found what the first has sealed; without it nothing opens.
        let refusal = try await WholeRun(serve().start())
        #expect(refusal.exit == .status(78))
        #expect(refusal.reason.contains("\(data)/key is missing"))
        #expect(!FileManager.default.fileExists(atPath: data + "/key"))
    }

    @Test func `a key file may be a link, as secrets are mounted`() async throws {
        let key = try OperatorKey.makeFile("mine", in: home)
        let link = home.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: key)
        try await runs(serve(["--key-file", link]))
        try await runs(serve(["--key-file", key]))
    }

    @Test func `FERRY_KEY is the key itself, and cannot be seen afterwards`() async throws {
        let digits = OperatorKey.digits()
        let token = try await Permits.gateways.use {
            let loud = serve(
                ["--log-level", "debug"], ["FERRY_KEY": digits, "FERRY_OTHER": "seen"])
            let (process, client) = try await loud.ready()
            let environment = try Data(
                contentsOf: URL(fileURLWithPath: "/proc/\(process.identifier)/environ"))
            #expect(environment.range(of: Data("FERRY_OTHER=seen".utf8)) != nil)
            #expect(environment.range(of: Data(digits.utf8)) == nil)
            let token = try #require(home.token(in: "data"))
            _ = try await client.with(token: token).createSession()
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
            #expect(!(process.outputText + process.errorText).contains(digits))
            return token
        }
        for name in try home.contents() {
            let content = FileManager.default.contents(atPath: home.file(name))
            #expect(content?.range(of: Data(digits.utf8)) == nil, "\(name)")
        }
        #expect(!FileManager.default.fileExists(atPath: data + "/key"))
        try await Permits.gateways.use {
            let (process, client) = try await serve([], ["FERRY_KEY": digits.uppercased()]).ready()
            let sessions = try await client.with(token: token).get("/v1/sessions").json
            #expect(sessions["sessions"].array?.count == 2)
            try await process.killNow()
        }
    }

    @Test func `what is no key is refused with the reason, and makes nothing`() async throws {
        let key = try OperatorKey.makeFile("mine", in: home)
        let open = try OperatorKey.makeFile("open", in: home)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: open)
        let short = try home.write("short", [1, 2, 3])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: short)
        for (status, words, arguments, environment) in [
            (78, "two keys", ["--key-file", key], ["FERRY_KEY": OperatorKey.digits()]),
            (78, "FERRY_KEY is no key", [], ["FERRY_KEY": ""]),
            (78, "FERRY_KEY is no key", [], ["FERRY_KEY": "the secret of the operator"]),
            (78, "mode 0644", ["--key-file", open], [:]),
            (78, "3 bytes", ["--key-file", short], [:]),
            (78, "not a regular file", ["--key-file", home.path], [:]),
            (66, "There is no key file", ["--key-file", home.file("none")], [:]),
        ] as [(Int32, String, [String], [String: String])] {
            let refusal = try await WholeRun(serve(arguments, environment).start())
            #expect(refusal.exit == .status(status), "\(refusal.reason)")
            #expect(refusal.reason.contains(words), "\(refusal.reason)")
            #expect(!refusal.reason.contains("the secret of the operator"))
            #expect(!FileManager.default.fileExists(atPath: data + "/ferry.sqlite"))
            #expect(!FileManager.default.fileExists(atPath: data + "/key"))
        }
    }

    @Test func `another key than the data's is refused, and the data stay as they are`()
        async throws
    {
        let right = OperatorKey.digits()
        let wrong = try OperatorKey.makeFile("wrong", in: home)
        try await runs(serve([], ["FERRY_KEY": right]))
        let before = try home.read("data/ferry.sqlite")
        for (name, way) in [
            ("FERRY_KEY", serve([], ["FERRY_KEY": OperatorKey.digits()])),
            (wrong, serve(["--key-file", wrong])),
        ] {
            let refusal = try await WholeRun(way.start())
            #expect(refusal.exit == .status(78))
            #expect(refusal.reason.contains("\(name) is not the key"), "\(refusal.reason)")
            #expect(refusal.reason.hasSuffix("Nothing has been changed.\n"))
            #expect(try home.read("data/ferry.sqlite") == before)
        }
        try await runs(serve([], ["FERRY_KEY": right]))
    }
}
