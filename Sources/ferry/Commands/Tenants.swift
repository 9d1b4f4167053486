internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry tenants`: who uses the gateway.
struct Tenants: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List tenants, whose transfers are apart; make, change and delete them.",
        discussion: """
            The token must be the gateway's own, or one of the tenant default with the scope admin.

            Exit status: 0 done; 1 the gateway refused: there is no such tenant (404), the name is \
            taken (409), or what was asked for is not valid (422); 3 no gateway; 26 the file of \
            --token-file cannot be read; 64 wrong arguments.
            """,
        subcommands: [List.self, Add.self, Show.self, Set.self, Remove.self],
        defaultSubcommand: List.self)

    /// `ferry tenants list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List tenants.")

        @Flag(help: "Print one JSON object: {\"tenants\":[…]}.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let tenants = try gatewayOptions.client().tenants()
                if json {
                    return try CommandLineIO.print(members: { $0.member("tenants", tenants) })
                }
                var shown: [RemoteTenant] = []
                for tenant in tenants { shown.append(try RemoteTenant(tenant)) }
                try CommandLineIO.print { TenantTable.lines(shown, width: $0) }
            }
        }
    }

    /// `ferry tenants add`.
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a tenant; `ferry tokens add` makes a token for it.",
            aliases: ["create"])

        @OptionGroup var target: Target

        @OptionGroup var properties: Properties

        @Flag(help: "Print the tenant as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let tenant = try gatewayOptions.client().createTenant(
                    target.name, try properties.order())
                if json { return try CommandLineIO.print(tenant) }
                try CommandLineIO.print(try RemoteTenant(tenant).name)
            }
        }
    }

    /// `ferry tenants show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a tenant.")

        @OptionGroup var target: Target

        @Flag(help: "Print the tenant as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let tenant = try gatewayOptions.client().tenant(target.name)
                if json { return try CommandLineIO.print(tenant) }
                let shown = try RemoteTenant(tenant)
                try CommandLineIO.print { _ in TenantTable.lines(of: shown) }
            }
        }
    }

    /// `ferry tenants set`.
    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a tenant; what is not named stays as it is.")

        @OptionGroup var target: Target

        @OptionGroup var properties: Properties

        @Flag(help: "Print the tenant as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let tenant = try gatewayOptions.client().changeTenant(
                    target.name, try properties.order())
                if json { try CommandLineIO.print(tenant) }
            }
        }
    }

    /// `ferry tenants rm`.
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rm",
            abstract: "Delete a tenant with all that it has, and wait until it is gone.",
            discussion: """
                Its tokens are void at once. If you interrupt this command, the gateway goes on \
                deleting.
                """,
            aliases: ["delete"])

        @OptionGroup var target: Target

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run { () throws(ClientError) in
                let client = try gatewayOptions.client()
                try client.deleteTenant(target.name)
                while try isThere(client) { try client.turn(within: .milliseconds(100)) }
            }
        }

        private func isThere(_ client: GatewayClient) throws(ClientError) -> Bool {
            do throws(ClientError) {
                _ = try client.tenant(target.name)
                return true
            } catch .refused(let problem) where problem.status == 404 {
                return false
            }
        }
    }

    /// The tenant that a command is about.
    struct Target: ParsableArguments {
        @Argument(help: "The tenant's name.")
        var name: String
    }

    /// What can be said of a tenant.
    struct Properties: ParsableArguments {
        @Option(help: "What it is called; empty for nothing.")
        var description: String?

        @Option(
            name: .customLong("quota"),
            help: "A quota: NAME=NUMBER, with k, m, g or t for bytes, or NAME=none; repeatable.")
        var quotas: [String] = []

        @Option(
            name: .customLong("only-host"),
            help: "A host that it may ask, or *.DOMAIN; repeatable; any for all.")
        var onlyHosts: [String] = []

        @Option(
            name: .customLong("deny-host"),
            help: "A host that it may not ask, or *.DOMAIN; repeatable; none for none.")
        var deniedHosts: [String] = []

        @Option(
            name: .customLong("only-address"),
            help: "Addresses that it may connect to: CIDR[:port]; repeatable; any for all.")
        var onlyAddresses: [String] = []

        @Option(
            name: .customLong("deny-address"),
            help: "Addresses that it may not connect to: CIDR[:port]; repeatable; none for none.")
        var deniedAddresses: [String] = []

        @Option(
            help: "How many seconds its results are kept, or none for as long as all others.")
        var taskRetention: String?

        func order() throws(ClientError) -> TenantOrder {
            var order = TenantOrder()
            order.description = description
            for quota in quotas { try order.addQuota(quota) }
            try order.setRules(
                onlyHosts: onlyHosts, deniedHosts: deniedHosts, onlyAddresses: onlyAddresses,
                deniedAddresses: deniedAddresses)
            if let taskRetention {
                guard taskRetention == "none" || Int64(taskRetention) != nil else {
                    throw .badArgument("--task-retention \(taskRetention): say seconds, or none")
                }
                order.taskRetention = .some(Int64(taskRetention))
            }
            return order
        }
    }
}
