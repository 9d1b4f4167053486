internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry tasks`: lists tasks.
struct Tasks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the gateway's tasks; only outstanding ones unless told otherwise.")

    @Flag(help: "Completed ones too.")
    var all = false

    @Option(help: "Only these states, with commas between: suspended,running,canceling,completed.")
    var state: String?

    @Flag(help: "Print one JSON object: {\"tasks\":[…]}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        if all && state != nil { throw ValidationError("--all and --state exclude each other") }
    }

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let tasks = try gatewayOptions.client().tasks(states: all ? "all" : state)
            if json { return CommandLineIO.print(members: { $0.member("tasks", tasks) }) }
            var shown: [RemoteTask] = []
            for task in tasks { shown.append(try RemoteTask(task)) }
            CommandLineIO.print { TaskTable.lines(shown, width: $0) }
        }
    }
}
