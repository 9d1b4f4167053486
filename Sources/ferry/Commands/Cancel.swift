internal import ArgumentParser
internal import Client

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
