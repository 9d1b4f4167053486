internal import ArgumentParser
internal import Client

/// What is asked of a task beside its request.
struct TaskOptions: ParsableArguments {
    @Option(
        name: [.customShort("H", allowingJoined: true), .long],
        help: "A header of the request: 'Name: value'.")
    var header: [String] = []

    @Option(
        help: ArgumentHelp(
            "The session whose cookies, cache, credentials and settings are used.",
            discussion: """
                Without it, that is `shared` where nobody can be asked; on a terminal, and with \
                options that say who you are, it is a new one that remembers nothing afterwards. In \
                a session of yours nothing is asked: its own delegate answers.
                """))
    var session: String?

    @Option(help: "The place in the gateway's queue, 0 to 1 (default: 0.5).")
    var priority: Double?

    @Option(
        help: ArgumentHelp(
            "The most bytes a second between the gateway and the server, as 500k, 2m or 1.5 MB/s.",
            valueName: "bytes"))
    var limitRate: String?

    @Option(
        help: ArgumentHelp(
            "Try again after failures that may pass, at most so often.",
            discussion: """
                These are failures of the network, and 408, 429, 500 and 502 to 504. Without the \
                option there are 4 further tries after failures of the network, 429 and 503, but \
                none where the host is not known or refuses the first connection. 0 is for none.
                """, valueName: "times"))
    var retry: Int?

    func validate() throws {
        if let priority, !(0...1).contains(priority) {
            throw ValidationError("--priority is 0 to 1")
        }
        if let retry, !(0...100).contains(retry) {
            throw ValidationError("--retry is 0 to 100")
        }
        if let limitRate {
            do {
                _ = try TaskSettings.rate(limitRate)
            } catch {
                throw ValidationError("--limit-rate: \(error)")
            }
        }
    }

    /// Whether anything is said.
    var isAnything: Bool {
        !header.isEmpty || session != nil || priority != nil || limitRate != nil || retry != nil
    }

    /// What the task is asked for beside its request.
    func task() throws(ClientError) -> TaskSettings {
        var options = TaskSettings()
        options.priority = priority
        if let limitRate { options.maximumBytesPerSecond = try TaskSettings.rate(limitRate) }
        options.retry =
            switch retry {
            case nil: .usual
            case 0?: .never
            case let times?: .times(times)
            }
        return options
    }
}
