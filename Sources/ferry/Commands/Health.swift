internal import ArgumentParser
internal import Client

/// `ferry health`: tells whether the gateway is alive; what the image's health check runs.
struct Health: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell whether the gateway is alive.",
        discussion: "Exit status: 0 it is; 1 it is not, or cannot be asked; 64 wrong arguments.")

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        do {
            try CommandLineIO.run { () throws(ClientError) in
                let client = try gatewayOptions.client(needsToken: false)
                try client.send("GET", "/healthz", seconds: 5)
                try CommandLineIO.print("\(client.gateway.address) is alive")
            }
        } catch {
            // 1 and nothing else is "unhealthy" to Docker; all else is reserved.
            throw ExitCode(ExitStatus.failure.rawValue)
        }
    }
}
