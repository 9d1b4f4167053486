internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry sessions`: lists sessions, makes, empties and ends them.
struct Sessions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List sessions; make, empty and end them.",
        discussion: """
            A session has its own cookies, cache, credentials and connections. `shared` is always \
            there: it is what `ferry get` and `put` use in scripts.

            Exit status: 0 done; 1 the gateway refused: there is no such session (404), it has \
            been invalidated (410), or the configuration is none (422); 3 no gateway; 26 the file of \
            --configuration cannot be read; 64 wrong arguments.
            """,
        subcommands: [
            List.self, Show.self, Create.self, Reset.self, Flush.self, Invalidate.self,
        ], defaultSubcommand: List.self)

    /// `ferry sessions list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List sessions; those that have ended only with --all.")

        @Flag(help: "Those that have ended, too.")
        var all = false

        @Flag(help: "Print one JSON object: {\"sessions\":[…]}.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let sessions = try gatewayOptions.client().sessions(endedToo: all)
                if json {
                    return try CommandLineIO.print(members: { $0.member("sessions", sessions) })
                }
                var shown: [RemoteSession] = []
                for session in sessions { shown.append(try RemoteSession(session)) }
                try CommandLineIO.print { SessionTable.lines(shown, width: $0) }
            }
        }
    }

    /// `ferry sessions show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a session, and how much it remembers.")

        @OptionGroup var target: Target

        @Flag(help: "Print the session as the gateway shows it, as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let client = try gatewayOptions.client()
                if json { return try CommandLineIO.print(try client.session(target.session)) }
                let page = try SessionPage(of: target.session, from: client)
                for line in page.lines { try CommandLineIO.print(line) }
            }
        }
    }

    /// `ferry sessions create`.
    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a session and print its id.",
            aliases: ["add"])

        @Flag(help: "Keep everything in memory; it is gone with the gateway.")
        var ephemeral = false

        @Option(help: "What it is called in lists.")
        var description: String?

        @Option(
            help: ArgumentHelp(
                "The most bytes a second of all its tasks, as 500k, 2m or 1.5 MB/s.",
                valueName: "bytes"))
        var limitRate: String?

        @Option(
            help: ArgumentHelp(
                """
                A file (- for standard input) with a JSON object of properties of \
                NSURLSessionConfiguration, such as {"httpCookieAcceptPolicy":"never"}.
                """, valueName: "file"), completion: .file())
        var configuration: String?

        @Flag(help: "Print the session as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                var order = SessionOrder()
                order.isEphemeral = ephemeral
                order.description = description
                if let limitRate { order.maximumBytesPerSecond = try TaskSettings.rate(limitRate) }
                if let configuration { try order.readConfiguration(configuration) }
                let session = try gatewayOptions.client().createSession(order)
                if json { return try CommandLineIO.print(session) }
                try CommandLineIO.print(try RemoteSession(session).id)
            }
        }
    }

    /// `ferry sessions reset`.
    struct Reset: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Empty a session's cookies, cache and credentials; its tasks go on.")

        @OptionGroup var target: Target

        @Flag(help: "Print errors as one JSON object on standard output, too.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                try gatewayOptions.client().resetSession(target.session)
            }
        }
    }

    /// `ferry sessions flush`.
    struct Flush: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Bring what a session has to the disk; later requests take new connections.")

        @OptionGroup var target: Target

        @Flag(help: "Print errors as one JSON object on standard output, too.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                try gatewayOptions.client().flushSession(target.session)
            }
        }
    }

    /// `ferry sessions invalidate`.
    struct Invalidate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take no more tasks in a session, and end it with its last one.",
            discussion: "The shared session takes the call and does nothing.")

        @OptionGroup var target: Target

        @Flag(help: "Cancel its tasks.")
        var cancel = false

        @Flag(help: "Print the session as one JSON object.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let session = try gatewayOptions.client().invalidateSession(
                    target.session, cancel ? .cancelTasks : .finishTasks)
                if json { return try CommandLineIO.print(session) }
                try CommandLineIO.print(SessionTable.summary(try RemoteSession(session)))
            }
        }
    }

    /// The session that a command is about.
    struct Target: ParsableArguments {
        @Argument(help: "The session's id, or shared.")
        var session: String
    }
}
