import ArgumentParser

/// `ferry migrate`: moves a gateway's database, and its contents.
struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Move a stopped gateway's database to PostgreSQL, its contents to S3 or a shared folder, or both.",
        discussion: """
            Moves all that is in the data directory's database: sessions, tasks, events, tokens, tenants, \
            webhooks. It happens in one transaction of the server: it is done, or nothing is changed. The \
            file is kept, as ferry.sqlite.moved-….

            With --contents, results, stored responses and staged files are copied there before that, and \
            what has come of downloads and uploads, which then go on. The directory's own are kept, as \
            content.moved-…. Where it is interrupted, the same command goes on: what is there already is \
            not copied again. From then on any gateway serves them that has the same --store, --contents and \
            key, with any data directory: one, or several with --node-address. Without --contents they stay \
            in the data directory: start the gateway with that.

            With --contents and without FROM the database stays where it is. One on a server (FERRY_STORE) \
            is told of the place, and what has come of downloads and uploads goes along; beside one in the \
            data directory that stays there, too, and the results are kept in content/moved-…: start the \
            gateway as before, and with --contents. So it is with FROM where no database is named to move \
            it to.

            The key has to be given by --key-file or FERRY_KEY from then on. The operator's token stays in \
            the data directory: give it to other gateways as FERRY_TOKEN.

            Others on this machine see the command line: a password belongs in FERRY_STORE, in place of TO, \
            or in the file that PGPASSFILE names.

            Exit status: 0 done; 64 wrong arguments; 65 the database is missing or damaged, or contents are \
            missing, see `ferry check`, or others have contents in the place; 66 no such data directory or \
            key file; 69 no connection to the server, or the place cannot be used; 73 the data directory \
            cannot be written; 74 the disk or the server failed, or the database there is not empty; 75 a \
            gateway runs; 78 the key is not the one that the data are sealed with.
            """)

    @Argument(
        help:
            "The database, as sqlite: and the data directory: sqlite:./ferry-data (default: it stays, and --contents alone go)."
    )
    var from: String?

    @Argument(help: "The database, as --store of `ferry serve` (default: the one of FERRY_STORE).")
    var to: String?

    @Option(
        help: ArgumentHelp(
            "Where contents are copied to, as --contents of `ferry serve` (default: they stay where they are).",
            discussion: """
                A shared folder or s3://bucket/prefix in which nothing is yet; credentials as there.
                """, valueName: "place"))
    var contents: String?

    @Option(
        help: "The data directory, where FROM names none (default: ./ferry-data).",
        completion: .directory)
    var dataDirectory: String?

    @Option(
        help: "A file of PEM certificates to trust in place of the system's, for S3.",
        completion: .file())
    var trustedCertificates: String?

    @Option(help: "The key's file (default: that in the data directory).", completion: .file())
    var keyFile: String?

    @Option(help: "The file with the options of `ferry serve`, in JSON.", completion: .file())
    var configuration: String?

    func run() throws {
        try DataCommand.run(configuration: configuration, directory: source ?? dataDirectory) {
            command, place in
            guard from == nil || source != nil else {
                throw Refusal(
                    description: """
                        What is moved is the database of a data directory, as in sqlite:./ferry-data. \
                        The other way round there is nothing yet.
                        """, code: 64)
            }
            let contents = try movedContents(command.settings)
            let url = to ?? command.settings.text("store")
            guard url.map(ServeSettings.isDatabase) ?? (contents != nil) else {
                throw Refusal(
                    description: """
                        Name the database on a server, as in postgres://user@host:port/database, or by \
                        FERRY_STORE; or --contents alone.
                        """, code: 64)
            }
            var lines = ResultLines()
            try move(command, place, url, contents, &lines)
            try lines.requireWritten()
        }
    }

    /// - Parameters:
    ///   - command: has the key.
    ///   - place: of the data directory.
    ///   - url: of a database on a server; nil for none.
    ///   - contents: where they go; nil where they stay.
    ///   - lines: get what the operator has to know.
    /// - Throws: `Refusal`, and what moving throws.
    private func move(
        _ command: DataCommand, _ place: String, _ url: String?, _ contents: MovedContents?,
        _ lines: inout ResultLines
    ) throws {
        guard let url else {
            try contents?.move(from: DataFolder(existing: place), &lines)
            return
        }
        if from != nil {
            let migration = Migration(
                folder: try DataFolder(existing: place), source: try command.keySource(keyFile),
                url: url, contents: contents)
            return try migration.run(&lines)
        }
        guard let contents else {
            throw Refusal(
                description: "Name what is moved: sqlite: and a data directory, or --contents.",
                code: 64)
        }
        try contents.move(from: DataFolder(withContents: place), ofDatabaseAt: url, &lines)
    }

    /// Nil where contents stay where they are.
    private func movedContents(_ settings: SettingsSource) throws(Refusal) -> MovedContents? {
        guard let text = contents ?? settings.text("contents") else { return nil }
        let place = try ContentsPlace(text, environment: settings.environment)
        return MovedContents(
            place, environment: settings.environment,
            trustedCertificates: trustedCertificates ?? settings.text("trustedCertificates"))
    }

    /// The data directory whose database is named; nil where something else is.
    private var source: String? {
        let kind = "sqlite:"
        guard let from, from.hasPrefix(kind), from.count > kind.count else { return nil }
        return String(from.dropFirst(kind.count))
    }
}
