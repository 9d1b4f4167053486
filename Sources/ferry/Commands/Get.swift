internal import ArgumentParser
internal import Client
internal import Foundation

/// `ferry get`: fetches URLs through a gateway into files.
struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetch URLs into files.",
        discussion: """
            Each file has the name that the server suggests, and is called NAME.part until it is \
            whole. A NAME.part of another program is left alone. With -f a file is replaced, with \
            its mode, and of a symbolic link what it leads to. Devices, named pipes and /dev/stdout \
            are written to as they are.

            Where no gateway runs, one is started for as long as this takes. It goes through the \
            proxies that http_proxy, https_proxy and all_proxy name, but for the hosts of no_proxy; \
            a gateway that runs keeps to its own ways. What it needs is kept in \
            $XDG_STATE_HOME/ferry, or ~/.local/state/ferry; where the home cannot be written, in \
            ferry-UID of $TMPDIR or /tmp.

            Of several URLs with files of the same name only the first one's is written, and the \
            others are errors (23).

            A URL without a scheme is https, but http for localhost and for addresses in digits.

            Ctrl-C ends the transfers. Where the server lets them be resumed, NAME.resume is left, \
            and the same command goes on at that place; so it does after a failure of the network, \
            and after losing the gateway. Where the server does not, nothing is left, nor where \
            Ctrl-C is pressed again meanwhile. A file that has changed at the server is fetched \
            from its beginning. Of several files the same command fetches what is missing, until \
            all are there. The request of a resumed transfer is that of the first command, with \
            its headers.

            With --background the command returns at once, and the gateway, which must be there, \
            fetches by itself, whatever happens to the network and to it; the command says how to \
            follow that, and how to fetch the file: by --task, which also waits. A task that is \
            interrupted then, or fails, stays. A URL that the gateway refuses is named, and keeps none \
            of the others from being left to it.

            \(AuthenticationOptions.discussion)

            Exit status: 0 the files are there; of several that of the first that is not: 1 the \
            gateway refused, or a command of --on-complete failed; 3 no gateway; 4 the transfer \
            failed; 5 it was cancelled; 22 the server answered 400 or more; 23 the file cannot be \
            written; 26 a file cannot be read; 64 wrong arguments; 130 interrupted.
            """)

    @OptionGroup var download: DownloadOptions

    @Option(
        name: [.customShort("d", allowingJoined: true), .long],
        help: "The folder for the files; made where there is none (default: this one).",
        completion: .directory)
    var directory: String?

    @Option(
        name: [.customShort("o", allowingJoined: true), .long],
        help: ArgumentHelp(
            "The file to write, or a folder; - for standard output (default: the server's name).",
            valueName: "file"), completion: .file())
    var output: String?

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Take the name that the server suggests, as always without -o.")
    var takesRemoteName = false

    @Flag(
        name: [.customShort("c"), .customLong("continue")], inversion: .prefixedNo,
        help: "Go on with what an earlier command has left.")
    var continues = true

    @Option(
        help: ArgumentHelp(
            "Run this by sh for each file that is there; its name is $1 and $FERRY_FILE.",
            discussion: """
                $FERRY_URL is the URL after redirects, $FERRY_TASK the task. With --json what it \
                prints goes to standard error.
                """,
            valueName: "command"))
    var onComplete: String?

    @Option(
        name: [.customShort("j", allowingJoined: true), .customLong("parallel")],
        help: ArgumentHelp(
            "Fetch so many files at a time, 1 to 64 (default: 5).", valueName: "number"))
    var parallel: Int?

    @Option(
        help: ArgumentHelp(
            "Leave the downloads to the background session of this name, made where there is none.",
            valueName: "name"))
    var background: String?

    @Option(help: "Fetch what this task has downloaded, and delete it, in place of a URL.")
    var task: String?

    @OptionGroup var options: TransferOptions

    private var sideBySide: Int { parallel ?? 5 }

    func validate() throws {
        guard (1...64).contains(sideBySide) else {
            throw ValidationError("--parallel is 1 to 64")
        }
        if takesRemoteName, output != nil {
            throw ValidationError("-O takes the server's name, -o another one: give one of them")
        }
        if output == "-", options.json {
            throw ValidationError("--json and -o - both write to standard output")
        }
        if output == "-", onComplete != nil {
            throw ValidationError("--on-complete is for files, and -o - makes none")
        }
        if task != nil { return try validateTask() }
        if background != nil { return try validateBackground() }
        guard download.isAnything else {
            throw ValidationError("Give a URL, for example: ferry get https://example.com/file")
        }
        if download.isSeveral { try validateSeveral() }
    }

    private func validateTask() throws {
        guard !download.isAnything, background == nil, onComplete == nil, parallel == nil,
            !describesTransfer
        else {
            throw ValidationError(
                "--task goes with --output, --directory, --force, --quiet and --json only")
        }
    }

    private func validateBackground() throws {
        guard download.isAnything else {
            throw ValidationError("--background needs a URL")
        }
        guard output == nil, directory == nil, onComplete == nil, !options.force,
            options.task.session == nil, !options.authentication.isAnything
        else {
            throw ValidationError(
                """
                --background goes without --output, --directory, --on-complete, --force, --session \
                and what says who you are
                """)
        }
        if download.isSeveral { try validateSeveral() }
    }

    private func validateSeveral() throws {
        guard output == nil else {
            throw ValidationError(
                "-o is the name of one file: for several URLs give a folder with -d")
        }
        try download.validateSeveral()
    }

    /// Whether anything is said of the request, which a task that is there has already.
    private var describesTransfer: Bool {
        download.describesRequest || !continues || options.describesTransfer
    }

    func run() throws {
        if let task { return try collect(task) }
        if let background { return try enqueue(in: background) }
        try fetch()
    }
}

