import Foundation

/// A built `ferry serve` in a process of its own, with a data directory of its own.
///
/// It is killed and its directory removed when it is released. `kill9` and `restart` give the
/// crash tests their life.
public final class RunningGateway: Sendable {
    /// How to start it.
    public struct Options: Sendable {
        /// Whether it listens on a unix socket too, which its client then uses.
        public var onUnixSocket = false
        /// What the egress policy allows beside public addresses; loopback, for scripted origins.
        public var allowedDestinations = ["127.0.0.0/8"]
        /// Further arguments of `ferry serve`.
        public var arguments: [String] = []
        /// Further environment variables.
        public var environment: [String: String] = [:]

        /// The defaults above.
        public init() {}
    }

    /// The place where the gateway's files live; `data` in it is the data directory.
    public let directory: TemporaryDirectory
    /// The process.
    public let process: ChildProcess
    /// Where it listens.
    public let endpoint: Endpoint
    /// The operator's token, of all scopes.
    public let token: String
    /// A client with that token.
    public let client: TestClient
    private let options: Options

    /// The data directory.
    public var dataDirectory: String { directory.file("data") }

    /// Starts a gateway and waits until `/readyz` answers 200.
    ///
    /// `directory` is the place of an earlier gateway, to start on its data again.
    /// - Throws: `DeadlinePassed` with what the gateway wrote, when it does not come up.
    public init(
        _ options: Options = Options(), in directory: TemporaryDirectory? = nil,
        within limit: Duration = .patience
    ) async throws {
        let directory = try directory ?? TemporaryDirectory()
        self.options = options
        self.directory = directory
        let socketPath = directory.file("ferry.sock")
        var arguments = ["serve", "--data-directory", directory.file("data")]
        arguments += ["--host", "127.0.0.1", "--port", "0"]
        if options.onUnixSocket { arguments += ["--unix-socket", socketPath] }
        for destination in options.allowedDestinations {
            arguments += ["--allow-destination", destination]
        }
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("FERRY_") }
        // The gateway leaves its address for command-line clients there: not in a person's own.
        environment["XDG_RUNTIME_DIR"] = directory.path
        environment["HOME"] = directory.path
        environment.merge(options.environment) { $1 }
        process = try ChildProcess(
            Self.executable, arguments + options.arguments, environment: environment)

        let marker = "Ferry listens on "
        let line = try await process.waitForLine(within: limit) { $0.hasPrefix(marker) }
        endpoint =
            options.onUnixSocket
            ? .unix(path: socketPath) : try Self.endpoint(of: line.dropFirst(marker.count))
        let anonymous = TestClient(endpoint)
        try await eventually(within: limit, "/readyz to answer 200") {
            try await anonymous.get("/readyz").status == 200
        }
        let file = try String(contentsOfFile: directory.file("data/token"), encoding: .utf8)
        token = file.trimmingCharacters(in: .whitespacesAndNewlines)
        client = TestClient(endpoint, token: token)
    }

    /// The base URL, for a gateway on loopback.
    public var url: String { "http://\(endpoint)" }

    /// Ends the process at once (SIGKILL); its data stays.
    public func kill9() async throws {
        try await process.killNow()
    }

    /// Starts another gateway on the data of this one, which must have ended.
    public func restarted(within limit: Duration = .patience) async throws -> RunningGateway {
        try await RunningGateway(options, in: directory, within: limit)
    }

    /// The built `ferry`: beside the test executable, or where `FERRY_EXECUTABLE` says.
    public static var executable: String {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["FERRY_EXECUTABLE"] { return path }
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let products = URL(fileURLWithPath: own ?? "").deletingLastPathComponent()
        return products.appendingPathComponent("ferry").path
    }

    private static func endpoint(of address: Substring) throws -> Endpoint {
        let words = address.split(whereSeparator: \.isWhitespace)
        guard let url = words.first.flatMap({ URL(string: String($0)) }), let host = url.host,
            let port = url.port.flatMap({ UInt16(exactly: $0) })
        else { throw MalformedMessage("the gateway's first line: \(address)") }
        let bare = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        return .tcp(host: bare, port: port)
    }
}
