internal import ArgumentParser
internal import Client
internal import Foundation
internal import JSON

/// The options of every command that talks to a running gateway.
struct GatewayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The gateway: http://HOST:PORT, https://HOST:PORT or unix:/PATH.",
            discussion: """
                Without it FERRY_GATEWAY is taken, and without that the gateway that you run on \
                this machine. The token is read from --token-file, or is FERRY_TOKEN, or is found \
                with the gateway.
                """))
    var gateway: String?

    @Option(help: "A file with the token.", completion: .file())
    var tokenFile: String?

    /// The options as they have to be typed for another command, each behind a space.
    var words: String {
        [("--gateway", gateway), ("--token-file", tokenFile)]
            .compactMap { name, value in value.map { " \(name) \(ShellWord.quoted($0))" } }
            .joined()
    }

    /// A client of the gateway that the options and the environment name.
    func client(
        needsToken: Bool = true, interrupts: Interrupts = .none
    ) throws(ClientError) -> GatewayClient {
        let gateway = try RemoteGateway.find(
            option: gateway, tokenFile: tokenFile, environment: CommandLineIO.environment,
            needsToken: needsToken)
        return GatewayClient(gateway, interrupts: interrupts)
    }

    /// Does `work` with the gateway that the options and the environment name, or that runs here;
    /// without any of them with a private one, for as long as `work` takes.
    func withGateway(
        interrupts: Interrupts, _ work: (RemoteGateway) throws(ClientError) -> Void
    ) throws(ClientError) {
        let environment = CommandLineIO.environment
        var own: PrivateGateway?
        let found: RemoteGateway
        do throws(ClientError) {
            found = try RemoteGateway.find(
                option: gateway, tokenFile: tokenFile, environment: environment)
        } catch .noGateway {
            let made = try PrivateGateway.join(
                program: "/proc/self/exe", environment: environment, interrupts: interrupts)
            own = made
            found = made.gateway
        }
        defer { own?.end() }
        try work(found)
    }
}

/// How the commands speak: results on standard output, progress and errors on standard error.
enum CommandLineIO {
    /// The process's environment.
    static var environment: [String: String] { ProcessInfo.processInfo.environment }

    /// Writes one line to standard output at once, so that a script at the other end of a pipe sees
    /// it; a terminal obeys nothing in it.
    static func print(_ line: String) {
        Screen.standardOutput(environment: [:]).printResult(line)
    }

    /// Writes a table to standard output, given the columns of a terminal; nil elsewhere.
    static func print(_ lines: (_ width: Int?) -> [String]) {
        let screen = Screen.standardOutput(environment: environment)
        for line in lines(screen.isLive ? screen.size.columns : nil) { screen.print(line) }
    }

    /// Writes one JSON object on a line to standard output.
    static func print(members: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        json.object(members)
        print(String(decoding: json.finish(), as: UTF8.self))
    }

    /// Writes JSON on a line to standard output.
    static func print(_ json: JSONValue) {
        var writer = JSONWriter()
        writer.value(json)
        print(String(decoding: writer.finish(), as: UTF8.self))
    }

    /// Runs a command's work; its error goes to standard error, with `json` as an object to
    /// standard output as well, and decides the exit status. What may be done about it is told for
    /// the `url` that the command is about.
    static func run(
        json: Bool = false, about url: String? = nil, _ work: () throws(ClientError) -> Void
    ) throws {
        do throws(ClientError) {
            try work()
        } catch {
            throw tell(error, json: json, about: url)
        }
    }

    /// As the other one, of work that waits for something else than the gateway.
    static func run(_ work: () async throws(ClientError) -> Void) async throws {
        do throws(ClientError) {
            try await work()
        } catch {
            throw tell(error, json: false, about: nil)
        }
    }

    private static func tell(
        _ error: ClientError, json: Bool, about url: String?
    ) -> ExitCode {
        if json { print(error.json) }
        complain(error, about: url)
        return ExitCode(error.exitStatus.rawValue)
    }

    /// Writes an error to standard error, and what to do about it.
    static func complain(
        _ error: ClientError, about url: String? = nil, showsURL: Bool = false
    ) {
        let screen = Screen.standardError(environment: [:])
        let subject = showsURL ? url.map { DisplayText.line($0) + ": " } ?? "" : ""
        screen.print("ferry: \(subject)\(error)")
        if let remedy = error.remedy(for: url) {
            screen.print("       \(DisplayText.line(remedy))")
        }
    }
}
