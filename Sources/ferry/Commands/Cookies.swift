internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry cookies`: shows a session's cookie jar, fills and empties it.
struct Cookies: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List a session's cookies; import, export and delete them.",
        discussion: """
            Files are in Netscape's format, as curl, wget and browser extensions read and write it.

            Exit status: 0 done; 1 the gateway refused: there is no such session (404), it has no \
            jar (409), or it has been invalidated (410); or a line of the file was not taken; 3 no \
            gateway; 23 the file cannot be written; 26 the file cannot be read; 64 wrong arguments.
            """,
        subcommands: [List.self, Import.self, Export.self, Delete.self],
        defaultSubcommand: List.self)

    /// `ferry cookies list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List a session's cookies.")

        @OptionGroup var target: Target

        @OptionGroup var filter: Filter

        @Flag(help: "Show the values, too: they may be as good as passwords.")
        var values = false

        @Flag(help: "Print one JSON object: {\"cookies\":[…]}.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let cookies = try gatewayOptions.client().cookies(
                    of: target.session, filter.cookies)
                if json {
                    let shown = values ? cookies : cookies.map(RemoteCookie.withoutValue)
                    return try CommandLineIO.print(members: { $0.member("cookies", shown) })
                }
                var shown: [RemoteCookie] = []
                for cookie in cookies { shown.append(try RemoteCookie(cookie)) }
                try CommandLineIO.print {
                    CookieTable.lines(shown, showsValues: values, width: $0)
                }
            }
        }
    }

    /// `ferry cookies import`.
    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put the cookies of a file into a session's jar.",
            discussion: """
                Lines that bring no cookie are told, and the others taken. A cookie whose time is \
                over deletes the one of its name. A large file goes in pieces: where one fails, the \
                outcome of those before it is printed, and then the error.
                """)

        @Argument(help: "The file; - for standard input.", completion: .file())
        var file: String

        @OptionGroup var target: Target

        @Flag(help: "Print one JSON object: {\"stored\":…,\"faultCount\":…,\"faults\":[…]}.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            var outcome = CookieImport()
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                let bytes = try CookieFile(reading: file)
                do throws(ClientError) {
                    try gatewayOptions.client().importCookies(
                        bytes, into: target.session, outcome: &outcome)
                } catch {
                    // What was before the failure is in the jar.
                    if outcome != CookieImport() { try tell(outcome) }
                    throw error
                }
            }
            try CommandLineIO.run(json: json) { () throws(ClientError) in try tell(outcome) }
            guard outcome.faults.isEmpty else { throw ExitCode(ExitStatus.failure.rawValue) }
        }

        private func tell(_ outcome: CookieImport) throws(ClientError) {
            let screen = Screen.standardError(environment: [:])
            for line in outcome.complaints(about: file) { screen.print(line) }
            let count = outcome.stored
            try CommandLineIO.print(
                json ? outcome.json : "\(count) \(count == 1 ? "cookie" : "cookies") stored")
        }
    }

    /// `ferry cookies export`.
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write a session's cookies as a file, with their values.",
            discussion: "What the format has no column for, such as SameSite, is lost.")

        @OptionGroup var target: Target

        @OptionGroup var filter: Filter

        @Option(
            name: .shortAndLong, help: "The file, for you only (default: standard output).",
            completion: .file())
        var output: String?

        @Flag(name: .shortAndLong, help: "Replace a file of that name.")
        var force = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() throws {
            try CommandLineIO.run { () throws(ClientError) in
                let bytes = try gatewayOptions.client().cookieFile(
                    of: target.session, filter.cookies)
                try CookieFile.write(bytes, to: output, replacesFile: force)
            }
        }
    }

    /// `ferry cookies delete`.
    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete cookies of a session: those that agree with all options.",
            aliases: ["rm"])

        @OptionGroup var target: Target

        @OptionGroup var filter: Filter

        @Flag(help: "All of them.")
        var all = false

        @Flag(help: "Print errors as one JSON object on standard output, too.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func validate() throws {
            if all != filter.cookies.isEmpty {
                throw ValidationError("give --all, or some of --domain, --path, --name")
            }
        }

        func run() throws {
            try CommandLineIO.run(json: json) { () throws(ClientError) in
                try gatewayOptions.client().deleteCookies(of: target.session, filter.cookies)
            }
        }
    }

    /// The session whose jar it is.
    struct Target: ParsableArguments {
        @Argument(help: "The session's id.")
        var session = "shared"
    }

    /// Which cookies are meant.
    struct Filter: ParsableArguments {
        @Option(help: "Only those of this domain, without a dot in front.")
        var domain: String?

        @Option(help: "Only those of this path.")
        var path: String?

        @Option(help: "Only those of this name.")
        var name: String?

        var cookies: CookieFilter {
            var filter = CookieFilter()
            (filter.domain, filter.path, filter.name) = (domain, path, name)
            return filter
        }
    }
}
