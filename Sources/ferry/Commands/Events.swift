internal import ArgumentParser
internal import Client

/// `ferry events`: prints events as they come.
struct Events: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print what happens, an event on each line, until Ctrl-C or the end of the task.",
        discussion: """
            Without --session and --task these are the events of all sessions. Nothing is missed \
            while the gateway is started again.

            Exit status: 0 the task has ended; 1 the gateway refused; 3 no gateway; 26 the file of \
            --token-file cannot be read; 64 wrong arguments; 130 ended by Ctrl-C.
            """)

    @Option(help: "Only those of this session.")
    var session: String?

    @Option(help: "Only those of this task, from its beginning.")
    var task: String?

    @Flag(help: "Begin with the oldest that are kept.")
    var replay = false

    @Flag(help: "Leave out those that only tell of progress.")
    var noProgress = false

    @Flag(help: "Print each as a JSON object: {\"id\":…,\"event\":…,\"data\":…}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        guard session == nil || task == nil else {
            throw ValidationError("Give one of --session and --task")
        }
    }

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            var scope = EventScope.tenant
            if let session { scope = .session(session) }
            if let task { scope = .task(try TaskQueue(client).identifier(of: task)) }
            let screen = Screen.standardOutput(environment: [:])
            try EventLog(scope, client, replaysAll: replay || task != nil).run(
                each: screen.requireReader
            ) { (event) throws(ClientError) in
                if noProgress, EventLine.isProgress(event) { return }
                try CommandLineIO.print(json ? EventLine.json(event) : EventLine.text(event))
            }
        }
    }
}
