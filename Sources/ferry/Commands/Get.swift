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

            \(AuthenticationOptions.discussion)

            Exit status: 0 the file is there; 1 the gateway refused; 3 no gateway; 4 the transfer \
            failed; 5 it was cancelled; 22 the server answered 400 or more; 23 the file cannot be \
            written; 26 a certificate cannot be read; 64 wrong arguments; 130 interrupted.
            """)

    @Argument(help: "An http or https URL.")
    var url: String

    @Option(
        name: .shortAndLong,
        help: "The file to write, or a folder (default: the name that the server suggests).",
        completion: .file())
    var output: String?

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
    }

    func run() throws {
        try CommandLineIO.run(json: options.json) { () throws(ClientError) in
            var order = DownloadOrder(url: url)
            order.output = output
            order.headers = try RequestFields(parsing: options.header)
            order.expectedDigest = digest
            order.connections = connections
            order.mirrors = mirror
            order.cachePolicy = cachePolicy
            order.options = try options.task()
            let canAsk = options.session == nil && Prompt.isPossible
            order.delegate = try options.delegate(canAsk: canAsk)
            order.replacesFile = options.force
            let client = try options.gateway.client(interrupts: .ofProcess())
            let (display, prompt) = options.console(canAsk: canAsk)
            let receipt = try Download(order, client: client, display: display, prompt: prompt)
                .run()
            if options.json { CommandLineIO.print(receipt.json) }
        }
    }
}
