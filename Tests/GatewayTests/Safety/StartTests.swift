import Foundation
import REST
import TestSupport
import Testing

/// How a gateway starts, where it listens, and whom it answers (security §4; api: Command line).
struct StartTests {
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    private func serve(_ arguments: String..., environment: [String: String] = [:]) -> Serve {
        Serve(arguments: arguments, environment: environment, home: home)
    }

    // MARK: Settings

    @Test func `the command line outranks the environment, and that the file`() async throws {
        let file = try home.write(
            "ferry.json",
            Array(
                """
                {"dataDirectory": "\(home.file("file"))", "port": 0,
                 "allowHost": ["file.example"], "allowDestination": ["127.0.0.0/8"]}
                """.utf8))
        let environment = ["FERRY_CONFIGURATION": file]
        let both = environment.merging(
            ["FERRY_DATA_DIRECTORY": home.file("env"), "FERRY_ALLOW_HOST": "a.example,b.example"]
        ) { $1 }
        let line = serve("--data-directory", home.file("line"), environment: both)
        for (serve, place) in [
            (line, "line"), (serve(environment: both), "env"),
            (serve(environment: environment), "file"),
        ] {
            try await Permits.gateways.use {
                let (process, client) = try await serve.ready()
                #expect(home.token(in: place) != nil, "\(place)")
                let hosts = ["a.example", "b.example", "file.example"]
                var answers: [Int] = []
                for host in hosts {
                    answers.append(try await client.get("/openapi.yaml", ["Host": host]).status)
                }
                #expect(answers == (place == "file" ? [421, 421, 200] : [200, 200, 421]))
                process.terminate()
                #expect(try await process.waitForExit() == .status(0))
            }
            if place == "line" { #expect(home.token(in: "env") == nil) }
            if place == "env" { #expect(home.token(in: "file") == nil) }
        }
    }

    @Test(
        arguments: [
            (64, ["--port", "70000"]), (64, ["--allow-destination", "example.com"]),
            (64, ["--allow-destination", "10.0.0.1/8"]), (64, ["--log-level", "loud"]),
            (64, ["--quiet-hours", "25:00-06:00"]), (64, ["--quiet-hours", "22:00-22:00"]),
            (64, ["--discretionary-attempts", "0"]), (64, ["--background-retention", "soon"]),
            (64, ["--no-such-option"]), (66, ["--configuration", "/no/such/file"]),
            (78, ["--host", "0.0.0.0"]), (78, ["--host", "::"]), (78, ["--host", "192.0.2.1"]),
            (73, ["--data-directory", "/proc/no/ferry"]),
        ] as [(Int32, [String])])
    func `a setting that cannot be used ends the start with its reason`(
        code: Int32, arguments: [String]
    ) async throws {
        let base = ["--port", "0", "--data-directory", home.file("data")]
        let refusal = try await Serve(arguments: base + arguments, home: home).refusal()
        #expect(refusal.exit == .status(code), "\(refusal.reason)")
        #expect(!refusal.reason.isEmpty)
        #expect(home.token(in: "data") == nil || code == 73)
    }

    @Test(
        arguments: [
            (64, "10.0.0.5:8080", []), (64, "ftp://10.0.0.5", []), (64, "https://", []),
            (64, "https://10.0.0.5:8080/ferry", []), (64, "https://10.0.0.5?a", []),
            (64, "https://user@10.0.0.5", []), (64, "https://10.0.0.5:0", []),
            (64, "https://10.0.0.5:70000", []), (64, "https://fd00::1:8080", []),
            (64, "https://[fd00::1", []), (64, "https://*.example.com", []),
            (64, "https://0.0.0.0:8080", []), (64, "https://[::]:8080", []),
            (78, "http://10.0.0.5:8080", []), (78, "http://ferry-0.ferry:8080", []),
            (64, "https://10.0.0.5:8080", []), (64, "http://127.0.0.1:8080", ["--stand-by"]),
            (
                64, "https://10.0.0.5:8080",
                ["--tls-certificate", "a.pem", "--tls-key", "a.key", "--tls-client-ca", "ca.pem"]
            ),
        ] as [(Int32, String, [String])])
    func `an address of a node that others cannot use is refused`(
        code: Int32, address: String, arguments: [String]
    ) async throws {
        let refusal = try await node(arguments + ["--node-address", address]).refusal()
        #expect(refusal.exit == .status(code), "\(refusal.reason)")
        #expect(refusal.reason.contains("--node-address"))
        #expect(home.token(in: "data") == nil)
    }

    @Test(arguments: [["--store"], ["--contents"], []])
    func `a node needs a database and a place that others share`(given: [String]) async throws {
        var missing = node(["--node-address", "http://127.0.0.1:8080"])
        if !given.contains("--store") { missing.environment["FERRY_STORE"] = nil }
        if !given.contains("--contents") { missing.environment["FERRY_CONTENTS"] = nil }
        let refusal = try await missing.refusal()
        #expect(refusal.exit == .status(64), "\(refusal.reason)")
        #expect(refusal.reason.contains("--node-address needs --store and --contents"))
    }

    @Test(arguments: [
        ["--node-address", "http://LOCALHOST:8080"], ["--node-address", "http://[::1]"],
        ["--node-address", "http://10.0.0.5:8080", "--behind-tls-proxy"],
        ["--node-address", "https://ferry-0.ferry.example:443", "--behind-tls-proxy"],
    ])
    func `an address of a node that others can use leads on to the database`(
        arguments: [String]
    ) async throws {
        // Nothing listens there.
        let refusal = try await node(arguments).refusal()
        #expect(refusal.exit == .status(69), "\(refusal.reason)")
        #expect(!refusal.reason.contains("--node-address"))
    }

    /// One of several gateways, of whose database there is nothing.
    private func node(_ arguments: [String]) -> Serve {
        Serve(
            arguments: ["--port", "0", "--data-directory", home.file("data")] + arguments,
            environment: [
                "FERRY_STORE": "postgres://ferry@127.0.0.1:1/ferry",
                "FERRY_CONTENTS": home.file("contents"),
                "FERRY_KEY": String(repeating: "5a", count: 32),
            ], home: home)
    }

    @Test(arguments: [
        "{\"colour\": 1}", "{\"port\": \"x", "[]", "{\"port\": 0, \"port\": 1}",
    ])
    func `a configuration file that says what nobody knows is refused`(text: String) async throws {
        let file = try home.write("ferry.json", Array(text.utf8))
        let refusal = try await serve(
            "--configuration", file, "--data-directory", home.file("data"), "--port", "0"
        ).refusal()
        #expect(refusal.exit == .status(78), "\(refusal.reason)")
        #expect(refusal.reason.contains(file))
    }

    @Test(arguments: [
        "{\"port\": \"x\"}", "{\"discretionaryAttempts\": 0}", "{\"standBy\": \"maybe\"}",
        "{\"logLevel\": \"loud\"}", "{\"logFormat\": \"xml\"}", "{\"store\": \"mysql://h/d\"}",
        "{\"allowDestination\": [\"10.0.0.1/8\"]}", "{\"allowHost\": [\"a b\"]}",
        "{\"allowOrigin\": \"nowhere\"}", "{\"folder\": \"music\"}", "{\"quietHours\": \"late\"}",
        "{\"negotiateHost\": \"*\"}", "{\"nodeAddress\": \"ftp://h\"}", "{\"contents\": \"s3:\"}",
        "{\"host\": [\"127.0.0.1\", \"10.0.0.7\"]}",
    ])
    func `a value of a configuration file that cannot be used is told with the file`(
        text: String
    ) async throws {
        let file = try home.write("ferry.json", Array(text.utf8))
        let refusal = try await serve(
            "--configuration", file, "--data-directory", home.file("data")
        ).refusal()
        #expect(refusal.exit == .status(78), "\(refusal.reason)")
        #expect(refusal.reason.contains(file), "\(refusal.reason)")
    }

    @Test func `beyond loopback it listens only behind a TLS proxy (security §4)`() async throws {
        let data = home.file("data")
        let open = try await serve("--host", "0.0.0.0", "--port", "0", "--data-directory", data)
            .refusal()
        #expect(open.exit == .status(78))
        #expect(open.reason.contains("--behind-tls-proxy"))
        try await Permits.gateways.use {
            let proxied = serve(
                "--host", "0.0.0.0", "--port", "0", "--data-directory", data, "--behind-tls-proxy")
            let (process, client) = try await proxied.ready()
            #expect(try await client.get("/healthz").status == 200)
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
    }

    // MARK: Token

    @Test func `the token stays over restarts, and FERRY_TOKEN overrides it`() async throws {
        try await RunningGateway.alone { gateway in
            try await gateway.kill9()
            let again = try await gateway.restarted()
            #expect(again.token == gateway.token)
            #expect(try await again.client.get("/v1/tasks").status == 200)
            again.process.terminate()
            #expect(try await again.process.waitForExit() == .status(0))

            let other = REST.AccessToken.make().text
            let serve = Serve(
                arguments: ["--port", "0", "--data-directory", gateway.dataDirectory],
                environment: ["FERRY_TOKEN": other], home: home)
            let (process, client) = try await serve.ready()
            #expect(try await client.with(token: other).get("/v1/tasks").status == 200)
            #expect(try await client.with(token: gateway.token).get("/v1/tasks").status == 401)
            #expect(gateway.directory.token(in: "data") == gateway.token)
            try await process.killNow()
        }
    }

    @Test(arguments: ["secret", "fry_", "fry_" + String(repeating: "0", count: 49)])
    func `FERRY_TOKEN must be a token`(text: String) async throws {
        let refusal = try await serve(
            "--port", "0", "--data-directory", home.file("data"),
            environment: ["FERRY_TOKEN": text]
        ).refusal()
        #expect(refusal.exit == .status(78))
        #expect(!refusal.reason.contains(text) || text == "fry_")
    }

    // MARK: Whom it answers

    @Test func `only its own names are answered (421)`() async throws {
        var options = RunningGateway.Options()
        options.arguments = ["ferry.example", "Other.Example", "*.ferry.example"].flatMap {
            ["--allow-host", $0]
        }
        try await RunningGateway.alone(options) { gateway in
            let client = gateway.client
            for host in [
                "ferry.example", "FERRY.EXAMPLE:443", "other.example", "localhost:1", "127.0.0.1",
                "[::1]:8080", "a.ferry.example", "A.b.Ferry.example:80",
            ] {
                #expect(try await client.get("/v1/tasks", ["Host": host]).status == 200, "\(host)")
            }
            for host in [
                "evil.example", "ferry.example.evil", "127.0.0.2", "[::2]", "xn--ferry", "ferry",
                ".ferry.example", "xferry.example", "a.other.example",
            ] {
                for path in ["/v1/tasks", "/metrics", "/", "/nowhere"] {
                    let answer = try await client.get(path, ["Host": host])
                    #expect(answer.status == 421, "\(host)")
                    #expect(answer.problem == "misdirected-request")
                    #expect(answer.json["detail"].string?.contains("--allow-host \(host)") == true)
                }
                for probe in ["/healthz", "/readyz"] {
                    #expect(try await client.get(probe, ["Host": host]).status == 200, "\(host)")
                }
            }
        }
    }

    @Test func `a unix socket is for its owner only and asks for no host`() async throws {
        var options = RunningGateway.Options()
        options.onUnixSocket = true
        try await RunningGateway.alone(options) { gateway in
            guard case .unix(let path) = gateway.endpoint else { return #expect(Bool(false)) }
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let origin = try ScriptedOrigin()
            origin.on("/quick", .fixed(200, [:], "done"))
            let session = try await gateway.client.createSession()
            let task = try await session.run("data", origin.url("/quick"))
            #expect(try await gateway.client.content(task.id) == Array("done".utf8))
            let named = try await gateway.client.get("/v1/tasks", ["Host": "any.example"])
            #expect(named.status == 200)
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `a second gateway on the same data is refused (75)`() async throws {
        try await RunningGateway.alone { gateway in
            let refusal = try await serve(
                "--port", "0", "--data-directory", gateway.dataDirectory
            ).refusal()
            #expect(refusal.exit == .status(75))
            #expect(refusal.reason.contains("Another gateway"))
            #expect(try await gateway.client.get("/v1/tasks").status == 200)
        }
    }

    @Test func `a port that is taken ends the start`() async throws {
        let taken = try Decoy()
        let refusal = try await serve(
            "--port", "\(taken.port)", "--data-directory", home.file("data")
        ).refusal()
        #expect(refusal.exit == .status(74))
        #expect(refusal.reason.contains("cannot listen"))
    }

    @Test func `the page, life, readiness and figures are answered`() async throws {
        try await RunningGateway.alone { gateway in
            let anyone = TestClient(gateway.endpoint)
            #expect(try await anyone.get("/healthz").json["status"].string == "ok")
            #expect(try await anyone.get("/readyz").json["status"].string == "ok")
            let page = try await anyone.get("/")
            #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
            #expect(page.headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
            _ = try await gateway.client.createSession()
            let metrics = try await gateway.client.get("/metrics")
            #expect(
                metrics.text.contains("\nferry_sessions{type=\"default\",state=\"active\"} 1\n"))
            let about = try await gateway.client.get("/v1/gateway").json
            #expect(about["version"].string?.isEmpty == false)
            #expect(about["limits"]["jsonBytes"].int == 1 << 20)
        }
    }
}
