internal import ArgumentParser
internal import Client

/// `ferry cancel`: ends a task.
struct Cancel: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Cancel a task; it ends with the error cancelled (-999).")

    @Argument(help: "The task's id.")
    var task: String

    @Flag(help: "Print the task's state as one JSON object.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let cancelled = try gatewayOptions.client().cancelTask(task)
            CommandLineIO.print(json ? cancelled.json : TaskTable.summary(cancelled))
        }
    }
}
