internal import ArgumentParser
internal import Client

/// `ferry retry`: makes new tasks of completed ones.
struct Retry: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make the requests of completed tasks again, in new tasks; print their ids.",
        discussion: TaskChangeOptions.discussion)

    @Argument(help: "Ids of tasks, or as many of their first characters as suffice.")
    var tasks: [String]

    @Flag(help: "Print the new tasks as JSON objects.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        var failure: ClientError?
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            let ids = try TaskArguments.identifiers(of: tasks, client)
            failure = try CommandLineIO.runEach(of: ids, json: json, name: \.self) {
                (id) throws(ClientError) in
                let task = try TaskQueue(client).retry(id)
                try CommandLineIO.print(json ? task.json : task.id)
            }
        }
        if let failure { throw ExitCode(failure.exitStatus.rawValue) }
    }
}
