internal import ArgumentParser
internal import Client
internal import Foundation
internal import JSON

/// `ferry decisions`: lists what tasks ask and nobody has answered.
struct Decisions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List what tasks ask, for `ferry answer`.",
        discussion: GatewayOptions.exitStatus)

    @Argument(help: "A session's id (default: all sessions).")
    var session: String?

    @Flag(help: "Print one JSON object: {\"decisions\":[…]}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let decisions = try gatewayOptions.client().pendingDecisions(of: session)
            if json {
                return try CommandLineIO.print(members: { $0.member("decisions", decisions) })
            }
            var shown: [RemoteDecision] = []
            for decision in decisions { shown.append(try RemoteDecision(decision)) }
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            try CommandLineIO.print { DecisionTable.lines(shown, now: now, width: $0) }
        }
    }
}
