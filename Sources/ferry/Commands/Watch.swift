internal import ArgumentParser
internal import Client

/// `ferry watch`: shows what one task does, or all of them.
struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show live what a task does, or all tasks.",
        discussion: """
            With a task, it ends with the task. Without one, it goes on until q or Ctrl-C.

            On a terminal each task that has not ended has a row, and leaves a line when it ends. \
            The arrows (or j, k) select one; p suspends it, r resumes it, c cancels it, / filters by \
            what the id, the URL or the file's name have in them, Esc ends that.

            Exit status: 0 the task has succeeded, or q was pressed; 1 the gateway refused; 3 no \
            gateway; 4 the task failed; 5 it was cancelled; 22 the server answered 400 or more; 26 the \
            file of --token-file cannot be read; 64 there is no such task, several begin so, or wrong \
            arguments; 130 ended by Ctrl-C.
            """)

    @Argument(help: "A task's id (default: all tasks).")
    var task: String?

    @Flag(name: .shortAndLong, help: "Show nothing but errors, and wait for the end.")
    var quiet = false

    @Flag(help: "Print every event as a JSON object on a line.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            let environment = CommandLineIO.environment
            var report: ((ServerSentEvent) throws(ClientError) -> Void)?
            if json {
                report = { (event) throws(ClientError) in
                    try CommandLineIO.print(EventLine.json(event))
                }
            }
            if let task {
                let display = ProgressDisplay(
                    on: .standardError(environment: environment), isQuiet: quiet || json)
                _ = try TaskWatch(client: client, display: display, report: report).run(
                    TaskQueue(client).identifier(of: task))
            } else {
                let screen = Screen.standardOutput(environment: environment)
                try TaskBoard(client: client, screen: screen, input: 0, report: report).run()
            }
        }
    }
}
