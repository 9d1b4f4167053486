internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry webhooks`: where the gateway posts events to.
struct Webhooks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List webhooks: where events are posted to; make, try and end them.",
        discussion: """
            Each event is posted as JSON, signed as standardwebhooks.com says, and again over three \
            days until it is taken.

            Exit status: 0 done; 1 the gateway refused: there is no such webhook (404), or what was \
            asked for is not valid (422); or the receiver did not answer with 2xx; 3 no gateway; 26 a \
            file cannot be read; 64 wrong arguments.
            """,
        subcommands: [
            List.self, Create.self, Listen.self, Test.self, Deliveries.self, Retry.self,
            Replay.self, Pause.self, Resume.self, RotateSecret.self, Delete.self,
        ], defaultSubcommand: List.self)

    /// `ferry webhooks list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List webhooks.")

        @Flag(help: "Print one JSON object: {\"webhooks\":[…]}.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let webhooks = try gatewayOptions.client().webhooks()
                if json {
                    return try CommandLineIO.print(members: { $0.member("webhooks", webhooks) })
                }
                var shown: [RemoteWebhook] = []
                for webhook in webhooks { shown.append(try RemoteWebhook(webhook)) }
                try CommandLineIO.print { WebhookTable.lines(shown, width: $0) }
            }
        }
    }

    /// `ferry webhooks create`.
    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a webhook; print its id and its secret, which is shown only now.",
            aliases: ["add"])

        @Argument(help: "Where events are to be posted to.")
        var url: String

        @OptionGroup var choice: EventChoice

        @Option(help: "What it is called.")
        var description: String?

        @Flag(help: "Print the webhook as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                var order = choice.order(for: url)
                order.description = description
                let webhook = try gatewayOptions.client().createWebhook(order)
                if json { return try CommandLineIO.print(webhook) }
                try CommandLineIO.print(try RemoteWebhook(webhook).id)
                try CommandLineIO.print(webhook["secret"]?.string ?? "")
            }
        }
    }

    /// `ferry webhooks test`.
    struct Test: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Post webhook.test to the receiver, and say what it answers.")

        @OptionGroup var target: Target

        @Flag(help: "Print the outcome as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            var isTaken = false
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let outcome = try gatewayOptions.client().testWebhook(target.webhook)
                let status = outcome["status"]?.int64
                isTaken = status.map { (200...299).contains($0) } ?? false
                if json { return try CommandLineIO.print(outcome) }
                try CommandLineIO.print(
                    status.map { "the receiver answered \($0)" }
                        ?? "no answer: \(outcome["error"]?.string ?? "")")
            }
            guard isTaken else { throw ExitCode(ExitStatus.failure.rawValue) }
        }
    }

    /// `ferry webhooks deliveries`.
    struct Deliveries: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List what has become of events, the newest first.")

        @OptionGroup var target: Target

        @Option(help: "Only those that are pending, delivered or failed.")
        var state: String?

        @Option(help: "At most so many, 1 to 500 (default: 50).")
        var limit = 50

        @Flag(help: "Print one JSON object: {\"deliveries\":[…]}.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let found = try gatewayOptions.client().deliveries(
                    of: target.webhook, state: state, limit: limit)
                if json {
                    return try CommandLineIO.print(members: { $0.member("deliveries", found) })
                }
                try CommandLineIO.print { WebhookTable.lines(deliveries: found, width: $0) }
            }
        }
    }

    /// `ferry webhooks retry`.
    struct Retry: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send an event again, now.")

        @OptionGroup var target: Target

        @Argument(help: "The event, as the list of deliveries has it.")
        var event: String

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run { () throws(ClientError) in
                try gatewayOptions.client().retryDelivery(event, of: target.webhook)
            }
        }
    }

    /// `ferry webhooks replay`.
    struct Replay: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send all events behind one again, also those that were delivered.")

        @OptionGroup var target: Target

        @Argument(help: "The event, as the list of deliveries has it; t.0 for all that are kept.")
        var event: String

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run { () throws(ClientError) in
                try gatewayOptions.client().replayWebhook(target.webhook, after: event)
            }
        }
    }

    /// `ferry webhooks pause`.
    struct Pause: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Post nothing until the webhook is resumed; events wait.")

        @OptionGroup var target: Target

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run { () throws(ClientError) in
                _ = try gatewayOptions.client().changeWebhook(target.webhook, isPaused: true)
            }
        }
    }

    /// `ferry webhooks resume`.
    struct Resume: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Go on with a webhook that was paused, or that the gateway has disabled.")

        @OptionGroup var target: Target

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run { () throws(ClientError) in
                _ = try gatewayOptions.client().changeWebhook(target.webhook, isPaused: false)
            }
        }
    }

    /// `ferry webhooks rotate-secret`.
    struct RotateSecret: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a new secret for a webhook; the old one signs along for a day.")

        @OptionGroup var target: Target

        @Flag(help: "Print the webhook, with the secret, as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let webhook = try gatewayOptions.client().rotateWebhookSecret(target.webhook)
                if json { return try CommandLineIO.print(webhook) }
                try CommandLineIO.print(webhook["secret"]?.string ?? "")
            }
        }
    }

    /// `ferry webhooks delete`.
    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a webhook; what waits for it is not sent.",
            aliases: ["rm"])

        @OptionGroup var target: Target

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run { () throws(ClientError) in
                try gatewayOptions.client().deleteWebhook(target.webhook)
            }
        }
    }

    /// The webhook that a command is about.
    struct Target: ParsableArguments {
        @Argument(help: "The webhook: whk_….")
        var webhook: String
    }

    /// Which events a new webhook gets.
    struct EventChoice: ParsableArguments {
        @Option(
            name: .customLong("event"),
            help: "The name of an event, such as task.didComplete; repeatable (default: all).")
        var events: [String] = []

        @Option(help: "Only the events of this session, with which the webhook ends.")
        var session: String?

        func order(for url: String) -> WebhookOrder {
            var order = WebhookOrder(url: url, events: events.isEmpty ? ["*"] : events)
            order.session = session
            return order
        }
    }
}
