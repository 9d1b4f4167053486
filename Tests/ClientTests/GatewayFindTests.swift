import Foundation
import Glibc
import JSON
import TestSupport
import Testing

@testable import Client

struct GatewayAddressTests {
    @Test(arguments: [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://HOST:8080/", "http://host:8080"),
        ("http://host", "http://host:80"), ("https://host", "https://host:443"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("unix:/run/ferry.sock", "unix:/run/ferry.sock"),
        ("unix:///run/ferry.sock", "unix:/run/ferry.sock"),
    ])
    func `an address has one normal form`(_ text: String, _ expected: String) throws {
        #expect(try GatewayAddress(parsing: text).description == expected)
    }

    @Test(arguments: [
        "", "127.0.0.1:8080", "ftp://host", "http://host/path", "http://host?x", "http://host#x",
        "http://user@host", "http://u:p@host", "http://host:0", "http://host:99999", "http://",
        "unix:relative", "unix:", "unix:/" + String(repeating: "x", count: 107), "http://a b",
    ])
    func `anything else is refused`(_ text: String) {
        #expect(throws: ClientError.self) { try GatewayAddress(parsing: text) }
    }
}

struct GatewayFindTests {
    let home: TemporaryDirectory
    let environment: [String: String]

    init() throws {
        home = try TemporaryDirectory()
        environment = ["HOME": home.path]
    }

    @Test func `what serve leaves, a command finds`() throws {
        let file = DiscoveryFile(gateway: "http://127.0.0.1:8080", token: "fry_x")
        let path = try file.write(environment: environment)
        #expect(path == home.file(".config/ferry/gateway-\(getpid()).json"))
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        #expect(try DiscoveryFile.read(environment: environment) == file)
        let found = try RemoteGateway.find(option: nil, tokenFile: nil, environment: environment)
        #expect(found.address.description == "http://127.0.0.1:8080")
        #expect(found.token == "fry_x")
        DiscoveryFile.remove(environment: environment)
        #expect(try DiscoveryFile.read(environment: environment) == nil)
        #expect(try home.contents() == [".config", ".config/ferry"])
    }

