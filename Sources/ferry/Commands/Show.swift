internal import ArgumentParser
internal import Client

/// `ferry show`: tells all of a task.
struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show everything about a task, in words.",
        discussion: """
            Exit status: 0 it was shown; 1 the gateway refused; 3 no gateway; 26 the file of \
            --token-file cannot be read; 64 there is no such task, or several begin so.
            """)

    @Argument(help: "The task's id, or as many of its first characters as suffice.")
    var task: String

    @Flag(help: "Print the task as the gateway shows it, as one JSON object.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            let id = try TaskQueue(client).identifier(of: task)
            if json { return try CommandLineIO.print(try TaskQueue(client).show(id)) }
            let page = try TaskPage(of: id, from: client)
            try CommandLineIO.print { _ in page.lines }
        }
    }
}
