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
                    Serve.self, Status.self, Tenants.self, Tokens.self, Nodes.self, Drain.self,
                    Open.self, Health.self, BackUp.self, Check.self, Key.self, Migrate.self,
                    MakeCertificate.self,
                ]),
            CommandGroup(name: "Shell", subcommands: [Completions.self]),
        ])

    static func main() async {
        StandardStreams.prepare()
        var arguments = Array(CommandLine.arguments.dropFirst())
        do throws(ClientError) {
            try CommandName.check(arguments.first, among: commandNames)
            try checkHelp(arguments)
            arguments = try withDefaults(arguments)
        } catch {
            CommandLineIO.complain(error)
            Foundation.exit(error.exitStatus.rawValue)
        }
        await main(arguments)
    }

    /// The words with a user's defaults. Only commands that talk to a gateway for people have some:
    /// a mistake in their file is no reason not to serve, or not to tell how a command is used.
    private static func withDefaults(_ words: [String]) throws(ClientError) -> [String] {
        let typed = words.prefix { $0 != "--" }
        guard let command = commandsWithDefaults.first(where: { $0._commandName == words.first }),
            !["--help", "-h", "--version"].contains(where: typed.contains)
        else { return words }
        let defaults = try CommandDefaults.read(environment: CommandLineIO.environment)
        try defaults.requireCommands(
            among: commandsWithDefaults.map { $0._commandName })
        let options = CommandOptions(describedBy: command._dumpHelp())
        let all = try defaults.applied(to: words, options: options) { given in
            IdleDefaults.of(command._commandName, given, among: options.names)
        }
        guard all != words else { return words }
        do {
            _ = try parseAsRoot(all)
        } catch {
            // What is wrong without the defaults, too, is told as it is of what was typed.
            guard (try? parseAsRoot(words)) != nil else { return words }
            let words = message(for: error)
            throw .badArgument("\(defaults.path): \(words)")
        }
        return all
    }

    /// Refuses `help` for a command that there is not.
    private static func checkHelp(_ words: [String]) throws(ClientError) {
        guard words.first == "help" else { return }
        var commands = configuration.groupedSubcommands.flatMap(\.subcommands)
        for word in words.dropFirst() where !word.hasPrefix("-") {
            let names = commands.map { [$0._commandName] + $0.configuration.aliases }
            try CommandName.check(word, among: names.flatMap(\.self) + ["help"])
            let next =
                names.firstIndex { $0.contains(word) }
                .map { commands[$0].configuration.subcommands } ?? []
            guard !next.isEmpty else { return }
            commands = next
        }
    }

    private static let commandsWithDefaults: [any ParsableCommand.Type] = [
        Get.self, Put.self, Add.self, Tasks.self, Watch.self, Show.self, Pause.self, Resume.self,
        Cancel.self, Retry.self, Remove.self, Limit.self, Events.self, Decisions.self, Answer.self,
        Status.self, Open.self,
    ]

    private static var commandNames: [String] {
        configuration.groupedSubcommands.flatMap(\.subcommands).map {
            $0.configuration.commandName ?? "\($0)".lowercased()
        } + ["help"]
    }
}
