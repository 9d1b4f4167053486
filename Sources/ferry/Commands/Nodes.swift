internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry nodes`: which gateways share the database.
struct Nodes: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the nodes: gateways that share a database (ferry serve --node-address).",
        discussion: """
            A star marks the node that has answered. The token must be the gateway's own, or one of \
            the tenant default with the scope admin.

            Exit status: 0 done; 1 the gateway refused, or is no node; 3 no gateway; 26 the file of \
            --token-file cannot be read; 64 wrong arguments.
            """)

    @Flag(help: "Print one JSON object: {\"nodes\":[…]}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let nodes = try RemoteNodes(gatewayOptions.client()).list()
            if json {
                return try CommandLineIO.print(members: { $0.member("nodes", nodes) })
            }
            var shown: [RemoteNode] = []
            for node in nodes { shown.append(try RemoteNode(node)) }
            try CommandLineIO.print { NodeTable.lines(shown, width: $0) }
        }
    }
}
