internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry tasks`: lists tasks.
struct Tasks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the gateway's tasks; only outstanding ones unless told otherwise.",
        discussion: GatewayOptions.exitStatus)

    @Flag(help: "Completed ones too.")
    var all = false

    @Option(help: "Only these states, with commas between: suspended,running,canceling,completed.")
    var state: String?

    @Option(
        help: ArgumentHelp(
            "Only tasks with this text in URL, description or file name.", valueName: "text"))
    var search: String?

    @Option(help: "Only tasks whose URL has this host.")
    var host: String?

    @Option(help: "Only those of this session; shared for the shared one.")
    var session: String?

    @Option(
        help: ArgumentHelp(
            "Only tasks with this in their metadata; repeatable.", valueName: "key=value"))
    var metadata: [String] = []

    @Flag(help: "Only tasks that have ended with an error, those that were cancelled too.")
    var failed = false

    @Flag(help: "The newest first.")
    var newest = false

    @Option(name: [.short, .long], help: "At most this many.")
    var limit: Int?

    @Flag(help: "Print one JSON object: {\"tasks\":[…]}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        if all && state != nil { throw ValidationError("--all and --state exclude each other") }
        if let limit, limit < 1 { throw ValidationError("--limit takes 1 or more") }
        try Tasks.requirePairs(metadata)
    }

    /// Refuses what is not `KEY=VALUE`.
    static func requirePairs(_ metadata: [String]) throws {
        if let item = metadata.first(where: { !$0.utf8.contains(UInt8(ascii: "=")) }) {
            throw ValidationError("--metadata takes KEY=VALUE, and \(item) has no \"=\"")
        }
    }

    private var wanted: TaskSearch {
        var wanted = TaskSearch()
        wanted.states = all ? "all" : state
        wanted.text = search
        wanted.host = host
        wanted.session = session
        wanted.metadata = metadata
        wanted.isFailed = failed
        wanted.isNewestFirst = newest
        wanted.limit = limit ?? .max
        return wanted
    }

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let tasks = try gatewayOptions.client().tasks(wanted)
            if json { return try CommandLineIO.print(members: { $0.member("tasks", tasks) }) }
            var shown: [RemoteTask] = []
            for task in tasks { shown.append(try RemoteTask(task)) }
            try CommandLineIO.print { TaskTable.lines(shown, width: $0) }
        }
    }
}
