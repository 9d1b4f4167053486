internal import ArgumentParser
internal import Client
internal import Foundation
internal import JSON
internal import REST

/// `ferry tokens`: who may call.
struct Tokens: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the tokens that let programs in; make and revoke them.",
        discussion: """
            The token must be the gateway's own, which is in a file and not in this list, or one of \
            the tenant default with the scope admin.

            Exit status: 0 done; 1 the gateway refused: there is no such token (404), or what was \
            asked for is not valid (422); 3 no gateway; 26 the file of --token-file cannot \
            be read; 64 wrong arguments.
            """,
        subcommands: [List.self, Add.self, Remove.self, Generate.self],
        defaultSubcommand: List.self)

    /// `ferry tokens list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List tokens.")

        @Option(help: "Only those of this tenant.")
        var tenant: String?

        @Flag(help: "Print one JSON object: {\"tokens\":[…]}.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let tokens = try gatewayOptions.client().tokens(of: tenant)
                if json {
                    return try CommandLineIO.print(members: { $0.member("tokens", tokens) })
                }
                var shown: [RemoteToken] = []
                for token in tokens { shown.append(try RemoteToken(token)) }
                try CommandLineIO.print { TokenListing.lines(shown, width: $0) }
            }
        }
    }

    /// `ferry tokens add`.
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a token; print its id and the token, which is shown only now.",
            aliases: ["create"])

        @Option(help: "Whose it is (default: default, the operator's own tenant).")
        var tenant = "default"

        @Option(
            name: .customLong("scope"),
            help: """
                What it may do: sessions, tasks, events, decisions, webhooks, read, and in the tenant \
                default metrics and admin; repeatable.
                """)
        var scopes: [String]

        @Option(help: "When it ends: a time from now on (12h, 30d) or an instant (default: never).")
        var expires: String?

        @Option(help: "What it is called.")
        var description: String?

        @Flag(help: "Print the token as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                var order = TokenOrder(tenant: tenant, scopes: scopes)
                order.description = description
                if let expires {
                    let now = Int64(Date.now.timeIntervalSince1970 * 1000)
                    try order.setExpiry(expires, now: now)
                }
                let token = try gatewayOptions.client().createToken(order)
                if json { return try CommandLineIO.print(token) }
                try CommandLineIO.print(try RemoteToken(token).id)
                try CommandLineIO.print(token["token"]?.string ?? "")
            }
        }
    }

    /// `ferry tokens rm`.
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rm",
            abstract: "Revoke tokens: they let nobody in from then on, and their streams end.",
            discussion: """
                One that is refused keeps none of the others from being revoked: it is named, and the \
                exit status is that of the first one.
                """,
            aliases: ["delete"])

        @Argument(help: "The tokens: tok_….")
        var tokens: [String]

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            var failure: ClientError?
            try CommandLineIO.run { () throws(ClientError) in
                let client = try gatewayOptions.client()
                failure = try CommandLineIO.runEach(of: tokens, name: \.self) {
                    (token) throws(ClientError) in
                    try client.deleteToken(token)
                }
            }
            if let failure { throw ExitCode(failure.exitStatus.rawValue) }
        }
    }

    /// `ferry tokens generate`.
    struct Generate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a token that no gateway knows, for FERRY_TOKEN of `ferry serve`.",
            discussion: "Gateways of which one stands by are given the same one.")

        func run() throws {
            try CommandLineIO.run { () throws(ClientError) in
                try CommandLineIO.print(AccessToken.make().text)
            }
        }
    }
}
