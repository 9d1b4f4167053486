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

/// `ferry events`: prints events as they come.
struct Events: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print what happens, an event on each line, until Ctrl-C or the end of the task.",
        discussion: """
            Without --session and --task these are the events of all sessions. Nothing is missed \
            while the gateway is started again.

            Exit status: 0 the task has ended; 1 the gateway refused; 3 no gateway; 26 the file of \
            --token-file cannot be read; 64 wrong arguments; 130 ended by Ctrl-C.
            """)

    @Option(help: "Only those of this session.")
    var session: String?

    @Option(help: "Only those of this task, from its beginning.")
    var task: String?

    @Flag(help: "Begin with the oldest that are kept.")
    var replay = false

    @Flag(help: "Leave out those that only tell of progress.")
    var noProgress = false

    @Flag(help: "Print each as a JSON object: {\"id\":…,\"event\":…,\"data\":…}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        guard session == nil || task == nil else {
            throw ValidationError("Give one of --session and --task")
        }
    }

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let client = try gatewayOptions.client(interrupts: .ofProcess())
            var scope = EventScope.tenant
            if let session { scope = .session(session) }
            if let task { scope = .task(try TaskQueue(client).identifier(of: task)) }
            let screen = Screen.standardOutput(environment: [:])
            try EventLog(scope, client, replaysAll: replay || task != nil).run(
                each: screen.requireReader
            ) { (event) throws(ClientError) in
                if noProgress, EventLine.isProgress(event) { return }
                try CommandLineIO.print(json ? EventLine.json(event) : EventLine.text(event))
            }
        }
    }
}

/// `ferry open`: the gateway's page, signed in.
struct Open: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Open the gateway's page in a browser, signed in; or print its address.",
        discussion: """
            The address has the token: whoever has it can do everything. It is printed with \
            --print, and where there is no desktop.

            \(GatewayOptions.exitStatus)
            """)

    @Flag(help: "Print the address only.")
    var print = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func run() throws {
        try CommandLineIO.run { () throws(ClientError) in
            let client = try gatewayOptions.client()
            // A page that nobody serves need not be opened.
            try client.send("GET", "/healthz", seconds: 5)
            let page = try GatewayPage(client.gateway)
            let environment = CommandLineIO.environment
            if print || !page.open(environment: environment) {
                try CommandLineIO.print(page.address)
            }
        }
    }
}

/// `ferry completions`: what a shell completes.
struct Completions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print a script with which a shell completes commands and options.",
        discussion: """
            bash:  ferry completions bash > ~/.local/share/bash-completion/completions/ferry
            zsh:   ferry completions zsh > ~/.zfunc/_ferry   (with ~/.zfunc in $fpath)
            fish:  ferry completions fish > ~/.config/fish/completions/ferry.fish

            Exit status: 0 done; 64 wrong arguments.
            """)

    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish

        var completion: CompletionShell {
            switch self {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        }
    }

    func run() throws {
        try CommandLineIO.run { () throws(ClientError) in
            try CommandLineIO.write(Ferry.completionScript(for: shell.completion) + "\n")
        }
    }
}