extension Get {
    private func fetch() throws {
        let interrupts = Interrupts.ofProcess()
        let canAsk = options.task.session == nil && Prompt.isPossible
        let lost = LostResult()
        var status = ExitStatus.success
        try CommandLineIO.run(json: options.json, about: download.onlyURL) {
            () throws(ClientError) in
            let entries = URLList.unique(try download.entries())
            let (board, prompt) = options.console(
                canAsk: canAsk, count: entries.count, output: output)
            var orders = try entries.map { (entry) throws(ClientError) in
                try order(entry, canAsk: canAsk, board: board)
            }
            try options.gateway.withGateway(interrupts: interrupts) {
                (source) throws(ClientError) in
                for index in orders.indices {
                    try options.takeProxies(
                        of: source, into: &orders[index].delegate, hasPrompt: canAsk)
                }
                let isOne = orders.count == 1
                // One file that is there is all that there is to bring.
                let finished =
                    isOne && onComplete == nil || !continues
                    ? nil
                    : FinishedDownloads(
                        of: orders,
                        in: FileManager.default.currentDirectoryPath,
                        environment: CommandLineIO.environment)
                let batch = DownloadBatch(
                    orders, gateway: source, finished: finished, interrupts: interrupts,
                    board: board, prompt: prompt
                ) { order, outcome in
                    board.screen.step {
                        lost.note { () throws(ClientError) in
                            try tell(of: outcome, to: order, isOne: isOne)
                        }
                    }
                }
                let outcomes = batch.run(sideBySide: sideBySide)
                status = Get.status(of: outcomes)
                if status == .success { finished?.forget() }
                if outcomes.contains(where: Get.goesOn) { TransferOptions.tellHowToGoOn() }
                if status == .success { try lost.require() }
            }
        }
        if status != .success { throw ExitCode(status.rawValue) }
    }

    /// Whether the same command goes on with what Ctrl-C has ended.
    private static func goesOn(_ outcome: DownloadBatch.Outcome) -> Bool {
        if case .failure(.resumable(.interrupted)) = outcome { return true }
        return false
    }

