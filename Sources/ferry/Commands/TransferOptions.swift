internal import ArgumentParser
internal import Client

/// The options that `get` and `put` have in common.
struct TransferOptions: ParsableArguments {
    @OptionGroup var task: TaskOptions

    @Flag(name: .shortAndLong, help: "Replace a file of that name.")
    var force = false

    @Flag(name: .shortAndLong, help: "Show nothing but errors.")
    var quiet = false

    @Flag(
        name: .shortAndLong,
        help: "Show the request, the heads of responses, events, and what took how long.")
    var verbose = false

    @Flag(help: "Print the outcome as one JSON object.")
    var json = false

    @OptionGroup var authentication: AuthenticationOptions

    @OptionGroup var gateway: GatewayOptions

    func validate() throws {
        if task.session != nil, authentication.isAnything {
            throw ValidationError(
                "--session goes without --user, --proxy, --proxy-user, --cert, --insecure and --ask"
            )
        }
    }

    /// Whether anything is said of the request, or of who makes it.
    var describesTransfer: Bool {
        task.isAnything || authentication.isAnything
    }

    /// Who answers what the transfer is asked, in which session; `canAsk` where there is a
    /// terminal.
    ///
    /// `login` stood in the URL; --user outranks it.
    func delegate(
        canAsk: Bool, login: Login? = nil
    ) throws(ClientError) -> DelegateSettings {
        var settings = try authentication.settings(canAsk: canAsk, login: login)
        guard task.session == nil || settings == DelegateSettings() else {
            throw .badArgument("--session goes without a user in the URL")
        }
        settings.session = task.session
        return settings
    }

    /// What the environment says of proxies, for a gateway that is private to the user.
    ///
    /// - Throws: `badArgument`.
    func takeProxies(
        of source: GatewaySource, into settings: inout DelegateSettings, hasPrompt: Bool
    ) throws(ClientError) {
        let environment = CommandLineIO.environment
        guard source.gateway.isPrivate, settings.session == nil, settings.proxy == nil,
            let proxies = try EnvironmentProxies(environment)
        else { return }
        settings.take(proxies, variables: environment, hasPrompt: hasPrompt)
    }

    /// Where the progress of so many transfers is shown, and on the same screen where questions are
    /// asked; nil without a terminal. `output` is where the content goes.
    func console(
        canAsk: Bool, count: Int = 1, output: String? = nil
    ) -> (board: ProgressBoard, prompt: Prompt?) {
        let screen = Screen.standardError(environment: CommandLineIO.environment)
        let prompt = canAsk ? Prompt(input: 0, screen: screen) : nil
        let board = ProgressBoard(
            on: screen, isQuiet: quiet, isShared: Screen.isTerminal(output: output), count: count)
        return (board, prompt)
    }

    /// What shows the events of a transfer with --verbose.
    func trace(on screen: Screen) -> (@Sendable (ServerSentEvent) -> Void)? {
        guard verbose else { return nil }
        return { event in
            for line in TransferTrace.lines(event) { screen.print(DisplayText.line(line)) }
        }
    }

    /// Tells how to go on with what was interrupted: the command as it was typed.
    static func tellHowToGoOn() {
        Screen.standardError(environment: [:]).print(
            "To go on: \(DisplayText.line(CommandText.text(CommandLine.arguments)))")
    }
}
