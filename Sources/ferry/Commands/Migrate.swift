import ArgumentParser

/// `ferry migrate`: moves a gateway's database.
struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Move a stopped gateway's database to PostgreSQL.",
        discussion: """
            Moves all that is in the data directory's database: sessions, tasks, events, tokens, tenants, \
            webhooks. Contents stay where they are, in the data directory or at --contents, and so does the \
            token of the operator. It happens in one transaction of the server: it is done, or nothing is \
            changed. The file is kept, as ferry.sqlite.moved-….

            Start the gateway with the same data directory and --store from then on, and with the same key, \
            which has to be given to it by --key-file or FERRY_KEY.

            Others on this machine see the command line: a password belongs in FERRY_STORE, in place of TO, \
            or in the file that PGPASSFILE names.

            Exit status: 0 done; 64 wrong arguments; 65 the database is missing or damaged, see `ferry check`; \
            66 no such data directory or key file; 69 no connection to the server; 74 the disk or the server \
            failed, or the database there is not empty; 75 a gateway runs; 78 the key is not the one that the \
            data are sealed with.
            """)

    @Argument(help: "sqlite: and the data directory, as in sqlite:./ferry-data.")
    var from: String

    @Argument(help: "The database, as --store of `ferry serve` (default: the one of FERRY_STORE).")
    var to: String?

    @Option(help: "The key's file (default: that in the data directory).", completion: .file())
    var keyFile: String?

    @Option(help: "The file with the options of `ferry serve`, in JSON.", completion: .file())
    var configuration: String?

    func run() throws {
        try DataCommand.run(configuration: configuration, directory: directory) { command, _ in
            guard let place = directory else {
                throw Refusal(
                    description: """
                        What is moved is the database of a data directory, as in sqlite:./ferry-data. \
                        The other way round there is nothing yet.
                        """, code: 64)
            }
            guard let url = to ?? command.settings.text("store"), ServeSettings.isDatabase(url)
            else {
                throw Refusal(
                    description: """
                        Name the database on a server, as in postgres://user@host:port/database, or by \
                        FERRY_STORE.
                        """, code: 64)
            }
            let migration = Migration(
                folder: try DataFolder(existing: place), source: try command.keySource(keyFile),
                url: url)
            for sentence in try migration.run() { try Serve.tellResult(sentence) }
        }
    }

    /// Nil where something else is named.
    private var directory: String? {
        let kind = "sqlite:"
        guard from.hasPrefix(kind), from.count > kind.count else { return nil }
        return String(from.dropFirst(kind.count))
    }
}
