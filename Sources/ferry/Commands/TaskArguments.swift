internal import ArgumentParser
internal import Client
internal import JSON

/// The tasks that a command is about.
struct TaskArguments: ParsableArguments {
    @Argument(help: "Ids of tasks, or as many of their first characters as suffice.")
    var tasks: [String] = []

    @Flag(help: "All tasks that this can be done to.")
    var all = false

    @Option(help: "All of these that belong to this session.")
    var session: String?

    func validate() throws {
        let isAll = all || session != nil
        guard tasks.isEmpty == isAll else {
            throw ValidationError(
                tasks.isEmpty ? "Give a task, --session or --all" : "Give tasks, or --all")
        }
    }

    /// The ids; of all tasks those in one of the states, `suspended,running` for example.
    func identifiers(
        _ client: GatewayClient, states: String
    ) throws(ClientError) -> [String] {
        guard tasks.isEmpty else { return try TaskArguments.identifiers(of: tasks, client) }
        var search = TaskSearch()
        search.states = states
        search.session = session
        return try client.tasks(search)
            .map { (json) throws(ClientError) in try RemoteTask(json).id }
    }

    /// The ids of tasks that a user has named. All are looked up before anything is done to one of
    /// them: where a name is wrong nothing is done, and what is done makes no name another's.
    static func identifiers(
        of names: [String], _ client: GatewayClient
    ) throws(ClientError) -> [String] {
        try names.map { (name) throws(ClientError) in try TaskQueue(client).identifier(of: name) }
    }
}

/// What the commands that change tasks have in common.
struct TaskChangeOptions: ParsableArguments {
    @Flag(help: "Print a JSON object for each task.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    /// Does something to each task, and prints it as it is then, or that it is no more; one that is
    /// refused does not keep the others from their turn.
    func each(
        _ arguments: TaskArguments, states: String,
        _ change: (TaskQueue, String) throws(ClientError) -> RemoteTask?
    ) throws {
        var failure: ClientError?
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            let ids = try arguments.identifiers(client, states: states)
            failure = try CommandLineIO.runEach(of: ids, json: json, name: \.self) {
                (id) throws(ClientError) in
                if let task = try change(TaskQueue(client), id) {
                    try CommandLineIO.print(json ? task.json : TaskTable.summary(task))
                } else if json {
                    try CommandLineIO.print(members: {
                        $0.member("id", id)
                        $0.member("deleted", true)
                    })
                }
            }
        }
        if let failure { throw ExitCode(failure.exitStatus.rawValue) }
    }

    static let discussion = """
        A task that is refused keeps none of the others from its turn: it is named, and the exit \
        status is that of the first one. Where there is no task of a name nothing is done.

        Exit status: 0 done; 1 the gateway refused; 3 no gateway; 26 the file of --token-file cannot \
        be read; 64 there is no such task, several begin so, or wrong arguments.
        """
}
