internal import ArgumentParser
internal import Client

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
