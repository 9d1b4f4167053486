import ArgumentParser

/// The program: a gateway, and the commands that use one.
@main
struct Ferry: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "ferry",
        abstract: "Moves bytes over HTTP on behalf of other programs.",
        version: version,
        subcommands: [
            Serve.self, Get.self, Put.self, Tasks.self, Watch.self, Cancel.self,
            Decisions.self, Answer.self, Sessions.self, Webhooks.self, Cookies.self, Health.self,
            Key.self, Check.self, BackUp.self,
        ])
}
