internal import ArgumentParser
internal import Client

/// `ferry rm`: forgets tasks.
struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Forget completed tasks, with their content.",
        discussion: TaskChangeOptions.discussion)

    @OptionGroup var arguments: TaskArguments

    @Flag(name: .shortAndLong, help: "Cancel those that have not completed.")
    var force = false

    @OptionGroup var options: TaskChangeOptions

    func run() throws {
        let states = force ? "all" : "completed"
        try options.each(arguments, states: states) { (queue, id) throws(ClientError) in
            try queue.remove(id, cancels: force)
            return nil
        }
    }
}
