internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry limit`: shows and sets how much may move.
struct Limit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Limit the bytes a second of the gateway, a session or a task; or show that.",
        discussion: """
            It holds for what runs, too, and stays when the gateway is started again.

            \(GatewayOptions.exitStatus)
            """)

    @Argument(help: "500k, 5M or 1.5 MB/s; off for no limit (default: show what there is).")
    var rate: String?

    @Option(help: "Of this session.")
    var session: String?

    @Option(help: "Of this task.")
    var task: String?

    @Flag(help: "Print one JSON object: {\"maximumBytesPerSecond\":…}.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        guard session == nil || task == nil else {
            throw ValidationError("Give one of --session and --task")
        }
        guard let rate, rate != "off" else { return }
        do {
            _ = try TaskSettings.rate(rate)
        } catch {
            throw ValidationError("\(error), or off")
        }
    }

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            let queue = TaskQueue(try gatewayOptions.client())
            var scope = RateScope.gateway
            if let session { scope = .session(session) }
            if let task { scope = .task(try queue.identifier(of: task)) }
            if let rate {
                try queue.setLimit(rate == "off" ? nil : TaskSettings.rate(rate), of: scope)
            }
            let limit = try queue.limit(of: scope)
            if json {
                return try CommandLineIO.print(members: {
                    $0.member("maximumBytesPerSecond", limit)
                })
            }
            try CommandLineIO.print(limit.map { Figures.rate(Double($0)) } ?? "no limit")
        }
    }
}
