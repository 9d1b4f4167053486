internal import ArgumentParser
internal import Client

/// `ferry get`: fetches a URL through the gateway into a file.
struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetch a URL through the gateway into a file.",
        discussion: """
            The file is called NAME.part until it is whole. Ctrl-C cancels the transfer at the gateway \
            and leaves nothing behind.

            Exit status: 0 the file is there; 1 the gateway refused; 3 no gateway; 4 the transfer failed; \
            5 it was cancelled; 22 the server answered 400 or more; 23 the file cannot be written; \
            64 wrong arguments; 130 interrupted.
            """)

    @Argument(help: "An http or https URL.")
    var url: String

    @Option(
        name: .shortAndLong,
        help: "The file to write, or a folder (default: the name that the server suggests).",
        completion: .file())
    var output: String?

    @Option(name: [.customShort("H"), .long], help: "A header of the request: 'Name: value'.")
    var header: [String] = []

    @Option(help: "What the content must hash to: sha-256=:BASE64: or sha-512=:BASE64:.")
    var digest: String?

    @Option(help: "The place in the gateway's queue, 0 to 1 (default: 0.5).")
    var priority: Double?

    @Flag(name: .shortAndLong, help: "Replace a file of that name.")
    var force = false

    @Flag(name: .shortAndLong, help: "Show nothing but errors.")
    var quiet = false

    @Flag(help: "Print the outcome as one JSON object.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        if let priority, !(0...1).contains(priority) {
            throw ValidationError("--priority is 0 to 1")
        }
    }

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            var order = DownloadOrder(url: url)
            order.output = output
            for line in header { order.headers.append(try DownloadOrder.header(line)) }
            order.expectedDigest = digest
            order.priority = priority
            order.replacesFile = force
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            let screen = Screen.standardError(environment: CommandLineIO.environment)
            let display = ProgressDisplay(on: screen, isQuiet: quiet)
            let receipt = try Download(order, client: client, display: display).run()
            if json { CommandLineIO.print(receipt.json) }
        }
    }
}
