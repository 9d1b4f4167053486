internal import ArgumentParser
internal import Client

/// `ferry open`: the gateway's page, signed in.
struct Open: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Open the gateway's page in a browser, signed in; or print its address.",
        discussion: """
            The address has the token: whoever has it can do everything. It is printed with \
            --print, and where there is no desktop.

            \(GatewayOptions.exitStatus)
            """)

    @Flag(help: "Print the address only.")
    var print = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run { () throws(ClientError) in
            let client = try gatewayOptions.client()
            // A page that nobody serves need not be opened.
            try client.send("GET", "/healthz", seconds: 5)
            let page = try GatewayPage(client.gateway)
            let environment = CommandLineIO.environment
            if print || !page.open(environment: environment) {
                try CommandLineIO.print(page.address)
            }
        }
    }
}
