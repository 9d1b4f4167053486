internal import ArgumentParser
internal import Client
internal import Foundation
internal import JSON

/// `ferry decisions`: lists what tasks ask and nobody has answered.
struct Decisions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List what tasks ask, for `ferry answer`.")

    @Argument(help: "A session's id (default: all sessions).")
    var session: String?

    @Flag(help: "Print one JSON object: {\"decisions\":[…]}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let decisions = try gatewayOptions.client().pendingDecisions(of: session)
            if json { return printJSON(decisions) }
            var shown: [RemoteDecision] = []
            for decision in decisions { shown.append(try RemoteDecision(decision)) }
            let screen = Screen.standardOutput(environment: CommandLineIO.environment)
            let width = screen.isLive ? screen.size.columns : nil
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            for line in DecisionTable.lines(shown, now: now, width: width) { screen.print(line) }
        }
    }

    private func printJSON(_ decisions: [JSONValue]) {
        var json = JSONWriter()
        json.object { json in json.member("decisions", decisions) }
        CommandLineIO.print(String(decoding: json.finish(), as: UTF8.self))
    }
}
