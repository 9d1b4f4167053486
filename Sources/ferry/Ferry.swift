import ArgumentParser
import CAssets

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
        subcommands: [
            Serve.self, Get.self, Put.self, Tasks.self, Watch.self, Status.self, Cancel.self,
            Decisions.self, Answer.self, Sessions.self, Webhooks.self, Cookies.self, Health.self,
            Key.self, Check.self, BackUp.self,
        ])
}
