internal import ArgumentParser
internal import Client

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