    @Test func `the runtime folder comes first, and home where it cannot be written`() throws {
        var environment = environment
        environment["XDG_RUNTIME_DIR"] = home.file("run")
        let file = DiscoveryFile(gateway: "http://127.0.0.1:1", token: "a")
        #expect(
            try file.write(environment: environment)
                == home.file("run/ferry/gateway-\(getpid()).json"))
        environment["XDG_RUNTIME_DIR"] = "/proc/nowhere"
        #expect(
            try file.write(environment: environment)
                == home.file(".config/ferry/gateway-\(getpid()).json"))
        #expect(throws: ClientError.self) { try file.write(environment: [:]) }
    }

    @Test func `a gateway that is gone is not found, and its token not sent`() async throws {
        let child = try ChildProcess("true", [])
        try await child.waitForExit()
        let file = DiscoveryFile(
            gateway: "http://127.0.0.1:8080", token: "a", processIdentifier: child.identifier)
        _ = try file.write(environment: environment)
        #expect(throws: ClientError.noGateway) {
            try RemoteGateway.find(option: nil, tokenFile: nil, environment: environment)
        }
    }

    @Test(arguments: [
        #""startTicks":1,"boot":"BOOT""#, #""startTicks":TICKS,"boot":"another""#, #""old":1"#,
    ])
    func `a process that has got the number of one that is gone is sent no token`(
        _ start: String
    ) throws {
        let path = try DiscoveryFile(gateway: "http://127.0.0.1:8080", token: "a")
            .write(environment: environment)
        let json = try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path))))
        let (ticks, boot) = (json["startTicks"]?.int64 ?? 0, json["boot"]?.string ?? "")
        let start = start.replacing("TICKS", with: "\(ticks)").replacing("BOOT", with: boot)
        let text = #"{"gateway":"http://127.0.0.1:8080","token":"a","pid":\#(getpid()),\#(start)}"#
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
        #expect(try DiscoveryFile.read(environment: environment) == nil)
        // The token is not sent to that address when it is named, either.
        #expect(throws: ClientError.noToken(gateway: "http://127.0.0.1:8080")) {
            try RemoteGateway.find(
                option: "http://127.0.0.1:8080", tokenFile: nil, environment: environment)
        }
    }

    @Test
    func `of several gateways the last that was started is found, and each leaves only its own`()
        throws
    {
        let first = DiscoveryFile(
            gateway: "http://127.0.0.1:1", token: "a", processIdentifier: 1, startedAt: 1,
            start: ProcessStart(of: 1))
        _ = try first.write(environment: environment)
        let own = DiscoveryFile(gateway: "http://127.0.0.1:2", token: "b")
        _ = try own.write(environment: environment)
        #expect(try DiscoveryFile.all(environment: environment) == [own, first])
        let found = try RemoteGateway.find(option: nil, tokenFile: nil, environment: environment)
        #expect(found.address.description == "http://127.0.0.1:2")
        // The token of each is found with its address.
        let named = try RemoteGateway.find(
            option: "http://127.0.0.1:1", tokenFile: nil, environment: environment)
        #expect(named.token == "a")
        DiscoveryFile.remove(environment: environment)
        #expect(try DiscoveryFile.read(environment: environment) == first)
    }

    @Test func `a start takes away what gateways have left that were killed`() async throws {
        let child = try ChildProcess("true", [])
        try await child.waitForExit()
        let dead = DiscoveryFile(
            gateway: "http://127.0.0.1:1", token: "a", processIdentifier: child.identifier)
        let path = try dead.write(environment: environment)
        #expect(access(path, F_OK) != 0)
        let own = try DiscoveryFile(gateway: "http://127.0.0.1:2", token: "b").write(
            environment: environment)
        #expect(access(own, F_OK) == 0)
    }

    @Test func `a file that others can read is refused`() throws {
        let file = DiscoveryFile(gateway: "http://127.0.0.1:1", token: "a")
        let path = try file.write(environment: environment)
        chmod(path, 0o640)
        #expect(
            throws: ClientError.file(
                path: path, detail: "can be read by others: its mode must be 0600")
        ) {
            try DiscoveryFile.read(environment: environment)
        }
    }

    @Test(arguments: ["", "{", "[]", "{\"gateway\":1}", String(repeating: "x", count: 9000)])
    func `a file with something else in it is an error with its path`(_ content: String) throws {
        let path = try DiscoveryFile(gateway: "", token: "").write(environment: environment)
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        #expect { try DiscoveryFile.read(environment: environment) } throws: { error in
            guard case ClientError.file(let named, _) = error else { return false }
            return named == path
        }
    }

    @Test func `with nothing at all the message says what to do`() {
        #expect(throws: ClientError.noGateway) {
            try RemoteGateway.find(option: nil, tokenFile: nil, environment: environment)
        }
        #expect(
            ClientError.noGateway.description
                == "no gateway is running here: start one with `ferry serve`")
        #expect(ClientError.noGateway.exitStatus == .noGateway)
    }

    @Test func `the option outranks the environment, and that the file`() throws {
        _ = try DiscoveryFile(gateway: "http://127.0.0.1:1", token: "left")
            .write(environment: environment)
        var environment = environment
        environment["FERRY_TOKEN"] = "given"
        func address(_ option: String?) throws -> String {
            try RemoteGateway.find(option: option, tokenFile: nil, environment: environment)
                .address.description
        }
        #expect(try address(nil) == "http://127.0.0.1:1")
        environment["FERRY_GATEWAY"] = "http://127.0.0.1:2"
        #expect(try address(nil) == "http://127.0.0.1:2")
        #expect(try address("http://127.0.0.1:3") == "http://127.0.0.1:3")
    }

    @Test func `the token that was left goes to its own gateway only`() throws {
        _ = try DiscoveryFile(gateway: "http://127.0.0.1:8080", token: "left")
            .write(environment: environment)
        let own = try RemoteGateway.find(
            option: "http://127.0.0.1:8080/", tokenFile: nil, environment: environment)
        #expect(own.token == "left")
        // By its name another program could be found that listens at [::1].
        let named = try RemoteGateway.find(
            option: "http://localhost:8080", tokenFile: nil, environment: environment)
        #expect(named.token == "left" && named.address == own.address)
        for other in ["http://127.0.0.1:8081", "http://localhost:8081", "https://localhost:8080"] {
            #expect(throws: ClientError.self) {
                try RemoteGateway.find(option: other, tokenFile: nil, environment: environment)
            }
            let anonymous = try RemoteGateway.find(
                option: other, tokenFile: nil, environment: environment, needsToken: false)
            #expect(anonymous.token == nil)
        }
    }

    @Test func `a token file outranks FERRY_TOKEN; its first line counts`() throws {
        var environment = environment
        environment["FERRY_TOKEN"] = "variable"
        let path = try home.write("token", Array("file\n".utf8))
        let gateway = try RemoteGateway.find(
            option: "http://h", tokenFile: path, environment: environment)
        #expect(gateway.token == "file")
        let other = try RemoteGateway.find(
            option: "http://h", tokenFile: nil, environment: environment)
        #expect(other.token == "variable")
    }

    @Test(arguments: ["a b", "a\r\nX: y", "", "é"])
    func `a token that could split a header is refused (X-7)`(_ token: String) throws {
        let path = try home.write("token", Array(token.utf8))
        if token.contains("\r\n") {
            // Only the first line is taken.
            #expect(
                try RemoteGateway.find(option: "http://h", tokenFile: path, environment: [:]).token
                    == "a"
            )
            #expect(throws: ClientError.self) {
                try RemoteGateway.find(
                    option: "http://h", tokenFile: nil, environment: ["FERRY_TOKEN": token])
            }
        } else {
            #expect(throws: ClientError.self) {
                try RemoteGateway.find(option: "http://h", tokenFile: path, environment: [:])
            }
        }
    }
}
