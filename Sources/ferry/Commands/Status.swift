internal import ArgumentParser
internal import Client

/// `ferry status`: how the gateway stands.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell how the gateway stands: version, disk, tasks, what waits, and quotas.",
        discussion: """
            The gateway as a whole is shown to its own token and to those of the tenant default with \
            the scope admin. With any token, the quotas of its tenant that are set are shown beside \
            what is used of them; from nine tenths on, and at the limit, a line says so.

            \(GatewayOptions.exitStatus)
            """)

    @Flag(
        help: """
            Print one JSON object: the gateway as GET /v1/gateway answers it, with GET /v1/usage as \
            its "usage".
            """)
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let status = try GatewayStatus(from: gatewayOptions.client())
            if json { return try CommandLineIO.print(status.json) }
            try CommandLineIO.print { _ in status.lines }
        }
    }
}
