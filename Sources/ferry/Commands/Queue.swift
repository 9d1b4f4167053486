internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry add`: leaves downloads to the gateway.
struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Leave downloads to the gateway, and print the ids of their tasks.",
        discussion: """
            The command returns as soon as the gateway has the tasks. `ferry watch` shows them, \
            `ferry get --task ID` brings the content here when it is whole; with --to it goes to a \
            folder on the gateway's machine (`ferry serve --folder`).

            A URL that the gateway refuses keeps none of the others from being added: it is named, \
            and the exit status is that of the first one.

            Exit status: 0 done; of several URLs that of the first that was not added: 1 the gateway \
            refused; 3 no gateway; 26 a file cannot be read; 64 wrong arguments.
            """)

    @OptionGroup var download: DownloadOptions

    @OptionGroup var settings: TaskOptions

    @Option(
        help: ArgumentHelp(
            "Where the content is put on the gateway's machine: FOLDER or FOLDER/PATH.",
            discussion: """
                The folder is one that `ferry serve --folder` has named. A path that ends with a \
                slash gets the URL's own file name.
                """,
            valueName: "folder"))
    var to: String?

    @Option(
        help: "What is done where there is such a file: fail, rename, replace (default: fail).")
    var ifExists: IfExists?

    @Option(
        help: ArgumentHelp(
            "A text of your own that the tasks bear, for lists; repeatable.",
            valueName: "key=value"))
    var metadata: [String] = []

    @Flag(help: "Add them suspended; `ferry resume` starts them.")
    var paused = false

    @Flag(help: "Print a JSON object for each: {\"task\":…,\"url\":…}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        guard download.isAnything else {
            throw ValidationError("Give a URL, for example: ferry add https://example.com/file")
        }
        if download.isSeveral {
            try download.validateSeveral()
            guard to?.contains("/") != true else {
                throw ValidationError("--to names a folder for several URLs, and no path in it")
            }
        }
        guard ifExists == nil || to != nil else {
            throw ValidationError("--if-exists goes with --to")
        }
        try Tasks.requirePairs(metadata)
    }

    func run() throws {
        var failure: ClientError?
        try CommandLineIO.run(json: json, about: download.onlyURL) { () throws(ClientError) in
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            failure = try download.runEach(of: download.entries(), json: json) {
                (entry) throws(ClientError) in
                let (added, remarks) = try add(entry, client)
                for remark in remarks {
                    Screen.standardError(environment: [:]).print(DisplayText.line(remark))
                }
                try CommandLineIO.print(json ? added.json : added.task)
            }
        }
        if let failure { throw ExitCode(failure.exitStatus.rawValue) }
    }

    private func add(
        _ entry: URLList.Entry, _ client: GatewayClient
    ) throws(ClientError) -> (BackgroundDownload, [String]) {
        var (order, given) = try download.order(entry, settings)
        guard given.login == nil else {
            throw .badArgument(
                "nobody answers for a task that is left alone: give a session that knows the user")
        }
        order.isSuspended = paused
        for pair in metadata { order.bear(pair) }
        if let to {
            order.destination = try DownloadDestination(
                parsing: to, of: order.url, ifExists: ifExists?.rawValue ?? "fail")
        }
        let added = try TaskQueue(client).add(order, toSession: settings.session ?? "shared")
        return (added, given.remarks)
    }
}

/// What is done where a file is there already.
enum IfExists: String, ExpressibleByArgument, CaseIterable {
    case fail, rename, replace
}

/// `ferry pause`: suspends tasks.
struct Pause: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Suspend tasks: nothing moves until they are resumed.",
        discussion: TaskChangeOptions.discussion)

    @OptionGroup var arguments: TaskArguments
    @OptionGroup var options: TaskChangeOptions

    func run() throws {
        try options.each(arguments, states: "running") { (queue, id) throws(ClientError) in
            try queue.pause(id)
        }
    }
}

/// `ferry resume`: lets suspended tasks go on.
struct Resume: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Let suspended tasks go on, however often they were suspended.",
        discussion: TaskChangeOptions.discussion)

    @OptionGroup var arguments: TaskArguments
    @OptionGroup var options: TaskChangeOptions

    func run() throws {
        try options.each(arguments, states: "suspended") { (queue, id) throws(ClientError) in
            try queue.resume(id)
        }
    }
}

/// `ferry cancel`: ends tasks.
struct Cancel: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Cancel tasks; they end with the error cancelled (-999).",
        discussion: TaskChangeOptions.discussion)

    @OptionGroup var arguments: TaskArguments
    @OptionGroup var options: TaskChangeOptions

    func run() throws {
        try options.each(arguments, states: "suspended,running") {
            (queue, id) throws(ClientError) in
            try queue.cancel(id)
        }
    }
}

/// `ferry rm`: forgets tasks.
struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Forget completed tasks, with their content.",
        discussion: TaskChangeOptions.discussion)

    @OptionGroup var arguments: TaskArguments

    @Flag(name: .shortAndLong, help: "Cancel those that have not completed.")
    var force = false

    @OptionGroup var options: TaskChangeOptions

    func run() throws {
        let states = force ? "all" : "completed"
        try options.each(arguments, states: states) { (queue, id) throws(ClientError) in
            try queue.remove(id, cancels: force)
            return nil
        }
    }
}

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

/// `ferry limit`: shows and sets how much may move.
struct Limit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Limit the bytes a second of the gateway, a session or a task; or show that.",
        discussion: """
            It holds for what runs, too, and stays when the gateway is started again.

            \(GatewayOptions.exitStatus)
            """)

    @Argument(help: "500k, 5M or 1.5 MB/s; off for no limit (default: show what there is).")
    var rate: String?

    @Option(help: "Of this session.")
    var session: String?

    @Option(help: "Of this task.")
    var task: String?

    @Flag(help: "Print one JSON object: {\"maximumBytesPerSecond\":…}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        guard session == nil || task == nil else {
            throw ValidationError("Give one of --session and --task")
        }
        guard let rate, rate != "off" else { return }
        do {
            _ = try TaskSettings.rate(rate)
        } catch {
            throw ValidationError("\(error), or off")
        }
    }

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let queue = TaskQueue(try gatewayOptions.client())
            var scope = RateScope.gateway
            if let session { scope = .session(session) }
            if let task { scope = .task(try queue.identifier(of: task)) }
            if let rate {
                try queue.setLimit(rate == "off" ? nil : TaskSettings.rate(rate), of: scope)
            }
            let limit = try queue.limit(of: scope)
            if json {
                return try CommandLineIO.print(members: {
                    $0.member("maximumBytesPerSecond", limit)
                })
            }
            try CommandLineIO.print(limit.map { Figures.rate(Double($0)) } ?? "no limit")
        }
    }
}