    /// The status of the first that has failed; an interrupt outranks them.
    private static func status(of outcomes: [DownloadBatch.Outcome]) -> ExitStatus {
        let statuses = outcomes.compactMap { outcome -> ExitStatus? in
            guard case .failure(let error) = outcome else { return nil }
            return error.exitStatus
        }
        return statuses.contains(.interrupted) ? .interrupted : statuses.first ?? .success
    }

    /// Tells how one of them ended, on its own thread.
    private func tell(
        of outcome: DownloadBatch.Outcome, to order: DownloadOrder, isOne: Bool
    ) throws(ClientError) {
        switch outcome {
        case .success(let receipt):
            if options.json { try CommandLineIO.print(receipt.json) }
        case .failure(let error):
            CommandLineIO.complain(error, about: order.url, showsURL: !isOne)
            if options.json {
                try CommandLineIO.print(error.json(about: order.url))
            }
        }
    }

    // MARK: Orders

    private func order(
        _ entry: URLList.Entry, canAsk: Bool, board: ProgressBoard
    ) throws(ClientError) -> DownloadOrder {
        var (order, given) = try download.order(entry, options.task)
        for line in given.remarks { board.note(line) }
        order.output = try outputPath()
        order.replacesFile = options.force
        order.continues = continues
        order.delegate = try options.delegate(canAsk: canAsk, login: given.login)
        if let onComplete {
            order.completion = CompletionCommand(
                onComplete, environment: CommandLineIO.environment,
                leavesStandardOutput: options.json)
        }
        if let trace = options.trace(on: board.screen) {
            let lines = TransferTrace.lines(order)
            order.report = { event in
                if event.name == "task.didCreate" {
                    for line in lines { board.screen.print(DisplayText.line(line)) }
                }
                trace(event)
            }
        }
        return order
    }

    /// The file, or the folder, which is made where there is none.
    private func outputPath() throws(ClientError) -> String? {
        guard let directory else { return output }
        if output == "-" { return output }
        try OutputFolder.make(directory)
        guard let output, !output.hasPrefix("/") else { return output ?? directory }
        return directory + (directory.hasSuffix("/") ? "" : "/") + output
    }

    // MARK: Tasks that are there

    private func collect(_ task: String) throws {
        try CommandLineIO.run(json: options.json) { () throws(ClientError) in
            let client = try options.gateway.client(interrupts: .ofProcess())
            let console = options.console(canAsk: false, output: output)
            let display = ProgressDisplay(on: console.board)
            let receipt = try TaskCollection(
                of: TaskQueue(client).identifier(of: task), to: outputPath(),
                replacesFile: options.force,
                client: client, display: display
            ).run()
            if options.json { try CommandLineIO.print(receipt.json) }
        }
    }

    /// Returns as soon as the gateway has the tasks for good.
    private func enqueue(in session: String) throws {
        var failure: ClientError?
        try CommandLineIO.run(json: options.json, about: download.onlyURL) {
            () throws(ClientError) in
            let client = try options.gateway.client(interrupts: .ofProcess())
            let entries = URLList.unique(try download.entries())
            let board = options.console(canAsk: false).board
            failure = try download.runEach(of: entries, json: options.json) {
                (entry) throws(ClientError) in
                let order = try order(entry, canAsk: false, board: board)
                guard order.delegate == DelegateSettings() else {
                    throw .badArgument("--background goes without a user in the URL")
                }
                let download = try client.enqueue(order, inSession: session)
                if options.json {
                    try CommandLineIO.print(download.json)
                } else {
                    try tell(of: download, isOne: entries.count == 1)
                }
            }
        }
        if let failure { throw ExitCode(failure.exitStatus.rawValue) }
    }

    /// Both commands are as they have to be typed.
    private func tell(of download: BackgroundDownload, isOne: Bool) throws(ClientError) {
        if !isOne { try CommandLineIO.print(DisplayText.line(download.url)) }
        let gateway = options.gateway.words
        try CommandLineIO.print("To follow it:  ferry watch \(download.task)\(gateway)")
        try CommandLineIO.print("To fetch it:   ferry get --task \(download.task)\(gateway)")
    }
}
