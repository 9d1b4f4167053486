internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry drain`: empties a node.
struct Drain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Have a node hand its tenants over to the others, and wait until it has none.",
        discussion: """
            What runs goes on at the other nodes, tasks of default sessions too. The node takes no \
            tenant any more, and can be stopped; it takes some again after --cancel, or when it has \
            been started anew. If you interrupt this command, the node goes on handing over.

            Exit status: 0 the node has no tenant any more; 1 the gateway refused, is no node, \
            there is no other node that takes tenants, or the node has ended with some; 3 no \
            gateway, or no answer for 15 seconds; 26 the file of --token-file \
            cannot be read; 64 wrong arguments; 130 interrupted.
            """)

    @Argument(help: "The node's number, as in ferry nodes (default: the node that is asked).")
    var node: Int64?

    @Flag(help: "Have it take tenants again.")
    var cancel = false

    @Flag(help: "Print the node as one JSON object.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let screen = Screen.standardError(environment: CommandLineIO.environment)
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            let draining = Draining(client) { line in
                if screen.isLive { screen.draw([line]) } else { screen.print(line) }
            } conclude: { line in
                screen.clear()
                screen.print(line)
            }
            defer { screen.clear() }
            let node = try cancel ? draining.cancel(self.node) : draining.run(self.node)
            screen.clear()
            if json { try CommandLineIO.print(node) }
        }
    }
}
