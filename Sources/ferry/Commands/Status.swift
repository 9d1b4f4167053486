internal import ArgumentParser
internal import Client

/// `ferry status`: how the gateway stands.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell how the gateway stands: version, disk, tasks, and what waits for what.")

    @Flag(help: "Print one JSON object, as the gateway answers it.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let status = try GatewayStatus(from: gatewayOptions.client())
            if json { return CommandLineIO.print(status.json) }
            CommandLineIO.print { _ in status.lines }
        }
    }
}
