internal import ArgumentParser
internal import Client

/// `ferry get`: fetches a URL through the gateway into a file.
struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetch a URL through the gateway into a file.",
        discussion: """
            The file is called NAME.part until it is whole.

            Ctrl-C cancels the transfer. Where the server lets it be resumed, NAME.resume is left, \
            and the same command goes on at that place; so it does after a failure of the network, \
            and after losing the gateway. Where the server does not, nothing is left. A file that \
            has changed at the server is fetched from its beginning. The request of a resumed \
            transfer is that of the first command, with its headers.

            With --background the command returns at once, and the gateway fetches by itself, \
            whatever happens to the network and to the gateway; it says how to follow that, and how \
            to fetch the file: by --task, which also waits. A task that is interrupted then, or \
            fails, stays.

            \(AuthenticationOptions.discussion)

            Exit status: 0 the file is there; 1 the gateway refused; 3 no gateway; 4 the transfer \
            failed; 5 it was cancelled; 22 the server answered 400 or more; 23 the file cannot be \
            written; 26 a certificate cannot be read; 64 wrong arguments; 130 interrupted.
            """)

    @Argument(help: "An http or https URL; several only with --background.")
    var urls: [String] = []

    @Option(
        name: .shortAndLong,
        help: "The file to write, or a folder (default: the name that the server suggests).",
        completion: .file())
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Leave the downloads to the background session of this name, made where there is none.",
            valueName: "name"))
    var background: String?

    @Option(help: "Fetch what this task has downloaded, and delete it, in place of a URL.")
    var task: String?

    @Option(help: "What the content must hash to: sha-256=:BASE64: or sha-512=:BASE64:.")
    var digest: String?

    @Option(
        help: ArgumentHelp(
            "Fetch over so many connections side by side, 1 to 16, where the server offers ranges.",
            valueName: "number"))
    var connections: Int?

    @Option(
        help: ArgumentHelp(
            "Another URL of the same file, for when this one fails; may be given again.",
            valueName: "url"))
    var mirror: [String] = []

    @Option(
        help: ArgumentHelp(
            "What may come from the session's cache (default: what the session says).",
            valueName: "policy"))
    var cachePolicy: CachePolicy?

    @OptionGroup var options: TransferOptions

    func validate() throws {
        if let connections, !(1...16).contains(connections) {
            throw ValidationError("--connections is 1 to 16")
        }
        if task != nil {
            guard urls.isEmpty, background == nil, !describesTransfer else {
                throw ValidationError("--task goes with --output, --force, --quiet and --json only")
            }
        } else if background != nil {
            guard !urls.isEmpty else { throw ValidationError("--background needs a URL") }
            guard output == nil, !options.force, options.session == nil,
                !options.authentication.isAnything
            else {
                throw ValidationError(
                    "--background goes without --output, --force, --session and what says who you "
                        + "are")
            }
            guard digest == nil || urls.count == 1 else {
                throw ValidationError("--digest is of one URL")
            }
            guard mirror.isEmpty || urls.count == 1 else {
                throw ValidationError("--mirror is of one URL")
            }
        } else if urls.count != 1 {
            throw ValidationError(
                urls.isEmpty ? "a URL, or --task" : "several URLs only with --background")
        }
    }

    /// Whether anything is said of the request, which a task that is there has already.
    private var describesTransfer: Bool {
        digest != nil || connections != nil || !mirror.isEmpty || cachePolicy != nil
            || options.describesTransfer
    }

    func run() throws {
        try CommandLineIO.run(json: options.json) { () throws(ClientError) in
            let client = try options.gateway.client(interrupts: .ofProcess())
            if let background { return try enqueue(in: background, by: client) }
            let receipt =
                if let task { try collect(task, by: client) } else {
                    try download(urls[0], by: client)
                }
            if options.json { CommandLineIO.print(receipt.json) }
        }
    }

    private func download(
        _ url: String, by client: GatewayClient
    ) throws(ClientError) -> DownloadReceipt {
        var order = try order(url)
        order.output = output
        let canAsk = options.session == nil && Prompt.isPossible
        order.delegate = try options.delegate(canAsk: canAsk)
        order.replacesFile = options.force
        let (display, prompt) = options.console(canAsk: canAsk)
        return try Download(order, client: client, display: display, prompt: prompt).run()
    }

    private func collect(
        _ task: String, by client: GatewayClient
    ) throws(ClientError) -> DownloadReceipt {
        try TaskCollection(
            of: task, to: output, replacesFile: options.force, client: client,
            display: options.console(canAsk: false).display
        ).run()
    }

    /// Returns as soon as the gateway has the tasks for good.
    private func enqueue(in session: String, by client: GatewayClient) throws(ClientError) {
        for url in urls {
            let download = try client.enqueue(try order(url), inSession: session)
            if options.json { CommandLineIO.print(download.json) } else { tell(of: download) }
        }
    }

    /// Both commands are as they have to be typed.
    private func tell(of download: BackgroundDownload) {
        if urls.count > 1 { CommandLineIO.print(DisplayText.line(download.url)) }
        let gateway = options.gateway.words
        CommandLineIO.print("To follow it:  ferry watch \(download.task)\(gateway)")
        CommandLineIO.print("To fetch it:   ferry get --task \(download.task)\(gateway)")
    }

    private func order(_ url: String) throws(ClientError) -> DownloadOrder {
        var order = DownloadOrder(url: url)
        order.headers = try RequestFields(parsing: options.header)
        order.expectedDigest = digest
        order.connections = connections
        order.mirrors = mirror
        order.cachePolicy = cachePolicy
        order.options = try options.task()
        return order
    }
}
