internal import ArgumentParser
internal import Client

/// The options that `get` and `put` have in common.
struct TransferOptions: ParsableArguments {
    @Option(name: [.customShort("H"), .long], help: "A header of the request: 'Name: value'.")
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
            "The most bytes a second between the gateway and the server, as 500k, 2m or 1g.",
            valueName: "bytes"))
    var limitRate: String?

    @Option(
        help: ArgumentHelp(
            "Try again after failures that may pass, at most so often (default: 0).",
            valueName: "times"))
    var retry: Int?

    @Flag(name: .shortAndLong, help: "Replace a file of that name.")
    var force = false

    @Flag(name: .shortAndLong, help: "Show nothing but errors.")
    var quiet = false

    @Flag(help: "Print the outcome as one JSON object.")
    var json = false

    @OptionGroup var authentication: AuthenticationOptions

    @OptionGroup var gateway: GatewayOptions

    func validate() throws {
        if session != nil, authentication.isAnything {
            throw ValidationError(
                "--session goes without --user, --proxy, --proxy-user, --cert, --insecure and --ask"
            )
        }
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

    /// Whether anything is said of the request, or of who makes it.
    var describesTransfer: Bool {
        !header.isEmpty || session != nil || priority != nil || limitRate != nil || retry != nil
            || authentication.isAnything
    }

    /// Who answers what the transfer is asked, in which session; `canAsk` where there is a
    /// terminal.
    func delegate(canAsk: Bool) throws(ClientError) -> DelegateSettings {
        var settings = try authentication.settings(canAsk: canAsk)
        settings.session = session
        return settings
    }

    /// What the task is asked for beside its request.
    func task() throws(ClientError) -> TaskSettings {
        var options = TaskSettings()
        options.priority = priority
        if let limitRate { options.maximumBytesPerSecond = try TaskSettings.rate(limitRate) }
        if let retry, retry > 0 { options.retryAttempts = retry }
        return options
    }

    /// Where progress is shown, and on the same screen where questions are asked; nil without a
    /// terminal.
    func console(canAsk: Bool) -> (display: ProgressDisplay, prompt: Prompt?) {
        let screen = Screen.standardError(environment: CommandLineIO.environment)
        let prompt = canAsk ? Prompt(input: 0, screen: screen) : nil
        return (ProgressDisplay(on: screen, isQuiet: quiet), prompt)
    }
}
