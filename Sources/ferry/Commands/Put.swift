internal import ArgumentParser
internal import Client

/// `ferry put`: sends a file to a URL through the gateway.
struct Put: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a file to a URL.",
        discussion: """
            Where no gateway runs, one is started for as long as this takes; it goes through the \
            proxies that http_proxy, https_proxy, all_proxy and no_proxy name. First the file is \
            staged: the gateway takes a copy, and when the connection to it is \
            cut, or it is started anew, staging goes on where it was. Then the gateway sends the \
            copy to the server. The copy is deleted at the end, whatever the end is, unless \
            --keep-staged is given.

            A pipe is staged while it is read, 4 MiB at a time, and survives cuts too; its length \
            is not known before its end. A file that changes while it is staged is an error. \
            Ctrl-C cancels the transfer and deletes the copy.

            \(AuthenticationOptions.discussion)

            Exit status: 0 the server has taken the file; 1 the gateway refused; 3 no gateway; 4 \
            the transfer failed; 5 it was cancelled; 22 the server answered 400 or more; 23 the \
            answer cannot be written; 26 the file cannot be read; 64 wrong arguments; 130 \
            interrupted.
            """)

    @Argument(help: "The file to send; - for standard input.", completion: .file())
    var file: String

    @Argument(help: "An http or https URL.")
    var url: String

    @Option(
        name: [.customShort("X", allowingJoined: true), .customLong("method")],
        help: "The method of the request.")
    var method = "PUT"

    @Option(
        name: .shortAndLong,
        help:
            "A file for the body of the server's answer, - for standard output (default: it is dropped).",
        completion: .file())
    var output: String?

    @Flag(help: "Leave the staged file at the gateway, for other tasks.")
    var keepStaged = false

    @OptionGroup var options: TransferOptions

    func validate() throws {
        if output == "-", options.json {
            throw ValidationError("--json and -o - both write to standard output")
        }
    }

    func run() throws {
        let interrupts = Interrupts.ofProcess()
        // A file that is typed leaves no terminal for questions.
        let canAsk = options.task.session == nil && file != "-" && Prompt.isPossible
        let (board, prompt) = options.console(canAsk: canAsk, output: output)
        try CommandLineIO.run(json: options.json, about: GivenURL(url).url) {
            () throws(ClientError) in
            var order = try order(canAsk: canAsk, board: board)
            try options.gateway.withGateway(interrupts: interrupts) {
                (source) throws(ClientError) in
                try options.takeProxies(of: source, into: &order.delegate, hasPrompt: canAsk)
                let receipt = try Upload.run(
                    order, gateway: source, interrupts: interrupts,
                    display: ProgressDisplay(on: board), prompt: prompt)
                if options.json { try CommandLineIO.print(receipt.json) }
            }
        }
    }

    private func order(canAsk: Bool, board: ProgressBoard) throws(ClientError) -> UploadOrder {
        let given = GivenURL(url)
        for line in given.remarks { board.note(line) }
        var order = UploadOrder(file: file, url: given.url)
        order.method = method
        order.headers = try RequestFields(parsing: options.task.header)
        order.options = try options.task.task()
        order.delegate = try options.delegate(canAsk: canAsk, login: given.login)
        order.output = output
        order.replacesFile = options.force
        order.keepsStagedFile = keepStaged
        if let trace = options.trace(on: board.screen) {
            let lines = TransferTrace.lines(order)
            order.report = { event in
                if event.name == "task.didCreate" {
                    for line in lines { board.screen.print(DisplayText.line(line)) }
                }
                trace(event)
            }
        }
        return order
    }
}
