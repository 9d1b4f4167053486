internal import ArgumentParser
internal import Client

/// What is fetched, and by which requests: for `get` and `add`.
struct DownloadOptions: ParsableArguments {
    @Argument(help: "http or https URLs.")
    var urls: [String] = []

    @Option(
        name: [.customShort("i", allowingJoined: true), .long],
        help: ArgumentHelp(
            "Fetch the URLs of this file, too; - for standard input.",
            discussion: """
                One on each line, behind it, behind tabs, others of the same file. Lines that begin \
                with # are left out.
                """, valueName: "file"), completion: .file())
    var inputFile: String?

    @Option(
        name: [.customShort("X", allowingJoined: true), .customLong("method")],
        help: "The method of the request (default: GET, with --data POST).")
    var method: String?

    @Option(
        help: ArgumentHelp(
            "Send this as the request's body; @FILE for a file, @- for standard input; repeatable.",
            discussion: """
                Several are joined by &. It is a form (application/x-www-form-urlencoded) unless a \
                header Content-Type says otherwise. A file goes as it is.
                """))
    var data: [String] = []

    @Option(
        name: [.customLong("checksum"), .customLong("digest")],
        help: ArgumentHelp(
            "What the content must hash to: sha-256=HEX, sha-512=HEX, or as RFC 9530 has it.",
            valueName: "digest"))
    var checksum: String?

    @Option(
        help: ArgumentHelp(
            "Fetch over so many connections side by side, 1 to 16, where the server offers ranges.",
            valueName: "number"))
    var connections: Int?

    @Option(
        help: ArgumentHelp(
            "Another URL of the same file, for when this one fails; may be given again.",
            valueName: "url"))
    var mirror: [String] = []

    @Option(
        help: ArgumentHelp(
            "What may come from the session's cache (default: what the session says).",
            valueName: "policy"))
    var cachePolicy: CachePolicy?

    func validate() throws {
        if let connections, !(1...16).contains(connections) {
            throw ValidationError("--connections is 1 to 16")
        }
    }

    /// Whether anything is to be fetched.
    var isAnything: Bool { !urls.isEmpty || inputFile != nil }

    /// Whether there may be several URLs.
    var isSeveral: Bool { inputFile != nil || urls.count > 1 }

    /// The URL where there can be no other one.
    var onlyURL: String? { isSeveral ? nil : urls.first.map { GivenURL($0).url } }

    /// Does something about each URL; one that is refused keeps none of the others from its turn.
    ///
    /// - Returns, throws: as `CommandLineIO.runEach`.
    func runEach(
        of entries: [URLList.Entry], json: Bool,
        _ work: (URLList.Entry) throws(ClientError) -> Void
    ) throws(ClientError) -> ClientError? {
        try CommandLineIO.runEach(
            of: entries, json: json, areURLs: true, showsNames: isSeveral,
            name: { GivenURL($0.url).url }, work)
    }

    /// Whether anything is said of the request.
    var describesRequest: Bool {
        checksum != nil || connections != nil || !mirror.isEmpty || cachePolicy != nil
            || method != nil || !data.isEmpty
    }

    /// Refuses what is of one URL.
    func validateSeveral() throws {
        guard checksum == nil else { throw ValidationError("--checksum is of one URL") }
        guard mirror.isEmpty else { throw ValidationError("--mirror is of one URL") }
    }

    /// What is to be fetched, in its order.
    ///
    /// - Throws: `unreadable`, `badArgument`.
    func entries() throws(ClientError) -> [URLList.Entry] {
        var entries = urls.map { URLList.Entry(url: $0, mirrors: mirror) }
        if let inputFile { entries += try URLList(reading: inputFile).entries }
        return entries
    }

    /// An order without what is about files and about who answers; and the URL as it was given.
    ///
    /// - Throws: `unreadable`, `badArgument`.
    func order(
        _ entry: URLList.Entry, _ settings: TaskOptions
    ) throws(ClientError) -> (DownloadOrder, GivenURL) {
        let given = GivenURL(entry.url)
        var order = DownloadOrder(url: given.url)
        order.headers = try RequestFields(parsing: settings.header)
        order.method = method ?? (data.isEmpty ? "GET" : "POST")
        if !data.isEmpty {
            order.body = try GivenBody.bytes(of: data)
            order.headers.appendIfMissing("Content-Type", "application/x-www-form-urlencoded")
        }
        order.expectedDigest = try checksum.map(GivenDigest.field)
        order.connections = connections
        order.mirrors = entry.mirrors.map { GivenURL($0).url }
        order.cachePolicy = cachePolicy
        order.options = try settings.task()
        return (order, given)
    }
}
