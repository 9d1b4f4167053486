internal import ArgumentParser
internal import Client

/// `ferry pause`: suspends tasks.
struct Pause: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Suspend tasks: nothing moves until they are resumed.",
        discussion: TaskChangeOptions.discussion)

    @OptionGroup var arguments: TaskArguments
    @OptionGroup var options: TaskChangeOptions

    func run() throws {
        try options.each(arguments, states: "running") { (queue, id) throws(ClientError) in
            try queue.pause(id)
        }
    }
}
