internal import ArgumentParser
internal import Client

/// `ferry put`: sends a file to a URL through the gateway.
struct Put: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a file to a URL through the gateway.",
        discussion: """
            First the file is staged: the gateway takes a copy, and when the connection to it is \
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

    @Option(help: "The method of the request.")
    var method = "PUT"

    @Option(
        name: .shortAndLong,
        help: "A file for the body of the server's answer (default: it is dropped).",
        completion: .file())
    var output: String?

    @Flag(help: "Leave the staged file at the gateway, for other tasks.")
    var keepStaged = false

    @OptionGroup var options: TransferOptions

    func run() throws {
        try CommandLineIO.run(json: options.json) { () throws(ClientError) in
            var order = UploadOrder(file: file, url: url)
            order.method = method
            order.headers = try RequestFields(parsing: options.header)
            order.options = try options.task()
            // A file that is typed leaves no terminal for questions.
            let canAsk = options.session == nil && file != "-" && Prompt.isPossible
            order.delegate = try options.delegate(canAsk: canAsk)
            order.output = output
            order.replacesFile = options.force
            order.keepsStagedFile = keepStaged
            let client = try options.gateway.client(interrupts: .ofProcess())
            let (display, prompt) = options.console(canAsk: canAsk)
            let receipt = try Upload(order, client: client, display: display, prompt: prompt).run()
            if options.json { CommandLineIO.print(receipt.json) }
        }
    }
}
