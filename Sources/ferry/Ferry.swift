import ArgumentParser
import CAssets
import Client
import Foundation

/// The program: a gateway, and the commands that use one.
@main
struct Ferry: AsyncParsableCommand {
    /// The release.
    static let release = "0.1.0"

    /// The commit that the program was built from; `unknown` where the build was not told.
    static let commit = String(cString: ferry_commit())

    static let configuration = CommandConfiguration(
        commandName: "ferry",
        abstract: "Moves bytes over HTTP on behalf of other programs.",
        version: "\(release) (\(commit))",
        groupedSubcommands: [
            CommandGroup(name: "Transfer", subcommands: [Get.self, Put.self]),
            CommandGroup(
                name: "Queue",
                subcommands: [
                    Add.self, Tasks.self, Watch.self, Show.self, Pause.self, Resume.self,
                    Cancel.self, Retry.self, Remove.self, Limit.self, Events.self,
                ]),
            CommandGroup(
                name: "Session",
                subcommands: [
                    Sessions.self, Cookies.self, Decisions.self, Answer.self, Webhooks.self,
                ]),
            CommandGroup(
                name: "Gateway",
                subcommands: [
                    Serve.self, Status.self, Open.self, Health.self, BackUp.self, Check.self,
                    Key.self,
                ]),
            CommandGroup(name: "Shell", subcommands: [Completions.self]),
        ])

    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        do throws(ClientError) {
            try CommandName.check(arguments.first, among: commandNames)
            let defaults = try CommandDefaults.read(environment: CommandLineIO.environment)
            arguments = try defaults.applied(to: arguments)
        } catch {
            CommandLineIO.complain(error)
            Foundation.exit(error.exitStatus.rawValue)
        }
        await main(arguments)
    }

    private static var commandNames: [String] {
        configuration.groupedSubcommands.flatMap(\.subcommands).map {
            $0.configuration.commandName ?? "\($0)".lowercased()
        } + ["help"]
    }
}
